"""The share of harm from verdicts, by known sensitivity and specificity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.clustered_data import draw
from psysafe.stats.classification import confusion
from psysafe.stats.rates import Rate, effective_number
from psysafe.stats.rogan_gladen import label_worth, rogan_gladen, rogan_gladen_within
from psysafe.stats.undefined import Undefined

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
pytest.importorskip("scipy", reason="intervals need the extra stats")

COUNTS = {"tp": 80, "fn": 20, "tn": 85, "fp": 15}


def known(found: Rate | Undefined) -> Rate:
    assert isinstance(found, Rate), found
    return found


@pytest.mark.parametrize(
    ("share", "n", "tp", "fn", "tn", "fp", "low", "high", "places"),
    [
        # Lang and Reiczigel (2014), examples 1 to 4, as far as printed
        (4060 / 11284, 11284, 178, 1, 358, 1, 0.349, 0.372, 3),
        (51 / 2971, 2971, 32, 1, 20, 0, 0, 0.053, 3),
        (0.06, 11862, 8, 2, 12, 0, 0, 0.147, 3),
        (259 / 509, 509, 84, 43, 96, 13, 0.58, 0.87, 2),
        (51 / 509, 509, 23, 18, 187, 8, 0.037, 0.195, 3),
    ],
)
def test_published_intervals(
    share: float, n: int, tp: int, fn: int, tn: int, fp: int, low: float, high: float, places: int
) -> None:
    found = known(rogan_gladen(share, n=n, tp=tp, fn=fn, tn=tn, fp=fp, transported=True))
    assert (round(found.low, places), round(found.high, places)) == (low, high)
    assert (found.n_labelled, found.n_unlabelled, found.flags) == (tp + fn + tn + fp, n, ("transported",))


@pytest.mark.parametrize(
    ("share", "n", "tp", "fn", "tn", "fp", "estimate"),
    [
        # the estimator of Rogan and Gladen (1978) by hand: (.2 + .85 - 1) / .65
        (0.2, 100, 80, 20, 85, 15, 0.05 / 0.65),
        # 23 of 150 cows positive in a test of 96% and 89% (manual of the R package epiR): 5.1 per 100
        (23 / 150, 150, 96, 4, 89, 11, 0.051),
        (0.5, 100, 100, 0, 100, 0, 0.5),
    ],
)
def test_the_estimate(share: float, n: int, tp: int, fn: int, tn: int, fp: int, estimate: float) -> None:
    found = known(rogan_gladen(share, n=n, tp=tp, fn=fn, tn=tn, fp=fp, transported=False))
    assert found.estimate == pytest.approx(estimate, abs=5e-4)
    assert found.method == "Rogan-Gladen; Lang-Reiczigel interval"
    assert found.flags == ()


@pytest.mark.parametrize(("share", "estimate"), [(0.05, 0), (0.9, 1)])
def test_an_estimate_outside_zero_and_one_is_clipped_and_flagged(share: float, estimate: float) -> None:
    found = known(rogan_gladen(share, n=1000, **COUNTS, transported=False))
    assert found.estimate == estimate
    assert found.low <= estimate <= found.high
    assert found.flags == ("clipped",)


@unhurried
@given(st.integers(0, 300), *[st.integers(0, 60)] * 4)
def test_the_interval_holds_the_estimate_and_mirrors(flagged: int, tp: int, fn: int, tn: int, fp: int) -> None:
    found = rogan_gladen(flagged / 300, n=300, tp=tp, fn=fn, tn=tn, fp=fp, transported=False)
    other = rogan_gladen((300 - flagged) / 300, n=300, tp=tn, fn=fp, tn=tp, fp=fn, transported=False)
    assume(isinstance(found, Rate) and isinstance(other, Rate))
    found, other = known(found), known(other)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert (other.estimate, other.low, other.high) == pytest.approx((1 - found.estimate, 1 - found.high, 1 - found.low))


@unhurried
@given(st.integers(0, 300), *[st.integers(0, 60)] * 4)
def test_a_judge_that_errs_more_often_than_not_counts_turned_round(
    flagged: int, tp: int, fn: int, tn: int, fp: int
) -> None:
    found = rogan_gladen(flagged / 300, n=300, tp=tp, fn=fn, tn=tn, fp=fp, transported=False)
    turned = rogan_gladen((300 - flagged) / 300, n=300, tp=fn, fn=tp, tn=fp, fp=tn, transported=False)
    assume(isinstance(found, Rate) and isinstance(turned, Rate))
    found, turned = known(found), known(turned)
    assert (turned.estimate, turned.low, turned.high) == pytest.approx((found.estimate, found.low, found.high))


def test_verdicts_are_their_share_and_count() -> None:
    verdicts = np.repeat([1, 0], [60, 140])
    assert rogan_gladen(verdicts, **COUNTS, transported=True) == rogan_gladen(0.3, n=200, **COUNTS, transported=True)


def test_clusters_make_verdicts_worth_fewer() -> None:
    verdicts, clusters = np.repeat([1, 0], [60, 140]), np.arange(200) // 10
    alone = known(rogan_gladen(verdicts, **COUNTS, transported=False))
    tens = known(rogan_gladen(verdicts, **COUNTS, transported=False, clusters=clusters))
    assert effective_number(verdicts, clusters) == pytest.approx(19)
    assert tens.estimate == alone.estimate
    assert tens.high - tens.low > 1.5 * (alone.high - alone.low)
    assert (alone.clusters, tens.clusters) == (200, 20)


def test_labels_in_clusters_are_worth_fewer_and_widen_the_interval() -> None:
    # 20 clusters of 5 harmful and 5 harmless units; in each the judge is always right or always wrong
    right, clusters = np.arange(200) % 20 < 17, np.arange(200) % 20
    truth = np.repeat([1, 0], 100)
    worth = label_worth(truth, np.where(right, truth, 1 - truth), clusters)
    assert worth == pytest.approx((19, 19))
    counts = {"tp": 85, "fn": 15, "tn": 85, "fp": 15}
    plain = known(rogan_gladen(0.4, n=1000, **counts, transported=True))
    clustered = known(rogan_gladen(0.4, n=1000, **counts, transported=True, worth=worth))
    assert clustered.estimate == plain.estimate
    assert clustered.high - clustered.low > 1.5 * (plain.high - plain.low)
    as_counted = known(rogan_gladen(0.4, n=1000, **counts, transported=True, worth=(100, 100)))
    assert as_counted == plain


def test_labels_of_one_cluster_are_worth_one_unit_and_none_are_worth_none() -> None:
    assert label_worth(np.ones(9), np.ones(9), np.zeros(9)) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"apparent": np.zeros(0)}, "no judged units"),
        ({"tp": 0, "fn": 0}, "no positive labels, so the judge's sensitivity is unknown"),
        ({"tn": 0, "fp": 0}, "no negative labels, so the judge's specificity is unknown"),
        ({"clusters": np.arange(200) % 4}, "too few clusters: 4, at least 5 are needed"),
        (
            {"tp": 6, "fn": 4, "tn": 45, "fp": 55},
            "the judge is no better than chance as far as is known: sensitivity + specificity - 1 is 0.05 (0.03 with "
            "one unit added to either side), with a standard error of 0.15",
        ),
        (
            # one harmful unit found is no proof of sensitivity
            {"tp": 1, "fn": 0, "tn": 30, "fp": 70},
            "the judge is no better than chance as far as is known: sensitivity + specificity - 1 is 0.30 (-0.03 with "
            "one unit added to either side), with a standard error of 0.28",
        ),
        (
            {"tp": 50, "fn": 50, "tn": 50, "fp": 50},
            "the judge is no better than chance as far as is known: sensitivity + specificity - 1 is 0.00 (0.00 with "
            "one unit added to either side), with a standard error of 0.07",
        ),
    ],
)
def test_what_leaves_no_rate(arguments: dict[str, Any], why: str) -> None:
    given_ = {"apparent": np.repeat([1, 0], [60, 140]), **COUNTS, "transported": False, **arguments}
    assert rogan_gladen(given_.pop("apparent"), **given_) == Undefined(why)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"apparent": 0.3}, "a share of 0 to 1 with n and no clusters"),
        ({"apparent": 1.3, "n": 10}, "a share of 0 to 1 with n"),
        ({"apparent": 0.3, "n": 5, "clusters": np.arange(5)}, "a share of 0 to 1 with n and no clusters"),
        ({"n": 200}, "one row of verdicts of 0 and 1 without"),
        ({"apparent": np.array([0, 1, 2])}, "verdicts of 0 and 1"),
        ({"clusters": np.arange(7)}, "clusters: expected 200"),
        ({"tp": -1}, "found a negative number"),
        ({"worth": (5, -1)}, "worth: expected two numbers, not negative"),
        ({"confidence": 95}, "confidence: expected between 0 and 1"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(arguments: dict[str, Any], said: str) -> None:
    given_ = {"apparent": np.repeat([1, 0], [60, 140]), **COUNTS, "transported": False, **arguments}
    with pytest.raises(ValueError, match=said):
        rogan_gladen(given_.pop("apparent"), **given_)


def test_rows_of_labels_are_checked() -> None:
    with pytest.raises(ValueError, match="three rows of one length"):
        label_worth(np.ones(3), np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="expected 0 and 1"):
        label_worth(np.array([0, 2]), np.ones(2), np.ones(2))


def test_intervals_hold_the_true_share_about_as_often_as_they_say() -> None:
    """Verdicts on 1,000 units in 40 clusters, errors known from 300 others in 40, where the judge errs by cluster."""
    random = np.random.default_rng(0)
    held = {"worth": 0, "counts": 0}
    for _ in range(300):
        rows = []
        for size in (1000, 300):
            cluster = np.arange(size) % 40
            truth = random.random(size) < random.beta(1.8, 7.2, 40)[cluster]
            flagged = np.where(truth, random.beta(8, 2, 40)[cluster], random.beta(1.5, 8.5, 40)[cluster])
            rows.append((truth.astype(int), (random.random(size) < flagged).astype(int), cluster))
        (_, judge, clusters), labels = rows
        tp, fn, tn, fp = (int(((labels[0] == t) & (labels[1] == j)).sum()) for t, j in ((1, 1), (1, 0), (0, 0), (0, 1)))
        for name, worth in (("worth", label_worth(*labels)), ("counts", None)):
            found = known(
                rogan_gladen(judge, tp=tp, fn=fn, tn=tn, fp=fp, transported=True, clusters=clusters, worth=worth)
            )
            held[name] += found.low <= 0.2 <= found.high
    assert 0.92 * 300 <= held["worth"] <= 0.99 * 300
    assert held["counts"] < held["worth"]


def test_labels_of_the_judged_units_themselves_say_more_than_a_count_of_errors() -> None:
    """The same estimate; narrower, since the judge's errors on labelled units cancel in part."""
    run = draw(np.random.default_rng(8), 2000, 60, 0.2)
    human = np.where(np.random.default_rng(9).random(2000) < 0.15, run.truth, np.nan)
    known = ~np.isnan(human)
    counts = confusion(run.truth[known], run.first[known])
    whole = rogan_gladen(
        run.first, tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp), transported=False,
        clusters=run.clusters,
    )  # fmt: skip
    within = rogan_gladen_within(run.first, human, run.clusters)
    assert isinstance(whole, Rate)
    assert isinstance(within, Rate)
    assert within.estimate == whole.estimate
    assert within.high - within.low < whole.high - whole.low
    assert within.low < 0.2 < within.high
    assert (within.n_labelled, within.n_unlabelled) == (int(known.sum()), 2000 - int(known.sum()))


def test_where_all_are_labelled_the_corrected_share_is_the_labels_own() -> None:
    run = draw(np.random.default_rng(8), 400, 40, 0.3)
    found = rogan_gladen_within(run.first, run.truth.astype(float), run.clusters)
    assert isinstance(found, Rate)
    assert found.estimate == pytest.approx(run.truth.mean())


def test_labels_of_one_class_correct_nothing_within_a_run() -> None:
    run = draw(np.random.default_rng(8), 400, 40, 0.3)
    human = np.where(run.truth == 0, 0.0, np.nan)
    found = rogan_gladen_within(run.first, human, run.clusters)
    assert found == Undefined("no positive labels, so the judge's sensitivity is unknown")
