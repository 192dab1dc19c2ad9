"""Two systems on the same rows: against statsmodels and scipy, worked examples, and where nothing can be said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from psysafe.stats.classification import balanced_accuracy
from psysafe.stats.clustered import Interval
from psysafe.stats.comparison import McNemar, holm, mcnemar, paired_bootstrap, paired_difference
from psysafe.stats.undefined import Figure, Undefined


def mean(values: np.ndarray) -> Figure:
    return float(np.mean(values))


def test_mcnemar_is_the_exact_test_of_statsmodels() -> None:
    random = np.random.default_rng(1)
    first, second = random.integers(0, 2, 80), (random.random(80) < 0.65).astype(int)
    table = [[np.sum((first == a) & (second == b)) for b in (1, 0)] for a in (1, 0)]
    found = mcnemar(first, second)
    assert isinstance(found, McNemar)
    assert found.p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)
    assert (found.first, found.second) == (table[0][1], table[1][0])


def test_mcnemar_by_hand() -> None:
    """Six rows for one side and none for the other: twice 1/64."""
    first, second = np.array([1] * 6 + [0] * 4), np.array([0] * 10)
    found = mcnemar(first, second)
    assert found == McNemar(6, 0, pytest.approx(2 / 64))


def test_systems_that_never_differ_cannot_be_told_apart() -> None:
    same = np.array([0, 1] * 20)
    assert mcnemar(same, same) == Undefined("the two never differ")
    found = paired_difference(mean, np.arange(40), same, same)
    assert found.value == 0.0
    assert found.p_value == Undefined("the two never differ")
    assert isinstance(found.interval, Undefined)


def test_mcnemar_wants_rows_of_one_length() -> None:
    with pytest.raises(ValueError, match="one length"):
        mcnemar(np.zeros(3), np.zeros(4))


def test_exchanging_systems_is_the_paired_permutation_test_of_scipy() -> None:
    random = np.random.default_rng(2)
    first = random.normal(size=14)
    second = first + random.normal(0.4, 0.6, 14)
    found = paired_difference(mean, np.arange(14), first, second, draws=20_000)
    expected = permutation_test(
        (second, first), lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis), permutation_type="samples",
        n_resamples=np.inf, vectorized=True,
    )  # fmt: skip
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.01)


def test_a_cluster_is_exchanged_as_a_whole() -> None:
    """Forty rows of five conversations are five pairs: the smallest p-value is 2 / 32, however many rows there are."""
    first, second = np.zeros(40), np.ones(40)
    found = paired_difference(mean, np.repeat(np.arange(5), 8), first, second, draws=5000)
    assert found.value == 1.0
    assert found.p_value == pytest.approx(2 / 32, abs=0.012)
    alone = paired_difference(mean, np.arange(40), first, second, draws=5000)
    assert isinstance(alone.p_value, float)
    assert alone.p_value < 0.001


def test_a_difference_is_the_second_less_the_first() -> None:
    truth = np.tile([1, 1, 0, 0], 25)
    first, second = np.where(np.arange(100) % 5 == 0, 1 - truth, truth), truth
    found = paired_difference(balanced_accuracy, np.arange(100), first, second, truth, bounds=(-1, 1))
    assert found.value == pytest.approx(0.2)
    assert isinstance(found.interval, Interval)
    assert 0 < found.interval.low < 0.2 < found.interval.high
    assert isinstance(found.p_value, float)
    assert found.p_value < 0.01


def test_an_undefined_figure_makes_all_undefined() -> None:
    zeros = np.zeros(30, int)
    for compare in (paired_difference, paired_bootstrap):
        found = compare(balanced_accuracy, np.arange(30), zeros, zeros, zeros)  # type: ignore[operator]
        assert found.value == found.interval == found.p_value == Undefined("no positive labels")


def test_the_paired_bootstrap_agrees_with_the_exchange() -> None:
    random = np.random.default_rng(3)
    first = random.normal(size=60)
    for shift, differs in ((0.0, False), (0.5, True)):
        second = first + random.normal(shift, 0.8, 60)
        one = paired_bootstrap(mean, np.arange(60), first, second, draws=2000)
        other = paired_difference(mean, np.arange(60), first, second, draws=2000)
        assert isinstance(one.interval, Interval)
        assert isinstance(other.interval, Interval)
        assert one.value == other.value
        assert (one.interval.low, one.interval.high) == pytest.approx(
            (other.interval.low, other.interval.high), abs=0.06
        )
        assert isinstance(one.p_value, float)
        assert isinstance(other.p_value, float)
        assert (one.p_value < 0.05) == (other.p_value < 0.05) == differs


def test_few_clusters_leave_the_test_but_no_interval() -> None:
    found = paired_difference(mean, np.repeat([0, 1, 2], 10), np.zeros(30), np.tile([0.0, 1.0], 15))
    assert found.interval == Undefined("too few clusters: 3, at least 5 are needed")
    assert isinstance(found.p_value, float)


def test_holm_by_hand() -> None:
    """Holm (1979): .01 x 4, .02 x 3, .03 x 2, .04 x 1, and never less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.02]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


def test_holm_takes_probabilities_alone() -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        holm([0.5, 1.2])
