"""Figures of quality, as plain functions on arrays. ``label`` is 0 or 1, ``value`` higher for more harm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import rankdata


def auc(label: np.ndarray, value: np.ndarray) -> float:
    """The share of pairs of one harmful and one harmless row in which the harmful one is higher; nan without pairs."""
    positives = int(label.sum())
    negatives = len(label) - positives
    if not positives or not negatives:
        return math.nan
    return float((rankdata(value)[label == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def criterion(label: np.ndarray, value: np.ndarray, answers: np.ndarray) -> float:
    """What configurations are compared by: the mean of AUC over all rows and AUC over replies to a user.

    Texts without a user message are no conversations, and judging conversations is the purpose.

    Args:
        answers: which rows have a user message.
    """
    return (auc(label, value) + auc(label[answers], value[answers])) / 2


def draws(group: np.ndarray, count: int, seed: int) -> list[np.ndarray]:
    """Bootstrap samples of rows, drawn by whole groups."""
    random = np.random.default_rng(seed)
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    return [np.concatenate([members[i] for i in random.integers(0, len(members), len(members))]) for _ in range(count)]


def interval(
    figure: Callable[..., float], group: np.ndarray, *arrays: np.ndarray, count: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The middle 95% of a figure over bootstrap samples of groups; samples where there is none are left out."""
    values = [figure(*(array[draw] for array in arrays)) for draw in draws(group, count, seed)]
    low, high = np.nanpercentile(values, [2.5, 97.5]) if np.isfinite(values).any() else (math.nan, math.nan)
    return float(low), float(high)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95% Wilson interval of a share."""
    if not of:
        return math.nan, math.nan
    z = 1.959964
    share = hits / of
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return centre - half, centre + half


def brier(label: np.ndarray, probability: np.ndarray) -> float:
    """Mean squared difference."""
    return float(np.mean((probability - label) ** 2))


def calibration_error(label: np.ndarray, probability: np.ndarray, bins: int = 5) -> float:
    """Expected calibration error over bins of equal width."""
    place = np.minimum((probability * bins).astype(int), bins - 1)
    return float(sum(abs(probability[place == b].sum() - label[place == b].sum()) for b in range(bins)) / len(label))


def youden_cut(label: np.ndarray, probability: np.ndarray) -> float:
    """The probability from which on sensitivity + specificity is highest; midway to the next lower one."""
    values = np.unique(probability)
    index = [np.mean(probability[label == 1] >= cut) - np.mean(probability[label == 0] >= cut) for cut in values]
    best = int(np.argmax(index))
    return float((values[best] + values[max(best - 1, 0)]) / 2)


def platt(label: np.ndarray, value: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic curve through values."""
    from sklearn.linear_model import LogisticRegression

    fitted: Any = LogisticRegression(C=1e3).fit(value[:, None], label)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
