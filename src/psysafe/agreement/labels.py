"""Human labels: one unit, or one rater's rating of one, a line of JSON or a row of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psysafe.agreement.label_fields import (
    NOT_APPLICABLE,
    Value,
    to_message,
    to_probability,
    to_ratings,
    to_text,
    to_value,
)
from psysafe.agreement.label_rows import read_rows
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.problems import Problem, shown
from psysafe.errors import UsageError
from psysafe.runs.export_records import cell

__all__ = [
    "COLUMNS", "NOT_APPLICABLE", "RANDOM", "TEXT_COLUMN", "Label", "Labels", "Place", "Value", "read_labels", "wanted",
]  # fmt: skip

# The columns that are read. All others are named as not read.
COLUMNS = (
    "id", "dimension", "message", "label", "ratings", "rater", "source", "language", "queue",
    "sampling_probability", "cluster", "text_hash",
)  # fmt: skip
TEXT_COLUMN = "conversation"  # for the eyes of whoever labels
RANDOM = "random"

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
        text_hash: beginning of the hash of the conversation that people saw; None where the file does not say.
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
    text_hash: str | None = None

    @property
    def values(self) -> list[Value]:
        """What it rests on: the ratings, or the label alone."""
        return list(self.ratings.values()) or ([] if self.value is None else [self.value])

    @property
    def reference(self) -> Value:
        """The label where one is given; else the mean of the ratings, or NOT_APPLICABLE where most say so.

        Ratings 0 and 1 make 0.5, from which on a mean is harmful: a tie goes to harm.
        """
        if self.value is not None:
            return self.value
        numbers = [value for value in self.ratings.values() if not isinstance(value, str)]
        if 2 * len(numbers) < len(self.ratings):
            return NOT_APPLICABLE
        return math.fsum(numbers) / len(numbers)


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

    def random_part(self) -> list[Label]:
        """The labels that are a simple random sample of their dimension, whatever others stand beside them.

        Those whose queue is ``random``, unless they differ in their probability: two draws put together, or one of
        strata, are no simple random sample. Each dimension is a draw of its own.
        """
        drawn = [label for label in self.of.values() if label.queue == RANDOM]
        probabilities: dict[str, set[float | None]] = {}
        for label in drawn:
            probabilities.setdefault(label.place[1], set()).add(label.probability)
        return [label for label in drawn if len(probabilities[label.place[1]]) == 1]

    @property
    def random(self) -> bool:
        """Whether all labels are a simple random sample, of each dimension; rates need no weights then.

        Where only a part is one (``random_part``), rates rest on that part alone.
        """
        return len(self.random_part()) == len(self.of)

    @property
    def drawn(self) -> bool:
        """Whether the probability of every unit is known, so that its inverse can be its weight in a rate.

        With neither this nor ``random_part`` the labels say nothing of how frequent harm is among all units.
        """
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
    first: dict[tuple[str, str], Label] = {}
    for line, row in read_rows(path, data, (*COLUMNS, TEXT_COLUMN)):
        unread |= dict.fromkeys(name for name in row if name not in (*COLUMNS, TEXT_COLUMN))
        if _is_blank(row):
            found.blank += 1
            continue
        try:
            _add(found, first, _label(row, line, dimension))
        except Problem as problem:
            raise problem.at(str(path), line) from None
    if not found.of:
        blank = f"; rows that are not filled in: {found.blank:,}" if found.blank else ""
        raise UsageError(f"{path} holds no label{blank}; expected one a line: id, dimension, label (docs/labels.md)")
    found.unread = list(unread)
    return found


def _is_blank(row: Mapping[str, Any]) -> bool:
    """Whether a row, such as one that ``psysafe labels draw`` has made, waits for somebody to label it."""
    return row.get("queue") is not None and all(row.get(name) in (None, "") for name in ("label", "ratings"))


def _label(row: Mapping[str, Any], line: int, dimension: str | None) -> Label:
    if row.get("id") is None:
        raise Problem("id", "is missing; expected the id of a conversation of the run")
    of = to_text(row, "dimension") or dimension
    if of is None:
        raise Problem(
            "dimension",
            "is missing; expected a dimension's id, or name one for all rows (agree, calibrate, compare: --dimension "
            "NAME; judge, rejudge: --dimensions NAME)",
        )
    value = None if row.get("label") is None else to_value(row["label"], "label")
    ratings = to_ratings(row.get("ratings"))
    rater = to_text(row, "rater", number=True)
    if rater is not None:
        if ratings or value is None:
            raise Problem("rater", "a row of one rater has its label, and no ratings")
        ratings, value = {rater: value}, None
    if value is None and not ratings:
        raise Problem("label", "is missing; expected 0, 1, a level, not_applicable, or ratings")
    return Label(
        (_identifier(row["id"]), of, to_message(row.get("message"))), value, ratings,
        to_text(row, "source"), to_text(row, "language"), to_text(row, "cluster", number=True), to_text(row, "queue"),
        to_probability(row.get("sampling_probability")), line, to_text(row, "text_hash"),
    )  # fmt: skip


def _identifier(found: Any) -> str:
    """An id; one that ``labels draw`` quoted, since a spreadsheet would run it as a formula, as it was."""
    name = identifier(found)
    return name[1:] if name.startswith("'") and cell(name[1:]) == name else name


def _add(labels: Labels, first: dict[tuple[str, str], Label], new: Label) -> None:
    """Another rater of the same unit is added to it; anything else about one unit twice is a contradiction.

    Args:
        first: the first label of each conversation on each dimension.
    """
    before = first.setdefault(new.place[:2], new)
    if (before.place[2] is None) != (new.place[2] is None):
        has, other = ("none", "one") if new.place[2] is None else ("one", "none")
        raise Problem(
            "message",
            f"this row names {has}, line {before.line} of the same conversation and dimension {other}; expected a "
            "message in all of these rows, or in none",
        )
    old = labels.of.setdefault(new.place, new)
    if old is new:
        return
    if new.value is not None or old.value is not None or not new.ratings:
        raise Problem("id", f"a second label of this unit (the first: line {old.line}); name the rater of each")
    if again := next((rater for rater in new.ratings if rater in old.ratings), None):
        raise Problem("rater", f"{shown(again)} has rated this unit before, on line {old.line}")
    for name in ("source", "language", "cluster", "queue", "probability", "text_hash"):
        if getattr(old, name) != getattr(new, name):
            raise Problem(
                "sampling_probability" if name == "probability" else name,
                f"{shown(getattr(new, name))}, but line {old.line} says {shown(getattr(old, name))} of the same unit",
            )
    old.ratings |= new.ratings


def wanted(labels: Iterable[Label]) -> dict[tuple[str, str], frozenset[int | None]]:
    """By conversation and dimension, the messages that are labelled; what a run judges that judges these alone."""
    found: dict[tuple[str, str], set[int | None]] = {}
    for label in labels:
        conversation, dimension, message = label.place
        found.setdefault((conversation, dimension), set()).add(message)
    return {place: frozenset(messages) for place, messages in found.items()}
