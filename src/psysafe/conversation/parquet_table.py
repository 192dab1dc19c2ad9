"""Parquet: a conversation, a message or an exchange a row; row groups are read one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from psysafe.conversation.columns import Columns, find_columns
from psysafe.conversation.json_values import json_ready
from psysafe.conversation.problems import Problem
from psysafe.conversation.reading import Item, Job
from psysafe.conversation.table import Row, read_rows
from psysafe.errors import UsageError

_BATCH_ROWS = 256


def read_parquet(file: BinaryIO, job: Job) -> Iterator[Item]:
    """The conversations of a Parquet file in order: the row where each begins, and it or its error.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise UsageError("reading Parquet needs pyarrow: pip install 'psysafe[parquet]'") from None
    place = ""
    try:
        table = pq.ParquetFile(file)
        schema = table.schema_arrow
        lists = any(
            field.name.strip().lower() == "messages" and isinstance(field.type, (pa.ListType, pa.LargeListType))
            for field in schema
        )
        columns = find_columns(schema.names, lists=lists, need_reply=job.need_reply)
        if not table.metadata.num_rows:
            yield "", job.error(None, "found no rows; expected at least one conversation")
        for place, item in read_rows(_rows(table, columns), columns, job):  # type: ignore[assignment]
            yield place, item
    except Problem as problem:
        yield "", problem.at(job.file, None)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        after = f" after {place}" if place else ""
        text = " ".join(str(error).split())[:200].rstrip(".")
        yield place, job.error(None, f"cannot be read as Parquet{after}: {text}; expected a whole Parquet file")


def _rows(table: Any, columns: Columns) -> Iterator[Row]:
    number = 0
    for batch in table.iter_batches(batch_size=_BATCH_ROWS):
        lists = [column.to_pylist() for column in batch.columns]
        for index in range(batch.num_rows):
            number += 1
            yield Row(f"row {number:,}", [json_ready(column[index]) for column in lists])
        del lists
