"""Passes over a fixed set of conversations, kept beside it, so that a judge can be held against its former self."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import orjson
from sqlalchemy import select

from psysafe.errors import UsageError
from psysafe.judging import TRANSIENT, ManagedJudge
from psysafe.runs.plan import Plan, Task
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments

Verdict = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pass:
    """One judging of the anchors.

    Attributes:
        directory: of its run. made: when, ISO 8601. served: by model, what the endpoint said it serves.
        verdicts: judgments with the ``spec`` of their mechanism, by unit key; equal keys are the same question to the
            same judge.
        unanswered: the same of calls that failed in passing (``TRANSIENT``), which tell nothing about the judge.
        repeats: the name of the directory of the pass that this one repeats at once, to know the judge's noise.
    """

    directory: Path
    made: str
    served: Mapping[str, Any]
    verdicts: Mapping[str, Verdict]
    unanswered: Mapping[str, Verdict] = field(default_factory=dict)
    repeats: str | None = None


@dataclass(frozen=True, slots=True)
class Part(Plan):
    """Some units of a plan, by their keys."""

    keys: frozenset[str] = frozenset()

    def tasks(self) -> Iterator[Task]:
        """The units, in the order of the input."""
        return (task for task in Plan.tasks(self) if task.key in self.keys)

    def units_of(self, model: ManagedJudge) -> int:
        """Units of one judge."""
        return sum(task.model is model for task in self.tasks())

    def calls_of(self, model: ManagedJudge) -> int:
        """Most calls of one judge, re-asks apart."""
        return sum(task.calls for task in self.tasks() if task.model is model)


def anchor_folder(file: Path) -> Path:
    """Where the passes over a file of anchors are kept: beside it, closed to others like every run."""
    return file.with_name(f"{file.name}.passes")


def new_pass(folder: Path) -> Path:
    """A directory for the next pass.

    Raises:
        UsageError: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(
            f"cannot keep passes over the anchors in {folder}: {error.strerror or error}; copy the file of anchors to "
            "where you may write"
        ) from error
    return folder / f"{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}-{token_hex(2)}"


def read_passes(folder: Path) -> list[Pass]:
    """The complete passes, oldest first. Others were cut off, or are under way, and say nothing.

    Raises:
        UsageError: one cannot be read.
    """
    found: list[Pass] = []
    for head in folder.glob("*/run.json"):
        try:
            store = Store.open(head.parent)
        except UsageError:
            if not head.exists():  # another process has just given it up
                continue
            raise
        with closing(store):
            if (store.get("state") or {}).get("ended") == "complete":
                found.append(read_pass(store))
    return sorted(found, key=lambda one: (one.made, one.directory.name))


def read_pass(store: Store) -> Pass:
    """A pass from its store."""
    rows = store.rows(select(judgments.c.record, judgments.c.mechanism))
    records = [{**orjson.loads(record), "spec": spec} for record, spec in rows]
    served = {one["name"]: _served(one) for one in store.get("models") or []}
    return Pass(
        store.directory,
        str(store.get("moment") or store.get("created")),
        served,
        {record["key"]: record for record in records if record["reason"] not in TRANSIENT},
        {record["key"]: record for record in records if record["reason"] in TRANSIENT},
        store.get("repeats"),
    )


def _served(model: Mapping[str, Any]) -> list[Any] | None:
    """What an endpoint said it serves; of a panel or cascade, what those of its judges said."""
    if "judges" not in model:
        return model.get("served")
    return [one for judge in model["judges"] for one in _served(judge) or []] or None


def first_asked(plan: Plan, passes: Sequence[Pass]) -> Part:
    """What a plan asks that has no verdict in any pass: it is asked twice, to know its noise."""
    known = {key for one in passes for key in one.verdicts}
    keys = frozenset(task.key for task in plan.tasks() if task.key not in known)
    return Part(**{one.name: getattr(plan, one.name) for one in fields(Plan)}, keys=keys)
