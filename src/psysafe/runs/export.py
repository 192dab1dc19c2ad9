"""A run's judgments as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import orjson

from psysafe.runs.export_inspect import export_inspect
from psysafe.runs.export_parquet import export_parquet
from psysafe.runs.export_records import cell, json_text, parameters, records
from psysafe.runs.store import Store

_COLUMNS = (
    "id", "message", "scope", "dimension", "model", "mechanism", "mechanism_parameters",
    "outcome", "reason", "score", "label", "harmful", "verdict", "probability",
    "consensus", "flags", "rationale", "evidence", "detail", "calls", "attempts", "prompt_tokens",
    "completion_tokens", "cost", "seconds", "seed", "key", "prompt_hash", "metadata",
)  # fmt: skip


def export_jsonl(store: Store, out: BinaryIO) -> int:
    """One judgment a line: ``id`` of the conversation, the fields of ``Judgment``, and the conversation's
    ``metadata``. Returns the number of lines."""
    count = 0
    for record in records(store):
        out.write(orjson.dumps(record) + b"\n")
        count += 1
    return count


def export_csv(store: Store, out: BinaryIO) -> int:
    """One judgment a row, UTF-8 with a byte order mark, so that spreadsheets read it as such. The votes are
    left to JSONL. Returns the number of rows."""
    text = io.TextIOWrapper(out, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    count = 0
    for record in records(store):
        row = {
            **record,
            "mechanism": record["mechanism"]["name"],
            "mechanism_parameters": parameters(record["mechanism"]),
            "flags": " ".join(record["flags"]),
            "metadata": json_text(record["metadata"]) if record["metadata"] else None,
            **(record["usage"] or dict.fromkeys(("prompt_tokens", "completion_tokens"))),
            "evidence": " | ".join(item["quote"] for item in record["evidence"]),
            "probability": record.get("probability"),
        }
        writer.writerow([cell(row[column]) for column in _COLUMNS])
        count += 1
    text.detach()
    return count


# to a stream; each returns the number of judgments
EXPORTS: dict[str, Callable[[Store, BinaryIO], int]] = {
    "jsonl": export_jsonl,
    "csv": export_csv,
    "parquet": export_parquet,
}
# to a path, which may become several files; each returns the number of judgments and the files
FILE_EXPORTS: dict[str, Callable[[Store, Path], tuple[int, list[Path]]]] = {"inspect": export_inspect}
