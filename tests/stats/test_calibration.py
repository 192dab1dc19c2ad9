"""Calibration of probabilities, and cuts on scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.stats.calibration import (
    FittedCut,
    Logistic,
    best_cut,
    brier,
    brier_skill,
    debiased_ece,
    platt,
    reliability_curve,
)
from psysafe.stats.intervals import wilson
from psysafe.stats.undefined import Undefined

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
pytest.importorskip("sklearn", reason="the extra stats")

Array = np.ndarray[Any, Any]
NOTHING = np.zeros(0)


def scored(seed: int, n: int = 200) -> tuple[Array, Array]:
    """Labels, and probabilities that are right."""
    random = np.random.default_rng(seed)
    probability = random.beta(1, 3, n)
    return (random.random(n) < probability).astype(int), probability


@unhurried
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_a_curve_is_scikit_learns_with_quantile_bins(seed: int, bins: int) -> None:
    from sklearn.calibration import calibration_curve

    # so many rows that each bin has equally many
    truth, probability = scored(seed, bins * 20)
    found = reliability_curve(truth, probability, bins)
    assert not isinstance(found, Undefined)
    rates, means = calibration_curve(truth, probability, n_bins=bins, strategy="quantile")
    assert [one.rate for one in found] == pytest.approx(list(rates))
    assert [one.probability for one in found] == pytest.approx(list(means))
    assert [one.count for one in found] == [20] * bins
    for one in found:
        assert (one.low, one.high) == wilson(round(one.rate * one.count), one.count)


@unhurried
@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])), min_size=1), st.integers(1, 9)
)
def test_equal_probabilities_share_a_bin_and_no_row_is_lost(rows: list[tuple[int, float]], bins: int) -> None:
    truth, probability = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found = reliability_curve(truth, probability, bins)
    assert not isinstance(found, Undefined)
    assert 1 <= len(found) <= min(bins, len(set(probability)))
    assert sum(one.count for one in found) == len(rows)
    assert sum(one.rate * one.count for one in found) == pytest.approx(truth.sum())
    means = [one.probability for one in found]
    assert means == sorted(means)
    if bins >= len(rows):  # then bins are as fine as ties allow
        assert len(found) == len(set(probability))


@unhurried
@given(st.integers(0, 10**6))
def test_brier_is_scikit_learns(seed: int) -> None:
    from sklearn.metrics import brier_score_loss

    truth, probability = scored(seed)
    assert brier(truth, probability) == pytest.approx(brier_score_loss(truth, probability))


def test_brier_skill_is_nothing_for_the_base_rate_and_one_for_the_truth() -> None:
    truth = np.array([1, 0, 0, 0])
    assert brier_skill(truth, np.full(4, 0.25)) == pytest.approx(0)
    assert brier_skill(truth, truth) == 1
    # squared error 1/4 in the mean, where the base rate leaves 3/16
    assert brier_skill(truth, np.full(4, 0.5)) == pytest.approx(1 - 4 / 3)


def test_the_calibration_error_by_hand() -> None:
    # Two bins of four: 0 of 4 at .1, 3 of 4 at .4; what is taken off the second is .75 * .25 / 3.
    truth, probability = np.array([0, 0, 0, 0, 1, 1, 1, 0]), np.repeat([0.1, 0.4], 4)
    squared = (0.1**2 + 0.35**2 - 0.75 * 0.25 / 3) / 2
    assert debiased_ece(truth, probability, 2) == pytest.approx(squared**0.5)


def test_the_calibration_error_is_stated_as_none_where_it_is_within_chance() -> None:
    # 1 of 4 at .25 exactly: without noise even, so that the estimate is below 0
    assert debiased_ece(np.array([1, 0, 0, 0]), np.full(4, 0.25)) == 0


def test_the_squared_error_is_unbiased_where_the_plain_one_is_not() -> None:
    """True error .1 everywhere; 400 rows in 20 bins, where chance alone adds .25 * .75 / 20 or so."""
    random = np.random.default_rng(0)
    ours, plain = [], []
    for _ in range(400):
        probability = np.repeat(np.linspace(0.1, 0.5, 20), 20)
        truth = (random.random(400) < probability + 0.1).astype(int)
        found = debiased_ece(truth, probability, 20)
        assert isinstance(found, float)
        ours.append(found**2)
        gaps = (truth - probability).reshape(20, 20).mean(axis=1)
        plain.append(float((gaps**2).mean()))
    assert np.mean(ours) == pytest.approx(0.01, abs=0.001)
    assert np.mean(plain) > 0.018


def test_probabilities_without_rows_or_classes() -> None:
    for function in (brier, brier_skill, debiased_ece, reliability_curve, platt):
        assert function(NOTHING, NOTHING) == Undefined("no rows")  # type: ignore[operator]
    half = np.full(3, 0.5)
    assert brier_skill(np.zeros(3), half) == Undefined("no positive labels")
    assert brier_skill(np.ones(3), half) == Undefined("no negative labels")
    assert debiased_ece(np.array([0, 1, 0]), np.array([0.1, 0.2, 0.3]), 3) == Undefined(
        "a bin holds one row of 3; take fewer than 3 bins"
    )


@pytest.mark.parametrize("function", [brier, brier_skill, debiased_ece, reliability_curve])
@pytest.mark.parametrize(
    ("truth", "probability", "said"),
    [
        ([0, 1], [0.1, 1.2], "probability: expected numbers of 0 to 1"),
        ([0, 1], [0.1, float("nan")], "probability: expected finite"),
        ([0, 2], [0.1, 0.2], "truth: expected one row of 0 and 1"),
        ([0, 1], [0.1], "truth has 2 rows, probability has shape"),
    ],
)
def test_what_is_no_probability_is_refused(function: Any, truth: Any, probability: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        function(truth, probability)


def test_at_least_one_bin() -> None:
    with pytest.raises(ValueError, match="at least 1, found 0"):
        reliability_curve(np.array([0]), np.array([0.5]), 0)


def cut_of(found: FittedCut | Undefined) -> FittedCut:
    assert isinstance(found, FittedCut), found
    return found


def test_the_cut_lies_midway_between_neighbouring_scores() -> None:
    # 40 harmless at 0, 10 at 1; 5 harmful at 1, 35 at 2: the cut between 1 and 2 has 35/40 and all 50
    score = np.repeat([0, 1, 1, 2], [40, 10, 5, 35])
    truth = np.repeat([0, 0, 1, 1], [40, 10, 5, 35])
    found = cut_of(best_cut(truth, score))
    assert found.cut == 1.5
    assert (found.sensitivity, found.specificity) == (35 / 40, 1)
    assert found.balanced_accuracy == pytest.approx((35 / 40 + 1) / 2)
    assert (found.positives, found.negatives) == (40, 50)
    # every fold finds the same cut
    assert found.cross_validated == pytest.approx(found.balanced_accuracy)


def test_of_equally_good_cuts_the_lowest_is_taken() -> None:
    score = np.repeat([0, 1, 2], 40)
    truth = np.concatenate([np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [20, 20]), np.repeat([0, 1], [10, 30])])
    # harmful 10, 20, 30 and harmless 30, 20, 10: either cut has 50/60 + 30/60 = 30/60 + 50/60
    assert cut_of(best_cut(truth, score)).cut == 0.5


@unhurried
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5]))
def test_no_cut_is_better_and_scikit_learns_curve_agrees(seed: int, places: int) -> None:
    from sklearn.metrics import roc_curve

    random = np.random.default_rng(seed)
    truth = random.permutation(np.repeat([0, 1], [60, 40]))
    score = np.round(truth + random.normal(size=100), places)
    found = cut_of(best_cut(truth, score))
    false, true, _ = roc_curve(truth, score)
    assert found.sensitivity + found.specificity - 1 == pytest.approx(float((true - false).max()))
    assert found.cut not in score
    assert found.sensitivity == np.mean(score[truth == 1] >= found.cut)


def test_a_cut_on_noise_looks_better_than_it_is() -> None:
    random = np.random.default_rng(1)
    truth = np.repeat([0, 1], [40, 40])
    # noise may also be ordered so that there is no cut at all
    found = [one for _ in range(40) if isinstance(one := best_cut(truth, random.normal(size=80)), FittedCut)]
    assert len(found) > 30
    assert np.mean([one.balanced_accuracy for one in found]) > 0.55
    assert np.mean([one.cross_validated for one in found]) < 0.53  # type: ignore[type-var]


def test_rows_of_a_cluster_never_vouch_for_each_other() -> None:
    # Ten clusters, each with a score of its own for all its rows, whose labels say nothing of it elsewhere.
    random = np.random.default_rng(2)
    optimism = {"rows": 0.0, "clusters": 0.0}
    for _ in range(30):
        clusters = np.arange(100) // 10
        truth, score = random.permutation(np.repeat([0, 1], 5))[clusters], random.normal(size=10)[clusters]
        for name, groups in (("rows", None), ("clusters", clusters)):
            found = best_cut(truth, score, groups)
            left_out = found.cross_validated if isinstance(found, FittedCut) else 0.5
            assert isinstance(left_out, float)
            optimism[name] += (left_out - 0.5) / 30
    assert optimism["rows"] > 0.1
    assert optimism["clusters"] < 0.05


def test_a_fit_that_finds_no_cut_counts_as_a_guess() -> None:
    # Two clusters that say the opposite: where either is left out, the other's cut is wrong or there is none.
    truth, score = np.tile([0, 1], 60), np.tile([0, 1, 1, 0], 30)
    clusters = np.tile([0, 0, 1, 1], 30)
    truth, score, clusters = truth[:118], score[:118], clusters[:118]
    # in all, the first cluster has one pair more
    found = cut_of(best_cut(truth, score, clusters))
    # left out the first: no cut, guessed (30 of each class). left out the second: a cut that is always wrong there
    assert found.cross_validated == pytest.approx(0.5 * 30 / 59)


def test_neither_order_nor_names_matter_to_a_cut() -> None:
    random = np.random.default_rng(3)
    clusters = random.integers(0, 20, 120)
    truth = random.permutation(np.repeat([0, 1], 60))
    score = truth + random.normal(size=120)
    found, order = cut_of(best_cut(truth, score, clusters)), random.permutation(120)
    assert best_cut(truth[order], score[order], clusters[order]) == found


@pytest.mark.parametrize(
    ("truth", "score", "why"),
    [
        (np.repeat([0, 1], [50, 28]), np.arange(78), "28 positives; no cut is fitted below 30"),
        (np.repeat([0, 1], [29, 50]), np.arange(79), "29 negatives; no cut is fitted below 30"),
        (np.repeat([0, 1], [50, 50]), np.ones(100), "all scores are equal"),
        (np.repeat([0, 1], [50, 50]), -np.arange(100), "no cut does better than chance"),
        (np.tile([0, 1], 50), np.arange(100) // 2, "no cut does better than chance"),
        (NOTHING, NOTHING, "0 positives; no cut is fitted below 30"),
    ],
)
def test_where_no_cut_is_fitted(truth: Array, score: Array, why: str) -> None:
    assert best_cut(truth, score) == Undefined(why)


def test_a_cut_without_clusters_enough_says_so() -> None:
    truth, score = np.repeat([0, 1], 40), np.concatenate([np.arange(40), np.arange(20, 60)])
    assert cut_of(best_cut(truth, score, np.zeros(80))).cross_validated == Undefined(
        "a single cluster; at least two are needed"
    )
    assert cut_of(best_cut(truth, score, truth)).cross_validated == Undefined(
        "clusters are too few or too uneven: a fit without one fold lacks a class"
    )


def test_wrong_use_of_a_cut_is_refused() -> None:
    truth = np.repeat([0, 1], 40)
    with pytest.raises(ValueError, match="score: expected finite"):
        best_cut(truth, np.full(80, np.nan))
    with pytest.raises(ValueError, match="clusters: expected 80"):
        best_cut(truth, truth, np.zeros(3))
    with pytest.raises(ValueError, match="folds: at least 2"):
        best_cut(truth, truth, folds=1)


def curve_of(found: Logistic | Undefined) -> Logistic:
    assert isinstance(found, Logistic), found
    return found


@pytest.mark.parametrize("scale", [1, 1000, 0.001])
def test_the_logistic_curve_is_of_maximum_likelihood_whatever_the_scale(scale: float) -> None:
    sm = pytest.importorskip("statsmodels.api", reason="an independent implementation")
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], [150, 50])
    score = truth + random.normal(size=200) + 5
    theirs = sm.Logit(truth, sm.add_constant(score)).fit(disp=0)
    found = curve_of(platt(truth, scale * score))
    assert found.slope * scale == pytest.approx(theirs.params[1], rel=1e-3)
    assert found.intercept == pytest.approx(theirs.params[0], rel=1e-3)
    assert found.probability(scale * score) == pytest.approx(theirs.predict(), abs=1e-4)


def test_two_scores_become_their_shares() -> None:
    # 10 of 40 harmful at score 0, 30 of 40 at score 1
    truth = np.concatenate([np.repeat([1, 0], [10, 30]), np.repeat([1, 0], [30, 10])])
    found = curve_of(platt(truth, np.repeat([0, 1], 40)))
    assert found.probability(np.array([0, 1])) == pytest.approx([0.25, 0.75], abs=1e-4)
    assert found.probability(np.array([-1e6, 1e6])) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    ("truth", "score", "why"),
    [
        ([0, 0], [1, 2], "no positive labels"),
        ([1, 1], [1, 2], "no negative labels"),
        ([0, 1], [1, 1], "all scores are equal"),
        ([0, 0, 1, 1], [1, 2, 3, 4], "the scores part harmful from harmless without error"),
        ([0, 0, 1, 1], [1, 2, 2, 4], "the scores part harmful from harmless without error"),
        ([1, 1, 0, 0], [1, 2, 3, 4], "the scores part harmful from harmless without error"),
    ],
)
def test_where_there_is_no_logistic_curve(truth: Any, score: Any, why: str) -> None:
    found = platt(truth, score)
    assert isinstance(found, Undefined)
    assert found.why.startswith(why)
