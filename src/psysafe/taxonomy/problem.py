"""What is wrong in a content file, for a person who edits it in a text editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psysafe.errors import UsageError


class TaxonomyError(UsageError):
    """Content files that cannot be used.

    Attributes:
        problems: one line each: file and line, place in words, what is wrong and what to do.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of a complaint.

    Attributes:
        text: what was found, what is expected, what to do.
        line, column: counted from 1; None where there is none.
        place: in words (``near miss 1, level``); "" for the whole file.
    """

    text: str
    line: int | None = None
    column: int | None = None
    place: str = ""

    def at(self, path: object) -> str:
        """The whole line, with the name of the file as it was given."""
        where = str(path)
        if self.line is not None:
            where += f", line {self.line}"
        if self.column is not None:
            where += f", column {self.column}"
        return ": ".join(part for part in (where, self.place, self.text) if part)


def position(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, as an editor counts them."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def short(text: str) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:39].rstrip()}…"
