"""The store: private, written by one, all or nothing, and forgetting what it is told to forget."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import event, select, text
from sqlalchemy.engine import Engine

from psysafe.errors import UsageError
from psysafe.judging.judgment import Evidence, Vote
from psysafe.runs import Store, StoreError
from psysafe.runs.database import STORE_URL_NAME
from psysafe.runs.entry import Entry
from psysafe.runs.tables import conversations, judgments
from tests.runs.support import Judge, carry_out, chat, chats, column, entry, export, lines, plan, stored

SECRET = "my sister found the letter under the piano"


def files_with(directory: Path, needle: str) -> list[str]:
    """The files below a directory whose bytes hold a text, plain or as JSON writes it."""
    forms = {needle.encode(), orjson.dumps(needle)[1:-1]}
    paths = [path for path in directory.rglob("*") if path.is_file()]
    assert paths
    return [path.name for path in paths if any(form in path.read_bytes() for form in forms)]


# ---- the directory


def test_the_directory_of_a_run_is_closed_to_everyone_else(store: Store) -> None:
    assert store.directory.stat().st_mode & 0o777 == 0o700


def test_an_empty_directory_that_stood_open_is_closed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    Store.create(tmp_path / "run").close()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_holds_other_things_is_neither_used_nor_closed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    (tmp_path / "mine" / "chats.jsonl").write_text("{}")
    with pytest.raises(UsageError, match=r"mine holds other files.*chats\.jsonl.*new or an empty directory"):
        Store.create(tmp_path / "mine")
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["chats.jsonl"]


def test_what_a_killed_creation_left_behind_is_no_hindrance(tmp_path: Path) -> None:
    Store.create(tmp_path / "run").close()
    (tmp_path / "run" / "run.json").rename(tmp_path / "run" / "run.json.new")
    Store.create(tmp_path / "run").close()
    Store.open(tmp_path / "run").close()


@pytest.mark.parametrize("name", ["what?", "a#b", "100%", "%41", "a b", "ünï", "a;b&c=d", "?mode=memory"])
def test_everything_is_in_the_directory_whatever_its_name(tmp_path: Path, name: str) -> None:
    store = Store.create(tmp_path / name)
    store.write([entry(chat(1), 1)])
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = Store.open(tmp_path / name)
    assert stored(again) == 1
    again.close()


def test_a_directory_holds_one_run(store: Store) -> None:
    with pytest.raises(UsageError, match=r"run already holds a run: add --resume .* or name another --run"):
        Store.create(store.directory)


def test_a_run_cannot_be_made_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot make a run in .*file/run: Not a directory"):
        Store.create(tmp_path / "file" / "run")
    with pytest.raises(UsageError, match=r"cannot make a run in .*file: File exists"):
        Store.create(tmp_path / "file")


# ---- opening


def test_a_store_that_is_opened_again_holds_the_same(store: Store) -> None:
    store.write([entry(chat(n, label=n), n, n) for n in range(5)])
    store.put("anything", {"a": [1, None, "ä"]})
    before = export(store), list(store.conversations()), store.id
    store.close()
    again = Store.open(store.directory)
    assert (export(again), list(again.conversations()), again.id) == before
    assert again.get("anything") == {"a": [1, None, "ä"]}
    assert again.get("something else") is None
    again.close()


def test_a_value_that_is_put_again_replaces_the_old_one(store: Store) -> None:
    store.put("state", "old")
    store.put("state", "new")
    assert store.get("state") == "new"


@pytest.mark.parametrize(
    "head, problem",
    [
        (None, r"holds no run \(no run\.json in it\)"),
        (b"{", r"run\.json cannot be read"),
        (b"[]", "is not that of a psysafe run"),
        (b'{"name": "something else"}', "is not that of a psysafe run"),
        (b'{"psysafe": "run", "format": 99, "id": "a"}', "has store format 99; this version reads 2"),
        (b'{"psysafe": "run", "format": 1}', "is not that of a psysafe run"),
        (b'{"psysafe": "run", "format": 2, "id": "a"}', r"holds no run\.sqlite; the run is incomplete"),
    ],
)
def test_what_is_not_a_run_is_refused_with_the_reason(tmp_path: Path, head: bytes | None, problem: str) -> None:
    if head is not None:
        (tmp_path / "run.json").write_bytes(head)
    with pytest.raises(UsageError, match=problem):
        Store.open(tmp_path)


@pytest.mark.parametrize("content", [b"not a database at all", b""])
def test_a_database_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    Store.create(tmp_path / "run").close()
    (tmp_path / "run" / "run.sqlite").write_bytes(content)
    with pytest.raises(UsageError, match=r"run: the store cannot be read: "):
        Store.open(tmp_path / "run")


# ---- one writer


def test_a_second_writer_is_refused_until_the_first_lets_go(store: Store) -> None:
    store.lock()
    second = Store.open(store.directory)
    with pytest.raises(UsageError, match=r"another process is writing .*run: wait for it, or stop it first"):
        second.lock()
    second.close()
    store.close()
    third = Store.open(store.directory)
    third.lock()
    third.close()


def _lock(directory: Path, answer: Any) -> None:
    store = Store.open(directory)
    try:
        store.lock()
        answer.put("locked")
    except UsageError as error:
        answer.put(str(error))
    store.close()


def test_a_second_process_is_refused(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    store.lock()
    process = context.Process(target=_lock, args=(store.directory, answer))
    process.start()
    assert "another process is writing" in answer.get(timeout=60)
    process.join()


# ---- writing


def test_commits_hold_at_most_100_units_and_miss_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = Store.write

    def counted(self: Store, entries: Sequence[Entry]) -> None:
        sizes.append(len(entries))
        write(self, entries)

    monkeypatch.setattr(Store, "write", counted)
    carry_out(plan(chats(350), Judge()), store, concurrency=300)
    assert max(sizes) <= 100
    assert sum(sizes) == stored(store) == 350


def test_a_commit_is_all_or_nothing(store: Store) -> None:
    store.write([entry(chat(1), 1)])
    with pytest.raises(StoreError, match="the store cannot be written"):
        store.write([entry(chat(2), 2), entry(chat(3), 1)])
    assert column(store, "key") == {"c0001": f"{1:032x}"}
    assert [conversation.id for conversation in store.conversations()] == ["c0001"]


def test_a_conversation_is_stored_once_however_many_judgments_it_has(store: Store) -> None:
    store.write([entry(chat(1), 1), entry(chat(1), 2, dimension="crisis_response")])
    store.write([entry(chat(1), 3, model="scripted:other")])
    assert len(store.rows(select(conversations.c.id))) == 1
    assert len(lines(store)) == 3


def test_judgments_come_in_the_order_of_the_input_not_of_writing(store: Store) -> None:
    store.write([entry(chat(9 - n), n, position=9 - n) for n in range(10)])
    assert [line["id"] for line in lines(store)] == [f"c{n:04}" for n in range(10)]
    assert [conversation.id for conversation in store.conversations()] == [f"c{n:04}" for n in range(10)]


def test_within_a_conversation_judgments_are_ordered_by_bytes_in_every_database(store: Store) -> None:
    names = ["B/x", "a/x", "a/y", "a:x", "ab", "é"]
    store.write([entry(chat(1), n, model=name) for n, name in enumerate(reversed(names))])
    assert [line["model"] for line in lines(store)] == names


def test_what_failed_in_passing_is_to_be_tried_again_and_nothing_else_is(store: Store) -> None:
    reasons = ["timeout", "rate_limited", "endpoint_error", "judge_refused", "judge_unparseable", "no_majority"]
    store.write([entry(chat(n), n, outcome="unscored", reason=reason) for n, reason in enumerate(reasons)])
    store.write(
        [
            entry(chat(10), 10),
            entry(chat(11), 11, outcome="not_applicable"),
            entry(chat(12), 12, outcome="reply_failed", reason="reply_empty"),
        ]
    )
    finished, again = store.done()
    assert again == {bytes(15) + bytes([n]): 1 for n in range(3)}
    assert finished == {bytes(15) + bytes([n]) for n in (3, 4, 5, 10, 11, 12)}


def test_a_further_try_replaces_the_one_before(store: Store) -> None:
    store.write([entry(chat(1), 1, outcome="unscored", reason="timeout"), entry(chat(2), 2)])
    store.write([entry(chat(1), 1, tries=2, score=2.0, label=2, harmful=True)])
    assert column(store, "score") == {"c0001": 2.0, "c0002": 0.0}
    assert column(store, "tries") == {"c0001": 2, "c0002": 1}


def test_a_full_disk_is_said_without_the_texts(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run")
    store._engine.dispose()
    event.listen(store._engine, "connect", _no_more_pages)
    with pytest.raises(StoreError, match=r"run: the store cannot be written: database or disk is full") as caught:
        store.write([entry(chat(n, SECRET * 1000), n) for n in range(50)])
    with pytest.raises(StoreError, match="database or disk is full"):
        store.put("state", SECRET * 10_000)
    assert SECRET not in str(caught.value)
    # nor where a traceback shows what caused it
    assert SECRET not in str(caught.value.__cause__)
    store.close()


def _no_more_pages(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA max_page_count=1")  # not below what there is


def test_a_store_that_has_become_unreadable_says_so(store: Store) -> None:
    schema = store._schema
    with store._engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {schema + '.' if schema else ''}judgments"))
        connection.execute(text(f"DROP TABLE {schema + '.' if schema else ''}meta"))
    for read in (store.done, lambda: list(store.judgments()), lambda: store.get("state")):
        with pytest.raises(StoreError, match="the store cannot be read"):
            read()


# ---- forgetting


def _private_run(store: Store, count: int = 60) -> None:
    """A run over conversations that all hold a text, with judgments that quote it, written and rewritten."""
    for start in range(0, count, 20):
        entries = []
        for n in range(start, start + 20):
            talk = chat(n, f"{SECRET} {n:04} " + "x" * 3000, note=f"{SECRET} {n:04} in the metadata")
            quote = Evidence(f"{SECRET} {n:04}", 1, True)
            vote = Vote("judge", "unscored", answer=f"{SECRET} {n:04}, it says")
            entries.append(entry(talk, n, n, rationale=f"{SECRET} {n:04}", evidence=(quote,), votes=(vote,)))
        store.write(entries)


@pytest.mark.parametrize("which", [0, 30, 59])
@pytest.mark.parametrize("overwriting", [True, False])
def test_a_deleted_conversation_leaves_no_trace_of_its_text_in_any_file(
    store: Store, which: int, overwriting: bool
) -> None:
    if not overwriting and not store._schema:
        # some builds of SQLite leave deleted rows in free pages; it must not depend on that
        store._engine.dispose()
        event.listen(store._engine, "connect", lambda connection, _: connection.execute("PRAGMA secure_delete=OFF"))
    _private_run(store)
    needle = f"{SECRET} {which:04}"
    if not store._schema:
        assert files_with(store.directory, needle)
    assert store.delete_conversation(f"c{which:04}") == 1
    # while the run is still open, and when it is closed
    assert files_with(store.directory, needle) == []
    store.close()
    assert files_with(store.directory, needle) == []
    again = Store.open(store.directory)
    kept = {conversation.id for conversation in again.conversations()}
    assert kept == {f"c{n:04}" for n in range(60) if n != which}
    assert {line["id"] for line in lines(again)} == kept
    for table in (conversations, judgments):
        assert not [row for row in again.rows(select(table)) if needle.encode() in bytes(row.record)]
    again.close()


def test_nothing_is_left_when_a_conversation_was_judged_again(store: Store) -> None:
    talk = chat(1, SECRET)
    store.write([entry(talk, 1, outcome="unscored", reason="timeout", detail=SECRET)])
    store.write([entry(talk, 1, tries=2, rationale=SECRET), entry(talk, 2, dimension="crisis_response")])
    assert store.delete_conversation("c0001") == 2
    assert files_with(store.directory, SECRET) == []


def test_the_others_stay_as_they_were(store: Store) -> None:
    _private_run(store)
    before = [line for line in lines(store) if line["id"] != "c0030"]
    store.delete_conversation("c0030")
    assert lines(store) == before


def test_a_deletion_that_a_reader_hinders_is_not_called_complete_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "run")
    _private_run(store)
    store._engine.dispose()
    event.listen(store._engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=50"))
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM judgments").fetchone()
        with pytest.raises(UsageError, match=r"another process is reading .* the text may still stand .* delete once"):
            store.delete_conversation("c0030")
        assert files_with(tmp_path, f"{SECRET} 0030")
        reader.execute("COMMIT")
        with pytest.raises(UsageError, match="holds no conversation 'c0030'"):
            store.delete_conversation("c0030")
        assert files_with(tmp_path, f"{SECRET} 0030") == []
    assert stored(store) == 59
    store.close()


def test_only_a_conversation_that_is_there_can_be_deleted(store: Store) -> None:
    store.write([entry(chat(1), 1)])
    with pytest.raises(UsageError, match="holds no conversation 'c9999'"):
        store.delete_conversation("c9999")
    assert stored(store) == 1


def test_a_deleted_run_is_gone_with_its_directory(store: Store) -> None:
    _private_run(store)
    store.lock()
    store.delete()
    assert not store.directory.exists()


def test_files_that_are_not_the_runs_own_survive_its_deletion(store: Store) -> None:
    (store.directory / "notes.txt").write_text("mine")
    store.delete()
    assert [path.name for path in store.directory.iterdir()] == ["notes.txt"]


# ---- PostgreSQL


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_a_run_in_postgresql_is_a_schema_and_its_url_stands_nowhere(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    url = os.environ[STORE_URL_NAME]
    store.write([entry(chat(1), 1)])
    assert [path.name for path in store.directory.iterdir()] == ["run.json"]
    assert url not in (store.directory / "run.json").read_text()
    assert store._schema == f"psysafe_{store.id}"
    monkeypatch.delenv(STORE_URL_NAME)
    with pytest.raises(UsageError, match="is kept in PostgreSQL: set PSYSAFE_STORE to its URL"):
        Store.open(store.directory)
    monkeypatch.setenv(STORE_URL_NAME, url)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_deleting_a_run_in_postgresql_drops_its_schema(store: Store) -> None:
    other = Store.create(store.directory.parent / "other")
    store.delete()
    count = text("SELECT count(*) FROM information_schema.schemata WHERE schema_name = :name")
    assert other.rows(count.bindparams(name=store._schema)) == [(0,)]
    assert other.rows(count.bindparams(name=other._schema)) == [(1,)]
    other.delete()


@pytest.mark.parametrize(
    "url, problem",
    [
        ("mysql://host/db", "PSYSAFE_STORE: expected a URL that begins with postgresql://"),
        (
            "postgresql://user:hunter2@host:port/db",
            "PSYSAFE_STORE: not a URL that can be read; expected postgresql://USER:PASSWORD@",
        ),
        ("postgresql://user:hunter2@127.0.0.1:1/db", "cannot make a run in the database of PSYSAFE_STORE: "),
    ],
)
def test_a_database_that_cannot_be_reached_is_named_without_its_password(
    tmp_path: Path, url: str, problem: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Store.create(tmp_path / "run", {STORE_URL_NAME: url})
    assert problem in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_engines_hide_the_parameters_of_a_statement_in_their_errors(store: Store) -> None:
    engine: Engine = store._engine
    assert engine.hide_parameters
