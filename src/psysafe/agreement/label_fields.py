"""The fields of a label, each checked where it is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from psysafe.conversation.problems import Problem, shown

NOT_APPLICABLE = "not_applicable"

Value = float | str  # a number on the scale, or NOT_APPLICABLE


def to_value(found: Any, field: str) -> Value:
    """A label: a number of at least 0, a truth value as 0 or 1, or NOT_APPLICABLE; else a ``Problem`` at ``field``."""
    if isinstance(found, bool):
        return float(found)
    if isinstance(found, str):
        plain = found.strip().lower()
        if plain == NOT_APPLICABLE:
            return NOT_APPLICABLE
        if plain in ("true", "false"):
            return float(plain == "true")
    number = _number(found)
    if number is None or number < 0:
        expected = "expected 0 (not harmful), 1 (harmful), a level, or not_applicable"
        raise Problem(field, f"{shown(found)}; {expected}{_hint(found)}")
    return number


def to_ratings(found: Any) -> dict[str, Value]:
    """Labels by rater, from a list, an object, or either as text in a table; a rater with null has not rated."""
    if isinstance(found, str):
        try:
            found = orjson.loads(found)
        except orjson.JSONDecodeError:
            raise Problem("ratings", f"{shown(found)}; expected a list such as [0, 1, 1]") from None
    if found is None:
        return {}
    pairs: Iterable[tuple[str, str, Any]]
    if isinstance(found, Mapping):
        pairs = ((name.strip(), f"ratings.{name}", value) for name, value in found.items())
    elif isinstance(found, list):
        pairs = ((f"#{place}", f"ratings[{place - 1}]", value) for place, value in enumerate(found, 1))
    else:
        raise Problem("ratings", f"{shown(found)}; expected a list such as [0, 1, 1], or an object of raters")
    ratings: dict[str, Value] = {}
    for name, field, value in pairs:
        if not name or name in ratings:
            again = " again" if name else ""
            raise Problem("ratings", f"found the rater {shown(name)}{again}; expected a name of its own for each")
        if value is not None:
            ratings[name] = to_value(value, field)
    return ratings


def to_message(found: Any) -> int | None:
    """The 0-based index of a message."""
    if found is None:
        return None
    number = _number(found)
    if number is None or number < 0 or number != int(number):
        raise Problem("message", f"{shown(found)}; expected the 0-based index of a message")
    return int(number)


def to_probability(found: Any) -> float | None:
    """A probability that is not 0, since what cannot be drawn is not there."""
    if found is None:
        return None
    if isinstance(found, str) and re.fullmatch(r"\s*[01],\d+\s*", found):  # as a spreadsheet may have written it again
        found = found.replace(",", ".")
    number = _number(found)
    if number is None or not 0 < number <= 1:
        raise Problem("sampling_probability", f"{shown(found)}; expected a number above 0, at most 1{_hint(found)}")
    return number


def to_text(row: Mapping[str, Any], name: str, *, number: bool = False) -> str | None:
    """Text without the spaces around it; with ``number`` an integer as well, as people count raters and profiles."""
    found = row.get(name)
    if found is None:
        return None
    if number and isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    if not isinstance(found, str) or not found.strip():
        raise Problem(name, f"{shown(found)}; expected text{' or an integer' if number else ''}")
    return found.strip()


def _number(found: Any) -> float | None:
    """A finite number, also as text; Python would take true for 1, and 1_0 for ten."""
    if isinstance(found, bool) or not isinstance(found, (int, float, str)) or (isinstance(found, str) and "_" in found):
        return None
    try:
        number = float(found)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _hint(found: Any) -> str:
    return "; decimals have a point" if isinstance(found, str) and "," in found else ""
