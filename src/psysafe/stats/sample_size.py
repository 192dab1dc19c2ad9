"""How many labels it takes."""

from __future__ import annotations

import math
from statistics import NormalDist

_Z = NormalDist().inv_cdf


def design_effect(size: float, correlation: float) -> float:
    """By what factor clusters make a sample worth less.

    Args:
        size: mean rows of a cluster, at least 1. correlation: within clusters, 0 to 1.

    References:
        Kish (1965), Survey sampling.
    """
    if size < 1 or not 0 <= correlation <= 1:
        raise ValueError("expected a size of at least 1 and a correlation from 0 to 1")
    return 1 + (size - 1) * correlation


def labels_for_rate(rate: float, half_width: float, effect: float = 1.0, confidence: float = 0.95) -> int:
    """Labels for an interval of a rate that reaches so far to both sides (Wilson's, at the expected rate).

    Args:
        rate: as expected, 0 to 1. half_width: such as .05. effect: see ``design_effect``.

    References:
        Piegorsch (2004), Sample sizes for improved binomial confidence intervals, Comput. Stat. Data Anal. 46.
    """
    if not 0 <= rate <= 1 or not 0 < half_width < 0.5:
        raise ValueError("expected a rate from 0 to 1 and a half width above 0 and below .5")
    z2 = _Z((1 + confidence) / 2) ** 2
    spread = rate * (1 - rate)
    # Wilson's half width is d where n^2 4 d^2 + n (8 z2 d^2 - 4 z2 pq) + z2^2 (4 d^2 - 1) = 0 (d: the half width).
    d2 = half_width**2
    a, b, c = 4 * d2, 4 * z2 * (2 * d2 - spread), z2 * z2 * (4 * d2 - 1)
    return math.ceil(effect * (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a) - 1e-9)


def labels_for_sensitivity(
    sensitivity: float, prevalence: float, half_width: float, effect: float = 1.0, confidence: float = 0.95
) -> int:
    """Labels of which enough are positive to know the sensitivity within a half width.

    For the specificity give its value and 1 - prevalence.

    References:
        Buderer (1996), Statistical methodology: I. Incorporating the prevalence of disease into the sample size
        calculation for sensitivity and specificity, Acad. Emerg. Med. 3.
    """
    if not 0 < prevalence <= 1:
        raise ValueError("prevalence: expected above 0, at most 1")
    return math.ceil(labels_for_rate(sensitivity, half_width, effect, confidence) / prevalence)


def pairs_for_difference(
    discordant: float, difference: float, power: float = 0.8, significance: float = 0.05, effect: float = 1.0
) -> int:
    """Rows that two systems must judge for McNemar's test to see a difference of their shares.

    Args:
        discordant: share of rows on which they differ. difference: of their shares, at most ``discordant``.

    References:
        Connor (1987), Sample size for testing differences in proportions for the paired-sample design, Biometrics 43.
    """
    if not 0 < abs(difference) <= discordant <= 1:
        raise ValueError("expected 0 < difference <= discordant <= 1")
    a, b = _Z(1 - significance / 2), _Z(power)
    needed = (a * math.sqrt(discordant) + b * math.sqrt(discordant - difference**2)) ** 2 / difference**2
    return math.ceil(effect * needed)


def pairs_for_non_inferiority(
    discordant: float,
    prevalence: float,
    margin: float = 0.05,
    power: float = 0.8,
    significance: float = 0.025,
    effect: float = 1.0,
) -> int:
    """Rows that show the balanced accuracy of a system to be less than ``margin`` worse than that of an equal one.

    The difference of balanced accuracies is half that of the sensitivities and half that of the specificities; its
    variance is discordant / 4 (1 / harmful rows + 1 / harmless rows).

    Args:
        discordant: share of rows on which the two differ, in both classes alike. prevalence: share of harmful rows.
        margin: of balanced accuracy. significance: one-sided.

    References:
        Liu et al. (2002), Tests for equivalence or non-inferiority for paired binary data, Stat. Med. 21.
    """
    if not 0 < discordant <= 1 or not 0 < margin < 1 or not 0 < prevalence < 1:
        raise ValueError("expected discordant above 0, at most 1, and prevalence and margin between 0 and 1")
    a_row = discordant / 4 * (1 / prevalence + 1 / (1 - prevalence))
    return math.ceil(effect * a_row * ((_Z(1 - significance) + _Z(power)) / margin) ** 2)
