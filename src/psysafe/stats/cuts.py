"""The cut on a score that tells harmful from harmless best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class FittedCut:
    """A cut on a score: harmful from it on.

    Attributes:
        sensitivity, specificity: on the rows that it was fitted on, hence too good. cross_validated: balanced accuracy
            on rows left out of the fit, by clusters; rows whose fit found no cut count as guessed.
        positives, negatives: rows that the cut was fitted on.
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
    y, x = truth_and_scores(truth, score)
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


def _at(y: Array, x: Array, cut: float) -> tuple[float, float]:
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
    flagged = np.zeros(len(y))
    for k in range(count):
        out = fold[place] == k
        rest = y[~out]
        if not rest.any() or rest.all():
            return Undefined("clusters are too few or too uneven: a fit without one fold lacks a class")
        cut = _youden(rest, x[~out])
        # A fit that finds no cut can only guess.
        flagged[out] = 0.5 if isinstance(cut, Undefined) else x[out] >= cut
    return float(flagged[y == 1].mean() + (1 - flagged[y == 0]).mean()) / 2


def truth_and_scores(truth: Array, score: Array, name: str = "score") -> tuple[Array, Array]:
    """Both as rows of numbers. Raises ValueError where they are no such rows of one length."""
    y, x = np.asarray(truth), np.asarray(score, float)
    if y.ndim != 1 or not ((y == 0) | (y == 1)).all():
        raise ValueError("truth: expected one row of 0 and 1")
    if x.shape != y.shape:
        raise ValueError(f"truth has {len(y)} rows, {name} has shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name}: expected finite numbers; leave out rows without one")
    return y.astype(float), x
