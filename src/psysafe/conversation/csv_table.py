"""CSV: a message or an exchange a row, read as a stream."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from psysafe.conversation.columns import Columns, find_columns
from psysafe.conversation.problems import Problem
from psysafe.conversation.reading import (
    MAX_LINE_BYTES,
    Item,
    Job,
    Read,
    encoding_problem,
    read_lines,
    wide_encoding,
    without_marks,
)
from psysafe.conversation.table import Row, read_rows

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
# A field beyond it is most likely a quotation mark that is never closed, which takes in all that follows.
MAX_FIELD_CHARS = 16 * 1024 * 1024
_EXPECTED = "a line with the names of the columns, and rows"


def read_csv(read: Read, job: Job) -> Iterator[Item]:
    """The conversations of a table in order: the 1-based line where each begins, and it or its error.

    The delimiter is the one of comma, semicolon and tab that makes known columns of the first line. A row that
    cannot be told from the next one (a quotation mark that is never closed) ends the reading with its error.
    """
    lines = _Lines(read)
    head = next((line for line in lines if line.strip()), None)
    if head is None or lines.fatal is not None:
        yield (lines.number or ""), job.error(lines.number, lines.fatal) if lines.fatal else job.nothing(_EXPECTED)
        return
    if lines.problem is not None:
        yield lines.number, job.error(*lines.problem)
        return
    try:
        delimiter, columns = _columns(head, job.need_reply)
    except Problem as problem:
        yield lines.number, problem.at(job.file, lines.number)
        return
    rows = _rows(lines, delimiter, columns, max(MAX_FIELD_CHARS, job.max_message_chars))
    empty = True
    for item in read_rows(rows, columns, job):
        empty = False
        yield item
    if empty:
        yield (
            lines.number,
            job.error(lines.number, "found no row below the names of the columns; expected at least one"),
        )


class _Lines:
    """The lines of a table as text, each with its line end.

    Attributes:
        number: of the last line that was given, from 1.
        problem: line and defect of the first line since it was last cleared that is not UTF-8.
        fatal: why nothing comes after it.
    """

    def __init__(self, read: Read) -> None:
        self._lines = read_lines(read)
        self.number = 0
        self.problem: tuple[int, str] | None = None
        self.fatal: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.fatal is not None:
            raise StopIteration
        raw = next(self._lines)
        self.number += 1
        if raw is None:
            self.fatal = f"found a line longer than {MAX_LINE_BYTES // 2**20} MB; expected a row of a table"
            raise StopIteration
        if self.number == 1:
            self.fatal = wide_encoding(raw)
            if self.fatal is not None:
                raise StopIteration
            raw = without_marks(raw)
        # a NUL is looked for even where the bytes are UTF-8
        if (fault := encoding_problem(raw)) is not None and self.problem is None:
            self.problem = (self.number, fault[1])
        return raw.decode(errors="replace") + "\n"


def _columns(head: str, need_reply: bool) -> tuple[str, Columns]:
    """The delimiter and what the columns hold."""
    found: list[tuple[int, str, Columns | Problem]] = []
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([head], delimiter=delimiter, strict=True))
        except csv.Error as error:
            found.append((0, delimiter, Problem("", _csv_problem(str(error), 1, csv.field_size_limit()))))
            continue
        try:
            found.append((len(names), delimiter, find_columns(names, need_reply=need_reply)))
        except Problem as problem:
            found.append((len(names), delimiter, problem))
    # the most columns; of equals, those that are known, then the comma
    _, delimiter, columns = max(found, key=lambda entry: (isinstance(entry[2], Columns), entry[0]))
    if isinstance(columns, Problem):
        marks = ", ".join(DELIMITERS.values())
        raise Problem("", f"{columns.problem}. Columns are told apart by one of: {marks}")
    return delimiter, columns


def _rows(lines: _Lines, delimiter: str, columns: Columns, limit: int) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = lines.number + 1
        try:
            cells = _next(reader, limit)
        except csv.Error as error:
            yield Row(start, (), lines.fatal or _csv_problem(str(error), start, limit), whole=False)
            return
        if cells is None:
            if lines.fatal is not None:
                yield Row(lines.number, (), lines.fatal, whole=False)
            return
        problem, lines.problem = lines.problem, None
        if not cells or (len(cells) == 1 < len(columns.names) and not cells[0].strip()):
            continue  # a blank line
        text = None
        if problem is not None:
            text = problem[1] if problem[0] == start else f"line {problem[0]:,}: {problem[1]}"
        if len(cells) != len(columns.names):
            found = f"found {len(cells):,} fields; expected {len(columns.names):,}, as many as there are columns"
            yield Row(start, (), text or f"{found} (a field that holds the delimiter must be quoted)", whole=False)
        else:
            yield Row(start, cells, text)


def _next(reader: Iterator[list[str]], limit: int) -> list[str] | None:
    """The next row, None at the end. The limit of the csv module is one for all that use it, so it is lent."""
    before = csv.field_size_limit(limit)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _csv_problem(error: str, start: int, limit: int) -> str:
    rest = "nothing after it can be read"
    if "field larger" in error:
        found = f"found a field of more than {limit:,} characters"
        return f'{found}; expected less, so look for a " that is never closed from line {start:,} on; {rest}'
    if "unexpected end" in error:
        return f'found a " that is never closed; expected a second one, and "" for one inside a field; {rest}'
    if "new-line character" in error or "new line" in error:
        return f"found a carriage return without a line feed; expected LF or CRLF at the end of a line; {rest}"
    return (
        f'found text after the " that closes a field; expected a delimiter there, and "" for one inside a field; {rest}'
    )
