"""A judge's level of whole conversations held against the ratings of people, and that against people among themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.rated_criteria import (
    OWN,
    Array,
    Row,
    agreement,
    beside_judge,
    binary,
    median,
    raters,
    ratings,
    with_own_category,
)
from psysafe.agreement.figures import Estimate, estimate
from psysafe.agreement.wording import figure, number
from psysafe.stats.agreement import krippendorff_alpha, mean_raw_agreement
from psysafe.stats.undefined import Figure, Undefined

THREE, FOUR, TWO = (0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0), (0.0, 1.0)
CUTS = (("best practice or not", 1.0), ("high potential for harm or not", 2.0))


@dataclass(frozen=True, slots=True)
class Beside:
    """One criterion, cut in one way, on those conversations that the judge gave a verdict on.

    Attributes:
        people: the raters among themselves. each: the judge and each single rating. middle: the judge and the raters'
            median; people have no such figure among themselves, since a median is steadier than a rater.
        difference: of alpha, of ``each`` less ``people``, with its interval over conversations.
        kind: the level of measurement of that alpha.
        commonest: the share of ratings that are the commonest one: what a judge that always says it reaches.
        constant: the judge gave one level and no other.
    """

    criterion: str
    cut: str
    conversations: int
    people: dict[str, Estimate]
    each: dict[str, Estimate]
    middle: dict[str, Estimate]
    difference: Estimate
    kind: Literal["nominal", "ordinal"]
    commonest: float
    constant: bool

    def in_words(self) -> str:
        """What that means, in a few plain sentences."""
        name = f"alpha, {self.kind}"
        judge, people = self.each[name], self.people[name]
        told = f"{self.criterion}, {self.cut}: alpha {_short(judge)} for the judge and each rater"
        told += f" ({_beyond(judge)}), {_short(people)} for the raters among themselves ({_beyond(people)})"
        told += f"; {self._than_people()}."
        if self.constant:
            told += " The judge said one and the same of all."
        raw = self.each["raw agreement"].value
        if not isinstance(raw, Undefined) and raw <= self.commonest:
            told += (
                f" Always giving the commonest rating would agree with {number(self.commonest)} of the ratings, "
                f"the judge agrees with {number(raw)}."
            )
        return told

    def _than_people(self) -> str:
        interval = self.difference.interval
        if isinstance(interval, Undefined):
            return "whether it agrees less than people do cannot be told"
        told = f"difference {_short(self.difference)}, "
        if interval.high < 0:
            return told + "less than people agree with each other"
        return told + ("more than people agree with each other" if interval.low > 0 else "not shown to differ")


def _short(of: Estimate) -> str:
    if isinstance(of.value, Undefined):
        return f"undefined ({of.value.why})"
    return number(of.value) if isinstance(of.interval, Undefined) else figure(of)


def _beyond(of: Estimate) -> str:
    if isinstance(of.interval, Undefined):
        return "whether better than chance cannot be told"
    if of.interval.low > 0:
        return "better than chance"
    return "worse than chance" if of.interval.high < 0 else "not shown to be better than chance"


def compare(rows: Sequence[Row], criterion: str, judge: Array) -> Iterator[Beside]:
    """A criterion in four ways: three levels; with not relevant as a fourth; harmful or not; high or not.

    Args:
        judge: ``verdict`` of each row. ``OWN`` takes part in the second way only: in the others, neither it nor a Not
            Relevant of people is a level.
    """
    three = ratings(rows, criterion)
    leveled = np.where(judge == OWN, np.nan, judge)
    yield _beside(criterion, "three levels", three, leveled, THREE, "ordinal")
    yield _beside(criterion, "not relevant as a fourth", with_own_category(rows, criterion), judge, FOUR, "nominal")
    for cut, start in CUTS:
        yield _beside(criterion, cut, binary(three, start), binary(leveled, start), TWO, "nominal")


def compare_flags(rows: Sequence[Row], criterion: str, flagged: Array) -> Iterator[Beside]:
    """A judge that only flags or does not, held against ratings cut in two at either place.

    Args:
        flagged: shape (n,), 0 or 1, nan without a verdict.
    """
    for cut, start in CUTS:
        yield _beside(criterion, cut, binary(ratings(rows, criterion), start), flagged, TWO, "nominal")


def _beside(
    criterion: str, cut: str, matrix: Array, judge: Array, levels: Sequence[float], kind: Literal["nominal", "ordinal"]
) -> Beside:
    known = ~np.isnan(judge)
    matrix, judge = matrix[known], judge[known]
    own = np.arange(len(judge))
    pairs, place = beside_judge(matrix, judge, own)
    # Of a fourth value that has no place in the order there is no median: the value that most gave, if one did.
    middle = most_common(matrix) if levels is FOUR else median(matrix)
    with_middle, of = beside_judge(middle[:, None], judge, own)
    ordered = kind == "ordinal"

    def less(people: Array, said: Array) -> Figure:
        among = krippendorff_alpha(people.T, level=kind)
        with_judge = krippendorff_alpha(beside_judge(people, said, np.arange(len(said)))[0].T, level=kind)
        for found in (among, with_judge):
            if isinstance(found, Undefined):
                return found
        assert isinstance(among, float)
        assert isinstance(with_judge, float)
        return with_judge - among

    _, counts = np.unique(matrix[~np.isnan(matrix)], return_counts=True)
    return Beside(
        criterion, cut, int(known.sum()),
        agreement(matrix, levels, own, ordered=ordered), agreement(pairs, levels, place, ordered=ordered),
        agreement(with_middle, levels, of, ordered=ordered), estimate(less, own, matrix, judge, bounds=(-2.0, 2.0)),
        kind, float(counts.max() / counts.sum()) if len(counts) else 0.0,
        len(np.unique(judge)) == 1,
    )  # fmt: skip


def most_common(matrix: Array) -> Array:
    """The value that more than half of a conversation's raters gave, shape (n,); nan where there is none."""
    found = np.full(len(matrix), np.nan)
    for place, row in enumerate(matrix):
        values, counts = np.unique(row[~np.isnan(row)], return_counts=True)
        if len(values) and 2 * counts.max() > counts.sum():
            found[place] = values[counts.argmax()]
    return found


def by_rater(rows: Sequence[Row], criterion: str, judge: Array) -> list[tuple[str, int, Figure, Figure]]:
    """Every rater: name, ratings held against the judge, raw agreement with it, and with the other raters there."""
    matrix = ratings(rows, criterion)
    leveled = np.where(judge == OWN, np.nan, judge)
    found: list[tuple[str, int, Figure, Figure]] = []
    for index, name in enumerate(raters(rows)):
        here = ~np.isnan(matrix[:, index]) & ~np.isnan(leveled)
        own = matrix[here, index]
        others = np.delete(matrix[here], index, axis=1)
        with_judge = mean_raw_agreement(np.vstack([own, leveled[here]]))
        pairs, _ = beside_judge(others, own, np.arange(len(own)))
        found.append((name, len(own), with_judge, mean_raw_agreement(pairs.T)))
    return found
