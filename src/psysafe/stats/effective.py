"""What a share estimated from clusters and weights is worth in independent units, and its interval by that number."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def korn_graubard(rate: float, effective: float, df: float, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval for a share that is worth so many independent trials.

    Args:
        rate: 0 to 1. effective: a positive number of trials. df: degrees of freedom of what it was estimated with; few
            of them make trials fewer.

    References:
        Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data, Survey Methodology 24.
    """
    from scipy.stats import beta, norm, t

    upper = (1 + confidence) / 2
    trials = effective * float(norm.ppf(upper) / t.ppf(upper, df)) ** 2
    x, rest = trials * rate, trials * (1 - rate)
    low = float(beta.ppf(1 - upper, x, rest + 1)) if rate > 0 else 0.0
    return low, float(beta.ppf(upper, x + 1, rest)) if rate < 1 else 1.0


def effective_clusters(clusters: Array, weights: Array) -> float:
    """How many clusters of equal size these are worth (Kish). clusters: numbers from 0, shape (n,), as weights."""
    size = np.bincount(clusters, weights)
    return float(size.sum() ** 2 / (size**2).sum())


def degrees_of_freedom(clusters: Array, weights: Array) -> float:
    """What a rate's standard error over clusters is worth: their effective number less 2, at least 1.

    Less 2, where less 1 is common: with rare harm and few clusters, a rate that is too low comes with a standard error
    that is too small (measured, docs/coverage.md). At 30 clusters that
    is about 1% of the width.
    """
    return max(1.0, effective_clusters(clusters, weights) - 2)


def assumed_number(clusters: Array, weights: Array, icc: float = 0.2) -> float:
    """How many independent units these are worth where all are equal, so that nothing tells how alike clusters are.

    By Kish's design effects for weights and for clusters, with an assumed intraclass correlation.
    """
    a = weights / weights.sum()
    size = np.bincount(clusters, a)
    return 1 / float((1 - icc) * (a**2).sum() + icc * (size**2).sum())
