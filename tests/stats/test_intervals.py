"""Intervals for rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.stats import wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe (1998), Two-sided confidence intervals for the single proportion, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_examples(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_nothing_is_known_without_trials() -> None:
    assert wilson(0, 0) is None


@given(st.integers(1, 10_000), st.data())
def test_an_interval_holds_the_rate_and_stays_within_zero_and_one(n: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    interval = wilson(successes, n)
    assert interval is not None
    low, high = interval
    assert 0 <= low <= successes / n <= high <= 1
    mirrored = wilson(n - successes, n)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)
