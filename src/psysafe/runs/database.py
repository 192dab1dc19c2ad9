"""How a run's database is reached: SQLite in its directory, or PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from psysafe.errors import PsysafeError, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

STORE_URL_NAME = "PSYSAFE_STORE"
DATABASE_FILE = "run.sqlite"


class StoreError(PsysafeError):
    """The store cannot be read or written any more (a full disk, a lost server)."""


def make_engine(directory: Path, url: str | None) -> Engine:
    """An engine for a run's directory, or for a PostgreSQL URL. Nothing is connected yet.

    Raises:
        UsageError: a URL that cannot be read, or no driver for it.
    """
    if url:
        address = re.sub(r"^postgres(?:ql)?(?:\+psycopg)?://", "postgresql+psycopg://", url)
        if not address.startswith("postgresql+psycopg://"):
            raise UsageError(f"{STORE_URL_NAME}: expected a URL that begins with postgresql://")
        try:
            return create_engine(address, hide_parameters=True)
        except ModuleNotFoundError:
            raise UsageError("PostgreSQL needs an extra: pip install 'psysafe[postgres]'") from None
        except (ValueError, SQLAlchemyError):
            # without what they say: it may quote the password
            raise UsageError(
                f"{STORE_URL_NAME}: not a URL that can be read; expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            ) from None
    # Parameters are hidden, since errors and tracebacks would show what people confided.
    engine = create_engine(URL.create("sqlite", database=str(directory / DATABASE_FILE)), hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA busy_timeout=10000")

    return engine


def stream(connection: Connection, query: Any) -> Iterator[Any]:
    """The rows of a query, a few hundred at a time."""
    yield from connection.execution_options(stream_results=True, yield_per=500).execute(query)


def short(error: SQLAlchemyError) -> str:
    """The database's own words, on one line, without the statement and its texts."""
    return " ".join(str(getattr(error, "orig", None) or type(error).__name__).split())[:300]
