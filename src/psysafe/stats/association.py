"""How two rows of numbers go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]
LEAST = 3


def pearson(x: Array, y: Array) -> Figure:
    """Pearson's correlation, -1 to 1.

    Args:
        x, y: shape (n,), finite.

    Returns:
        Undefined below three rows, and where one side is constant.

    Raises:
        ValueError: lengths differ, a number is missing or infinite.

    References:
        Pearson (1896), Regression, heredity and panmixia, Phil. Trans. R. Soc. A 187.
    """
    x, y = _two(x, y)
    return _undefined(x, y) or _correlation(x, y)


def spearman(x: Array, y: Array) -> Figure:
    """Spearman's rank correlation, -1 to 1; ties share their mean rank. Otherwise as ``pearson``.

    References:
        Spearman (1904), The proof and measurement of association between two things, Am. J. Psychol. 15.
    """
    x, y = _two(x, y)
    if why := _undefined(x, y):
        return why
    from scipy.stats import rankdata

    return _correlation(rankdata(x), rankdata(y))


def _two(x: Array, y: Array) -> tuple[Array, Array]:
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"expected two rows of one length, found {x.shape} and {y.shape}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("expected finite numbers; leave out rows without one")
    return x, y


def _undefined(x: Array, y: Array) -> Undefined | None:
    if len(x) < LEAST:
        return Undefined(f"rows: {len(x)}; at least {LEAST} are needed")
    for side, name in ((x, "first"), (y, "second")):
        if side.min() == side.max():
            return Undefined(f"the {name} side is constant")
    return None


def _correlation(x: Array, y: Array) -> float:
    # Scaled first, so that squares of very small or large numbers stay numbers.
    a, b = x / np.abs(x).max(), y / np.abs(y).max()
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b)), -1, 1))
