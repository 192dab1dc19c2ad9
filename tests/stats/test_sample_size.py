"""How many labels it takes: against worked examples, and by putting the answer in again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psysafe.stats import wilson
from psysafe.stats.sample_size import (
    design_effect,
    labels_for_rate,
    labels_for_sensitivity,
    pairs_for_difference,
    pairs_for_non_inferiority,
)


@pytest.mark.parametrize(("rate", "half"), [(0.5, 0.05), (0.1, 0.03), (0.05, 0.02), (0.0, 0.02), (0.8, 0.1)])
def test_wilsons_interval_of_so_many_labels_is_so_wide(rate: float, half: float) -> None:
    """Wilson's half width is taken at the expected share, as if counts were no whole numbers."""
    n = labels_for_rate(rate, half)
    z = 1.959964

    def width(count: int) -> float:
        return z / (1 + z * z / count) * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))

    assert width(n) <= half < width(n - 1)


def test_it_is_close_to_the_textbook_for_a_half() -> None:
    """Wald's 384 for .5 give or take .05; Wilson's is a little narrower there."""
    assert 378 <= labels_for_rate(0.5, 0.05) <= 385
    bounds = wilson(190, 380)
    assert bounds is not None
    assert (bounds[1] - bounds[0]) / 2 == pytest.approx(0.05, abs=0.001)


def test_clusters_cost_labels() -> None:
    assert design_effect(1, 0.9) == 1
    assert design_effect(11, 0.1) == pytest.approx(2)
    assert labels_for_rate(0.5, 0.05, effect=2) == pytest.approx(2 * labels_for_rate(0.5, 0.05), abs=1)


def test_rare_harm_takes_many_labels_to_know_the_sensitivity() -> None:
    """Buderer (1996): the positives that are needed, over the prevalence."""
    positives = labels_for_rate(0.9, 0.05)
    assert labels_for_sensitivity(0.9, 0.1, 0.05) == math.ceil(positives / 0.1)
    assert labels_for_sensitivity(0.9, 1.0, 0.05) == positives


def test_pairs_for_mcnemar_by_hand() -> None:
    """Connor (1987): a fifth discordant, a tenth between the shares: (1.96 sqrt(.2) + .8416 sqrt(.19))^2 / .01."""
    assert pairs_for_difference(0.2, 0.1) == math.ceil((1.959964 * 0.2**0.5 + 0.841621 * 0.19**0.5) ** 2 / 0.01)


def test_so_many_pairs_have_the_power_that_they_should() -> None:
    n = pairs_for_difference(0.2, 0.1, power=0.8)
    random = np.random.default_rng(0)
    rejected = 0
    for _ in range(2000):
        one, other, _ = random.multinomial(n, [0.15, 0.05, 0.8])
        # the asymptotic test that the formula is for
        rejected += one + other > 0 and abs(one - other) / math.sqrt(one + other) > 1.959964
    assert rejected / 2000 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("prevalence", [0.1, 0.5])
def test_non_inferiority_has_the_power_that_it_should(prevalence: float) -> None:
    n = pairs_for_non_inferiority(0.1, prevalence, margin=0.05, power=0.8)
    positives = round(n * prevalence)
    random = np.random.default_rng(0)
    shown = 0
    for _ in range(2000):
        difference = variance = 0.0
        for rows in (positives, n - positives):
            one, other, _ = random.multinomial(rows, [0.05, 0.05, 0.9])
            share = (one - other) / rows
            difference += share / 2
            variance += ((one + other) / rows - share**2) / rows / 4
        shown += difference - 1.959964 * math.sqrt(variance) > -0.05
    assert shown / 2000 == pytest.approx(0.8, abs=0.04)


def test_more_power_and_smaller_differences_take_more() -> None:
    assert pairs_for_difference(0.2, 0.05) > pairs_for_difference(0.2, 0.1)
    assert pairs_for_difference(0.2, 0.1, power=0.9) > pairs_for_difference(0.2, 0.1)
    assert pairs_for_non_inferiority(0.3, 0.5) > pairs_for_non_inferiority(0.1, 0.5)
    assert pairs_for_non_inferiority(0.1, 0.05) > pairs_for_non_inferiority(0.1, 0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: labels_for_rate(1.2, 0.05),
        lambda: labels_for_rate(0.5, 0),
        lambda: labels_for_sensitivity(0.9, 0, 0.05),
        lambda: design_effect(0.5, 0.1),
        lambda: pairs_for_difference(0.1, 0.2),
        lambda: pairs_for_non_inferiority(0, 0.05),
        lambda: pairs_for_non_inferiority(0.1, 0),
    ],
)
def test_impossible_wishes_are_refused(call: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        call()  # type: ignore[operator]
