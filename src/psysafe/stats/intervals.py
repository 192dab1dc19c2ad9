"""Intervals for rates."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval for a proportion.

    Args:
        successes: 0 to n. n: independent trials. confidence: between 0 and 1.

    Returns:
        lower and upper bound, or None for n = 0, where nothing is known.

    References:
        Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22.
    """
    if n == 0:
        return None
    if not 0 <= successes <= n:
        raise ValueError(f"expected 0 <= successes <= n, found {successes} of {n}")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / n
    spread = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    middle = rate + z * z / (2 * n)
    scale = 1 + z * z / n
    # At the ends the bound is exact; floating point would miss it by a hair.
    low = 0.0 if successes == 0 else (middle - spread) / scale
    high = 1.0 if successes == n else (middle + spread) / scale
    return low, high
