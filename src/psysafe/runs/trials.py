"""Records of a probe in a run's store: appended in order, each once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, insert, select

from psysafe.probing.records import KINDS, Trial
from psysafe.runs.database import stream
from psysafe.runs.store import Store
from psysafe.runs.tables import trials


def is_probe(store: Store) -> bool:
    """Whether a run is a probe; else it holds judgments."""
    return "probe" in (store.get("manifest") or {})


def write_trials(store: Store, records: Sequence[Trial]) -> None:
    """Append records in one transaction.

    Raises:
        StoreError: they could not be written; none of them was.
    """
    with store.writing() as connection:
        connection.execute(insert(trials), [_row(record) for record in records])


def read_trials(store: Store, kind: str | None = None) -> Iterator[Trial]:
    """The records, of one kind or of all (``KINDS`` in their order), by index.

    Raises:
        StoreError: the store cannot be read.
    """
    for one in KINDS if kind is None else (kind,):
        query = select(trials.c.record).where(trials.c.kind == one).order_by(trials.c.index)
        with store.reading() as connection:
            for (record,) in stream(connection, query):
                yield Trial.model_validate_json(record)


def trial_count(store: Store, outcome: str | None = None) -> int:
    """How many records there are, of an outcome or of all.

    Raises:
        StoreError: the store cannot be read.
    """
    query = select(func.count()).select_from(trials)
    if outcome is not None:
        query = query.where(trials.c.outcome == outcome)
    return int(store.rows(query)[0][0])


def _row(record: Trial) -> dict[str, Any]:
    worst = record.worst
    return {
        "kind": record.kind,
        "index": record.index,
        "cell": record.cell,
        "profile": record.profile,
        "outcome": record.outcome,
        "severity": worst.severity if worst is not None else None,
        "hit": record.hit,
        "confirmed": record.confirmed(),
        "calls": record.calls,
        "target_calls": record.target_calls,
        "cost": record.cost,
        "record": record.model_dump_json().encode(),
    }
