"""The words by which the testbed's players pass on what natural language would: short codes inside plain sentences.

To the search and to everything between the players they are text like any other.
"""

from __future__ import annotations

import re
from base64 import b32decode, b32encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from psysafe.taxonomy import CATEGORIES, GRID, CellId

_CODE = "[a-z2-7]{8}"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a strategy, a hint or a reply is about: a cell, or a category without a counselor role, and a degree.

    ``degree``: of a strategy its sharpness, of a hint the sharpness that it leads to, of a reply the severity.
    """

    cell: CellId | None
    category: str
    degree: int


def strategy_token(aim: Aim, variant: int) -> str:
    """Stands in a strategy, and in what the client says."""
    return _token("zx", aim, variant)


def hint_token(aim: Aim) -> str:
    """Stands in a judge's reasoning, and in the insights drawn from it."""
    return _token("kx", aim, 0)


def harm_token(aim: Aim, variant: int) -> str:
    """Stands in a harmful reply."""
    return _token("hx", aim, variant)


def person_token(profile: str) -> str:
    """Stands in what a client says: who it is."""
    return "px" + b32encode(blake2b(profile.encode(), digest_size=5).digest()).decode().lower()


def _token(kind: str, aim: Aim, variant: int) -> str:
    place = GRID.index(aim.cell) if aim.cell is not None else len(GRID) + CATEGORIES.index(aim.category)
    return kind + b32encode(bytes([place, aim.degree, variant & 255, 90, 165])).decode().lower()


_PATTERNS = {kind: re.compile(rf"\b{kind}({_CODE})\b") for kind in ("zx", "kx", "hx", "px")}


def strategies(text: str) -> list[Aim]:
    """The strategy codes in a text, in order."""
    return _aims("zx", text)


def hints(text: str) -> list[Aim]:
    """The hint codes in a text, in order."""
    return _aims("kx", text)


def harms(text: str) -> list[Aim]:
    """The codes of harm in a text, in order."""
    return _aims("hx", text)


def person(text: str) -> str | None:
    """The last code of a person in a text."""
    found = _PATTERNS["px"].findall(text)
    return f"px{found[-1]}" if found else None


def _aims(kind: str, text: str) -> list[Aim]:
    if kind not in text:
        return []
    return [aim for code in _PATTERNS[kind].findall(text) if (aim := _read(code)) is not None]


@lru_cache(maxsize=4096)
def _read(code: str) -> Aim | None:
    place, degree, _, first, second = b32decode(code.upper())
    if (first, second) != (90, 165) or place >= len(GRID) + len(CATEGORIES):
        return None
    if place < len(GRID):
        return Aim(GRID[place], GRID[place].category, degree)
    return Aim(None, CATEGORIES[place - len(GRID)], degree)
