"""What is computed of a judge and people: names, functions, and for whom they mean something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from psysafe.stats.agreement import Level, cohen_kappa, gwet_ac1, krippendorff_alpha, mean_raw_agreement
from psysafe.stats.association import pearson, spearman
from psysafe.stats.classification import (
    NO_ROWS,
    balanced_accuracy,
    f1,
    precision,
    roc_auc,
    sensitivity,
    specificity,
)
from psysafe.stats.clustered import Interval, balanced_accuracy_interval, clustered_interval, rate_interval
from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]
RATE, SIGNED = (0.0, 1.0), (-1.0, 1.0)
NO_WEIGHTS = Undefined("rows were drawn with unequal probabilities, and it takes no weights")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval.

    Attributes:
        n: rows that it rests on. method: of the interval.
    """

    value: Figure
    interval: Interval | Undefined
    n: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; what is undefined is null, with the reason beside it."""
        found: dict[str, Any] = {"value": None, "interval": None, "n": self.n}
        if isinstance(self.value, Undefined):
            return {**found, "undefined": self.value.why}
        found["value"] = self.value
        if isinstance(self.interval, Undefined):
            return {**found, "interval_undefined": self.interval.why}
        return {
            **found, "interval": [self.interval.low, self.interval.high],
            "method": self.interval.method, "clusters": self.interval.clusters,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """What figures are computed from, row by row.

    Attributes:
        truth: 0/1, whether people say harmful. value: their label on its scale. predicted: 0/1, the judge's verdict.
        score: the judge's, nan where it is no use for ranks (a vote cut short). cluster: of the row.
        level, label: the nearest levels of people and judge on the rubric's scale; truth and predicted where labels are
            binary.
        weight: inverse of the probability with which the row was drawn, where rows differ in it; else 1.
    """

    truth: Array
    value: Array
    predicted: Array
    score: Array
    cluster: Array
    level: Array
    label: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def weighted(self) -> bool:
        """Whether rows stand for unequal numbers of units."""
        return len(self.weight) > 0 and bool(self.weight.min() != self.weight.max())

    def part(self, rows: Array) -> Sample:
        """Some of the rows, by a mask."""
        return Sample(*(getattr(self, one.name)[rows] for one in fields(self)))


Shown = Callable[["Sample"], Estimate]


def _rate(function: Callable[[Array, Array, Array], Figure], side: str, of: str) -> Shown:
    """A share among the rows whose ``side`` is 0 or 1: of those whose ``of`` agrees with it."""

    def found(sample: Sample) -> Estimate:
        label = int(side[-1])
        rows = getattr(sample, side[:-1]) == label
        value = function(sample.truth, sample.predicted, sample.weight)
        if isinstance(value, Undefined):
            return Estimate(value, value, int(rows.sum()))
        right = getattr(sample, of)[rows] == label
        return Estimate(value, rate_interval(right, sample.cluster[rows], sample.weight[rows]), int(rows.sum()))

    return found


def _share(of: Callable[[Sample], Array]) -> Shown:
    def found(sample: Sample) -> Estimate:
        if not len(sample):
            return Estimate(NO_ROWS, NO_ROWS, 0)
        values = of(sample)
        value = float(np.average(values, weights=sample.weight))
        return Estimate(value, rate_interval(values, sample.cluster, sample.weight), len(sample))

    return found


def _balanced(sample: Sample) -> Estimate:
    value = balanced_accuracy(sample.truth, sample.predicted, sample.weight)
    if isinstance(value, Undefined):
        return Estimate(value, value, len(sample))
    interval = balanced_accuracy_interval(sample.truth, sample.predicted, sample.cluster, sample.weight)
    return Estimate(value, interval, len(sample))


def _f1(sample: Sample) -> Estimate:
    return estimate(f1, sample.cluster, sample.truth, sample.predicted, sample.weight, bounds=RATE)


def _auc(sample: Sample) -> Estimate:
    usable = ~np.isnan(sample.score)
    arrays = (sample.truth[usable], sample.score[usable], sample.weight[usable])
    return estimate(roc_auc, sample.cluster[usable], *arrays, bounds=RATE)


def _verdicts(function: Callable[[Array, Array], Figure], bounds: tuple[float, float]) -> Shown:
    def found(sample: Sample) -> Estimate:
        if sample.weighted:
            return Estimate(NO_WEIGHTS, NO_WEIGHTS, len(sample))
        return estimate(function, sample.cluster, sample.truth, sample.predicted, bounds=bounds)

    return found


def _scores(function: Callable[[Array, Array], Figure], of: str, bounds: tuple[float, float]) -> Shown:
    def found(sample: Sample) -> Estimate:
        if sample.weighted:
            return Estimate(NO_WEIGHTS, NO_WEIGHTS, len(sample))
        usable = ~np.isnan(sample.score)
        return estimate(
            function, sample.cluster[usable], getattr(sample, of)[usable], sample.score[usable], bounds=bounds
        )

    return found


def _kappa(truth: Array, predicted: Array) -> Figure:
    return cohen_kappa(truth, predicted, levels=(0, 1))


def _alpha(truth: Array, predicted: Array) -> Figure:
    return krippendorff_alpha(np.vstack([truth, predicted]).astype(float), level="nominal")


def _levels(sample: Sample, function: Callable[[Array, Array], Figure]) -> Estimate:
    if sample.weighted:
        return Estimate(NO_WEIGHTS, NO_WEIGHTS, len(sample))
    usable = ~np.isnan(sample.score)
    return estimate(function, sample.cluster[usable], sample.level[usable], sample.label[usable], bounds=SIGNED)


def _weighted_kappa(people: Array, judge: Array) -> Figure:
    both = np.concatenate([people, judge]) if len(people) else np.zeros(1)
    levels = tuple(range(int(both.min()), int(both.max()) + 1))
    return cohen_kappa(people, judge, levels=levels, weights="quadratic")


def _level_alpha(people: Array, judge: Array, kind: Level) -> Figure:
    return krippendorff_alpha(np.vstack([people, judge]).astype(float), level=kind)


def _ac1(truth: Array, predicted: Array) -> Figure:
    return gwet_ac1(np.vstack([truth, predicted]).astype(float), levels=(0, 1))


VERDICTS: dict[str, Shown] = {
    "prevalence": _share(lambda sample: sample.truth),
    "flagged": _share(lambda sample: sample.predicted),
    "sensitivity": _rate(sensitivity, "truth1", "predicted"),
    "specificity": _rate(specificity, "truth0", "predicted"),
    "balanced_accuracy": _balanced,
    "precision": _rate(precision, "predicted1", "truth"),
    "f1": _f1,
    "accuracy": _share(lambda sample: sample.truth == sample.predicted),
    "roc_auc": _auc,
    "spearman": _scores(spearman, "value", SIGNED),
    "pearson": _scores(pearson, "value", SIGNED),
    "cohen_kappa": _verdicts(_kappa, SIGNED),
    "krippendorff_alpha": _verdicts(_alpha, SIGNED),
    "gwet_ac1": _verdicts(_ac1, SIGNED),
}
# Of labels that are levels of the rubric, on top.
LEVELS: dict[str, Shown] = {
    "weighted_kappa": lambda sample: _levels(sample, _weighted_kappa),
    "alpha_ordinal": lambda sample: _levels(sample, lambda a, b: _level_alpha(a, b, "ordinal")),
    "alpha_interval": lambda sample: _levels(sample, lambda a, b: _level_alpha(a, b, "interval")),
}
# What a part of the data, such as one source, is described by.
PART = ("prevalence", "sensitivity", "specificity", "balanced_accuracy", "roc_auc")


def estimate(function: Callable[..., Figure], cluster: Array, *arrays: Array, bounds: tuple[float, float]) -> Estimate:
    """A figure and its interval over clusters."""
    value = function(*arrays)
    interval: Interval | Undefined = Undefined("the figure is undefined")
    if not isinstance(value, Undefined):
        interval = clustered_interval(function, cluster, *arrays, bounds=bounds)
    return Estimate(value, interval, len(cluster))


def estimates(sample: Sample, names: Sequence[str] = tuple(VERDICTS)) -> dict[str, Estimate]:
    """The figures of ``VERDICTS`` and ``LEVELS`` that are named."""
    return {name: {**VERDICTS, **LEVELS}[name](sample) for name in names}


def rater_figures(ratings: Array, levels: tuple[float, ...], cluster: Array) -> dict[str, Estimate]:
    """Agreement of raters among themselves.

    Args:
        ratings: items x raters, nan where missing. levels: what a rating may be, in order.
    """
    of: dict[str, tuple[Callable[..., Figure], tuple[float, float]]] = {
        "raw_agreement": (lambda x: mean_raw_agreement(x.T), RATE),
        "krippendorff_alpha": (lambda x: krippendorff_alpha(x.T, level="nominal"), SIGNED),
        "gwet_ac1": (lambda x: gwet_ac1(x.T, levels=levels), SIGNED),
    }
    if len(levels) > 2:
        of["alpha_ordinal"] = (lambda x: krippendorff_alpha(x.T, level="ordinal"), SIGNED)
        of["alpha_interval"] = (lambda x: krippendorff_alpha(x.T, level="interval"), SIGNED)
    return {name: estimate(function, cluster, ratings, bounds=bounds) for name, (function, bounds) in of.items()}
