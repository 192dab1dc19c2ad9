"""Intervals where rows come in clusters: several replies of a conversation, several conversations of a profile.

Rows of a cluster are no independent evidence. docs/coverage.md shows how often these intervals hold the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]
Statistic = Callable[..., Figure]

LEAST = 5
"""Clusters below which there is no interval."""

# Deleting more clusters one by one takes longer and changes nothing that can be seen; beyond, blocks are deleted.
_BLOCKS = 200
_UNDEFINED_DRAWS = 0.1


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes:
        method: ``wilson``, ``mover``, ``jackknife`` or ``bootstrap``; see the function that gave it.
        clusters: that it rests on. undefined: bootstrap draws in which the statistic was undefined.
    """

    low: float
    high: float
    method: str
    clusters: int
    undefined: int = 0


def rate_interval(
    values: Array, clusters: Array, weights: Array | None = None, confidence: float = 0.95
) -> Interval | Undefined:
    """Of a share: Wilson's interval with the sample size that independent rows of the same precision would have, and
    Student's t as far as clusters make rows alike.

    Args:
        values: shape (n,), 0 or 1. clusters: shape (n,), any labels. weights: shape (n,), positive.

    Returns:
        Undefined below five clusters. Where all values are equal, rows of a cluster count as one.

    References:
        Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data; Dean and Pagano (2015), Evaluating confidence interval methods for binomial
        proportions in clustered surveys.
    """
    values = np.asarray(values, float)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    place, count = _places(clusters, len(values))
    if few := _too_few(count):
        return few
    size = np.bincount(place, weights=weights)
    share = float((weights * values).sum() / weights.sum())
    # The share without each cluster: the jackknife, as for other statistics.
    total, own = float(weights.sum()), np.bincount(place, weights=weights * values)
    spread = (own.sum() - own) / (total - size) - share
    variance = (count - 1) / count * float((spread**2).sum())
    kish = float(weights.sum()) ** 2 / float((weights**2).sum())
    # All rows alike: what varies cannot be told from the data, and a cluster is taken as one observation.
    effective = float(size.sum()) ** 2 / float((size**2).sum())
    if 0 < share < 1:
        effective = min(kish, max(1.0, share * (1 - share) / variance)) if variance > 0 else kish
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    # Student's t is for the variance that was estimated: not at all where every row is its own cluster.
    estimated = 1 - count / len(values) if 0 < share < 1 else 1.0
    t = z + estimated * (_t(confidence, _freedom(spread)) - z)
    n = effective * (z / t) ** 2
    scale = 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    # At the ends the bound is exact; floating point would miss it by a hair.
    low = 0.0 if share == 0 else max(0.0, middle - spread)
    return Interval(low, 1.0 if share == 1 else min(1.0, middle + spread), "wilson", count)


def balanced_accuracy_interval(
    truth: Array, predicted: Array, clusters: Array, weights: Array | None = None, confidence: float = 0.95
) -> Interval | Undefined:
    """Of balanced accuracy: the intervals of sensitivity and specificity put together by their distances from the
    estimates (method of variance estimates recovery), which holds for few positives, too, and for none missed.

    Args:
        truth, predicted: shape (n,), 0 or 1. clusters: shape (n,). weights: shape (n,), positive.

    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures, Stat. Med. 27.
    """
    truth, predicted, clusters = np.asarray(truth), np.asarray(predicted), np.asarray(clusters)
    weights = np.ones(len(truth)) if weights is None else np.asarray(weights, float)
    sides = []
    for label, name in ((1, "positive"), (0, "negative")):
        rows = truth == label
        right = (predicted[rows] == label).astype(float)
        found = rate_interval(right, clusters[rows], weights[rows], confidence)
        if isinstance(found, Undefined):
            return Undefined(f"{name} labels: {found.why}")
        sides.append((float(np.average(right, weights=weights[rows])), found))
    (se, first), (sp, second) = sides
    value = (se + sp) / 2
    low = value - math.hypot(se - first.low, sp - second.low) / 2
    high = value + math.hypot(first.high - se, second.high - sp) / 2
    return Interval(low, high, "mover", min(first.clusters, second.clusters))


