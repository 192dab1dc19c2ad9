"""Agreement of raters beyond chance, with missing ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]
Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["linear", "quadratic"]

NO_ROWS = Undefined("no rows")
NO_PAIRS = Undefined("no unit has two ratings")


def raw_agreement(a: Array, b: Array) -> Figure:
    """The share of rows on which two raters say the same.

    Args:
        a, b: shape (n,), nothing missing.

    Raises:
        ValueError: lengths differ, a rating is missing or infinite.
    """
    a, b = _two(a, b)
    return float(np.mean(a == b)) if len(a) else NO_ROWS


def cohen_kappa(a: Array, b: Array, levels: Sequence[float], weights: Weights | None = None) -> Figure:
    """Cohen's kappa of two raters.

    Args:
        a, b: shape (n,), each value one of ``levels``. levels: all possible values, ascending; with weights the
            distance of two is that of their places.
        weights: how disagreement grows with distance; None counts every disagreement alike.

    Returns:
        1 for full agreement, 0 for as much as by chance, negative for less. Undefined without rows, and where both
        raters say one and the same of every row: chance alone then agrees fully.

    Raises:
        ValueError: lengths differ, a rating is missing or none of the levels, levels do not ascend, unknown weights.

    References:
        Cohen (1960), A coefficient of agreement for nominal scales, Educ. Psychol. Meas. 20. Cohen (1968), Weighted
        kappa, Psychol. Bull. 70.
    """
    a, b = _two(a, b)
    if weights not in (None, *get_args(Weights)):
        raise ValueError(f"weights {weights!r}: expected None, linear or quadratic")
    _check_levels(levels)
    if not len(a):
        return NO_ROWS
    k = len(levels)
    table = np.bincount(_places(a, levels) * k + _places(b, levels), minlength=k * k).reshape(k, k) / len(a)
    distance = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float)
    cost = (distance > 0).astype(float) if weights is None else distance if weights == "linear" else distance**2
    expected = float((cost * np.outer(table.sum(axis=1), table.sum(axis=0))).sum())
    if expected == 0:
        return Undefined("both sides say one and the same of every row, so chance alone agrees fully")
    return 1 - float((cost * table).sum()) / expected


def mean_raw_agreement(ratings: Array) -> Figure:
    """The mean over units of the share of pairs of raters that agree (the observed agreement of Fleiss' kappa).

    Every unit with at least two ratings counts alike, however many it has; units with fewer hold no pair.

    Args:
        ratings: raters x units, nan where missing.

    Raises:
        ValueError: not a matrix, a rating is infinite.

    References:
        Fleiss (1971), Measuring nominal scale agreement among many raters, Psychol. Bull. 76.
    """
    matrix, m = _pairable(_matrix(ratings))
    if not len(m):
        return NO_PAIRS
    counts, _ = _counts(matrix)
    return float(np.mean((counts * (counts - 1)).sum(axis=0) / (m * (m - 1))))


def krippendorff_alpha(ratings: Array, level: Level = "nominal") -> Figure:
    """Krippendorff's alpha: 1 - observed / expected disagreement of pairs of ratings, of those units that hold a pair.

    Args:
        ratings: raters x units, nan where missing. level: of measurement. For ordinal the order of the values that
            occur counts, for interval their differences.

    Returns:
        1 for full agreement, 0 for as much as by chance, negative for less. Undefined below two units with two
        ratings, and where all their ratings are equal: then nothing can be told from chance.

    Raises:
        ValueError: not a matrix, a rating is infinite, an unknown level.

    References:
        Krippendorff (2011), Computing Krippendorff's alpha-reliability. Krippendorff (2019), Content analysis, ch. 12.
    """
    if level not in get_args(Level):
        raise ValueError(f"level {level!r}: expected nominal, ordinal or interval")
    matrix, m = _pairable(_matrix(ratings))
    if len(m) < 2:
        return Undefined(f"units with two ratings: {len(m)}; at least two are needed")
    counts, values = _counts(matrix)
    if len(values) < 2:
        return Undefined("all ratings are equal, so agreement cannot be told from chance")
    total = counts.sum(axis=1)
    n = total.sum()
    # Own code, since the package krippendorff takes time and memory that grow with the square of the number of values:
    # of 400 units, 21 values take it 30 times as long as 2, and 100 take 250 times, which a bootstrap cannot wait for.
    # Tests hold this against it. Disagreement is summed over ordered pairs: of different values, or the squared
    # distances of places on a line, which are 2 m times those from the mean.
    if level == "nominal":
        within = m**2 - (counts**2).sum(axis=0)
        over = n**2 - (total**2).sum()
    else:
        # The distance of two ordinal values is the number of ratings from the middle of one to the middle of the other.
        place = np.cumsum(total) - total / 2 if level == "ordinal" else (values - values[0]) / np.ptp(values)
        within = 2 * m * (counts * (place[:, None] - place @ counts / m) ** 2).sum(axis=0)
        over = 2 * n * (total * (place - place @ total / n) ** 2).sum()
    return float(1 - (n - 1) * (within / (m - 1)).sum() / over)


def gwet_ac1(ratings: Array, levels: Sequence[float]) -> Figure:
    """Gwet's AC1: agreement beyond chance that stays meaningful where nearly all ratings are equal.

    Args:
        ratings: raters x units, nan where missing. levels: all possible values, ascending; at least two.

    Returns:
        1 for full agreement, 0 for as much as by chance, negative for less. Undefined where no unit has two ratings.
        Never undefined for raters that always say the same, since chance agreement is at most one half.

    Raises:
        ValueError: not a matrix, a rating is none of the levels, levels do not ascend.

    References:
        Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement, Br. J. Math.
        Stat. Psychol. 61; with missing ratings as in Gwet (2014), Handbook of inter-rater reliability.
    """
    _check_levels(levels)
    if len(levels) < 2:
        raise ValueError("levels: expected at least two")
    matrix = _matrix(ratings)
    _places(matrix[~np.isnan(matrix)], levels)
    observed = mean_raw_agreement(matrix)
    if isinstance(observed, Undefined):
        return observed
    rated = (~np.isnan(matrix)).sum(axis=0)
    # Of every unit with a rating, also those with one alone, the share of each value.
    shares = np.stack([(matrix == value).sum(axis=0)[rated > 0] / rated[rated > 0] for value in levels])
    mean = shares.mean(axis=1)
    chance = float((mean * (1 - mean)).sum() / (len(levels) - 1))
    return float((observed - chance) / (1 - chance))


def _matrix(ratings: Array) -> Array:
    matrix = np.asarray(ratings, float)
    if matrix.ndim != 2:
        raise ValueError(f"ratings: expected raters x units, found shape {matrix.shape}")
    if np.isinf(matrix).any():
        raise ValueError("ratings: expected finite numbers, nan where missing")
    return matrix


def _pairable(matrix: Array) -> tuple[Array, Array]:
    """Those units that have at least two ratings, and how many each has."""
    rated = (~np.isnan(matrix)).sum(axis=0)
    return matrix[:, rated > 1], rated[rated > 1]


def _counts(matrix: Array) -> tuple[Array, Array]:
    """Values x units: how many raters gave each value. And the values, ascending."""
    known = ~np.isnan(matrix)
    values, place = np.unique(matrix[known], return_inverse=True)
    units = matrix.shape[1]
    counts = np.bincount(place * units + np.nonzero(known)[1], minlength=len(values) * units)
    return counts.reshape(len(values), units), values


def _two(a: Array, b: Array) -> tuple[Array, Array]:
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"expected two rows of one length, found {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("expected finite ratings, none missing; leave out rows that lack one")
    return a, b


def _check_levels(levels: Sequence[float]) -> None:
    if not len(levels) or not (np.diff(np.asarray(levels, float)) > 0).all():
        raise ValueError(f"levels {list(levels)}: expected all possible values, each once, ascending")


def _places(values: Array, levels: Sequence[float]) -> Array:
    order = np.asarray(levels, float)
    place = np.minimum(np.searchsorted(order, values), len(order) - 1)
    if (strange := order[place] != values).any():
        raise ValueError(f"a rating is {values[strange][0]:g}, none of the levels {list(levels)}")
    return place
