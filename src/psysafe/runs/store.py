"""The run store: one database per run, written by one process."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema, DropSchema

from psysafe.conversation import Conversation, parse_record
from psysafe.errors import UsageError
from psysafe.judging import TRANSIENT, Account
from psysafe.models import Usage
from psysafe.runs.database import DATABASE_FILE, STORE_URL_NAME, StoreError, make_engine, short, stream
from psysafe.runs.entry import Entry, id_hash, read_account, row
from psysafe.runs.tables import METADATA, conversations, judgments, meta

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_HEAD = "run.json"
# All that psysafe puts into the directory of a run, beside the head that makes it one.
_FILES = (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", "run.lock", f"{_HEAD}.new")
FORMAT = 2
_UNSTORED = "unstored"
_DELETED = "deleted"


class Store:
    """A run's database.

    In the run's directory lies ``run.json`` and, unless ``PSYSAFE_STORE`` named a PostgreSQL URL when the
    run was made, ``run.sqlite``. With PostgreSQL a run is a schema; its URL, which may hold a password, is
    read from the environment each time and never written down.
    """

    def __init__(self, directory: Path, engine: Engine, head: dict[str, Any]) -> None:
        self.directory = directory
        self.id: str = head["id"]
        self._engine = engine
        self._schema: str | None = head.get("schema")
        self._lock: int | None = None
        dialect = postgresql if self._schema else sqlite
        self._insert_new = dialect.insert(conversations).on_conflict_do_nothing()

    @classmethod
    def create(
        cls, directory: Path, environment: Mapping[str, str] | None = None, *, values: Mapping[str, Any] | None = None
    ) -> Store:
        """A new run in a directory that holds none.

        Args:
            values: what ``get`` is to find from the first moment on, JSON-ready: a run that can be seen is whole.

        Raises:
            UsageError: the directory holds a run or other files, or cannot be written; the database cannot be
                reached.
        """
        if (directory / _HEAD).exists():
            raise UsageError(f"{directory} already holds a run: add --resume to go on with it, or name another --run")
        url = (os.environ if environment is None else environment).get(STORE_URL_NAME)
        head: dict[str, Any] = {"psysafe": "run", "format": FORMAT, "id": secrets.token_hex(6)}
        if url:
            head["schema"] = f"psysafe_{head['id']}"
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            others = sorted(path.name for path in directory.iterdir() if path.name not in _FILES)
            if others:
                raise UsageError(
                    f"{directory} holds other files (such as {others[0]}), and the directory of a run is closed to "
                    "other users: name a new or an empty directory with --run"
                )
            directory.chmod(0o700)  # what people confided lies in it
            engine = make_engine(directory, url)
            if url:
                with engine.begin() as connection:
                    connection.execute(CreateSchema(head["schema"]))
            engine = engine.execution_options(schema_translate_map={None: head.get("schema")})
            METADATA.create_all(engine)
            with engine.begin() as connection:
                connection.execute(delete(meta))  # of one that was killed before it could be seen
                for name, value in (values or {}).items():
                    connection.execute(insert(meta).values(name=name, value=orjson.dumps(value).decode()))
            temporary = directory / f"{_HEAD}.new"
            temporary.write_bytes(orjson.dumps(head, option=orjson.OPT_INDENT_2) + b"\n")
            temporary.replace(directory / _HEAD)
        except OSError as error:
            raise UsageError(f"cannot make a run in {directory}: {error.strerror or error}") from error
        except SQLAlchemyError as error:
            raise UsageError(
                f"cannot make a run in {(url and 'the database of ' + STORE_URL_NAME) or directory}: {short(error)}"
            ) from error
        return cls(directory, engine, head)

    @classmethod
    def open(cls, directory: Path, environment: Mapping[str, str] | None = None) -> Store:
        """An existing run.

        Raises:
            UsageError: there is none, its format is another version's, or its database cannot be reached.
        """
        try:
            head = orjson.loads((directory / _HEAD).read_bytes())
        except FileNotFoundError:
            raise UsageError(f"{directory} holds no run (no {_HEAD} in it)") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{directory / _HEAD} cannot be read: {error}") from error
        if not isinstance(head, dict) or head.get("psysafe") != "run" or ("format" in head and "id" not in head):
            raise UsageError(f"{directory / _HEAD} is not that of a psysafe run")
        if head.get("format") != FORMAT:
            raise UsageError(f"{directory} has store format {head.get('format')}; this version reads {FORMAT}")
        url = None
        if head.get("schema"):
            url = (os.environ if environment is None else environment).get(STORE_URL_NAME)
            if not url:
                raise UsageError(f"{directory} is kept in PostgreSQL: set {STORE_URL_NAME} to its URL")
        elif not (directory / DATABASE_FILE).exists():
            raise UsageError(f"{directory} holds no {DATABASE_FILE}; the run is incomplete")
        engine = make_engine(directory, url).execution_options(schema_translate_map={None: head.get("schema")})
        try:
            with engine.connect() as connection:
                connection.execute(select(func.count()).select_from(meta))
        except SQLAlchemyError as error:
            engine.dispose()
            raise UsageError(f"{directory}: the store cannot be read: {short(error)}") from error
        return cls(directory, engine, head)

    def close(self) -> None:
        """Let go of the database and the writer's lock."""
        self._engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def lock(self) -> None:
        """Become the one writer; the lock ends with the process, however that ends.

        Raises:
            UsageError: another process writes this run.
        """
        self._lock = os.open(self.directory / "run.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another process is writing {self.directory}: wait for it, or stop it first") from None

    def write(self, entries: Sequence[Entry]) -> None:
        """Commit judgments, with their conversations, in one transaction.

        Raises:
            StoreError: they could not be written; none of them was.
        """
        rows = [row(entry) for entry in entries]
        again = [entry.judgment.key for entry in entries if entry.tries > 1]
        texts = {
            entry.conversation.id: {
                "id": entry.conversation.id,
                "position": entry.position,
                "record": orjson.dumps(entry.conversation.to_dict()),
            }
            for entry in entries
        }
        with self.writing() as connection:
            if again:
                columns = (
                    judgments.c[name] for name in ("calls", "attempts", "prompt_tokens", "completion_tokens", "cost")
                )
                replaced = connection.execute(select(*columns).where(judgments.c.key.in_(again)))
                for calls, attempts, prompt, completion, cost in replaced:
                    usage = None if prompt is None or completion is None else Usage(prompt, completion)
                    self._add_unstored(connection, Account(calls, attempts, usage, cost))
                connection.execute(delete(judgments).where(judgments.c.key.in_(again)))
            connection.execute(self._insert_new, list(texts.values()))
            connection.execute(insert(judgments), rows)

    def get(self, name: str) -> Any:
        """A value of ``meta``, or None."""
        with self.reading() as connection:
            value = connection.execute(select(meta.c.value).where(meta.c.name == name)).scalar()
        return None if value is None else orjson.loads(value)

    def put(self, name: str, value: Any) -> None:
        """Put a JSON-ready value into ``meta``."""
        with self.writing() as connection:
            connection.execute(delete(meta).where(meta.c.name == name))
            connection.execute(insert(meta).values(name=name, value=orjson.dumps(value).decode()))

    def unstored(self) -> Account:
        """What was spent on calls that no stored judgment accounts for: units that were cut off, or judged again."""
        return read_account(self.get(_UNSTORED))

    def add_unstored(self, account: Account) -> None:
        """Keep account of calls whose unit will not be stored."""
        with self.writing() as connection:
            self._add_unstored(connection, account)

    def _add_unstored(self, connection: Connection, account: Account) -> None:
        found = connection.execute(select(meta.c.value).where(meta.c.name == _UNSTORED)).scalar()
        total = read_account(None if found is None else orjson.loads(found))
        total.merge(account)
        connection.execute(delete(meta).where(meta.c.name == _UNSTORED))
        connection.execute(insert(meta).values(name=_UNSTORED, value=orjson.dumps(total).decode()))

    def deleted(self) -> set[str]:
        """Hashes (``id_hash``) of the conversations that were deleted; a resume leaves them alone."""
        return set(self.get(_DELETED) or ())

    def done(self) -> tuple[set[bytes], dict[bytes, int]]:
        """Keys of units that need no further try, and the tries so far of those that do (transient failures)."""
        finished: set[bytes] = set()
        again: dict[bytes, int] = {}
        query = select(judgments.c.key, judgments.c.reason, judgments.c.tries)
        with self.reading() as connection:
            for key, reason, tries in stream(connection, query):
                if reason in TRANSIENT:
                    again[bytes.fromhex(key)] = tries
                else:
                    finished.add(bytes.fromhex(key))
        return finished, again

    def conversations(self) -> Iterator[Conversation]:
        """The stored conversations, in the order of the input."""
        query = select(conversations.c.record).order_by(conversations.c.position, conversations.c.id)
        with self.reading() as connection:
            for (record,) in stream(connection, query):
                yield parse_record(orjson.loads(record), file=str(self.directory), line=None, default_id="")

    def judgments(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Each judgment with the record of its conversation, as dicts, in the order of the input."""
        by_bytes = "C" if self._schema else "BINARY"  # and not by the language of a database
        query = (
            select(judgments.c.record, conversations.c.record)
            .join(conversations, conversations.c.id == judgments.c.conversation)
            .order_by(
                judgments.c.position,
                judgments.c.conversation,
                judgments.c.message,
                judgments.c.model.collate(by_bytes),
                judgments.c.dimension.collate(by_bytes),
                judgments.c.mechanism.collate(by_bytes),
            )
        )
        with self.reading() as connection:
            for record, conversation in stream(connection, query):
                yield orjson.loads(record), orjson.loads(conversation)

    def rows(self, query: Any) -> list[Any]:
        """All rows of a query over the tables; for summaries."""
        with self.reading() as connection:
            return list(connection.execute(query))

    def delete_conversation(self, conversation: str) -> int:
        """Remove a conversation and its judgments for good. Returns how many judgments went with it.

        Raises:
            UsageError: the run holds no such conversation; or it is deleted, but another process reads the run, so
                that its text still stands in the files. Asking once more then cleans up.
        """
        with self.writing() as connection:
            found = connection.execute(delete(conversations).where(conversations.c.id == conversation)).rowcount
            gone = connection.execute(delete(judgments).where(judgments.c.conversation == conversation)).rowcount
            if found:
                before = connection.execute(select(meta.c.value).where(meta.c.name == _DELETED)).scalar()
                hashes = [*(orjson.loads(before) if before else ()), id_hash(conversation)]
                connection.execute(delete(meta).where(meta.c.name == _DELETED))
                connection.execute(insert(meta).values(name=_DELETED, value=orjson.dumps(hashes).decode()))
            # How the run ended may repeat what an endpoint said of the text.
            ended = connection.execute(select(meta.c.value).where(meta.c.name == "state")).scalar()
            if ended is not None and (state := orjson.loads(ended)):
                value = orjson.dumps({**state, "detail": None}).decode()
                connection.execute(update(meta).where(meta.c.name == "state").values(value=value))
        if not self._schema:
            self._forget()
        if not found:
            raise UsageError(f"{self.directory} holds no conversation {conversation!r}")
        return gone

    def _forget(self) -> None:
        """Take what has been deleted out of the files: out of free pages, and out of the write-ahead log."""
        with self.reading() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM"))
            busy = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0]
        if busy:
            raise UsageError(
                f"deleted, but another process is reading {self.directory}, so that the text may still stand in its "
                "files: end it, then delete once more"
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with.

        Raises:
            StoreError: the store cannot be read.
        """
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"{self.directory}: the store cannot be read: {short(error)}") from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction.

        Raises:
            StoreError: it could not be written; nothing of it was.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"{self.directory}: the store cannot be written: {short(error)}") from error

    def delete(self) -> None:
        """Remove the whole run: its files, or its schema.

        Only files that psysafe makes are removed; a directory that holds anything else stays.
        """
        if self._schema:
            with self.writing() as connection:
                connection.execute(DropSchema(self._schema, cascade=True))
        self.close()
        for name in (*_FILES, _HEAD):
            (self.directory / name).unlink(missing_ok=True)
        if not any(self.directory.iterdir()):
            self.directory.rmdir()