def clustered_interval(
    statistic: Statistic,
    clusters: Array,
    *arrays: Array,
    bounds: tuple[float, float] | None = None,
    confidence: float = 0.95,
    method: Literal["jackknife", "bootstrap"] = "jackknife",
    draws: int = 1000,
    seed: int = 0,
) -> Interval | Undefined:
    """Of any statistic of rows.

    ``jackknife``: each cluster is left out once; the spread gives a standard error, used with Student's t on the logit
    scale of the bounds. Its degrees of freedom fall where few clusters carry the statistic, such as the few that
    hold a positive label. ``bootstrap``: clusters are drawn with replacement, percentiles widened for their number.
    The jackknife is the default because it covers better (docs/coverage.md).

    Args:
        statistic: of ``arrays``. clusters: shape (n,). arrays: each with n rows along its first axis.
        bounds: that the statistic cannot leave. draws, seed: of the bootstrap.

    Returns:
        Undefined below five clusters, where the statistic is, where leaving out one cluster makes it so, and where it
        does not vary at all: then its precision cannot be told.

    References:
        Bell and McCaffrey (2002), Bias reduction in standard errors for linear regression with multi-stage samples
        (degrees of freedom of cluster-robust errors); Hesterberg (2015), What teachers should know about the
        bootstrap (expanded percentiles).
    """
    value = statistic(*arrays)
    place, count = _places(clusters, len(clusters))
    if isinstance(value, Undefined):
        return value
    if few := _too_few(count):
        return few
    if method == "bootstrap":
        return _bootstrap(statistic, place, count, arrays, bounds, confidence, draws, seed)
    left_out = _left_out(statistic, place, count, arrays, seed)
    if isinstance(left_out, Undefined):
        return left_out
    blocks = len(left_out)
    spread = left_out - left_out.mean()
    total = float((spread**2).sum())
    if total <= 1e-18 * max(1.0, value * value) * blocks:
        return Undefined("it is the same whichever cluster is left out, so its precision cannot be told")
    error = math.sqrt((blocks - 1) / blocks * total)
    reach = _t(confidence, _freedom(spread)) * error
    low, high = _within(value, reach, bounds)
    return Interval(low, high, "jackknife", count)


def _freedom(spread: Array) -> float:
    """Degrees of freedom of a jackknife: one less than the clusters where all weigh alike by a normal law, fewer where
    few clusters carry it."""
    fourth = float((spread**4).sum())
    most = len(spread) - 1.0
    return most if fourth == 0 else min(most, max(1.0, 3 * float((spread**2).sum()) ** 2 / fourth - 1))


def _within(value: float, reach: float, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """An interval of a half-width, bent so that it stays within the bounds."""
    if bounds is None:
        return value - reach, value + reach
    low, high = bounds
    room = (high - low) / ((value - low) * (high - value)) if low < value < high else math.inf
    if not math.isfinite(room):
        return max(low, value - reach), min(high, value + reach)
    middle = math.log((value - low) / (high - value))
    return low + (high - low) * _logistic(middle - reach * room), low + (high - low) * _logistic(middle + reach * room)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _left_out(
    statistic: Statistic, place: Array, count: int, arrays: tuple[Array, ...], seed: int
) -> Array | Undefined:
    """The statistic without each cluster, or without each of many blocks of clusters."""
    if count > _BLOCKS:
        block = np.random.default_rng(seed).permutation(count) % _BLOCKS
        place, count = block[place], _BLOCKS
    values = []
    for number in range(count):
        kept = place != number
        found = statistic(*(array[kept] for array in arrays))
        if isinstance(found, Undefined):
            return Undefined(f"it rests on a single cluster ({found.why} without it)")
        values.append(found)
    return np.array(values)


def _bootstrap(
    statistic: Statistic, place: Array, count: int, arrays: tuple[Array, ...], bounds: tuple[float, float] | None,
    confidence: float, draws: int, seed: int,
) -> Interval | Undefined:  # fmt: skip
    drawn = bootstrap_draws(statistic, place, count, arrays, draws, seed)
    known = drawn[~np.isnan(drawn)]
    undefined = len(drawn) - len(known)
    if undefined > _UNDEFINED_DRAWS * draws:
        return Undefined(f"it is undefined in {undefined} of {draws} bootstrap draws")
    if known.min() == known.max():
        return Undefined("it is the same in every bootstrap draw, so its precision cannot be told")
    tail = NormalDist().cdf(-math.sqrt(count / (count - 1)) * _t(confidence, count - 1))
    low, high = np.quantile(known, [tail, 1 - tail])
    return Interval(float(low), float(high), "bootstrap", count, undefined)


def bootstrap_draws(
    statistic: Statistic, place: Array, count: int, arrays: tuple[Array, ...], draws: int, seed: int
) -> Array:
    """The statistic over samples of clusters, drawn with replacement; nan where it is undefined.

    Args:
        place: number of each row's cluster, from 0 to ``count`` - 1.
    """
    order = np.argsort(place, kind="stable")
    members = np.split(order, np.searchsorted(place[order], np.arange(1, count)))
    random = np.random.default_rng(seed)
    values = np.empty(draws)
    for number in range(draws):
        rows = np.concatenate([members[index] for index in random.integers(0, count, count)])
        found = statistic(*(array[rows] for array in arrays))
        values[number] = math.nan if isinstance(found, Undefined) else found
    return values


def _places(clusters: Array, rows: int) -> tuple[Array, int]:
    labels = np.asarray(clusters)
    if labels.shape != (rows,):
        raise ValueError(f"clusters: expected {rows} labels, found shape {labels.shape}")
    names, place = np.unique(labels, return_inverse=True)
    return place, len(names)


def _too_few(count: int) -> Undefined | None:
    return Undefined(f"too few clusters: {count}, at least {LEAST} are needed") if count < LEAST else None


def _t(confidence: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))
