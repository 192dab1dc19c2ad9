"""What the finders of personal data have in common."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """Something personal in a text: where, what kind, and the form in which equal ones are equal."""

    start: int
    end: int
    kind: str
    key: str


def plain(text: str) -> str:
    """A name or a value in the form in which equal ones are equal."""
    return " ".join(text.replace(",", " ").casefold().split())
