"""Rows of a table become conversations: a row is a message, an exchange, or holds a list of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psysafe.conversation.columns import Columns
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.messages import ROLES, read_message
from psysafe.conversation.problems import Problem, shown
from psysafe.conversation.reading import Item, Job, Place
from psysafe.conversation.record import assemble, convert
from psysafe.conversation.repeats import id_hash
from psysafe.conversation.speakers import role_of
from psysafe.conversation.types import METADATA_KEY, Message
from psysafe.errors import InputError

# Keys of a record that say something even when they are empty.
_KEPT = ("response", "id", "messages")


class Row(NamedTuple):
    """One row.

    Attributes:
        place: its 1-based line, or ``row N`` where a table has no lines.
        cells: one for each column, None where a cell is null; empty where ``whole`` is False.
        problem: what is wrong with it as a whole.
        whole: False if its cells cannot be told apart, so that nothing is known of its conversation.
    """

    place: Place
    cells: Sequence[Any]
    problem: str | None = None
    whole: bool = True


def read_rows(rows: Iterator[Row], columns: Columns, job: Job) -> Iterator[Item]:
    """The conversations in order, or why there is none.

    Where a row is a message, the rows of a conversation stand together; nothing but the hashes and places of
    those that are over is held.
    """
    return _groups(rows, columns, job) if columns.by_message else _records(rows, columns, job)


def row_error(job: Job, place: Place, column: str | None, problem: str) -> InputError:
    """An error about a row or a cell."""
    if isinstance(place, int):
        return InputError(job.file, place, column, problem)
    return InputError(job.file, None, f"{place}, {column}" if column else place, problem)


def _records(rows: Iterator[Row], columns: Columns, job: Job) -> Iterator[Item]:
    keys = {"reply": "response", "finish": "finish_reason", "judged": "judged_message"}
    by_key = {keys.get(part, part): part for part in columns.parts}
    for number, row in enumerate(rows, 1):
        if row.problem is not None:
            yield row.place, row_error(job, row.place, None, row.problem)
            continue
        record = {key: _value(row.cells[columns.parts[part]], part) for key, part in by_key.items()}
        # a cell that is empty says no more than a column that is absent; an empty reply is a failed one
        record = {key: value for key, value in record.items() if value not in ("", None) or key in _KEPT}
        if "prompt" in by_key and "response" not in by_key:
            record.setdefault("prompt", None)  # all that there could be; its absence has an error of its own
        record[METADATA_KEY] = {columns.names[i]: row.cells[i] for i in columns.others}
        try:
            place = row.place if isinstance(row.place, int) else number
            default_id = f"{job.label}:{place}"
            yield row.place, convert(record, default_id, job.max_message_chars, need_reply=job.need_reply)
        except Problem as problem:
            key, dot, rest = problem.field.partition(".")
            column = (columns.name(by_key[key]) if key in by_key else key) + dot + rest
            yield row.place, row_error(job, row.place, column or None, problem.problem)


@dataclass(slots=True)
class _Group:
    """The rows of one conversation so far."""

    id: str
    place: Place
    messages: list[Message] = field(default_factory=list)
    metadata: list[list[Any]] = field(default_factory=list)
    judged: Any = None
    error: InputError | None = None  # the first one

    def fail(self, error: InputError) -> None:
        self.error = self.error or error


def _groups(rows: Iterator[Row], columns: Columns, job: Job) -> Iterator[Item]:
    group: _Group | None = None
    ended: dict[int, Place] = {}  # where each conversation that is over began, by the hash of its id
    broken: Place | None = None  # a row without an id, since the current conversation began
    for row in rows:
        if not row.whole:
            broken = row.place
            error = row_error(job, row.place, None, row.problem or "")
            if group is None:
                yield row.place, error
            else:
                group.fail(error)
            continue
        try:
            name = identifier(row.cells[columns.parts["id"]])
            if row.problem is not None and "\ufffd" in name:
                raise Problem("id", row.problem)
        except Problem as problem:
            error = row_error(job, row.place, columns.name("id"), row.problem or problem.problem)
            broken = row.place
            if group is None:
                yield row.place, error
            else:
                group.fail(error)
            continue
        if group is None or name != group.id:
            if group is not None:
                yield _end(group, columns, job)
                ended[id_hash(group.id)] = group.place
            group = _Group(name, row.place)
            if (before := ended.get(id_hash(name))) is not None:
                group.fail(row_error(job, row.place, columns.name("id"), _comes_back(name, before)))
            if broken is not None:
                text = f"begins after a row that cannot be read ({_at(broken)}) and may be its own; expected whole rows"
                group.fail(row_error(job, row.place, None, text))
                broken = None
        _add(group, row, columns, job)
    if group is not None:
        yield _end(group, columns, job)


def _add(group: _Group, row: Row, columns: Columns, job: Job) -> None:
    """One more message."""
    if row.problem is not None:
        group.fail(row_error(job, row.place, None, row.problem))
    if group.error is not None:
        return
    cells = {part: _value(row.cells[index], part) for part, index in columns.parts.items()}
    finish = cells.get("finish") or None
    try:
        message = {"role": _role(cells["role"]), "content": cells["content"], "finish_reason": finish}
        group.messages.append(read_message(message, job.max_message_chars))
    except Problem as problem:
        part, dot, rest = problem.field.partition(".")
        column = columns.name("finish" if part == "finish_reason" else part) + dot + rest
        group.fail(row_error(job, row.place, column, problem.problem))
        return
    judged = cells.get("judged")
    if judged not in (None, "", group.judged):
        if group.judged is not None:
            found = f"found {shown(judged)} after {shown(group.judged)} in the same conversation; expected one"
            group.fail(row_error(job, row.place, columns.name("judged"), found))
        group.judged = judged
    group.metadata.append([row.cells[i] for i in columns.others])


def _end(group: _Group, columns: Columns, job: Job) -> Item:
    if group.error is not None:
        return group.place, group.error
    metadata = {}
    for index, values in zip(columns.others, zip(*group.metadata, strict=True), strict=True):
        same = all(value == values[0] for value in values)
        metadata[columns.names[index]] = values[0] if same else list(values)
    try:
        return group.place, assemble(group.id, group.messages, metadata, group.judged, need_reply=job.need_reply)
    except Problem as problem:
        column = columns.name("judged") if problem.field == "judged_message" else None
        return group.place, row_error(job, group.place, column, problem.problem)


def _value(value: Any, part: str) -> Any:
    if part == "judged" and isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value)
    return value


def _role(value: Any) -> Any:
    """A role as OpenAI calls it, from that or from the label of a speaker, in any case."""
    if not isinstance(value, str):
        return value
    name = value.strip().lower()
    return name if name in ROLES else role_of(name) or value


def _comes_back(name: str, before: Place) -> str:
    return (
        f"found rows of the conversation {shown(name)} again, which began at {_at(before)} and was over; "
        "expected its rows next to each other, so sort the table by this column and then by time"
    )


def _at(place: Place) -> str:
    return f"line {place:,}" if isinstance(place, int) else place
