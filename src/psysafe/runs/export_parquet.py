"""A run's judgments as a Parquet table with typed columns."""

from __future__ import annotations

from typing import Any, BinaryIO

from psysafe.errors import UsageError
from psysafe.runs.export_records import json_text, parameters, records
from psysafe.runs.store import Store

_GROUP_ROWS = 2_000
# Held as JSON text, since their shape is that of the input or may grow.
_JSON = ("metadata", "members", "other")
# What is known of a record by another name, or not repeated: ``conversation`` is ``id``.
_ELSEWHERE = frozenset({"conversation", "usage"})
_VOTE = (
    "step", "outcome", "score", "expected", "reason", "detail", "rationale", "evidence", "agrees", "answer", "flags",
)  # fmt: skip


def export_parquet(store: Store, out: BinaryIO) -> int:
    """One judgment a row, written in groups of 2,000. Returns the number of rows.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise UsageError("writing Parquet needs pyarrow: pip install 'psysafe[parquet]'") from None
    schema = _schema(pa)
    count = 0
    rows: list[dict[str, Any]] = []
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for record in records(store):
            rows.append(_row(record, schema.names))
            count += 1
            if len(rows) == _GROUP_ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows.clear()
        if rows or not count:
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return count


def _schema(pa: Any) -> Any:
    text, whole, number, yes = pa.string(), pa.int64(), pa.float64(), pa.bool_()
    evidence = pa.list_(pa.struct([("quote", text), ("message", whole), ("verified", yes)]))
    flags = pa.list_(text)
    vote = pa.struct(
        [
            ("step", text), ("outcome", text), ("score", number), ("expected", number), ("reason", text),
            ("detail", text), ("rationale", text), ("evidence", evidence), ("agrees", yes), ("answer", text),
            ("flags", flags), ("other", text),
        ]
    )  # fmt: skip
    argument = pa.struct([("side", text), ("round", whole), ("text", text)])
    return pa.schema(
        [
            ("id", text), ("message", whole), ("scope", text), ("dimension", text), ("model", text),
            ("mechanism", text), ("mechanism_parameters", text), ("outcome", text), ("reason", text),
            ("score", number), ("label", whole), ("harmful", yes), ("verdict", text), ("probability", number),
            ("consensus", number), ("flags", flags), ("rationale", text), ("evidence", evidence), ("detail", text),
            ("calls", whole),
            ("attempts", whole), ("prompt_tokens", whole), ("completion_tokens", whole), ("cost", number),
            ("seconds", number), ("seed", whole), ("key", text), ("prompt_hash", text),
            ("votes", pa.list_(vote)), ("arguments", pa.list_(argument)),
            ("metadata", text), ("members", text), ("other", text),
        ]
    )  # fmt: skip


def _row(record: dict[str, Any], names: list[str]) -> dict[str, Any]:
    other = {name: value for name, value in record.items() if name not in names and name not in _ELSEWHERE}
    row = {
        **record,
        "mechanism": record["mechanism"]["name"],
        "mechanism_parameters": parameters(record["mechanism"]),
        "votes": [_vote(vote) for vote in record["votes"]],
        **(record["usage"] or {}),
        "other": other,
    }
    row.update({name: json_text(row[name]) if row.get(name) else None for name in _JSON})
    return {name: row.get(name) for name in names}


def _vote(vote: dict[str, Any]) -> dict[str, Any]:
    other = {name: value for name, value in vote.items() if name not in _VOTE}
    return {**{name: vote.get(name) for name in _VOTE}, "other": json_text(other) if other else None}
