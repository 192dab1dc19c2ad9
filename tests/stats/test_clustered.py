"""Intervals over clusters: against hand computations and scipy, where nothing can be said, and whether they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from benchmarks.clustered_data import draw
from psysafe.stats import wilson
from psysafe.stats.association import pearson
from psysafe.stats.classification import balanced_accuracy, roc_auc
from psysafe.stats.clustered import Interval, balanced_accuracy_interval, clustered_interval, rate_interval
from psysafe.stats.undefined import Figure, Undefined


def there(found: Interval | Undefined) -> Interval:
    assert isinstance(found, Interval), found
    return found


def mean(values: np.ndarray) -> Figure:
    return float(values.mean()) if len(values) else Undefined("no rows")


def test_a_rate_of_independent_rows_is_wilsons_but_for_students_t() -> None:
    values = np.repeat([0, 1], [380, 20])
    found = there(rate_interval(values, np.arange(400)))
    expected = wilson(20, 400)
    assert expected is not None
    assert (found.low, found.high) == pytest.approx(expected, rel=0.02)
    assert (found.method, found.clusters) == ("wilson", 400)


def test_rows_that_repeat_each_other_count_once() -> None:
    """Forty clusters of ten equal rows are forty observations."""
    of_clusters = np.repeat([0, 1], [28, 12])
    found = there(rate_interval(np.repeat(of_clusters, 10), np.repeat(np.arange(40), 10)))
    once = there(rate_interval(of_clusters, np.arange(40)))
    assert (found.low, found.high) == pytest.approx((once.low, once.high), abs=0.01)


def test_without_variation_a_cluster_counts_as_one_row() -> None:
    """The rule of three by clusters: 30 clusters without harm leave up to about 11%, however many rows they hold."""
    found = there(rate_interval(np.zeros(3000), np.repeat(np.arange(30), 100)))
    assert found.low == 0.0
    assert 0.08 < found.high < 0.15
    full = there(rate_interval(np.ones(3000), np.repeat(np.arange(30), 100)))
    assert (full.low, full.high) == pytest.approx((1 - found.high, 1.0))


def test_constant_weights_change_nothing_and_unequal_ones_widen() -> None:
    values, clusters = np.tile([0, 0, 0, 1], 50), np.arange(200)
    plain = there(rate_interval(values, clusters))
    assert there(rate_interval(values, clusters, np.full(200, 7.0))) == plain
    uneven = there(rate_interval(values, clusters, np.tile([1.0, 9.0, 1.0, 5.0], 50)))
    assert uneven.high - uneven.low > plain.high - plain.low


@pytest.mark.parametrize("count", [1, 4])
def test_below_five_clusters_there_is_no_interval(count: int) -> None:
    clusters = np.arange(100) % count
    values = np.tile([0, 1], 50)
    why = f"too few clusters: {count}, at least 5 are needed"
    assert rate_interval(values, clusters) == Undefined(why)
    assert clustered_interval(mean, clusters, values.astype(float)) == Undefined(why)
    balanced = balanced_accuracy_interval(values, values, clusters)
    assert isinstance(balanced, Undefined)
    assert balanced.why.startswith("positive labels: too few clusters")


def test_no_rows_are_no_clusters() -> None:
    assert isinstance(rate_interval(np.zeros(0), np.zeros(0)), Undefined)


def test_the_jackknife_of_a_mean_is_the_classical_standard_error() -> None:
    values = np.random.default_rng(1).normal(size=50)
    found = there(clustered_interval(mean, np.arange(50), values))
    error = values.std(ddof=1) / math.sqrt(50)
    half = (found.high - found.low) / 2
    # Degrees of freedom fall a little where some rows lie far out.
    assert t.ppf(0.975, 49) * error <= half + 1e-12
    assert half <= t.ppf(0.975, 20) * error
    assert (found.low + found.high) / 2 == pytest.approx(values.mean())


def test_a_statistic_that_few_clusters_carry_has_few_degrees_of_freedom() -> None:
    values = np.zeros(60)
    values[:2] = 1.0
    carried = there(clustered_interval(mean, np.arange(60), values, bounds=(0, 1)))
    spread = np.tile([1.0, 0.0], 30)
    even = there(clustered_interval(mean, np.arange(60), spread, bounds=(0, 1)))
    share = 2 / 60
    odds = (math.log(carried.high / (1 - carried.high)) - math.log(carried.low / (1 - carried.low))) / 2
    error = math.sqrt(share * (1 - share) / 59) / (share * (1 - share))
    assert odds / error > t.ppf(0.975, 10)
    half = (math.log(even.high / (1 - even.high)) - math.log(even.low / (1 - even.low))) / 2
    assert half / (math.sqrt(0.25 / 59) / 0.25) == pytest.approx(t.ppf(0.975, 59), rel=0.02)


def test_bounds_are_never_left() -> None:
    data = draw(np.random.default_rng(3), 60, 20, 0.3)
    for method in ("jackknife", "bootstrap"):
        found = there(clustered_interval(roc_auc, data.clusters, data.truth, data.score, bounds=(0, 1), method=method))  # type: ignore[arg-type]
        assert 0 <= found.low < found.high <= 1


def test_what_does_not_vary_has_no_interval_rather_than_one_of_no_width() -> None:
    truth = np.tile([0, 1], 20)
    for method, told in (("jackknife", "whichever cluster is left out"), ("bootstrap", "in every bootstrap draw")):
        found = clustered_interval(roc_auc, np.arange(40), truth, truth.astype(float), method=method)  # type: ignore[arg-type]
        assert isinstance(found, Undefined)
        assert told in found.why


def test_a_figure_that_hangs_on_one_cluster_has_no_interval() -> None:
    truth = np.array([1, *[0] * 29])
    found = clustered_interval(roc_auc, np.arange(30), truth, np.linspace(0, 1, 30))
    assert found == Undefined("it rests on a single cluster (no positive labels without it)")


def test_an_undefined_figure_says_its_own_reason() -> None:
    assert clustered_interval(roc_auc, np.arange(30), np.zeros(30, int), np.ones(30)) == Undefined("no positive labels")


def test_a_bootstrap_that_is_often_undefined_is_none() -> None:
    truth = np.array([1, *[0] * 29])
    found = clustered_interval(roc_auc, np.arange(30), truth, np.linspace(0, 1, 30), method="bootstrap")
    assert isinstance(found, Undefined)
    assert "of 1000 bootstrap draws" in found.why


def test_the_bootstrap_is_widened_for_few_clusters() -> None:
    values = np.random.default_rng(5).normal(size=40)
    found = there(clustered_interval(mean, np.arange(40), values, method="bootstrap", draws=4000))
    error = values.std(ddof=1) / math.sqrt(40)
    assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, 39) * error, rel=0.06)


def test_a_perfect_judge_still_has_an_interval_of_balanced_accuracy() -> None:
    truth = np.tile([0, 1], 40)
    found = there(balanced_accuracy_interval(truth, truth, np.arange(80)))
    assert found.high == 1.0
    assert 0.9 < found.low < 1.0


def test_balanced_accuracy_is_put_together_from_sensitivity_and_specificity() -> None:
    truth = np.repeat([1, 0], [50, 50])
    predicted = np.concatenate([np.repeat([1, 0], [40, 10]), np.repeat([0, 1], [45, 5])])
    found = there(balanced_accuracy_interval(truth, predicted, np.arange(100)))
    se, sp = (
        there(rate_interval(np.repeat([1, 0], [40, 10]), np.arange(50))),
        there(rate_interval(np.repeat([1, 0], [45, 5]), np.arange(50))),
    )
    assert found.low == pytest.approx(0.85 - math.hypot(0.8 - se.low, 0.9 - sp.low) / 2)
    assert found.high == pytest.approx(0.85 + math.hypot(se.high - 0.8, sp.high - 0.9) / 2)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_neither_the_order_of_rows_nor_the_names_of_clusters_matter(seed: int) -> None:
    random = np.random.default_rng(seed)
    data = draw(random, 80, 12, 0.3)
    order = random.permutation(80)
    names = np.array([f"profile {number}" for number in random.permutation(12)])[data.clusters]
    rate = rate_interval(data.truth, data.clusters)
    assert _near(rate, rate_interval(data.truth[order], names[order]))
    whole = clustered_interval(balanced_accuracy, data.clusters, data.truth, data.first, bounds=(0, 1))
    other = clustered_interval(balanced_accuracy, names[order], data.truth[order], data.first[order], bounds=(0, 1))
    assert _near(whole, other)


def _near(a: Interval | Undefined, b: Interval | Undefined) -> bool:
    if isinstance(a, Undefined) or isinstance(b, Undefined):
        return type(a) is type(b)
    return (a.low, a.high) == pytest.approx((b.low, b.high))


def test_the_bootstrap_repeats_itself_with_its_seed() -> None:
    data = draw(np.random.default_rng(9), 100, 30, 0.3)
    first, same, other = (
        clustered_interval(roc_auc, data.clusters, data.truth, data.score, method="bootstrap", draws=200, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == same
    assert first != other


def test_blocks_of_many_clusters_say_what_single_ones_would() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=900)
    y = x + random.normal(size=900)
    blocks = there(clustered_interval(pearson, np.arange(900), x, y, bounds=(-1, 1)))
    # Fisher's z, the classical interval of independent rows
    middle = math.atanh(float(np.corrcoef(x, y)[0, 1]))
    low, high = math.tanh(middle - 1.96 / math.sqrt(897)), math.tanh(middle + 1.96 / math.sqrt(897))
    assert (blocks.low, blocks.high) == pytest.approx((low, high), abs=0.015)


def test_labels_of_clusters_must_be_one_for_each_row() -> None:
    with pytest.raises(ValueError, match="expected 3 labels"):
        rate_interval(np.zeros(3), np.zeros(2))


def test_intervals_hold_the_true_value_about_as_often_as_they_say() -> None:
    """A small, fixed simulation; docs/coverage.md holds the large one."""
    random = np.random.default_rng(12)
    held = {"rate": 0, "balanced accuracy": 0, "rows as if independent": 0}
    repeats = 300
    for _ in range(repeats):
        data = draw(random, 300, 30, 0.3)
        rate = there(rate_interval(data.truth, data.clusters))
        balanced = there(balanced_accuracy_interval(data.truth, data.first, data.clusters))
        naive = there(rate_interval(data.truth, np.arange(300)))
        held["rate"] += rate.low <= 0.3 <= rate.high
        held["balanced accuracy"] += balanced.low <= 0.825 <= balanced.high
        held["rows as if independent"] += naive.low <= 0.3 <= naive.high
    # three standard errors of the simulation around 95%
    assert 0.912 <= held["rate"] / repeats <= 0.988
    assert 0.912 <= held["balanced accuracy"] / repeats <= 0.99
    # which is why clusters are not to be left out
    assert held["rows as if independent"] / repeats < 0.9
