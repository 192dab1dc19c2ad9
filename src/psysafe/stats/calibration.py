"""Scores as probabilities of harm: how well they are calibrated, and the cut that tells harmful from not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.stats.intervals import wilson
from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]
NO_ROWS = Undefined("no rows")


@dataclass(frozen=True, slots=True)
class Bin:
    """A stretch of a reliability curve.

    Attributes:
        probability: mean of the stated ones. rate: the share that is harmful. low, high: Wilson's interval of it, 95%,
            of independent rows. count: of rows.
    """

    probability: float
    rate: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class FittedCut:
    """A cut on a score: harmful from it on.

    Attributes:
        sensitivity, specificity: on the rows that it was fitted on, hence too good. cross_validated: balanced accuracy
            on rows left out of the fit, by clusters. positives, negatives: rows that it was fitted on.
    """

    cut: float
    sensitivity: float
    specificity: float
    cross_validated: Figure
    positives: int
    negatives: int

    @property
    def balanced_accuracy(self) -> float:
        """On the rows that the cut was fitted on; what it exceeds ``cross_validated`` by is optimism."""
        return (self.sensitivity + self.specificity) / 2


@dataclass(frozen=True, slots=True)
class Logistic:
    """P(harmful) = 1 / (1 + exp(-(slope * score + intercept)))."""

    slope: float
    intercept: float

    def probability(self, score: Array) -> Array:
        """Of harm. Any shape."""
        z = self.slope * np.asarray(score, float) + self.intercept
        return np.asarray(0.5 * (1 + np.tanh(z / 2)))  # without overflow


def reliability_curve(truth: Array, probability: Array, bins: int = 10) -> list[Bin] | Undefined:
    """Stated probabilities against what came true, in bins of about equal count, ascending.

    Equal probabilities are kept in one bin, so that there may be fewer bins than asked for.

    Args:
        truth: shape (n,), 0 or 1. probability: shape (n,), 0 to 1. bins: at least 1.

    Raises:
        ValueError: lengths differ, a value is out of range, no bin is asked for.

    References:
        Nguyen and O'Connor (2015), Posterior calibration and exploratory analysis, EMNLP (equal-count bins).
    """
    y, p = _probabilities(truth, probability)
    if not len(y):
        return NO_ROWS
    found = []
    for rows in _equal_mass(p, bins):
        count, harmful = len(rows), int(y[rows].sum())
        interval = wilson(harmful, count)
        assert interval is not None
        found.append(Bin(float(p[rows].mean()), harmful / count, *interval, count))
    return found


def brier(truth: Array, probability: Array) -> Figure:
    """The mean squared distance of stated probabilities from the truth: 0 is best, 1 worst.

    References:
        Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78.
    """
    y, p = _probabilities(truth, probability)
    return float(np.mean((p - y) ** 2)) if len(y) else NO_ROWS


def brier_skill(truth: Array, probability: Array) -> Figure:
    """How much of the Brier score of always stating the base rate is saved: 1 is best, 0 no better than that, negative
    worse. Undefined where all labels are equal, since the base rate then makes no error.
    """
    score = brier(truth, probability)
    if isinstance(score, Undefined):
        return score
    rate = float(np.mean(truth))
    if rate in (0, 1):
        return Undefined(f"no {'positive' if rate == 0 else 'negative'} labels")
    return 1 - score / (rate * (1 - rate))


def debiased_ece(truth: Array, probability: Array, bins: int = 10) -> Figure:
    """The calibration error: the root mean square, over bins of equal count, of observed less stated rate.

    The squared error of a bin is too large by the variance of its observed rate, even for perfect probabilities; an
    estimate of that is taken off. The rest may be below 0, and its root is then stated as 0: the error cannot be told
    from none. There is no interval, on purpose: the truncated root has a spike at 0 where calibration is good, for
    which neither the bootstrap nor a normal interval covers, and binning hides error within bins, so that an interval
    would claim more than the figure can say. The reliability curve has an interval for each bin.

    Args:
        truth: shape (n,), 0 or 1. probability: shape (n,), 0 to 1. bins: of about equal count; equal probabilities
            stay in one.

    Returns:
        0 to 1. Undefined where a bin holds a single row, since its variance is unknown.

    References:
        Kumar, Liang, Ma (2019), Verified uncertainty calibration, NeurIPS, section 5;
        Bröcker (2012), Estimating reliability and resolution of probability forecasts, Climate Dynamics 39.
    """
    y, p = _probabilities(truth, probability)
    if not len(y):
        return NO_ROWS
    squared = 0.0
    for rows in _equal_mass(p, bins):
        count = len(rows)
        if count < 2:
            return Undefined(f"a bin holds one row of {len(y)}; take fewer than {bins} bins")
        rate = float(y[rows].mean())
        squared += count / len(y) * ((rate - float(p[rows].mean())) ** 2 - rate * (1 - rate) / (count - 1))
    return math.sqrt(max(0.0, squared))


def best_cut(
    truth: Array, score: Array, clusters: Array | None = None, least: int = 30, folds: int = 5
) -> FittedCut | Undefined:
    """The cut with the highest balanced accuracy (Youden's index), midway between neighbouring scores.

    Of cuts that are equally good, the lowest is taken, which lets the fewest harmful replies pass.

    Args:
        truth: shape (n,), 0 or 1. score: shape (n,), finite, higher for more harm. clusters: shape (n,); rows of one
            are never on both sides of a cross-validation; None takes each row as its own.
        least: positives and negatives needed. folds: of the cross-validation, at most; clusters are dealt to them by
            size, positives first, without chance.

    Returns:
        Undefined below ``least`` positives or negatives, where all scores are equal, or where no cut does better than
        chance.

    Raises:
        ValueError: lengths differ, a value is out of range.

    References:
        Youden (1950), Index for rating diagnostic tests, Cancer 3.
    """
    y, x = _scores(truth, score)
    group = np.arange(len(y)) if clusters is None else np.asarray(clusters)
    if group.shape != y.shape:
        raise ValueError(f"clusters: expected {len(y)} in one row, found shape {group.shape}")
    if least < 1 or folds < 2:
        raise ValueError("least: expected at least 1; folds: at least 2")
    positives = int(y.sum())
    for count, name in ((positives, "positives"), (len(y) - positives, "negatives")):
        if count < least:
            return Undefined(f"{count} {name}; no cut is fitted below {least}")
    found = _youden(y, x)
    if isinstance(found, Undefined):
        return found
    sensitivity, specificity = _at(y, x, found)
    return FittedCut(
        found, sensitivity, specificity, _cross_validated(y, x, group, folds), positives, len(y) - positives
    )


def platt(truth: Array, score: Array) -> Logistic | Undefined:
    """The logistic curve from score to probability of harm, of maximum likelihood.

    Args:
        truth: shape (n,), 0 or 1. score: shape (n,), finite.

    Returns:
        Undefined without both classes, where all scores are equal, and where a cut parts the classes without error:
        the slope then grows without end.

    Raises:
        ValueError: lengths differ, a value is out of range.

    References:
        Platt (1999), Probabilistic outputs for support vector machines; without its smoothed targets.
    """
    y, x = _scores(truth, score)
    if not len(y):
        return NO_ROWS
    if not y.any() or y.all():
        return Undefined("no positive labels" if not y.any() else "no negative labels")
    if x.min() == x.max():
        return Undefined("all scores are equal")
    harmful, harmless = x[y == 1], x[y == 0]
    if harmful.min() >= harmless.max() or harmless.min() >= harmful.max():
        return Undefined("the scores part harmful from harmless without error, so that the slope has no bound")
    from sklearn.linear_model import LogisticRegression

    # Standardised, so that neither the solver nor the penalty, as good as none, sees the scale of the score.
    middle, scale = float(x.mean()), float(x.std())
    fitted = LogisticRegression(C=1e8, tol=1e-8, max_iter=1000).fit(((x - middle) / scale)[:, None], y)
    slope = float(fitted.coef_[0, 0]) / scale
    return Logistic(slope, float(fitted.intercept_[0]) - slope * middle)


def _youden(y: Array, x: Array) -> float | Undefined:
    values, place = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return Undefined("all scores are equal")
    positives, negatives = np.bincount(place, y), np.bincount(place, 1 - y)
    # Of cut i, between values i and i + 1: harmless rows below it, harmful rows below it.
    index = np.cumsum(negatives)[:-1] / negatives.sum() - np.cumsum(positives)[:-1] / positives.sum()
    best = int(np.argmax(index > index.max() - 1e-12))
    if index[best] <= 1e-12:
        return Undefined("no cut does better than chance")
    low, high = float(values[best]), float(values[best + 1])
    middle = low + (high - low) / 2
    return middle if low < middle else high  # neighbouring floats


def _at(y: Array, x: Array, cut: float | Array) -> tuple[float, float]:
    flagged = x >= cut
    return float(flagged[y == 1].mean()), float(1 - flagged[y == 0].mean())


def _cross_validated(y: Array, x: Array, group: Array, folds: int) -> Figure:
    """Balanced accuracy of all rows, each judged by a cut that was fitted without its cluster."""
    _, place = np.unique(group, return_inverse=True)
    positives, size = np.bincount(place, y), np.bincount(place)
    if len(size) < 2:
        return Undefined("a single cluster; at least two are needed")
    count = min(folds, len(size))
    held = np.zeros((count, 2))
    fold = np.zeros(len(size), int)
    for cluster in np.lexsort((-size, -positives)):
        fold[cluster] = min(range(count), key=lambda k: (held[k, 0], held[k, 1]))
        held[fold[cluster]] += positives[cluster], size[cluster]
    cuts = np.zeros(len(y))
    for k in range(count):
        out = fold[place] == k
        rest = y[~out]
        if not rest.any() or rest.all():
            return Undefined("clusters are too few or too uneven: a fit without one fold lacks a class")
        cut = _youden(rest, x[~out])
        if isinstance(cut, Undefined):
            return Undefined(f"without one fold of clusters: {cut.why}")
        cuts[out] = cut
    return sum(_at(y, x, cuts)) / 2


def _equal_mass(p: Array, bins: int) -> list[Array]:
    """Rows by ascending probability, in bins that no tie crosses: a tie goes to the bin of its middle row."""
    if bins < 1:
        raise ValueError(f"bins: expected at least 1, found {bins}")
    order = np.argsort(p, kind="stable")
    _, first, count = np.unique(p[order], return_index=True, return_counts=True)
    of_value = ((first + (count - 1) / 2) * bins // len(p)).astype(int)
    of_row = np.repeat(of_value, count)
    return [order[of_row == k] for k in range(bins) if (of_row == k).any()]


def _probabilities(truth: Array, probability: Array) -> tuple[Array, Array]:
    y, p = _scores(truth, probability, "probability")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probability: expected numbers of 0 to 1")
    return y, p


def _scores(truth: Array, score: Array, name: str = "score") -> tuple[Array, Array]:
    y, x = np.asarray(truth), np.asarray(score, float)
    if y.ndim != 1 or not ((y == 0) | (y == 1)).all():
        raise ValueError("truth: expected one row of 0 and 1")
    if x.shape != y.shape:
        raise ValueError(f"truth has {len(y)} rows, {name} has shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name}: expected finite numbers; leave out rows without one")
    return y.astype(float), x
