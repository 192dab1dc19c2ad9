"""Mechanisms by name, from strings, and the presets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from psysafe.errors import UsageError
from psysafe.judging.mechanisms.base import Mechanism
from psysafe.judging.mechanisms.debate import Debate
from psysafe.judging.mechanisms.dual import Dual
from psysafe.judging.mechanisms.single import Single
from psysafe.judging.mechanisms.vote import MajorityVote

MECHANISMS: dict[str, type[Mechanism]] = {kind.name: kind for kind in (Single, Dual, Debate, MajorityVote)}

# All four mechanisms as published, and as the published code runs them; docs/mechanisms.md compares them.
PRESETS: dict[str, tuple[Mechanism, ...]] = {
    "dialogguard-paper": (Single(), Dual(), Debate(), MajorityVote()),
    "dialogguard-code": (
        Single(rationale=False),
        Dual(rounded=True),
        Debate(tau=None, second_hears_first=True, vote_after="last"),
        MajorityVote(samples=10, rationale=False, aggregate="plurality"),
    ),
}


def parse_mechanism(spec: str, **overrides: Any) -> Mechanism:
    """A mechanism from ``name`` or ``name:parameter=value,...``, such as ``dual:weights=0.7,0.3``.

    Args:
        overrides: parameters that replace the defaults, where the mechanism has them; what ``spec`` sets wins.

    Raises:
        UsageError: unknown name or parameter, or a value that does not fit; says what was expected.
    """
    name, _, rest = spec.partition(":")
    kind = MECHANISMS.get(name)
    if kind is None:
        raise UsageError(
            f"unknown mechanism {name!r}; there are: {', '.join(MECHANISMS)}; presets: {', '.join(PRESETS)}"
        )
    values: dict[str, Any] = {key: value for key, value in overrides.items() if key in kind.model_fields}
    for item in re.split(r",(?=\s*[a-z_]+\s*=)", rest) if rest else ():
        key, equals, value = item.partition("=")
        key, value = key.strip(), value.strip()
        if not equals:
            raise UsageError(f"{spec!r}: {item!r} is not parameter=value; for example vote:samples=20,threshold=1")
        if key not in kind.model_fields:
            raise UsageError(f"{spec!r}: {name} has no parameter {key!r}; it has: {', '.join(kind.model_fields)}")
        values[key] = None if value.lower() == "none" else value
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{spec!r}: {where}: {first['msg']}") from error


def described(description: dict[str, Any]) -> Mechanism:
    """The mechanism that ``Mechanism.describe`` described.

    Raises:
        UsageError: this version knows no such mechanism, or not these parameters.
    """
    values = dict(description)
    kind = MECHANISMS.get(values.pop("name", ""))
    try:
        if kind is not None:
            return kind.model_validate(values)
    except ValidationError:
        pass
    raise UsageError(f"this version knows no mechanism like {description}")


def parse_mechanisms(specs: Sequence[str], **overrides: Any) -> list[Mechanism]:
    """All mechanisms that strings name; a preset stands for its four. Each once, in the order given.

    Raises:
        UsageError: see ``parse_mechanism``.
    """
    found: list[Mechanism] = []
    for spec in specs:
        if spec in PRESETS:
            found += PRESETS[spec]
        else:
            found.append(parse_mechanism(spec, **overrides))
    return list(dict.fromkeys(found))
