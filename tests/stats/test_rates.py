"""Corrected rates: labels on some units, a judge on all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.stats.effective import assumed_number, effective_clusters, korn_graubard
from psysafe.stats.rates import Rate, effective_number, prediction_powered, weighted_rate
from psysafe.stats.undefined import Undefined

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
pytest.importorskip("scipy", reason="intervals need the extra stats")

Array = np.ndarray[Any, Any]


def known(found: Rate | Undefined) -> Rate:
    assert isinstance(found, Rate), found
    return found


def drawn(seed: int, n: int, rest: int, groups: int = 6) -> tuple[Array, Array, Array, Array, Array]:
    """Labels, the judge on labelled and unlabelled units, and both rows of clusters; each cluster holds labels."""
    random = np.random.default_rng(seed)
    cluster = np.concatenate([np.arange(groups), random.integers(0, groups, n - groups + rest)])
    truth = (random.random(n + rest) < random.beta(1, 2, groups)[cluster]).astype(int)
    truth[0], truth[1] = 0, 1  # labels vary
    judge = np.where(random.random(n + rest) < 0.8, truth, 1 - truth)
    return truth[:n], judge[:n], judge[n:], cluster[:n], cluster[n:]


TEN = np.arange(10)
# Ten units of their own; two are harmful, and a third is flagged.
HUMAN = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
JUDGE = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0])
# Of forty more, ten are flagged.
MORE = np.repeat([1, 0], [10, 30])
FORTY = np.arange(10, 50)


def test_the_judges_errors_on_labelled_units_are_taken_out_of_its_rate_on_all() -> None:
    found = known(prediction_powered(HUMAN, JUDGE, MORE, TEN, FORTY, tuning=1))
    # 13 of 50 are flagged; on labelled units the judge says .3 where people say .2
    assert found.estimate == pytest.approx(13 / 50 - 0.1)
    assert (found.n_labelled, found.n_unlabelled, found.clusters, found.tuning) == (10, 40, 10, 1)
    assert found.method == "prediction-powered; Korn-Graubard interval, jackknife over clusters"
    assert found.flags == ()


def test_the_tuned_estimate_by_hand_and_as_in_the_paper() -> None:
    found = known(prediction_powered(HUMAN, JUDGE, MORE, TEN, FORTY))
    # covariance .2 - .2 * .3 = .14, variance .3 * .7 = .21
    assert found.tuning == pytest.approx(2 / 3)
    assert found.estimate == pytest.approx(0.2 + 2 / 3 * (0.26 - 0.3))
    # PPI++: lambda = cov / (var (1 + n / N)), with the judge's mean over unlabelled units alone
    power = 0.14 / (0.21 * (1 + 10 / 40))
    assert found.estimate == pytest.approx(0.2 + power * (0.25 - 0.3))


def test_a_score_that_says_the_opposite_is_not_used() -> None:
    found = known(prediction_powered(HUMAN, 1 - JUDGE, 1 - MORE, TEN, FORTY))
    assert (found.estimate, found.tuning) == (pytest.approx(0.2), 0)


def test_a_judge_that_always_says_the_same_changes_nothing() -> None:
    found = known(prediction_powered(HUMAN, np.ones(10), np.ones(40), TEN, FORTY))
    plain = known(weighted_rate(HUMAN, np.ones(10), TEN))
    assert (found.estimate, found.tuning) == (pytest.approx(0.2), 0)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


def test_labels_drawn_with_unequal_probabilities_by_hand() -> None:
    # Flagged units were drawn with probability 1/2, others with 1/10.
    human = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0])
    chance = np.repeat([0.5, 0.1], [5, 5])
    found = known(weighted_rate(human, chance, TEN))
    assert found.estimate == pytest.approx((3 * 2 + 1 * 10) / (5 * 2 + 5 * 10))
    assert (found.n_labelled, found.n_unlabelled, found.tuning) == (10, 0, None)
    judge, rest = np.repeat([1, 0], [5, 5]), np.repeat([1, 0], [5, 45])
    same = known(prediction_powered(human, judge, rest, TEN, np.arange(10, 60), 1 / chance, tuning=1))
    # 10 of 60 are flagged, and so are 10 of the weighted 60: nothing to correct
    assert same.estimate == pytest.approx(found.estimate)


@unhurried
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(0, 60))
def test_without_trust_in_the_judge_it_is_the_mean_of_the_labels(seed: int, n: int, rest: int) -> None:
    human, judge, more, own, others = drawn(seed, n, rest)
    found = known(prediction_powered(human, judge, more, own, others, tuning=0))
    plain = known(weighted_rate(human, np.ones(n), own))
    assert found.estimate == pytest.approx(human.mean())
    assert (plain.estimate, plain.low, plain.high) == pytest.approx((found.estimate, found.low, found.high))


@unhurried
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(0, 60))
def test_a_perfect_judge_gives_the_mean_over_all_units(seed: int, n: int, rest: int) -> None:
    human, _, more, own, others = drawn(seed, n, rest)
    found = known(prediction_powered(human, human, more, own, others))
    assert found.tuning == pytest.approx(1)
    assert found.estimate == pytest.approx(np.concatenate([human, more]).mean())


@unhurried
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_equal_weights_are_no_weights(seed: int, weight: float) -> None:
    data = drawn(seed, 20, 30)
    plain, weighted = known(prediction_powered(*data)), known(prediction_powered(*data, weights=np.full(20, weight)))
    assert (weighted.estimate, weighted.low, weighted.high) == pytest.approx((plain.estimate, plain.low, plain.high))


@unhurried
@given(st.integers(0, 10**6), st.integers(8, 40), st.integers(0, 60), st.sampled_from([None, 0.0, 0.5, 1.0]))
def test_the_interval_holds_the_estimate_within_zero_and_one(
    seed: int, n: int, rest: int, tuning: float | None
) -> None:
    found = known(prediction_powered(*drawn(seed, n, rest), tuning=tuning))
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high


@unhurried
@given(st.integers(0, 10**6))
def test_neither_order_nor_names_of_clusters_matter(seed: int) -> None:
    human, judge, more, own, others = drawn(seed, 20, 30)
    random = np.random.default_rng(seed)
    a, b = random.permutation(20), random.permutation(30)
    names = np.array(["c", "a", "f", "b", "e", "d"])
    found = known(prediction_powered(human, judge, more, own, others))
    again = known(prediction_powered(human[a], judge[a], more[b], names[own][a], names[others][b]))
    assert (again.estimate, again.low, again.high) == pytest.approx((found.estimate, found.low, found.high))


@unhurried
@given(st.integers(0, 10**6))
def test_harmless_counted_for_harmful_mirrors_everything(seed: int) -> None:
    human, judge, more, own, others = drawn(seed, 20, 30)
    found = known(prediction_powered(human, judge, more, own, others))
    other = known(prediction_powered(1 - human, 1 - judge, 1 - more, own, others))
    assert (other.estimate, other.low, other.high) == pytest.approx((1 - found.estimate, 1 - found.high, 1 - found.low))


def test_the_standard_error_is_that_of_a_regression_with_clustered_errors() -> None:
    sm = pytest.importorskip("statsmodels.api", reason="an independent implementation")
    random = np.random.default_rng(3)
    cluster = np.repeat(np.arange(12), 10)
    truth = (random.random(120) < random.beta(1, 3, 12)[cluster]).astype(float)
    fit = sm.OLS(truth, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    # theirs also corrects for degrees of freedom of rows, (n - 1) / (n - 1) with one coefficient
    rate = truth.mean()
    assert rate * (1 - rate) / effective_number(truth, cluster) == pytest.approx(fit.bse[0] ** 2)


def test_clusters_that_are_alike_by_chance_make_no_unit_worth_more_than_one() -> None:
    # every cluster has exactly one harmful unit in two
    assert effective_number(np.tile([0, 1], 20), np.repeat(np.arange(20), 2)) == pytest.approx(39)


def test_labels_of_a_cluster_that_agree_widen_the_interval() -> None:
    human, judge, more = np.repeat([1, 0], [20, 80]), np.zeros(100), np.zeros(50)
    alone = known(prediction_powered(human, judge, more, np.arange(100), np.arange(100, 150)))
    tens = known(prediction_powered(human, judge, more, np.arange(100) // 10, np.arange(100, 150)))
    assert alone.estimate == tens.estimate == pytest.approx(0.2)
    assert tens.low < alone.low
    assert tens.high > alone.high


def test_a_good_judge_narrows_the_interval() -> None:
    human, judge, more, own, others = drawn(1, 100, 2000, groups=60)
    with_judge = known(prediction_powered(human, judge, more, own, others))
    alone = known(weighted_rate(human, np.ones(100), own))
    assert with_judge.high - with_judge.low < 0.95 * (alone.high - alone.low)


def test_an_estimate_below_zero_is_clipped_and_flagged() -> None:
    # the judge flags more among labelled units than elsewhere
    human, judge = np.array([1] + [0] * 9), np.array([1] * 5 + [0] * 5)
    found = known(prediction_powered(human, judge, np.zeros(40), TEN, FORTY, tuning=1))
    assert (found.estimate, found.low) == (0, 0)
    assert found.high > 0
    assert found.flags == ("clipped",)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_equal_leave_an_interval_by_an_assumed_design_effect(label: int) -> None:
    found = known(weighted_rate(np.full(40, label), np.ones(40), np.arange(40) % 8))
    assert found.flags == ("no_variation",)
    # 8 clusters of 5 at an intraclass correlation of .2: 40 / (1 + 4 * .2)
    number = assumed_number(np.arange(40) % 8, np.ones(40))
    assert number == pytest.approx(40 / 1.8)
    assert (found.low, found.high) == pytest.approx(korn_graubard(label, number, 6))
    assert found.estimate == label


def test_korn_graubard_is_clopper_pearson_where_nothing_was_estimated() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="an independent implementation")
    for count in (0, 1, 7, 20):
        exact = proportion.proportion_confint(count, 20, method="beta")
        assert korn_graubard(count / 20, 20, np.inf) == pytest.approx(exact)
    few, many = korn_graubard(0.2, 50, 5), korn_graubard(0.2, 50, 50)
    assert few[0] < many[0]
    assert few[1] > many[1]


def test_unequal_clusters_are_worth_fewer() -> None:
    assert effective_clusters(np.arange(6), np.ones(6)) == pytest.approx(6)
    assert effective_clusters(np.array([0, 0, 0, 1]), np.ones(4)) == pytest.approx(16 / 10)


def test_no_rate_without_labels_or_from_few_clusters() -> None:
    none = np.zeros(0)
    assert prediction_powered(none, none, MORE, none, FORTY) == Undefined("no labels")
    four = np.arange(10) % 4
    few = Undefined("too few clusters: 4 with labels, at least 5 are needed")
    # the many clusters of unlabelled units do not help
    assert prediction_powered(HUMAN, JUDGE, MORE, four, FORTY) == few
    assert weighted_rate(HUMAN, np.ones(10), four) == few


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"human": HUMAN * 2}, "human: expected one row of 0 and 1"),
        ({"human": np.where(TEN == 3, np.nan, 0.0)}, "human: expected one row of 0 and 1"),
        ({"judge_on_labelled": JUDGE[:9]}, "judge_on_labelled: expected 10 finite numbers"),
        ({"judge_on_unlabelled": np.full(40, np.nan)}, "judge_on_unlabelled: expected 40 finite"),
        ({"clusters_labelled": TEN[:9]}, "clusters: expected 10 labelled and 40 unlabelled"),
        ({"clusters_unlabelled": FORTY.astype(str)}, "names of one kind"),
        ({"weights": np.zeros(10)}, "weights: expected positive"),
        ({"weights": np.ones(9)}, "weights: expected 10"),
        ({"tuning": 1.5}, "tuning: expected 0 to 1, found 1.5"),
        ({"confidence": 95}, "confidence: expected between 0 and 1, found 95"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(changed: dict[str, Any], said: str) -> None:
    given_ = {
        "human": HUMAN, "judge_on_labelled": JUDGE, "judge_on_unlabelled": MORE,
        "clusters_labelled": TEN, "clusters_unlabelled": FORTY,
    }  # fmt: skip
    with pytest.raises(ValueError, match=said):
        prediction_powered(**{**given_, **changed})


@pytest.mark.parametrize("chance", [0.0, 1.1, -0.5])
def test_a_sampling_probability_is_above_zero_and_at_most_one(chance: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        weighted_rate(HUMAN, np.full(10, chance), TEN)


def test_intervals_hold_the_true_share_about_as_often_as_they_say() -> None:
    """240 labels of 1,200 units in 40 clusters, flagged units three times as likely to be labelled."""
    random = np.random.default_rng(0)
    held = {"powered": 0, "weighted": 0, "of the judge alone": 0}
    estimates = []
    for _ in range(300):
        cluster = np.repeat(np.arange(40), 30)
        truth = (random.random(1200) < random.beta(1.8, 7.2, 40)[cluster]).astype(int)
        judge = np.where(random.random(1200) < 0.8, truth, 1 - truth)
        chance = np.where(judge == 1, 3.0, 1.0)
        chance *= 240 / chance.sum()
        labelled = random.random(1200) < chance
        arms = {
            "powered": prediction_powered(
                truth[labelled], judge[labelled], judge[~labelled], cluster[labelled], cluster[~labelled],
                weights=1 / chance[labelled],
            ),
            "weighted": weighted_rate(truth[labelled], chance[labelled], cluster[labelled]),
            "of the judge alone": weighted_rate(judge, np.ones(1200), cluster),
        }  # fmt: skip
        for name, found in arms.items():
            held[name] += known(found).low <= 0.2 <= known(found).high
        estimates.append(known(arms["powered"]).estimate)
    assert 0.92 * 300 <= held["powered"] <= 0.99 * 300
    assert 0.92 * 300 <= held["weighted"] <= 0.99 * 300
    assert held["of the judge alone"] < 0.5 * 300  # what the correction is for
    assert np.mean(estimates) == pytest.approx(0.2, abs=0.006)
