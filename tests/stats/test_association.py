"""Correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.stats.association import pearson, spearman
from psysafe.stats.undefined import Undefined

stats = pytest.importorskip("scipy.stats", reason="needs the extra stats")

Array = np.ndarray[Any, Any]
# the machine may be busy
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BOTH = [pearson, spearman]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Array, Array]:
    """Two sides, neither constant, with ties."""
    n = draw(st.integers(3, 30))
    side = st.lists(st.integers(-4, 4), min_size=n, max_size=n).filter(lambda values: len(set(values)) > 1)
    return np.array(draw(side)) / 2, np.array(draw(side)) / 2


def test_published_example_without_ties() -> None:
    # Anscombe (1973), Graphs in statistical analysis, American Statistician 27: .816 for the first of four sets.
    x = np.array([10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5])
    y = np.array([8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68])
    assert pearson(x, y) == pytest.approx(0.816, abs=5e-4)


def test_ties_share_their_mean_rank() -> None:
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: by hand 4.5 / sqrt(4.5 * 5).
    assert spearman(np.array([0, 1, 1, 2]), np.array([1, 2, 3, 4])) == pytest.approx(4.5 / np.sqrt(4.5 * 5))


@unhurried
@given(pairs())
def test_equals_scipy(of: tuple[Array, Array]) -> None:
    assert pearson(*of) == pytest.approx(stats.pearsonr(*of).statistic, abs=1e-12)
    assert spearman(*of) == pytest.approx(stats.spearmanr(*of).statistic, abs=1e-12)


@pytest.mark.parametrize("figure", BOTH)
@unhurried
@given(of=pairs(), random=st.randoms(use_true_random=False))
def test_order_of_rows_and_of_sides_does_not_matter(
    figure: Callable[..., Any], of: tuple[Array, Array], random: Any
) -> None:
    x, y = of
    order = list(range(len(x)))
    random.shuffle(order)
    assert figure(x[order], y[order]) == pytest.approx(figure(x, y), abs=1e-12)
    assert figure(y, x) == pytest.approx(figure(x, y), abs=1e-12)
    assert figure(x, -y) == pytest.approx(-figure(x, y), abs=1e-12)


@unhurried
@given(pairs())
def test_ranks_alone_count_for_spearman(of: tuple[Array, Array]) -> None:
    x, y = of
    assert spearman(np.exp(x), y**3) == pytest.approx(spearman(x, y), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_size_does_not_matter(scale: float) -> None:
    x, y = np.array([1.0, 2, 4, 3]), np.array([2.0, 1, 5, 5])
    assert pearson(scale * x, y) == pytest.approx(pearson(x, y))
    assert pearson(x, scale * y) == pytest.approx(pearson(x, y))


@pytest.mark.parametrize("figure", BOTH)
def test_perfect_association_is_exactly_one(figure: Callable[..., Any]) -> None:
    x = np.array([0.1, 0.2, 0.4, 0.7])
    assert figure(x, 3 * x + 1) == pytest.approx(1)
    assert -1 <= figure(x, -7 * x) <= figure(x, 3 * x) <= 1


# -- degenerate --


@pytest.mark.parametrize("figure", BOTH)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_below_three_rows_it_is_undefined(figure: Callable[..., Any], n: int) -> None:
    assert figure(np.arange(n), np.arange(n)) == Undefined(f"rows: {n}; at least 3 are needed")


@pytest.mark.parametrize("figure", BOTH)
def test_a_constant_side_is_undefined(figure: Callable[..., Any]) -> None:
    some, same = np.array([0.0, 1, 2]), np.full(3, 0.1)
    assert figure(same, some) == Undefined("the first side is constant")
    assert figure(some, same) == Undefined("the second side is constant")
    assert figure(same, same) == Undefined("the first side is constant")


# -- wrong use --


@pytest.mark.parametrize("figure", BOTH)
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2, 3], [1, 2], r"expected two rows of one length, found \(3,\) and \(2,\)"),
        ([[1, 2, 3]], [[1, 2, 3]], "expected two rows of one length"),
        ([1, 2, np.nan], [1, 2, 3], "expected finite numbers; leave out rows without one"),
        ([1, 2, 3], [1, 2, np.inf], "expected finite numbers; leave out rows without one"),
    ],
)
def test_wrong_use_is_refused(figure: Callable[..., Any], x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(np.array(x), np.array(y))
