"""Two systems on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.stats.clustered import Interval, Statistic, bootstrap_draws, clustered_interval
from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class McNemar:
    """The result of McNemar's test.

    Attributes:
        first, second: rows on which only the first, only the second system says 1. p_value: two-sided, exact.
    """

    first: int
    second: int
    p_value: float


def mcnemar(first: Array, second: Array) -> McNemar | Undefined:
    """Whether two systems say 1 equally often: the exact binomial test on the rows where they differ.

    It takes rows as independent; with several rows of a cluster use ``paired_difference``.

    Args:
        first, second: shape (n,), 0 or 1: verdicts, or whether each is right.

    References:
        McNemar (1947), Note on the sampling error of the difference between correlated proportions, Psychometrika 12.
    """
    from scipy.stats import binomtest

    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
        raise ValueError(f"expected two rows of one length, found {first.shape} and {second.shape}")
    one, other = int(((first == 1) & (second == 0)).sum()), int(((first == 0) & (second == 1)).sum())
    if not one + other:
        return Undefined("the two never differ")
    return McNemar(one, other, float(binomtest(one, one + other).pvalue))


@dataclass(frozen=True, slots=True)
class Difference:
    """A statistic of the second system less that of the first.

    Attributes:
        p_value: two-sided, that of equal systems; Undefined where there is none.
    """

    value: Figure
    interval: Interval | Undefined
    p_value: Figure


def paired_difference(
    statistic: Statistic,
    clusters: Array,
    first: Array,
    second: Array,
    *shared: Array,
    bounds: tuple[float, float] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> Difference:
    """How two systems differ: the interval leaves out clusters, the test exchanges the systems within clusters.

    Were the systems alike, exchanging them in any cluster would change nothing; the p-value is the share of random
    exchanges that give at least the difference that was seen.

    Args:
        statistic: of ``(*shared, one system)``. first, second: shape (n,), of the systems. shared: such as the truth.
        bounds: of the difference.

    References:
        Good (2005), Permutation, parametric and bootstrap tests of hypotheses, 3rd ed.
    """
    clusters = np.asarray(clusters)
    first, second = np.asarray(first), np.asarray(second)
    difference = _difference(statistic)
    value = difference(first, second, *shared)
    if isinstance(value, Undefined):
        return Difference(value, value, value)
    interval = clustered_interval(difference, clusters, first, second, *shared, bounds=bounds)
    names, place = np.unique(clusters, return_inverse=True)
    if np.array_equal(first, second):
        return Difference(value, interval, Undefined("the two never differ"))
    random = np.random.default_rng(seed)
    extreme = 0
    for _ in range(draws):
        swapped = random.integers(0, 2, len(names))[place] == 1
        found = difference(np.where(swapped, second, first), np.where(swapped, first, second), *shared)
        extreme += isinstance(found, Undefined) or abs(found) >= abs(value) - 1e-12
    return Difference(value, interval, (extreme + 1) / (draws + 1))


def paired_bootstrap(
    statistic: Statistic,
    clusters: Array,
    first: Array,
    second: Array,
    *shared: Array,
    draws: int = 2000,
    seed: int = 0,
) -> Difference:
    """As ``paired_difference``, by drawing clusters with replacement; the p-value is twice the smaller share of draws
    on one side of 0.

    References:
        Efron and Tibshirani (1993), An introduction to the bootstrap, chapter 15.
    """
    difference = _difference(statistic)
    first, second = np.asarray(first), np.asarray(second)
    arrays = (first, second, *(np.asarray(one) for one in shared))
    value = difference(*arrays)
    if isinstance(value, Undefined):
        return Difference(value, value, value)
    interval = clustered_interval(difference, clusters, *arrays, method="bootstrap", draws=draws, seed=seed)
    if isinstance(interval, Undefined):
        return Difference(value, interval, interval)
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    drawn = bootstrap_draws(difference, place, len(names), arrays, draws, seed)
    known = drawn[~np.isnan(drawn)]
    below, above = int((known <= 0).sum()), int((known >= 0).sum())
    return Difference(value, interval, min(1.0, 2 * (min(below, above) + 1) / (len(known) + 1)))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for being several, so that the chance of any false one stays below the level.

    References:
        Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6.
    """
    given = np.asarray(p_values, float)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("p_values: expected numbers from 0 to 1")
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * (len(given) - np.arange(len(given))))
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


def _difference(statistic: Statistic) -> Statistic:
    def between(first: Array, second: Array, *shared: Array) -> Figure:
        one, other = statistic(*shared, first), statistic(*shared, second)
        if isinstance(one, Undefined):
            return one
        return other if isinstance(other, Undefined) else other - one

    return between
