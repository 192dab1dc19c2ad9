"""Verdicts against the truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.stats.classification import (
    Confusion,
    accuracy,
    balanced_accuracy,
    confusion,
    f1,
    negative_predictive_value,
    precision,
    prevalence,
    roc_auc,
    sensitivity,
    specificity,
)
from psysafe.stats.undefined import Undefined

metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra stats")

Array = np.ndarray[Any, Any]
# the machine may be busy
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
OF_VERDICTS = [accuracy, balanced_accuracy, f1, negative_predictive_value, precision, sensitivity, specificity]

THEIRS: dict[Callable[..., Any], Callable[..., float]] = {
    accuracy: metrics.accuracy_score,
    balanced_accuracy: metrics.balanced_accuracy_score,
    f1: metrics.f1_score,
    precision: metrics.precision_score,
    sensitivity: metrics.recall_score,
    specificity: lambda t, p, sample_weight=None: metrics.recall_score(t, p, pos_label=0, sample_weight=sample_weight),
    negative_predictive_value: lambda t, p, sample_weight=None: metrics.precision_score(
        t, p, pos_label=0, sample_weight=sample_weight
    ),
}


@st.composite
def rows(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Truth with both classes, verdicts of both kinds, weights."""
    n = draw(st.integers(0, 30))
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    # The first four rows are one of each kind, so that every figure is defined.
    truth = np.array([0, 0, 1, 1, *draw(bits)])
    predicted = np.array([0, 1, 0, 1, *draw(bits)])
    weights = draw(st.lists(st.floats(0.1, 50), min_size=n + 4, max_size=n + 4))
    return truth, predicted, np.array(weights)


# -- published --


def test_published_example_of_a_screening_test() -> None:
    # Altman and Bland (1994), Diagnostic tests 1 and 2, BMJ 308 and 309: liver scans, 258 abnormal and 86 normal by
    # pathology; 231 and 27 of the abnormal, 32 and 54 of the normal.
    truth = np.repeat([1, 1, 0, 0], [231, 27, 32, 54])
    predicted = np.repeat([1, 0, 1, 0], [231, 27, 32, 54])
    assert confusion(truth, predicted) == Confusion(tp=231, fp=32, fn=27, tn=54)
    assert sensitivity(truth, predicted) == pytest.approx(0.90, abs=0.005)
    assert specificity(truth, predicted) == pytest.approx(0.63, abs=0.005)
    assert precision(truth, predicted) == pytest.approx(0.88, abs=0.005)
    assert negative_predictive_value(truth, predicted) == pytest.approx(0.67, abs=0.005)
    assert prevalence(truth) == pytest.approx(0.75, abs=0.005)


def test_published_example_of_a_roc_curve() -> None:
    # Hanley and McNeil (1982), Radiology 143, table I: ratings of 109 CT images, 58 normal and 51 abnormal; the area by
    # the Wilcoxon statistic is .893.
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    score = np.concatenate([np.repeat(range(1, 6), normal), np.repeat(range(1, 6), abnormal)])
    assert roc_auc(np.repeat([0, 1], [58, 51]), score) == pytest.approx(0.893, abs=5e-4)


# -- against another implementation --


@pytest.mark.parametrize("ours", OF_VERDICTS)
@unhurried
@given(rows())
def test_equals_scikit_learn(ours: Callable[..., Any], of: tuple[Array, Array, Array]) -> None:
    truth, predicted, weights = of
    assert ours(truth, predicted) == pytest.approx(THEIRS[ours](truth, predicted))
    assert ours(truth, predicted, weights) == pytest.approx(THEIRS[ours](truth, predicted, sample_weight=weights))


@unhurried
@given(rows())
def test_confusion_equals_scikit_learn(of: tuple[Array, Array, Array]) -> None:
    truth, predicted, weights = of
    for w in (None, weights):
        tn, fp, fn, tp = metrics.confusion_matrix(truth, predicted, sample_weight=w).ravel()
        found = confusion(truth, predicted, w)
        assert (found.tp, found.fp, found.fn, found.tn) == pytest.approx((tp, fp, fn, tn))
        assert found.n == pytest.approx(len(truth) if w is None else w.sum())
    assert prevalence(truth, weights) == pytest.approx(np.average(truth, weights=weights))


@unhurried
@given(rows(), st.data())
def test_roc_auc_equals_scikit_learn_with_ties(of: tuple[Array, Array, Array], data: st.DataObject) -> None:
    truth, _, weights = of
    score = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(truth), max_size=len(truth)))) / 4
    assert roc_auc(truth, score) == pytest.approx(metrics.roc_auc_score(truth, score))
    assert roc_auc(truth, score, weights) == pytest.approx(metrics.roc_auc_score(truth, score, sample_weight=weights))


def test_a_tie_counts_half() -> None:
    truth = np.array([1, 0, 0])
    assert roc_auc(truth, np.array([5, 5, 1])) == 0.75
    assert roc_auc(truth, np.array([5, 5, 5])) == 0.5


# -- what must not matter --


