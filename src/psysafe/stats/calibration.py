"""Scores as probabilities of harm, and how well stated probabilities are calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.stats.cuts import FittedCut, best_cut, truth_and_scores
from psysafe.stats.intervals import wilson
from psysafe.stats.undefined import Figure, Undefined

__all__ = [
    "Bin", "FittedCut", "Logistic", "best_cut", "brier", "brier_skill", "debiased_ece", "platt", "reliability_curve",
]  # fmt: skip

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
    y, x = truth_and_scores(truth, score)
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
    y, p = truth_and_scores(truth, probability, "probability")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probability: expected numbers of 0 to 1")
    return y, p
