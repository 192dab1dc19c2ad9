"""A dimension: one harm with a rubric. The content is YAML in ``data/``; this is its shape."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_IDENTIFIER = r"^[a-z][a-z0-9_]{1,63}$"
Identifier = Annotated[str, StringConstraints(pattern=_IDENTIFIER)]


def is_identifier(value: object) -> bool:
    """Whether a value may be an ``id`` or a ``group``."""
    return isinstance(value, str) and re.fullmatch(_IDENTIFIER, value) is not None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scale(_Strict):
    """An integer scale, low (safe) to high (worst), and the level from which a score is harmful."""

    low: int
    high: int
    harmful_from: int

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low < self.harmful_from <= self.high:
            raise ValueError(
                f"found low {self.low}, harmful_from {self.harmful_from}, high {self.high}; "
                "expected low below harmful_from, and harmful_from not above high"
            )
        return self

    @property
    def levels(self) -> range:
        """All levels, low to high."""
        return range(self.low, self.high + 1)

    def in_words(self, *, may_not_apply: bool = False) -> str:
        """What a level may be: ``0, 1 or 2``, ``0, 1, 2 or not_applicable``, or of many levels ``0 to 100``."""
        many = self.high - self.low > 10
        names = [f"{self.low} to {self.high}"] if many else [str(level) for level in self.levels]
        if may_not_apply:
            names.append("not_applicable")
        *others, last = names
        return f"{', '.join(others)} or {last}" if others else last

    def is_harmful(self, score: float) -> bool:
        """Whether a score is harmful: an integer from ``harmful_from``, a weighted, mean or median score from
        ``harmful_from - 0.5`` (for an integer the two are the same)."""
        return score >= self.harmful_from - 0.5

    def label(self, score: float) -> int:
        """The level nearest to a score; .5 goes upward."""
        return math.floor(score + 0.5)


class Example(_Strict):
    """A short exchange that shows a level, or a near miss. ``user`` may be absent: the reply stands alone."""

    setting: Text
    user: Text | None = None
    reply: Text
    why: Text


class Anchor(_Strict):
    """What a level means, and examples of it in different settings."""

    level: int
    name: Text
    description: Text
    examples: Annotated[tuple[Example, ...], Field(min_length=3)]


class NearMiss(_Strict):
    """An exchange that is easily scored wrong, with the right level (or ``not_applicable``)."""

    about: Text
    user: Text | None = None
    reply: Text
    level: int | Literal["not_applicable"]
    why: Text


class Dimension(_Strict):
    """One harm with its rubric.

    Attributes:
        id: the name used in commands and results.
        group: a name under which several dimensions can be chosen at once (``dialogguard``, ``psysafe``).
        question: the one question that the judge answers.
        not_applicable: when there is nothing to score at all; None where that cannot happen.
        counts, does_not_count: what a judge must and must not hold against a reply.
    """

    id: Identifier
    version: Annotated[int, Field(ge=1)]
    name: Text
    group: Identifier
    question: Text
    definition: Text
    scale: Scale
    not_applicable: Text | None = None
    counts: Annotated[tuple[Text, ...], Field(min_length=3)]
    does_not_count: Annotated[tuple[Text, ...], Field(min_length=3)]
    anchors: tuple[Anchor, ...]
    near_misses: Annotated[tuple[NearMiss, ...], Field(min_length=3)]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        found = list(misfits(self.scale, self.anchors, self.near_misses, self.not_applicable is not None))
        if found:
            raise ValueError("; ".join(f"{'.'.join(map(str, place))}: {text}" for place, text in found))
        return self

    @cached_property
    def hash(self) -> str:
        """32 hex digits over the whole content; part of every unit key and of the manifest."""
        return blake2b(self.model_dump_json().encode(), digest_size=16).hexdigest()

    def model_copy(self, **options: Any) -> Self:
        """As pydantic's, with a hash of its own."""
        copy = super().model_copy(**options)
        copy.__dict__.pop("hash", None)
        return copy

    def __hash__(self) -> int:
        # Hashing every nested text at each look-up would cost more than the look-up saves.
        return hash(self.hash)


def misfits(
    scale: Scale, anchors: Sequence[Anchor | None], near_misses: Sequence[NearMiss | None], may_not_apply: bool
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What does not fit together in parts that are good each by itself: place and problem.

    None stands for a part that is not good by itself; nothing is said about it.
    """
    levels = [anchor.level for anchor in anchors if anchor]
    in_order = len(levels) == scale.high - scale.low + 1 and levels == list(scale.levels)
    if len(levels) == len(anchors) and not in_order:
        listed = f"found the levels {', '.join(map(str, levels))}" if levels else "found no level"
        yield ("anchors",), f"{listed}; expected one entry for each level from {scale.low} to {scale.high}, in order"
    for index, anchor in enumerate(anchors):
        settings = {example.setting.casefold() for example in anchor.examples} if anchor else None
        if settings is not None and len(settings) < 3:
            yield ("anchors", index, "examples"), f"found {len(settings)} different settings; expected at least 3"
    for index, miss in enumerate(near_misses):
        if miss is None:
            continue
        reason = ""
        if miss.level == "not_applicable":
            if may_not_apply:
                continue
            reason = ", because this dimension has no field 'not_applicable'"
        elif miss.level in scale.levels:
            continue
        expected = scale.in_words(may_not_apply=may_not_apply)
        yield ("near_misses", index, "level"), f"found {miss.level}; expected {expected}{reason}"
