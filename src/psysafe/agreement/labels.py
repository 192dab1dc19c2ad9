"""Human labels: one unit, or one rater's rating of one, a line of JSON or a row of a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from psysafe.conversation.identifiers import identifier
from psysafe.conversation.problems import Problem, shown
from psysafe.errors import InputError, UsageError

NOT_APPLICABLE = "not_applicable"

# The columns that are read. All others are named as not read.
COLUMNS = (
    "id", "dimension", "message", "label", "ratings", "rater", "source", "language", "queue",
    "sampling_probability", "cluster",
)  # fmt: skip
TEXT_COLUMN = "conversation"  # for the eyes of whoever labels
RANDOM = "random"

Value = float | str  # a number on the scale, or NOT_APPLICABLE
Place = tuple[str, str, int | None]  # id, dimension, message


@dataclass(slots=True)
class Label:
    """What people say of one unit.

    Attributes:
        place: conversation, dimension, and the 0-based index of the judged message; None where the file names none,
            which holds for whatever message the run judged.
        value: the label given, on 0/1 or on the dimension's scale, or NOT_APPLICABLE; None where only ratings are.
        ratings: by rater; raters that have no name are called by their place, ``#1``.
        source, language: for breaking down. cluster: what belongs together beyond the texts, such as a profile.
        queue: where the unit came from to be labelled; ``random`` is a random draw.
        probability: with which it was drawn, above 0 and at most 1; None when unknown.
        line: where it stands first.
    """

    place: Place
    value: Value | None
    ratings: dict[str, Value]
    source: str | None
    language: str | None
    cluster: str | None
    queue: str | None
    probability: float | None
    line: int

    @property
    def values(self) -> list[Value]:
        """What it rests on: the ratings, or the label alone."""
        return list(self.ratings.values()) or ([] if self.value is None else [self.value])

    @property
    def reference(self) -> Value:
        """The label where one is given; else the mean of the ratings, or NOT_APPLICABLE where most say so."""
        if self.value is not None:
            return self.value
        numbers = [value for value in self.ratings.values() if not isinstance(value, str)]
        if 2 * len(numbers) < len(self.ratings):
            return NOT_APPLICABLE
        return sum(numbers) / len(numbers)


@dataclass(slots=True)
class Labels:
    """A file of labels.

    Attributes:
        name: of the file. digest: SHA-256 of its bytes. of: by place, in the order of the file.
        unread: columns that are not among ``COLUMNS``, in the order of their appearance.
        blank: rows that nobody has labelled yet, which are left out.
    """

    name: str
    digest: str
    of: dict[Place, Label] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    blank: int = 0

    def find(self, conversation: str, dimension: str, message: int | None) -> Label | None:
        """The label of a unit: one for this message, else one that names none."""
        return self.of.get((conversation, dimension, message)) or self.of.get((conversation, dimension, None))

    @property
    def random(self) -> bool:
        """Whether every unit was drawn at random, all with one probability: its queue says so."""
        return all(label.queue == RANDOM for label in self.of.values()) and (
            len({label.probability for label in self.of.values()}) == 1
        )

    @property
    def drawn(self) -> bool:
        """Whether the probability of every unit is known."""
        return all(label.probability is not None for label in self.of.values())


def read_labels(path: Path, dimension: str | None = None) -> Labels:
    """Read a file of labels: ``.jsonl``, ``.csv`` or ``.tsv``.

    Args:
        dimension: of rows that name none.

    Raises:
        InputError: a line that cannot be used; says which field, and what was expected.
        UsageError: the file cannot be read, or holds no label.
    """
    from hashlib import sha256

    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    found = Labels(path.name, sha256(data).hexdigest())
    unread: dict[str, None] = {}
    for line, row in _rows(path, data):
        unread |= dict.fromkeys(name for name in row if name not in (*COLUMNS, TEXT_COLUMN))
        if _is_blank(row):
            found.blank += 1
            continue
        try:
            _add(found, _label(row, line, dimension))
        except Problem as problem:
            raise problem.at(str(path), line) from None
    if not found.of:
        blank = f"; {found.blank:,} rows are not filled in" if found.blank else ""
        raise UsageError(f"{path} holds no label{blank}; expected one a line: id, dimension, label (docs/labels.md)")
    found.unread = list(unread)
    return found


def _rows(path: Path, data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from _table(path, data)
        return
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise UsageError(f"{path}: labels are read from .jsonl, .csv and .tsv")
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not raw.strip():
            continue
        try:
            row = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise InputError(str(path), number, None, f"not JSON ({error}); expected one object a line") from None
        if not isinstance(row, dict):
            raise InputError(
                str(path), number, None, f"found {shown(row)}; expected an object with id, dimension, label"
            )
        yield number, row


def _table(path: Path, data: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(str(path), line, None, "not UTF-8; save the table as CSV UTF-8") from None
    head = text.partition("\n")[0]
    delimiter = "\t" if "\t" in head else ";" if head.count(";") > head.count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restkey="", strict=True)
    try:
        for row in reader:
            if extra := row.pop("", None):
                raise InputError(
                    str(path), reader.line_num, None, f"{len(extra)} fields more than the first line names"
                )
            yield reader.line_num, {name: value for name, value in row.items() if value not in (None, "")}
    except csv.Error as error:
        raise InputError(str(path), reader.line_num, None, f"not a table ({error})") from None


def _is_blank(row: Mapping[str, Any]) -> bool:
    """Whether a row, such as one that ``psysafe labels draw`` has made, waits for somebody to label it."""
    return "queue" in row and all(row.get(name) in (None, "") for name in ("label", "ratings", "rater"))


def _label(row: Mapping[str, Any], line: int, dimension: str | None) -> Label:
    if row.get("id") is None:
        raise Problem("id", "is missing; expected the id of a conversation of the run")
    of = _text(row, "dimension") or dimension
    if of is None:
        raise Problem("dimension", "is missing; expected a dimension's id, or name one for all rows with --dimension")
    value = None if row.get("label") is None else _value(row["label"], "label")
    ratings = _ratings(row.get("ratings"))
    rater = _text(row, "rater")
    if rater is not None:
        if ratings or value is None:
            raise Problem("rater", "a row of one rater has its label, and no ratings")
        ratings, value = {rater: value}, None
    if value is None and not ratings:
        raise Problem("label", "is missing; expected 0, 1, a level, not_applicable, or ratings")
    return Label(
        (identifier(row["id"]), of, _message(row.get("message"))), value, ratings,
        _text(row, "source"), _text(row, "language"), _text(row, "cluster"), _text(row, "queue"),
        _probability(row.get("sampling_probability")), line,
    )  # fmt: skip


def _add(labels: Labels, new: Label) -> None:
    """Another rater of the same unit is added to it; anything else about one unit twice is a contradiction."""
    old = labels.of.setdefault(new.place, new)
    if old is new:
        return
    if new.value is not None or old.value is not None or not new.ratings:
        raise Problem("id", f"a second label of this unit (the first: line {old.line}); name the rater of each")
    if again := next((rater for rater in new.ratings if rater in old.ratings), None):
        raise Problem("rater", f"{shown(again)} has rated this unit before, on line {old.line}")
    for name in ("source", "language", "cluster", "queue", "probability"):
        if getattr(old, name) != getattr(new, name):
            raise Problem(
                "sampling_probability" if name == "probability" else name,
                f"{shown(getattr(new, name))}, but line {old.line} says {shown(getattr(old, name))} of the same unit",
            )
    old.ratings |= new.ratings


def _ratings(found: Any) -> dict[str, Value]:
    if isinstance(found, str):  # in a table
        try:
            found = orjson.loads(found)
        except orjson.JSONDecodeError:
            raise Problem("ratings", f"{shown(found)}; expected a list such as [0, 1, 1]") from None
    if found is None:
        return {}
    if isinstance(found, Mapping):
        return {name: _value(value, f"ratings.{name}") for name, value in found.items()}
    if isinstance(found, list):
        pairs = enumerate(found, 1)
        return {f"#{place}": _value(value, f"ratings[{place - 1}]") for place, value in pairs if value is not None}
    raise Problem("ratings", f"{shown(found)}; expected a list such as [0, 1, 1], or an object of raters")


def _value(found: Any, where: str) -> Value:
    if isinstance(found, str):
        found = found.strip()
        if found == NOT_APPLICABLE:
            return NOT_APPLICABLE
        if found.lower() in ("true", "false"):
            return float(found.lower() == "true")
    number = _number(found)
    if number is None or number < 0:
        raise Problem(where, f"{shown(found)}; expected 0 (not harmful), 1 (harmful), a level, or not_applicable")
    return number


def _number(found: Any) -> float | None:
    try:
        number = float(found)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _message(found: Any) -> int | None:
    if found is None:
        return None
    number = _number(found)
    if number is None or isinstance(found, bool) or number < 0 or number != int(number):
        raise Problem("message", f"{shown(found)}; expected the 0-based index of a message")
    return int(number)


def _probability(found: Any) -> float | None:
    if found is None:
        return None
    number = _number(found)
    if number is None or not 0 < number <= 1:
        raise Problem("sampling_probability", f"{shown(found)}; expected a number above 0, at most 1")
    return number


def _text(row: Mapping[str, Any], name: str) -> str | None:
    found = row.get(name)
    if found is None or (isinstance(found, str) and found.strip()):
        return None if found is None else found.strip()
    raise Problem(name, f"{shown(found)}; expected text")


def wanted(labels: Iterable[Label]) -> dict[tuple[str, str], frozenset[int | None]]:
    """By conversation and dimension, the messages that are labelled; what a run judges that judges these alone."""
    found: dict[tuple[str, str], frozenset[int | None]] = {}
    for label in labels:
        conversation, dimension, message = label.place
        found[conversation, dimension] = found.get((conversation, dimension), frozenset()) | {message}
    return found
