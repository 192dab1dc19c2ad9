"""The true share of harmful replies, where people have labelled a part of them and a judge has scored all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from psysafe.stats.effective import assumed_number, degrees_of_freedom, korn_graubard
from psysafe.stats.undefined import Undefined

Array = np.ndarray[Any, Any]
LEAST_CLUSTERS = 5


@dataclass(frozen=True, slots=True)
class Rate:
    """An estimated share, with its interval.

    Attributes:
        estimate, low, high: shares, 0 to 1. method: of the estimate and interval, a phrase for people.
        n_labelled, n_unlabelled: units with and without a human label. clusters: those that hold labels
            (Rogan-Gladen: n_unlabelled and clusters are those of all judged units).
        tuning: how far the judge was trusted, 0 to 1 (lambda of PPI++); None where no judge took part.
        flags: ``clipped`` where the estimate left 0 to 1 and was put to the nearer end; ``no_variation`` where all
            labels are equal, so that the interval rests on an assumed design effect; ``transported`` (Rogan-Gladen).
    """

    estimate: float
    low: float
    high: float
    method: str
    n_labelled: int
    n_unlabelled: int
    clusters: int
    tuning: float | None = None
    flags: tuple[str, ...] = ()


def prediction_powered(
    human: Array,
    judge_on_labelled: Array,
    judge_on_unlabelled: Array,
    clusters_labelled: Array,
    clusters_unlabelled: Array,
    weights: Array | None = None,
    confidence: float = 0.95,
    tuning: float | None = None,
) -> Rate | Undefined:
    """The share of harmful units, by human labels on some and a judge's scores on all.

    The estimate is mean(judge, all units) * t + mean(human - judge * t, labelled units): the judge's errors are taken
    out by the labels, and what the judge knows narrows the interval. It is right for any judge; with a useless one t
    goes to 0 and the mean of the labels remains.

    The judge's mean is taken over labelled and unlabelled units together, not over the unlabelled ones as in the
    papers on prediction-powered inference, since the labelled units are a probability sample of the same run. This is
    the difference (regression) estimator of survey sampling, and the same as PPI++: there the best lambda is
    cov / (var * (1 + n / N)), and mean(unlabelled) - mean(labelled) is (1 + n / N) times mean(all) - mean(labelled),
    so that cov / var is the best t here. t is estimated on the labelled units and kept within 0 and 1.

    The interval is for the system that the run's clusters (conversations, profiles) are a sample of, hence a wide one
    for the run itself. Its standard error is a jackknife over all clusters, labelled or not, that estimates t anew
    each time, and is never less than that of independent units. It says how many independent labels the estimate is
    worth; from these comes Korn and Graubard's interval, with fewer degrees of freedom the fewer and the less equal the
    clusters of labels are. Measured coverage: docs/coverage.md.

    Args:
        human: shape (n,), 0 or 1. judge_on_labelled, judge_on_unlabelled: shapes (n,) and (N,), finite, best between 0
            and 1: verdicts or probabilities. clusters_labelled, clusters_unlabelled: shapes (n,) and (N,), names or
            numbers; the same name means the same cluster in both.
        weights: shape (n,), positive, proportional to 1 / probability of being labelled, where that was unequal
            (Hajek's estimator); None where all units had the same chance.
        tuning: a t that was fixed beforehand, 0 to 1; None estimates it.

    Returns:
        Undefined without labels, and where labels lie in fewer than 5 clusters.

    Raises:
        ValueError: lengths differ, or a value is not what it should be.

    References:
        Angelopoulos, Bates, Fannjiang, Jordan, Zrnic (2023), Prediction-powered inference, Science 382;
        Angelopoulos, Duchi, Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv 2311.01453;
        Särndal, Swensson, Wretman (1992), Model assisted survey sampling, chapter 6 (difference estimator).
    """
    y = _binary(human)
    n, rest = len(y), len(judge_on_unlabelled)
    f = np.concatenate([_numbers(judge_on_labelled, "judge_on_labelled", n),
                        _numbers(judge_on_unlabelled, "judge_on_unlabelled", rest)])  # fmt: skip
    w = np.ones(n) if weights is None else _numbers(weights, "weights", n)
    if not (w > 0).all():
        raise ValueError("weights: expected positive numbers")
    if tuning is not None and not 0 <= tuning <= 1:
        raise ValueError(f"tuning: expected 0 to 1, found {tuning}")
    cluster = _together(clusters_labelled, n, clusters_unlabelled, rest)
    method = "prediction-powered" if weights is None else "prediction-powered, weighted by sampling probability"
    return _rate(y, f, w, cluster, tuning, confidence, method)


def weighted_rate(
    human: Array, sampling_probability: Array, clusters: Array, confidence: float = 0.95
) -> Rate | Undefined:
    """The share of harmful units, by human labels alone that were drawn with known probabilities (Hajek's estimator).

    Args:
        human: shape (n,), 0 or 1. sampling_probability: shape (n,), above 0 and at most 1, of each labelled unit to
            have been drawn. clusters: shape (n,), names or numbers.

    Returns:
        The interval as in ``prediction_powered``. Undefined without labels and below 5 clusters.

    Raises:
        ValueError: lengths differ, or a value is not what it should be.

    References:
        Hajek (1971), comment in Foundations of statistical inference.
    """
    y = _binary(human)
    p = _numbers(sampling_probability, "sampling_probability", len(y))
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("sampling_probability: expected numbers above 0 and at most 1")
    cluster = _together(clusters, len(y), np.zeros(0, np.asarray(clusters).dtype), 0)
    found = _rate(y, np.zeros(len(y)), 1 / p, cluster, None, confidence, "weighted by sampling probability")
    return found if isinstance(found, Undefined) else replace(found, tuning=None)


def effective_number(values: Array, clusters: Array) -> float:
    """How many independent units a share of 0/1 values in clusters (at least two of them) is worth."""
    y = _binary(values)
    cluster = _together(clusters, len(y), np.zeros(0, np.asarray(clusters).dtype), 0)
    return _found(y, np.zeros(len(y)), np.ones(len(y)), cluster, None).effective


def _rate(
    y: Array, f: Array, w: Array, cluster: Array, tuning: float | None, confidence: float, method: str
) -> Rate | Undefined:
    """Labelled units come first in ``f`` and ``cluster``."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected between 0 and 1, found {confidence}")
    n = len(y)
    if not n:
        return Undefined("no labels")
    groups = len(np.unique(cluster[:n]))
    if groups < LEAST_CLUSTERS:
        return Undefined(f"too few clusters: {groups} with labels, at least {LEAST_CLUSTERS} are needed")
    found = _found(y, f, w, cluster, tuning)
    estimate = min(max(found.value, 0.0), 1.0)
    low, high = korn_graubard(estimate, found.effective, degrees_of_freedom(cluster[:n], w), confidence)
    flags = (("clipped",) if estimate != found.value else ()) + (("no_variation",) if found.flat else ())
    return Rate(
        estimate, low, high, f"{method}; Korn-Graubard interval, jackknife over clusters", n, len(f) - n, groups,
        found.tuning, flags,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Found:
    """An estimate as computed, t, the number of independent labels that it is worth, whether all labels are equal."""

    value: float
    tuning: float
    effective: float
    flat: bool


def _found(y: Array, f: Array, w: Array, cluster: Array, tuning: float | None) -> _Found:
    # Sums per cluster: of labels w, wy, wf, wff, wfy; of all units 1, f. Leaving a cluster out is a subtraction.
    n, k = len(y), int(cluster.max()) + 1
    own, fl = cluster[:n], f[:n]
    of_labels = [np.bincount(own, x, k) for x in (w, w * y, w * fl, w * fl * fl, w * fl * y)]
    sums = np.stack([*of_labels, np.bincount(cluster, minlength=k), np.bincount(cluster, f, k)])
    total = sums.sum(axis=1)
    value, t = (float(x) for x in _difference(total, tuning))
    plain = float(total[1] / total[0])
    if not 0 < plain < 1:
        return _Found(value, t, assumed_number(own, w), True)
    without, _ = _difference(total[:, None] - sums, tuning)
    # Of clusters with labels there may be far fewer than of all: each kind has its own factor.
    labelled = sums[0] > 0
    of_kind = np.where(labelled, int(labelled.sum()), k)
    between = float(((without - value) ** 2 * (of_kind - 1) / of_kind).sum())
    variance = max(between, _independent(y, f, w, t, plain))
    return _Found(value, t, plain * (1 - plain) / variance, False)


def _difference(sums: Array, tuning: float | None) -> tuple[Array, Array]:
    """The estimate and t from the seven sums, along their first axis."""
    w, wy, wf, wff, wfy, count, f = sums
    variance, covariance = wff / w - (wf / w) ** 2, wfy / w - wf * wy / w**2
    flat = variance <= 1e-12 * np.maximum(wff / w, 1e-300)
    t = np.where(flat, 0.0, np.clip(covariance / np.where(flat, 1.0, variance), 0, 1)) if tuning is None else tuning
    return wy / w + t * (f / count - wf / w), np.broadcast_to(np.asarray(t, float), w.shape)


def _independent(y: Array, f: Array, w: Array, t: float, plain: float) -> float:
    """The variance of the estimate, were all units independent; clusters are taken to make none better."""
    n, a = len(y), w / w.sum()
    parts = t * (f - f.mean()) / len(f)
    parts[:n] += a * (y - plain - t * (f[:n] - a @ f[:n]))
    return float((parts**2).sum()) * n / max(n - 1, 1)


def _binary(values: Array) -> Array:
    found = np.asarray(values)
    if found.ndim != 1 or not ((found == 0) | (found == 1)).all():
        raise ValueError("human: expected one row of 0 and 1; leave out units without a label")
    return found.astype(float)


def _numbers(values: Array, name: str, n: int) -> Array:
    found = np.asarray(values, float)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{name}: expected {n} finite numbers in one row, found shape {found.shape}")
    return found


def _together(labelled: Array, n: int, unlabelled: Array, rest: int) -> Array:
    """Both rows of cluster names as numbers from 0."""
    a, b = np.asarray(labelled), np.asarray(unlabelled)
    if a.shape != (n,) or b.shape != (rest,):
        raise ValueError(f"clusters: expected {n} labelled and {rest} unlabelled, found {a.shape} and {b.shape}")
    if n and rest and (a.dtype.kind in "US") != (b.dtype.kind in "US"):
        raise ValueError("clusters: expected names of one kind in both rows, found text and numbers")
    return np.unique(np.concatenate([a, b]), return_inverse=True)[1]
