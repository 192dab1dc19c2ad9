"""Labels and verdicts in clusters, with known truth, for simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

ICC = 0.1
"""Correlation of the truth within clusters."""
SENSITIVITY, SPECIFICITY = 0.8, 0.85
_SPREAD = 9.0  # of a judge's error rates over clusters: a beta law of this many pseudo-counts


@dataclass(frozen=True, slots=True)
class Data:
    """Rows with their truth, the verdicts of two judges whose errors go together, and a score.

    Attributes:
        clusters, truth, first, second: shape (n,), integers. score: shape (n,), of the first judge.
    """

    clusters: Array
    truth: Array
    first: Array
    second: Array
    score: Array


def draw(random: np.random.Generator, n: int, clusters: int, prevalence: float) -> Data:
    """``n`` rows in clusters of unequal size, each with at least one row."""
    sizes = random.multinomial(n - clusters, random.dirichlet(np.full(clusters, 3.0))) + 1
    cluster = np.repeat(np.arange(clusters), sizes)
    counts = (1 - ICC) / ICC
    harm = random.beta(prevalence * counts, (1 - prevalence) * counts, clusters)
    truth = (random.random(n) < harm[cluster]).astype(int)
    se = random.beta(SENSITIVITY * _SPREAD, (1 - SENSITIVITY) * _SPREAD, clusters)
    fp = random.beta((1 - SPECIFICITY) * _SPREAD, SPECIFICITY * _SPREAD, clusters)
    chance = np.where(truth == 1, se[cluster], fp[cluster])
    first = (random.random(n) < chance).astype(int)
    # The second judge says the same of two thirds of the rows, and is as good on the others.
    second = np.where(random.random(n) < 2 / 3, first, (random.random(n) < chance).astype(int))
    return Data(cluster, truth, first, second, first + random.normal(0, 0.7, n))
