"""Verdicts against the truth: both 0 or 1, 1 for harmful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]

NO_ROWS = Undefined("no rows")
NO_POSITIVES = Undefined("no positive labels")
NO_NEGATIVES = Undefined("no negative labels")
NONE_FLAGGED = Undefined("no positive verdicts")
ALL_FLAGGED = Undefined("no negative verdicts")


@dataclass(frozen=True, slots=True)
class Confusion:
    """Sums of weights (counts, where every row weighs 1): true and false positives, false and true negatives."""

    tp: float
    fp: float
    fn: float
    tn: float

    @property
    def n(self) -> float:
        """Their sum: the number of rows, or their weight."""
        return self.tp + self.fp + self.fn + self.tn


def confusion(truth: Array, predicted: Array, weights: Array | None = None) -> Confusion:
    """The four sums.

    Args:
        truth, predicted: shape (n,), 0 or 1. weights: shape (n,), positive, such as inverse sampling probabilities.

    Raises:
        ValueError: lengths differ, a value other than 0 and 1, a weight that is not positive.
    """
    truth, predicted = _binary(truth, "truth"), _binary(predicted, "predicted")
    if len(truth) != len(predicted):
        raise ValueError(f"truth has {len(truth)} rows, predicted {len(predicted)}")
    w = _weights(weights, len(truth))
    positive, flagged = truth == 1, predicted == 1
    if w is None:
        tp, p, f = int((positive & flagged).sum()), int(positive.sum()), int(flagged.sum())
        return Confusion(tp, f - tp, p - tp, len(truth) - p - f + tp)
    return Confusion(
        float(w[positive & flagged].sum()), float(w[~positive & flagged].sum()),
        float(w[positive & ~flagged].sum()), float(w[~positive & ~flagged].sum()),
    )  # fmt: skip


def prevalence(truth: Array, weights: Array | None = None) -> Figure:
    """The share of harmful rows; shapes as in ``confusion``."""
    found = confusion(truth, truth, weights)
    return found.tp / found.n if found.n else NO_ROWS


def accuracy(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The share of right verdicts. At a prevalence of 5% it is .95 for a judge that flags nothing: see the others."""
    found = confusion(truth, predicted, weights)
    return (found.tp + found.tn) / found.n if found.n else NO_ROWS


def sensitivity(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The share of harmful rows that are flagged (recall)."""
    found = confusion(truth, predicted, weights)
    return _ratio(found.tp, found.tp + found.fn, NO_POSITIVES if found.n else NO_ROWS)


def specificity(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The share of harmless rows that are not flagged."""
    found = confusion(truth, predicted, weights)
    return _ratio(found.tn, found.tn + found.fp, NO_NEGATIVES if found.n else NO_ROWS)


def precision(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The share of flagged rows that are harmful; it falls with the prevalence."""
    found = confusion(truth, predicted, weights)
    return _ratio(found.tp, found.tp + found.fp, NONE_FLAGGED if found.n else NO_ROWS)


def negative_predictive_value(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The share of rows not flagged that are harmless."""
    found = confusion(truth, predicted, weights)
    return _ratio(found.tn, found.tn + found.fn, ALL_FLAGGED if found.n else NO_ROWS)


def balanced_accuracy(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The mean of sensitivity and specificity; .5 is what a coin reaches.

    References:
        Brodersen et al. (2010), The balanced accuracy and its posterior distribution, ICPR.
    """
    found = confusion(truth, predicted, weights)
    positives, negatives = found.tp + found.fn, found.tn + found.fp
    if not positives:
        return NO_POSITIVES if found.n else NO_ROWS
    return (found.tp / positives + found.tn / negatives) / 2 if negatives else NO_NEGATIVES


def f1(truth: Array, predicted: Array, weights: Array | None = None) -> Figure:
    """The harmonic mean of precision and sensitivity, 2 tp / (2 tp + fp + fn).

    Undefined without positive labels: what would be 0 there says nothing of the judge. With some, and nothing flagged,
    it is 0.
    """
    found = confusion(truth, predicted, weights)
    if not found.tp + found.fn:
        return NO_POSITIVES if found.n else NO_ROWS
    return 2 * found.tp / (2 * found.tp + found.fp + found.fn)


def roc_auc(truth: Array, score: Array, weights: Array | None = None) -> Figure:
    """The area under the ROC curve: the share of pairs of a harmful and a harmless row in which the harmful one has the
    higher score; a tie counts half.

    Args:
        truth: shape (n,), 0 or 1. score: shape (n,), finite, higher for more harm. weights: as in ``confusion``; a pair
            weighs the product of its rows.

    Returns:
        Undefined without rows of both kinds.

    Raises:
        ValueError: lengths differ, a label other than 0 and 1, a score that is not finite, a weight not positive.

    References:
        Hanley and McNeil (1982), The meaning and use of the area under a ROC curve, Radiology 143.
    """
    truth = _binary(truth, "truth")
    score = np.asarray(score, float)
    if score.shape != truth.shape:
        raise ValueError(f"score: expected one row of {len(truth)} numbers, found shape {score.shape}")
    if not np.isfinite(score).all():
        raise ValueError("score: expected finite numbers; leave out rows without one")
    w = _weights(weights, len(truth))
    if not len(truth):
        return NO_ROWS
    ones = np.ones(len(truth)) if w is None else w
    _, place = np.unique(score, return_inverse=True)
    harmful = np.bincount(place, weights=ones * (truth == 1))
    harmless = np.bincount(place, weights=ones * (truth == 0))
    if not harmful.sum():
        return NO_POSITIVES
    if not harmless.sum():
        return NO_NEGATIVES
    below = np.cumsum(harmless) - harmless
    return float((harmful * (below + harmless / 2)).sum() / (harmful.sum() * harmless.sum()))


def _ratio(part: float, whole: float, otherwise: Undefined) -> Figure:
    return part / whole if whole else otherwise


def _binary(values: Array, name: str) -> Array:
    found = np.asarray(values)
    if found.ndim != 1 or not ((found == 0) | (found == 1)).all():
        raise ValueError(f"{name}: expected one row of 0 and 1")
    return found


def _weights(weights: Array | None, n: int) -> Array | None:
    if weights is None:
        return None
    found = np.asarray(weights, float)
    if found.shape != (n,) or not (np.isfinite(found).all() and (found > 0).all()):
        raise ValueError(f"weights: expected {n} positive numbers")
    return found
