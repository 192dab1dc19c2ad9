"""A place in a dimension file, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def place(loc: Sequence[str | int], data: Any) -> str:
    """``level 2, example 3, reply`` for ``("anchors", 2, "examples", 2, "reply")``.

    Entries count from 1. A level has its number, when ``data``, the values of the whole file, tells it.
    """
    words: list[str] = []
    before: str | int = ""
    for part in loc:
        if isinstance(part, int) and words:
            words[-1] = _entry(before, part, words[-1], data)
        else:
            words.append(str(part))
        before = part
    return ", ".join(words)


def _entry(of: str | int, index: int, name: str, data: Any) -> str:
    if of == "anchors":
        level = _level(data, index)
        return f"level {level}" if level is not None else f"entry {index + 1} of anchors"
    if of == "examples":
        return f"example {index + 1}"
    if of == "near_misses":
        return f"near miss {index + 1}"
    return f"{name}, entry {index + 1}"


def _level(data: Any, index: int) -> int | None:
    try:
        level = data["anchors"][index]["level"]
    except (LookupError, TypeError):
        return None
    return level if type(level) is int else None
