"""The rows of a file of labels, whichever form it has."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from psysafe.conversation.problems import shown
from psysafe.errors import InputError, UsageError

_DELIMITERS = ",;\t"
_MARK = b"\xef\xbb\xbf"  # a byte order mark in UTF-8, with which spreadsheets begin


def read_rows(path: Path, data: bytes, known: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The line where each row begins, from 1, and its columns; blank lines, and empty cells of a table, are left out.

    Args:
        data: the bytes of the file. known: names of columns, by which the delimiter of a table is told.

    Raises:
        InputError: a row that cannot be told from the next.
        UsageError: a file of another kind.
    """
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        return _table(path, data, known)
    if kind in (".jsonl", ".ndjson"):
        return _lines(path, data)
    raise UsageError(f"{path}: labels are read from .jsonl, .csv and .tsv")


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, raw in enumerate(data.removeprefix(_MARK).splitlines(), 1):
        if not raw.strip():
            continue
        try:
            row = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise InputError(str(path), number, None, f"not JSON ({error}); expected one object a line") from None
        if not isinstance(row, dict):
            problem = f"found {shown(row)}; expected an object with id, dimension, label"
            raise InputError(str(path), number, None, problem)
        yield number, row


def _table(path: Path, data: bytes, known: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(str(path), line, None, "not UTF-8; save the table as CSV UTF-8") from None
    rows = _cells(path, text, _delimiter(text, known))
    first = next(rows, None)
    if first is None:
        return
    names = _names(path, *first, known)
    for line, cells in rows:
        if len(cells) > len(names):
            more = len(cells) - len(names)
            problem = f"{more} field{'' if more == 1 else 's'} more than the first line names"
            raise InputError(str(path), line, None, problem)
        # A row may be shorter: some spreadsheets leave out empty cells at its end.
        row = {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()}
        if "" in row:
            problem = f"found {shown(row[''])} in a column without a name; expected a name in the first line"
            raise InputError(str(path), line, None, problem)
        yield line, row


def _cells(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        # A cell may hold a whole conversation. The limit is one for all that use the module, so it is lent.
        before = csv.field_size_limit(len(text) + 1)
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problem = f"not a table ({error}); expected cells that hold a quotation mark or line end to be quoted"
            raise InputError(str(path), line, None, problem) from None
        finally:
            csv.field_size_limit(before)
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _delimiter(text: str, known: Collection[str]) -> str:
    """The one that makes most known columns of the first line; of equals, the comma."""
    head = next(iter(io.StringIO(text.lstrip(), newline="")), "")

    def columns(delimiter: str) -> int:
        try:
            return sum(_plain(name) in known for name in next(csv.reader([head], delimiter=delimiter), []))
        except csv.Error:  # of what is no table; reading it says why
            return 0

    return max(_DELIMITERS, key=columns)


def _names(path: Path, line: int, cells: Sequence[str], known: Collection[str]) -> list[str]:
    """What the columns are called: known ones in whatever case, with a space for an underscore."""
    names = [_plain(cell) if _plain(cell) in known else cell.strip() for cell in cells]
    if twice := next((name for name, count in Counter(filter(None, names)).items() if count > 1), None):
        raise InputError(str(path), line, None, f"found the column {shown(twice)} twice; expected every column once")
    if "id" not in names:
        found = ", ".join(shown(name) for name in names[:8])
        problem = f"found the columns {found}; expected id, dimension, label, told apart by comma, semicolon or tab"
        raise InputError(str(path), line, None, problem)
    return names


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
