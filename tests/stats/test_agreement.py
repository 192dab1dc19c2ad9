"""Agreement of raters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.stats.agreement import (
    Level,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    mean_raw_agreement,
    raw_agreement,
)
from psysafe.stats.undefined import Undefined

# the independent implementations
krippendorff = pytest.importorskip("krippendorff", reason="needs the extra stats")
metrics = pytest.importorskip("sklearn.metrics", reason="needs the extra stats")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="needs the extra dev")

Array = np.ndarray[Any, Any]
# the machine may be busy
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
_ = np.nan
LEVELS = get_args(Level)
WEIGHTS = [None, "linear", "quadratic"]

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, part C: four observers, 12 units, ratings missing.
# Also in Gwet (2014), Handbook of inter-rater reliability, p. 120, and in his package irrCAC.
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)


def rows_of(table: list[list[int]]) -> tuple[Array, Array]:
    """The ratings of two raters, from how often each pair of values occurs."""
    counts = np.array(table)
    first, second = np.indices(counts.shape)
    return np.repeat(first.ravel(), counts.ravel()), np.repeat(second.ravel(), counts.ravel())


@st.composite
def two_raters(draw: st.DrawFn) -> tuple[Array, Array]:
    """Values 0 to 3 of two raters who are not both constant and equal."""
    n = draw(st.integers(1, 25))
    values = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    first = draw(values)
    second = draw(values.filter(lambda found: len({*first, *found}) > 1))
    return np.array(first), np.array(second)


@st.composite
def matrices(draw: st.DrawFn) -> Array:
    """Values 0 to 3 of two to five raters, some missing; two units at least hold a pair, and ratings differ."""
    raters, units = draw(st.integers(2, 5)), draw(st.integers(0, 12))
    value = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan])
    column = st.lists(value, min_size=raters, max_size=raters)
    drawn = draw(st.lists(column, min_size=units, max_size=units))
    lone = [np.nan] * (raters - 2)
    return np.array([[0.0, draw(st.sampled_from([0.0, 3.0])), *lone], *drawn, [1.0, 1.0, *lone]]).T


def alpha_by_package(ratings: Array, level: str) -> float:
    return float(krippendorff.alpha(ratings, level_of_measurement=level))


def pairs_of(ratings: Array) -> list[list[tuple[float, float]]]:
    """Per unit with two ratings or more, its pairs of ratings."""
    units = [[value for value in unit if not np.isnan(value)] for unit in ratings.T]
    return [list(combinations(unit, 2)) for unit in units if len(unit) > 1]


# -- published --


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_published_alpha_of_four_observers_with_missing_ratings(level: Level, alpha: float) -> None:
    assert krippendorff_alpha(FOUR_OBSERVERS, level) == pytest.approx(alpha, abs=5e-4)


def test_published_alpha_of_two_observers() -> None:
    # Krippendorff (2011), parts A (binary) and B (five values)
    binary = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
    assert krippendorff_alpha(np.array(binary)) == pytest.approx(0.095, abs=5e-4)
    nominal = [[1, 1, 2, 2, 4, 3, 3, 3, 5, 4, 4, 1], [2, 1, 2, 2, 2, 3, 3, 3, 5, 4, 4, 4]]
    assert krippendorff_alpha(np.array(nominal)) == pytest.approx(0.692, abs=5e-4)


def test_published_kappas() -> None:
    # Cohen (1960), and again (1968): two psychiatrists, 200 patients, three diagnoses
    assert cohen_kappa(*rows_of([[88, 14, 18], [10, 40, 10], [2, 6, 12]]), range(3)) == pytest.approx(0.492, abs=5e-4)
    # Hout, Duncan and Sobel (1987), 91 couples; kappas as the R package vcd prints them (linear: equal spacing)
    couples = rows_of([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]])
    assert cohen_kappa(*couples, range(4)) == pytest.approx(0.1293, abs=5e-5)
    assert cohen_kappa(*couples, range(4), weights="linear") == pytest.approx(0.2374, abs=5e-5)


def test_published_ac1_where_kappa_fails() -> None:
    # Gwet (2008): 125 subjects of whom two raters both call 118 positive; kappa falls below 0 at 94% agreement
    first, second = rows_of([[118, 5], [2, 0]])
    assert raw_agreement(first, second) == 0.944
    assert cohen_kappa(first, second, (0, 1)) == pytest.approx(-0.0234, abs=5e-5)
    assert gwet_ac1(np.array([first, second]), (0, 1)) == pytest.approx(0.9408, abs=5e-5)


def test_published_figures_of_irrcac() -> None:
    # The vignette of irrCAC, by the author of AC1: 100 pregnancies and two abstractors; four raters with ratings missing
    abstractors = rows_of([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
    assert cohen_kappa(*abstractors, range(3)) == pytest.approx(0.7964094, abs=5e-8)
    assert gwet_ac1(np.array(abstractors), range(3)) == pytest.approx(0.8493305, abs=5e-8)
    assert krippendorff_alpha(np.array(abstractors)) == pytest.approx(0.7972585, abs=5e-8)
    assert mean_raw_agreement(FOUR_OBSERVERS) == pytest.approx(0.81818, abs=5e-6)
    assert gwet_ac1(FOUR_OBSERVERS, range(1, 6)) == pytest.approx(0.77544, abs=5e-6)


# -- against other implementations --


@pytest.mark.parametrize("weights", WEIGHTS)
@unhurried
@given(two_raters())
def test_kappa_equals_scikit_learn(weights: Any, of: tuple[Array, Array]) -> None:
    theirs = metrics.cohen_kappa_score(*of, labels=range(4), weights=weights)
    assert cohen_kappa(*of, range(4), weights) == pytest.approx(theirs, abs=1e-9)


def test_kappa_equals_statsmodels() -> None:
    table = [[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]]
    for weights in WEIGHTS:
        theirs = inter_rater.cohens_kappa(table, wt=weights).kappa
        assert cohen_kappa(*rows_of(table), range(4), weights) == pytest.approx(theirs)


@pytest.mark.parametrize("level", LEVELS)
@unhurried
@given(matrices())
def test_alpha_equals_the_package_krippendorff(level: Level, ratings: Array) -> None:
    assert krippendorff_alpha(ratings, level) == pytest.approx(alpha_by_package(ratings, level), abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_equals_the_package_with_many_uneven_values(level: Level) -> None:
    random = np.random.default_rng(3)
    ratings = np.round(random.normal(size=40) + random.normal(size=(3, 40)), 1) ** 3 + 1000
    ratings[random.random(ratings.shape) < 0.2] = np.nan
    assert krippendorff_alpha(ratings, level) == pytest.approx(alpha_by_package(ratings, level), abs=1e-9)


@unhurried
@given(matrices())
def test_mean_raw_agreement_is_that_of_pairs_within_units(ratings: Array) -> None:
    expected = np.mean([np.mean([first == second for first, second in pairs]) for pairs in pairs_of(ratings)])
    assert mean_raw_agreement(ratings) == pytest.approx(expected)


def test_mean_raw_agreement_is_the_observed_agreement_of_fleiss_kappa() -> None:
    ratings = np.random.default_rng(5).integers(0, 3, (4, 30)).astype(float)
    table, _values = inter_rater.aggregate_raters(ratings.T)
    chance = ((table.sum(axis=0) / table.sum()) ** 2).sum()
    observed = inter_rater.fleiss_kappa(table) * (1 - chance) + chance
    assert mean_raw_agreement(ratings) == pytest.approx(observed)


@unhurried
@given(matrices())
def test_ac1_follows_its_definition(ratings: Array) -> None:
    values = (0.0, 1.0, 2.0, 3.0)
    rated = [[value for value in unit if not np.isnan(value)] for unit in ratings.T]
    rated = [unit for unit in rated if unit]
    shares = [sum(unit.count(value) / len(unit) for unit in rated) / len(rated) for value in values]
    chance = sum(share * (1 - share) for share in shares) / (len(values) - 1)
    observed = mean_raw_agreement(ratings)
    assert isinstance(observed, float)
    assert gwet_ac1(ratings, values) == pytest.approx((observed - chance) / (1 - chance))


# -- what must not matter, and what must --

OF_MATRICES: list[Callable[[Array], Any]] = [
    mean_raw_agreement,
    lambda ratings: gwet_ac1(ratings, (0, 1, 2, 3)),
    *(lambda ratings, level=level: krippendorff_alpha(ratings, level) for level in LEVELS),
]
OF_MATRICES_NAMES = ["mean_raw_agreement", "gwet_ac1", *(f"alpha {level}" for level in LEVELS)]


@pytest.mark.parametrize("figure", OF_MATRICES, ids=OF_MATRICES_NAMES)
@unhurried
@given(ratings=matrices(), seed=st.integers(0, 99))
def test_order_of_units_and_of_raters_does_not_matter(figure: Callable[..., Any], ratings: Array, seed: int) -> None:
    random = np.random.default_rng(seed)
    assert figure(random.permutation(ratings, axis=1)) == pytest.approx(figure(ratings), abs=1e-12)
    # who gave a rating does not matter either: within a unit they may change places
    assert figure(random.permuted(ratings, axis=0)) == pytest.approx(figure(ratings), abs=1e-12)


@unhurried
@given(two_raters(), st.randoms(use_true_random=False))
def test_order_of_rows_and_of_raters_does_not_matter_to_kappa(of: tuple[Array, Array], random: Any) -> None:
    a, b = of
    order = list(range(len(a)))
    random.shuffle(order)
    for weights in WEIGHTS:
        kappa = cohen_kappa(a, b, range(4), weights)
        assert cohen_kappa(a[order], b[order], range(4), weights) == pytest.approx(kappa, abs=1e-12)
        assert cohen_kappa(b, a, range(4), weights) == pytest.approx(kappa, abs=1e-12)
    assert raw_agreement(a[order], b[order]) == raw_agreement(b, a) == mean_raw_agreement(np.array([a, b]))


@unhurried
@given(matrices(), st.permutations(range(4)))
def test_names_of_nominal_values_do_not_matter(ratings: Array, names: list[int]) -> None:
    renamed = np.full_like(ratings, np.nan)
    for value, name in enumerate(names):
        renamed[ratings == value] = name
    for figure in OF_MATRICES[:3]:
        assert figure(renamed) == pytest.approx(figure(ratings), abs=1e-12)


@unhurried
@given(two_raters(), st.permutations(range(4)))
def test_names_of_values_do_not_matter_to_unweighted_kappa(of: tuple[Array, Array], names: list[int]) -> None:
    a, b = (np.array(names)[side] for side in of)
    assert cohen_kappa(a, b, range(4)) == pytest.approx(cohen_kappa(*of, range(4)), abs=1e-12)


@unhurried
@given(matrices())
def test_alpha_ordinal_knows_order_alone_and_interval_no_scale(ratings: Array) -> None:
    assert krippendorff_alpha(np.exp(ratings), "ordinal") == krippendorff_alpha(ratings, "ordinal")
    assert krippendorff_alpha(1e-200 * ratings, "interval") == pytest.approx(
        krippendorff_alpha(ratings, "interval"), abs=1e-9
    )
    assert krippendorff_alpha(10 * ratings - 7, "interval") == pytest.approx(
        krippendorff_alpha(ratings, "interval"), abs=1e-9
    )


@unhurried
@given(matrices())
def test_units_with_one_rating_or_none_change_only_ac1(ratings: Array) -> None:
    lone = np.full((len(ratings), 2), np.nan)
    lone[0, 0] = 3
    more = np.hstack([ratings, lone])
    for figure in (OF_MATRICES[0], *OF_MATRICES[2:]):
        assert figure(more) == pytest.approx(figure(ratings), abs=1e-12)


def test_a_lone_rating_counts_for_the_chance_of_ac1() -> None:
    # 2 of 3 units 0 and one 1, so chance is 4/9; without the lone one it would be 0.
    assert gwet_ac1(np.array([[0, 0, 1], [0, 1, _]]), (0, 1)) == pytest.approx((0.5 - 0.5) / 0.5)
    assert gwet_ac1(np.array([[0, 0, 1], [0, 0, _]]), (0, 1)) == pytest.approx(1)
    assert gwet_ac1(np.array([[0, 0, 1, 1], [0, 1, _, _]]), (0, 1)) == pytest.approx((0.5 - 15 / 32) / (17 / 32))


def test_an_absent_level_counts_for_weights_and_ac1() -> None:
    a, b = np.array([0, 0, 2, 2, 1]), np.array([0, 2, 2, 1, 1])
    with_gap = np.array([0, 0, 3, 3, 1]), np.array([0, 3, 3, 1, 1])
    for weights in ("linear", "quadratic"):
        assert cohen_kappa(*with_gap, (0, 1, 2, 3), weights) != pytest.approx(cohen_kappa(a, b, (0, 1, 2), weights))
        # places count, not values
        assert cohen_kappa(*with_gap, (0, 1, 3), weights) == pytest.approx(cohen_kappa(a, b, (0, 1, 2), weights))
    assert cohen_kappa(*with_gap, (0, 1, 2, 3)) == pytest.approx(cohen_kappa(a, b, (0, 1, 2)))
    ratings = np.array([a, b])
    assert gwet_ac1(ratings, (0, 1, 2, 3)) != pytest.approx(gwet_ac1(ratings, (0, 1, 2)))


def test_full_agreement_is_one_and_opposite_ratings_are_below_chance() -> None:
    same, opposite = np.array([[0, 1, 1], [0, 1, 1]]), np.array([[0, 1, 1, 0], [1, 0, 0, 1]])
    assert [figure(same) for figure in OF_MATRICES] == [1] * 5
    assert cohen_kappa(*same, (0, 1)) == raw_agreement(*same) == 1
    assert cohen_kappa(*opposite, (0, 1)) == gwet_ac1(opposite, (0, 1)) == -1
    assert raw_agreement(*opposite) == mean_raw_agreement(opposite) == 0
    assert krippendorff_alpha(opposite) == pytest.approx(1 - 7 * 8 / 32)


# -- degenerate --

CHANCE = Undefined("both sides say one and the same of every row, so chance alone agrees fully")
EQUAL = Undefined("all ratings are equal, so agreement cannot be told from chance")
NO_PAIRS = Undefined("no unit has two ratings")


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [1, 4])
def test_kappa_of_raters_who_only_say_one_thing(weights: Any, n: int) -> None:
    ones, zeros = np.ones(n), np.zeros(n)
    assert cohen_kappa(ones, ones, (0, 1, 2), weights) == CHANCE
    # constant, but different: no agreement, and none expected
    assert cohen_kappa(ones, zeros, (0, 1, 2), weights) == 0
    assert raw_agreement(ones, ones) == 1
    assert raw_agreement(ones, zeros) == 0


@pytest.mark.parametrize("weights", WEIGHTS)
def test_one_constant_rater_has_kappa_zero(weights: Any) -> None:
    assert cohen_kappa(np.array([0, 1, 2, 1]), np.ones(4), (0, 1, 2), weights) == pytest.approx(0)


def test_without_rows_two_raters_have_no_agreement() -> None:
    none = np.zeros(0)
    assert raw_agreement(none, none) == Undefined("no rows")
    assert cohen_kappa(none, none, (0, 1)) == Undefined("no rows")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("ratings", "units"),
    [
        (np.zeros((2, 0)), 0),
        (np.zeros((0, 2)), 0),
        (np.zeros((1, 5)), 0),
        (np.full((3, 4), np.nan), 0),
        (np.array([[0, 1, _], [_, _, 1]]), 0),
        (np.array([[0, 1, _], [1, _, 1]]), 1),
    ],
)
def test_alpha_needs_two_units_with_two_ratings(level: Level, ratings: Array, units: int) -> None:
    assert krippendorff_alpha(ratings, level) == Undefined(f"units with two ratings: {units}; at least two are needed")


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_without_variation(level: Level) -> None:
    assert krippendorff_alpha(np.ones((3, 4)), level) == EQUAL
    # a different rating that stands alone in its unit forms no pair
    assert krippendorff_alpha(np.array([[1, 1, 2], [1, 1, _]]), level) == EQUAL


@pytest.mark.parametrize(
    "ratings",
    [np.zeros((2, 0)), np.zeros((0, 2)), np.zeros((1, 3)), np.full((2, 2), np.nan), np.array([[0, _], [_, 1]])],
)
def test_without_pairs_there_is_no_raw_agreement_and_no_ac1(ratings: Array) -> None:
    assert mean_raw_agreement(ratings) == NO_PAIRS
    assert gwet_ac1(ratings, (0, 1)) == NO_PAIRS


def test_one_unit_is_enough_for_raw_agreement_and_ac1() -> None:
    one = np.array([[1], [1], [0]])
    assert mean_raw_agreement(one) == pytest.approx(1 / 3)
    assert gwet_ac1(one, (0, 1)) == pytest.approx((1 / 3 - 4 / 9) / (5 / 9))


def test_ac1_is_defined_where_all_ratings_are_equal() -> None:
    assert gwet_ac1(np.ones((3, 4)), (0, 1)) == 1


# -- wrong use --


@pytest.mark.parametrize("figure", [raw_agreement, lambda a, b: cohen_kappa(a, b, (0, 1))], ids=["raw", "kappa"])
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0, 1], [1], r"expected two rows of one length, found \(2,\) and \(1,\)"),
        ([[0, 1]], [[0, 1]], "expected two rows of one length"),
        ([0, _], [0, 1], "none missing; leave out rows that lack one"),
        ([0, 1], [0, np.inf], "expected finite ratings"),
    ],
)
def test_two_raters_need_complete_rows(figure: Callable[..., Any], a: Any, b: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure(np.array(a), np.array(b))


@pytest.mark.parametrize("figure", OF_MATRICES, ids=OF_MATRICES_NAMES)
@pytest.mark.parametrize("shape", [(), (3,), (1, 2, 2)])
def test_ratings_are_a_matrix(figure: Callable[..., Any], shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="ratings: expected raters x units, found shape"):
        figure(np.zeros(shape))


@pytest.mark.parametrize("figure", OF_MATRICES, ids=OF_MATRICES_NAMES)
def test_infinite_ratings_are_refused(figure: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="ratings: expected finite numbers, nan where missing"):
        figure(np.array([[0, np.inf], [0, 1]]))


@pytest.mark.parametrize("value", [-1, 0.5, 7])
def test_a_rating_outside_the_levels_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=rf"a rating is {value:g}, none of the levels \[0, 1, 2\]"):
        cohen_kappa(np.array([0, 1]), np.array([0, value]), (0, 1, 2))
    with pytest.raises(ValueError, match=rf"a rating is {value:g}, none of the levels \[0, 1, 2\]"):
        gwet_ac1(np.array([[0, value], [0, _]]), (0, 1, 2))


@pytest.mark.parametrize("levels", [(), (1, 0), (0, 0, 1), (0, np.nan)])
def test_levels_ascend(levels: tuple[float, ...]) -> None:
    for figure in (lambda: cohen_kappa(np.zeros(0), np.zeros(0), levels), lambda: gwet_ac1(np.zeros((2, 2)), levels)):
        with pytest.raises(ValueError, match="expected all possible values, each once, ascending"):
            figure()


def test_ac1_needs_two_levels() -> None:
    with pytest.raises(ValueError, match="levels: expected at least two"):
        gwet_ac1(np.zeros((2, 2)), (0,))


def test_unknown_weights_and_levels_of_measurement_are_refused() -> None:
    with pytest.raises(ValueError, match="weights 'cubic': expected None, linear or quadratic"):
        cohen_kappa(np.zeros(0), np.zeros(0), (0, 1), weights="cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level 'ratio': expected nominal, ordinal or interval"):
        krippendorff_alpha(np.zeros((2, 0)), "ratio")  # type: ignore[arg-type]