@unhurried
@given(rows(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(of: tuple[Array, Array, Array], random: Any) -> None:
    truth, predicted, weights = of
    order = list(range(len(truth)))
    random.shuffle(order)
    for figure in (*OF_VERDICTS, roc_auc):
        assert figure(truth[order], predicted[order], weights[order]) == pytest.approx(
            figure(truth, predicted, weights)
        )


@unhurried
@given(rows())
def test_a_weight_of_two_is_a_row_that_stands_twice(of: tuple[Array, Array, Array]) -> None:
    truth, predicted, _ = of
    times = 1 + np.arange(len(truth)) % 3
    for figure in (*OF_VERDICTS, roc_auc):
        assert figure(truth, predicted, times) == pytest.approx(figure(truth.repeat(times), predicted.repeat(times)))
    assert prevalence(truth, times) == pytest.approx(prevalence(truth.repeat(times)))


@unhurried
@given(rows())
def test_naming_the_other_class_positive_swaps_the_figures(of: tuple[Array, Array, Array]) -> None:
    truth, predicted, weights = of
    assert sensitivity(1 - truth, 1 - predicted, weights) == pytest.approx(specificity(truth, predicted, weights))
    assert precision(1 - truth, 1 - predicted, weights) == pytest.approx(
        negative_predictive_value(truth, predicted, weights)
    )
    assert balanced_accuracy(1 - truth, 1 - predicted) == pytest.approx(balanced_accuracy(truth, predicted))
    assert roc_auc(1 - truth, -predicted) == pytest.approx(roc_auc(truth, predicted))


@unhurried
@given(rows())
def test_roc_auc_of_verdicts_is_their_balanced_accuracy(of: tuple[Array, Array, Array]) -> None:
    truth, predicted, weights = of
    assert roc_auc(truth, predicted, weights) == pytest.approx(balanced_accuracy(truth, predicted, weights))


# -- degenerate --

POSITIVES, NEGATIVES = Undefined("no positive labels"), Undefined("no negative labels")
FLAGGED, PASSED = Undefined("no positive verdicts"), Undefined("no negative verdicts")


@pytest.mark.parametrize(
    ("figure", "truth", "predicted", "expected"),
    [
        (sensitivity, 0, 1, POSITIVES),
        (balanced_accuracy, 0, 0, POSITIVES),
        (f1, 0, 0, POSITIVES),
        (f1, 0, 1, POSITIVES),
        (roc_auc, 0, 0, POSITIVES),
        (specificity, 1, 1, NEGATIVES),
        (balanced_accuracy, 1, 1, NEGATIVES),
        (roc_auc, 1, 1, NEGATIVES),
        (precision, 1, 0, FLAGGED),
        (negative_predictive_value, 0, 1, PASSED),
        # and those that one row does define
        (accuracy, 0, 0, 1.0),
        (accuracy, 1, 0, 0.0),
        (specificity, 0, 1, 0.0),
        (sensitivity, 1, 1, 1.0),
        (precision, 0, 1, 0.0),
        (negative_predictive_value, 1, 0, 0.0),
        (f1, 1, 0, 0.0),
        (f1, 1, 1, 1.0),
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_one_class_only(figure: Callable[..., Any], truth: int, predicted: int, expected: object, n: int) -> None:
    of = np.full(n, truth), np.full(n, predicted)
    assert figure(*of) == expected
    assert figure(*of, weights=np.full(n, 0.7)) == expected


@pytest.mark.parametrize("figure", [*OF_VERDICTS, roc_auc])
@pytest.mark.parametrize("weights", [None, np.zeros(0)])
def test_without_rows_nothing_is_defined(figure: Callable[..., Any], weights: Array | None) -> None:
    none = np.zeros(0)
    assert figure(none, none, weights) == Undefined("no rows")
    assert prevalence(none, weights) == Undefined("no rows")


@unhurried
@given(st.data())
def test_every_input_gives_a_share_or_a_reason(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 4))
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    truth, predicted = np.array(data.draw(bits)), np.array(data.draw(bits))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for figure in (*OF_VERDICTS, roc_auc):
            value = figure(truth, predicted)
            assert isinstance(value, Undefined) or (type(value) is float and 0 <= value <= 1)


# -- wrong use --


@pytest.mark.parametrize("figure", [confusion, *OF_VERDICTS, roc_auc])
@pytest.mark.parametrize(
    ("truth", "predicted", "weights", "message"),
    [
        ([0, 1], [1], None, r"truth has 2 rows, predicted 1|expected one row of 2 numbers, found shape \(1,\)"),
        ([0, 2], [1, 1], None, "truth: expected one row of 0 and 1"),
        ([0, np.nan], [1, 1], None, "truth: expected one row of 0 and 1"),
        ([[0, 1]], [[1, 1]], None, "truth: expected one row of 0 and 1"),
        ([0, 1], [1, np.nan], None, "predicted: expected one row of 0 and 1|score: expected finite"),
        ([0, 1], [1, np.inf], None, "predicted: expected one row of 0 and 1|score: expected finite"),
        ([0, 1], [[1], [0]], None, r"predicted: expected one row|score: expected one row of 2 numbers, found shape \(2, 1\)"),
    ]
    + [([0, 1], [1, 1], w, "weights: expected 2 positive numbers") for w in ([1], [1, 0], [1, -1], [1, np.nan], [1, np.inf], [[1], [1]], 1)],
)  # fmt: skip
def test_wrong_use_is_refused(
    figure: Callable[..., Any], truth: Any, predicted: Any, weights: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        figure(np.array(truth), np.array(predicted), None if weights is None else np.array(weights))


@pytest.mark.parametrize("figure", [confusion, *OF_VERDICTS])
def test_a_probability_is_no_verdict(figure: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="predicted: expected one row of 0 and 1"):
        figure(np.array([0, 1]), np.array([0.2, 0.9]))


def test_true_and_false_are_labels_too() -> None:
    found = confusion(np.array([True, True, False]), np.array([True, False, False]))
    assert found == Confusion(tp=1, fp=0, fn=1, tn=1)
