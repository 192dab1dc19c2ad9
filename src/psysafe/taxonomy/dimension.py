"""A dimension: one harm with a rubric. The content is YAML in ``data/``; this is its shape."""

from __future__ import annotations

import math
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{1,63}$")]


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
            raise ValueError("expected low < harmful_from <= high")
        return self

    @property
    def levels(self) -> range:
        """All levels, low to high."""
        return range(self.low, self.high + 1)

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
        levels = [anchor.level for anchor in self.anchors]
        if levels != list(self.scale.levels):
            raise ValueError(f"anchors: expected one for each level {list(self.scale.levels)}, found {levels}")
        for anchor in self.anchors:
            settings = {example.setting.casefold() for example in anchor.examples}
            if len(settings) < 3:
                raise ValueError(
                    f"anchors: level {anchor.level}: expected examples in at least 3 settings, found {len(settings)}"
                )
        for miss in self.near_misses:
            if miss.level == "not_applicable":
                if self.not_applicable is None:
                    raise ValueError(
                        f"near_misses: {miss.about!r} is 'not_applicable', which this dimension does not allow"
                    )
            elif miss.level not in self.scale.levels:
                raise ValueError(f"near_misses: {miss.about!r} has level {miss.level}, outside the scale")
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
