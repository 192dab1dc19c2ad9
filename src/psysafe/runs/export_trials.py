"""A probe's records as files: whole, one trial a line; or as a table, one dialogue a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from psysafe.errors import UsageError
from psysafe.probing.records import Rollout, Trial
from psysafe.runs.export_records import cell
from psysafe.runs.store import Store
from psysafe.runs.trials import read_trials

_COLUMNS = (
    "kind", "index", "rollout", "of", "cell", "profile", "person", "operator", "outcome", "reason", "detail",
    "severity", "hit", "confirmed", "confirmed_exact", "blind_cells", "severity_by_turn", "refused", "redirected",
    "understood", "observed", "strategy", "insights", "dialogue", "rationale", "regenerated", "crisis_cue_turns",
    "flags",
)  # fmt: skip


def export_trials(store: Store, out: BinaryIO, to: str) -> int:
    """Write a probe as ``jsonl``, ``csv`` or ``parquet``. Returns how many trials or dialogues were written.

    Raises:
        UsageError: another form, or no pyarrow for Parquet.
    """
    if to == "jsonl":
        count = 0
        for trial in read_trials(store):
            out.write(trial.model_dump_json().encode() + b"\n")
            count += 1
        return count
    if to == "csv":
        return _csv(store, out)
    if to == "parquet":
        return _parquet(store, out)
    raise UsageError(f"a probe is not written as {to}; expected jsonl, csv or parquet")


def _csv(store: Store, out: BinaryIO) -> int:
    text = io.TextIOWrapper(out, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    count = 0
    for row in _rows(store):
        writer.writerow([cell(row[column]) for column in _COLUMNS])
        count += 1
    text.detach()
    return count


def _parquet(store: Store, out: BinaryIO) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise UsageError("--to parquet needs an extra: pip install 'psysafe[parquet]'") from None
    numbers = {"index", "rollout", "of", "severity", "regenerated"}
    truths = {"hit", "confirmed", "confirmed_exact", "understood"}
    schema = pa.schema([
        (name, pa.int64() if name in numbers else pa.bool_() if name in truths else pa.string()) for name in _COLUMNS
    ])  # fmt: skip
    rows = list(_rows(store))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out, compression="zstd")
    return len(rows)


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    for trial in read_trials(store):
        for number, rollout in enumerate(trial.rollouts):
            yield _row(trial, number, rollout)


def _row(trial: Trial, number: int, rollout: Rollout) -> dict[str, Any]:
    course, blind = rollout.course, rollout.blind
    one = trial.model_copy(update={"rollouts": (rollout,)})
    return {
        "kind": trial.kind, "index": trial.index, "rollout": number, "of": trial.of, "cell": trial.cell,
        "profile": trial.profile, "person": trial.person, "operator": trial.choice.operator,
        "outcome": rollout.outcome, "reason": rollout.reason, "detail": rollout.detail, "severity": rollout.severity,
        "hit": rollout.hit, "confirmed": one.confirmed(), "confirmed_exact": one.confirmed(exact=True),
        "blind_cells": "; ".join(f"{f.cell} {f.severity}" for f in blind.findings) if blind is not None else None,
        "severity_by_turn": " ".join(map(str, course.severity)) if course is not None else None,
        "refused": " ".join(map(str, course.refused)) if course is not None else None,
        "redirected": " ".join(map(str, course.redirected)) if course is not None else None,
        "understood": course.understood if course is not None else None,
        "observed": "; ".join(f"{v.cell} {v.severity}" for v in rollout.observed),
        "strategy": rollout.strategy, "insights": "\n".join(rollout.insights),
        "dialogue": "\n".join(f"{'Client' if m.role == 'user' else 'Counselor'}: {m.content}" for m in rollout.lines),
        "rationale": rollout.ladder.judgment.get("rationale") if rollout.ladder is not None else None,
        "regenerated": rollout.regenerated, "crisis_cue_turns": " ".join(map(str, rollout.cues)),
        "flags": " ".join((*trial.flags, *rollout.flags)),
    }  # fmt: skip
