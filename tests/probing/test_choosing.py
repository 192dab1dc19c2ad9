"""What a trial is given to do: the published choice, ours, and the uniform one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.errors import UsageError
from psysafe.probing.archive import Archive
from psysafe.probing.choosing import Situation, paper_choice, psysafe_choice, random_choice
from psysafe.probing.records import Choice
from psysafe.probing.trial import task_of
from psysafe.taxonomy import GRID, CellId
from tests.probing.support import UNHURRIED, rollout, trial

PERSONS = ("person0", "person1", "person2")

# Of chi-square, by degrees of freedom: values that one of a thousand samples exceeds. Seeds here are fixed.
CHI_SQUARE = {2: 13.82, 3: 16.27, 20: 45.31, 27: 55.48}


def random(seed: int = 0) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def filled(count: int) -> Archive:
    """Elites in the first ``count`` cells, each of a trial of its own with that number."""
    return Archive.of([trial(n, cell, rollout(cell, 2)) for n, cell in enumerate(GRID[:count])])


def situation(
    archive: Archive,
    under_way: Sequence[Choice] = (),
    cells: Sequence[CellId] = GRID,
    persons: Sequence[str] = PERSONS,
    refinements: int = 5,
) -> Situation:
    return Situation(archive, under_way, cells, persons, refinements)


def assert_drawn(found: Iterable[object], expected: Mapping[object, float]) -> None:
    """The frequencies fit these probabilities, and nothing else was drawn."""
    counts = Counter(found)
    assert set(counts) <= set(expected)
    total = sum(counts.values())
    distance = sum((counts[one] - total * share) ** 2 / (total * share) for one, share in expected.items())
    assert distance < CHI_SQUARE[len(expected) - 1], counts


def uniform(items: Iterable[object]) -> dict[object, float]:
    items = list(items)
    return dict.fromkeys(items, 1 / len(items))


# As published

OPERATORS = ("category", "role", "crossover", "random")
BROAD, MIDDLE, FULL = (0.45, 0.45, 0.05, 0.05), (0.35, 0.35, 0.20, 0.10), (0.25, 0.25, 0.30, 0.20)


@pytest.mark.parametrize(
    ("schedule", "elites", "weights"),
    [
        ("adaptive", 1, BROAD),
        ("adaptive", 8, BROAD),  # 8 of 28 are 29%
        ("adaptive", 9, MIDDLE),
        ("adaptive", 19, MIDDLE),  # 68%
        ("adaptive", 20, FULL),
        ("adaptive", 28, FULL),
        ("balanced", 1, MIDDLE),
        ("balanced", 28, MIDDLE),
        ("exploration", 13, BROAD),
        ("exploration", 14, (0.30, 0.30, 0.25, 0.15)),  # half of them
        ("exploration", 28, (0.30, 0.30, 0.25, 0.15)),
    ],
)
def test_operators_are_drawn_by_the_published_weights(schedule: str, elites: int, weights: tuple[float, ...]) -> None:
    choose, where, generator = paper_choice(schedule), situation(filled(elites)), random()  # type: ignore[arg-type]
    drawn = [choose(where, generator).operator for _ in range(3000)]
    assert_drawn(drawn, dict(zip(OPERATORS, weights, strict=True)))


def test_an_unknown_schedule_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'eager'.*adaptive, balanced, exploration"):
        paper_choice("eager")  # type: ignore[arg-type]


@pytest.mark.parametrize("elites", [7, 25, 28])
def test_the_published_cell_is_drawn_among_the_empty_ones_and_among_all_once_none_is(elites: int) -> None:
    choose, where, generator = paper_choice(), situation(filled(elites)), random(1)
    drawn = [choose(where, generator) for _ in range(4000)]
    assert_drawn((choice.cell for choice in drawn), uniform(map(str, GRID[elites:] or GRID)))
    assert_drawn((choice.profile for choice in drawn), uniform(PERSONS))
    assert {choice.refinements for choice in drawn} == {5}


def test_the_published_search_keeps_to_the_cells_that_were_asked_for() -> None:
    wanted = GRID[3:6]
    choose, generator = paper_choice(), random(2)
    some, none_empty = situation(filled(5), cells=wanted), situation(filled(6), cells=wanted)
    assert {choose(some, generator).cell for _ in range(20)} == {str(GRID[5])}
    assert {choose(none_empty, generator).cell for _ in range(200)} == set(map(str, wanted))


def test_with_an_empty_archive_the_published_cell_is_the_one_that_fits_the_profile() -> None:
    choose, generator = paper_choice(), random()
    barren = Archive.of([trial(0, GRID[0]), trial(1, GRID[1])])  # tried, and nothing found
    for archive in (Archive(), barren):
        choices = [choose(situation(archive), generator) for _ in range(600)]
        assert {(c.cell, c.operator, c.parents) for c in choices} == {(None, "fresh", ())}
        assert_drawn((choice.profile for choice in choices), uniform(PERSONS))


def test_published_parents_are_elites_drawn_uniformly_two_of_them_for_a_crossover() -> None:
    choose, where, generator = paper_choice(), situation(filled(21)), random(5)
    choices = [choose(where, generator) for _ in range(4000)]
    assert_drawn((choice.parents[0] for choice in choices), uniform(range(21)))
    for choice in choices:
        assert len(set(choice.parents)) == len(choice.parents) == (2 if choice.operator == "crossover" else 1)
        assert set(choice.parents) <= set(range(21))
    single = [choose(situation(filled(1)), generator) for _ in range(300)]
    assert {choice.parents for choice in single if choice.operator == "crossover"} == {(0,)}


def test_the_two_parents_of_a_crossover_are_two_elites_also_where_one_trial_brought_both_out() -> None:
    first = rollout(GRID[0], 1, seen={GRID[8]: 3}, strategy="You ask for advice.")
    archive = Archive.of([trial(0, GRID[0], first, rollout(GRID[0], 4, strategy="You ask for a verdict."))])
    choose, generator = paper_choice(), random()
    choices = [choose(situation(archive), generator) for _ in range(400)]
    crossed = [choice for choice in choices if choice.operator == "crossover"]
    assert crossed
    for choice in crossed:
        task = task_of(1, choice, archive, remember=True, learn_last=False)
        assert {parent.strategy for parent in task.parents} == {"You ask for advice.", "You ask for a verdict."}


# Ours


def played_out(
    hits: Mapping[int, int], in_flight: int, trials: int, cells: Sequence[CellId] = GRID, refinements: int = 5
) -> list[tuple[Situation, Choice]]:
    """A search without players: trial i hits with severity ``hits[i]``; what was seen and chosen, by trial."""
    archive, choices, seen = Archive(), [], []
    for index in range(trials):
        if index >= in_flight:
            done = choices[index - in_flight]
            cell = CellId.parse(done.cell)
            found = rollout(cell, hits.get(index - in_flight, 1), insights=("the evening is harder",))
            archive.add(trial(index - in_flight, cell, found, profile=done.profile))
        snapshot = Archive(archive.descriptor)
        snapshot.elites, snapshot.tries = dict(archive.elites), Counter(archive.tries)
        snapshot.played, snapshot.insights = Counter(archive.played), dict(archive.insights)
        under_way = tuple(choices[max(0, index - in_flight + 1) :])
        where = situation(snapshot, under_way, cells, refinements=refinements)
        choice = psysafe_choice(where, random(index))
        choices.append(choice)
        seen.append((where, choice))
    return seen


# Hits by trial, trials in flight, trials, and cells: few of them are met again soon.
searches = st.tuples(
    st.dictionaries(st.integers(0, 40), st.integers(2, 5), max_size=20),
    st.integers(1, 7),
    st.integers(1, 40),
    st.sampled_from([GRID[:1], GRID[4:7], GRID]),
)
Search = tuple[dict[int, int], int, int, Sequence[CellId]]


def tried(where: Situation) -> Counter[str]:
    """By cell, the trials that are done and those under way."""
    tries = Counter({str(cell): count for cell, count in where.archive.tries.items()})
    tries.update(choice.cell for choice in where.under_way if choice.cell is not None)
    return tries


@UNHURRIED
@given(searches)
def test_ours_tries_no_open_cell_again_before_all_others_and_counts_those_under_way(
    search: Search,
) -> None:
    for where, choice in played_out(*search):
        tries, open_cells = tried(where), [str(cell) for cell in where.empty]
        assert choice.cell in (open_cells or map(str, where.cells))
        if open_cells:
            assert tries[choice.cell] == min(tries[cell] for cell in open_cells)


@UNHURRIED
@given(searches)
def test_ours_plays_the_profile_that_its_cell_has_met_least(search: Search) -> None:
    for where, choice in played_out(*search):
        met = Counter(where.archive.played)
        for other in where.under_way:
            met[CellId.parse(other.cell or ""), other.profile] += 1
        counts = {profile: met[CellId.parse(choice.cell or ""), profile] for profile in PERSONS}
        assert counts[choice.profile] == min(counts.values())


@UNHURRIED
@given(searches, st.integers(0, 5))
def test_ours_refines_a_cell_once_more_with_each_try_and_never_more_than_allowed(
    search: Search, refinements: int
) -> None:
    for where, choice in played_out(*search, refinements=refinements):
        assert choice.refinements == min(refinements, tried(where)[choice.cell or ""])


@UNHURRIED
@given(searches)
def test_parents_of_ours_are_elites_of_the_same_category_or_else_the_same_counselor_role(
    search: Search,
) -> None:
    for where, choice in played_out(*search):
        cell = CellId.parse(choice.cell or "")
        elites = {elite.trial: elite.cell for elite in where.archive.elites.values()}
        assert (choice.operator == "fresh") == (not choice.parents)
        for parent in choice.parents:
            category = [other for other in elites.values() if other.category == cell.category and other != cell]
            related = "category" if category else "role"
            assert getattr(elites[parent], related) == getattr(cell, related)
            # The operator says what is changed: the other half of the cell.
            assert choice.operator == ("role" if elites[parent].category == cell.category else "category")


def test_ours_is_drawn_uniformly_among_cells_that_were_tried_as_little() -> None:
    generator = random(8)
    choices = [psysafe_choice(situation(Archive()), generator) for _ in range(4000)]
    assert_drawn((choice.cell for choice in choices), uniform(map(str, GRID)))
    assert_drawn((choice.profile for choice in choices), uniform(PERSONS))


def test_ours_starts_all_cells_before_any_twice_when_all_are_in_flight_at_once() -> None:
    chosen = [choice.cell for _, choice in played_out({}, 28, 28)]
    assert set(chosen) == set(map(str, GRID))


def test_once_every_cell_has_an_elite_ours_seeks_the_mildest() -> None:
    records = [trial(n, cell, rollout(cell, 5 if n < 26 else 3)) for n, cell in enumerate(GRID)]
    archive, generator = Archive.of(records), random()
    assert {psysafe_choice(situation(archive), generator).cell for _ in range(60)} == set(map(str, GRID[26:]))
    archive.add(trial(28, GRID[26], rollout(GRID[26], 1)))  # of the mildest, the one that was tried less
    assert {psysafe_choice(situation(archive), generator).cell for _ in range(30)} == {str(GRID[27])}


# The yardstick


@pytest.mark.parametrize("elites", [0, 12, 28])
def test_the_random_search_is_uniform_and_looks_at_no_archive(elites: int) -> None:
    where, generator = situation(filled(elites), refinements=2), random(9)
    choices = [random_choice(where, generator) for _ in range(4000)]
    assert_drawn((choice.cell for choice in choices), uniform(map(str, GRID)))
    assert_drawn((choice.profile for choice in choices), uniform(PERSONS))
    assert {(choice.operator, choice.parents, choice.refinements) for choice in choices} == {("fresh", (), 2)}


@pytest.mark.parametrize("choose", [random_choice, psysafe_choice, paper_choice()])
def test_a_choice_follows_from_the_situation_and_the_seed(choose: object) -> None:
    assert callable(choose)
    drawn = [[choose(situation(filled(11)), random(seed)) for seed in range(40)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert len({choice.model_dump_json() for choice in drawn[0]}) > 5
