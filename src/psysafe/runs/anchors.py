"""Passes over a fixed set of conversations, kept beside it, so that a judge can be held against its former self."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import orjson
from sqlalchemy import select

from psysafe.errors import UsageError
from psysafe.runs.plan import Plan
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments


@dataclass(frozen=True, slots=True)
class Pass:
    """One judging of the anchors.

    Attributes:
        directory: of its run. made: when, ISO 8601. served: by model, what the endpoint said it serves.
        verdicts: judgments with the ``spec`` of their mechanism, by unit key; equal keys are the same question to the
            same judge.
    """

    directory: Path
    made: str
    served: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, Any]]


def anchor_folder(file: Path) -> Path:
    """Where the passes over a file of anchors are kept: beside it, closed to others like every run."""
    return file.with_name(f"{file.name}.passes")


def new_pass(folder: Path) -> Path:
    """A directory for the next pass."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"cannot keep passes over the anchors in {folder}: {error.strerror or error}") from error
    return folder / f"{datetime.now(UTC).strftime('%Y%m%d-%H%M%S')}-{token_hex(2)}"


def read_passes(folder: Path) -> list[Pass]:
    """The complete passes, oldest first. Others were cut off and say nothing.

    Raises:
        UsageError: one cannot be read.
    """
    found: list[Pass] = []
    for directory in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not (directory / "run.json").exists():
            continue
        with closing(Store.open(directory)) as store:
            if (store.get("state") or {}).get("ended") == "complete":
                found.append(read_pass(store))
    return sorted(found, key=lambda one: (one.made, one.directory.name))


def read_pass(store: Store) -> Pass:
    """A pass from its store."""
    rows = store.rows(select(judgments.c.record, judgments.c.mechanism))
    records = [{**orjson.loads(record), "spec": spec} for record, spec in rows]
    served = {one["name"]: one.get("served") for one in store.get("models") or []}
    made = str(store.get("moment") or store.get("created"))
    return Pass(store.directory, made, served, {record["key"]: record for record in records})


def known_keys(passes: Sequence[Pass]) -> set[str]:
    """Keys of units that were judged before."""
    return {key for one in passes for key in one.verdicts}


def is_new(plan: Plan, passes: Sequence[Pass]) -> bool:
    """Whether a plan asks something that no pass has asked before: then it is judged twice, to know its noise."""
    known = known_keys(passes)
    return any(task.key not in known for task in plan.tasks())
