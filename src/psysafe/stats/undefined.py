"""What a statistic is where it cannot be had."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undefined:
    """Stands in place of a number, and says why there is none. It is never counted as 0 or 1.

    Attributes:
        why: what is missing, a phrase for people: ``no positive labels``.
    """

    why: str

    def __str__(self) -> str:
        return f"undefined: {self.why}"


Figure = float | Undefined
