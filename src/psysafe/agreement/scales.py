"""What the numbers of labels mean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from psysafe.agreement.labels import Label
from psysafe.errors import UsageError
from psysafe.taxonomy import Scale

Kind = Literal["binary", "levels"]


@dataclass(frozen=True, slots=True)
class LabelScale:
    """Of the labels of one dimension.

    Attributes:
        kind: ``binary``: 0 or 1, whether it is harmful, or a share of raters; ``levels``: of the dimension's scale.
        scale: of the dimension.
    """

    kind: Kind
    scale: Scale

    @property
    def harmful_from(self) -> float:
        """The label, or mean of ratings, from which on people say harmful."""
        return 0.5 if self.kind == "binary" else self.scale.harmful_from - 0.5

    @property
    def levels(self) -> tuple[float, ...]:
        """What a label may be."""
        return (0.0, 1.0) if self.kind == "binary" else tuple(float(level) for level in self.scale.levels)

    def is_harmful(self, value: float) -> bool:
        """Whether a label, or a mean of ratings, says harmful; a tie does."""
        return value >= self.harmful_from


def label_scale(labels: Iterable[Label], dimension: str, scale: Scale, kind: Kind | None = None) -> LabelScale:
    """The scale of a dimension's labels: levels where one of them is above 1, unless ``kind`` says it.

    Raises:
        UsageError: a label lies outside its scale; or it cannot be told which scale is meant.
    """
    values = [value for label in labels for value in (label.value, *label.ratings.values())]
    numbers = [value for value in values if isinstance(value, float)]
    most = max(numbers, default=0.0)
    if kind is None:
        if most <= 1 and (scale.low, scale.harmful_from) != (0, 1):
            raise UsageError(
                f"labels of {dimension} lie between 0 and 1, its levels between {scale.low} and {scale.high}: say with "
                "--label-scale whether they are binary (1 is harmful) or levels"
            )
        kind = "binary" if most <= 1 else "levels"
    low, high = (0, 1) if kind == "binary" else (scale.low, scale.high)
    if outside := next((number for number in numbers if not low <= number <= high), None):
        raise UsageError(f"a label of {dimension} is {outside:g}; expected {low} to {high}")
    return LabelScale(kind, scale)
