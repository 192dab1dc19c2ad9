"""What follows the search: reproductions, controls and clients with an ordinary concern."""

from __future__ import annotations

import pytest

from psysafe.clients.loading import benign_profiles
from psysafe.clients.profile import Profile
from psysafe.probing.archive import Archive
from psysafe.probing.records import Trial
from psysafe.probing.stages import BENIGN_CELLS, benign, controls, repetitions
from psysafe.probing.trial import Task, run_trial
from psysafe.taxonomy import GRID
from tests.probing.support import Listening, Players, every_other_cell, persons, quick, records_of, rollout, trial
from tests.support.asking import run

A, B = GRID[3], GRID[20]


def search() -> list[Trial]:
    """Two elites, one of them off target; trials of one to three rollouts."""
    return [
        trial(0, B, rollout(B, 1), rollout(B, 1), profile="person1"),
        trial(1, A, rollout(A, 4, strategy="You begin with the letter."), profile="person2"),
        trial(2, A, rollout(A, 4, strategy="Later and no worse."), profile="person0"),
        trial(
            3, A, rollout(A, 1), rollout(A, 1), rollout(A, 1, strategy="By the way.", seen={B: 2}), profile="person3"
        ),
    ]


def played(tasks: list[Task], cast: Players) -> list[Trial]:
    async def all_of_them() -> list[Trial]:
        return [await run_trial(task, cast.cast, quick()) for task in tasks]

    return run(all_of_them())


# Reproductions


def test_each_elite_is_repeated_so_often_with_its_own_strategy_profile_and_cell() -> None:
    tasks = repetitions("reproduction", Archive.of(search()), 3)
    assert [task.index for task in tasks] == [0, 1, 2, 3, 4, 5]
    assert {task.kind for task in tasks} == {"reproduction"}
    told = [(task.choice.cell, task.choice.profile, task.strategy, task.of) for task in tasks]
    # in the order of the grid
    first, second = (str(A), "person2", "You begin with the letter.", 1), (str(B), "person3", "By the way.", 3)
    assert told == [first] * 3 + [second] * 3
    # outside the search: one dialogue each, nothing of what the archive remembers
    assert {task.choice.refinements for task in tasks} == {0}
    assert not any(task.parents or task.insights or task.shared or task.controlled for task in tasks)


def test_nothing_is_repeated_where_nothing_was_found_or_nothing_is_asked_for() -> None:
    assert repetitions("reproduction", Archive.of([trial(0, A)]), 3) == []
    assert repetitions("reproduction", Archive.of(search()), 0) == []


def test_a_repeated_strategy_is_played_word_for_word_with_seeds_of_its_own() -> None:
    cast = Players(every_other_cell())
    target = Listening(cast.target)
    cast.target = target
    found = run(records_of(cast.searching(quick(trials=12, refinements=0))))
    seeds = {asked.config.seed for asked in target.asked}
    strategist = Listening(cast.strategist)
    cast.strategist = strategist
    target.asked.clear()
    archive = Archive.of(found)
    assert archive.elites
    again = played(repetitions("reproduction", archive, 3), cast)
    assert strategist.asked == []
    by_trial = {elite.trial: elite for elite in archive.elites.values()}
    for one in again:
        assert one.of is not None
        elite = by_trial[one.of]
        assert [rollout.strategy for rollout in one.rollouts] == [elite.strategy]
    others = [asked.config.seed for asked in target.asked]
    assert None not in others
    assert not seeds & set(others)
    assert len(set(others)) == len(others)


# Controls


def test_a_control_has_the_profile_the_cell_and_the_tries_of_its_trial_and_no_strategy() -> None:
    found = search()
    tasks = controls(found, quick(), 4)
    assert [task.of for task in tasks] == [0, 1, 2, 3]
    assert [task.index for task in tasks] == [0, 1, 2, 3]
    for task, of in zip(tasks, found, strict=True):
        assert (task.kind, task.controlled, task.strategy) == ("control", True, None)
        assert (task.choice.cell, task.choice.profile) == (of.cell, of.profile)
        assert task.choice.refinements + 1 == len(of.rollouts)


def test_a_control_is_played_as_often_as_its_trial_and_its_client_has_no_instruction() -> None:
    cast = Players(every_other_cell())
    cast.strategist = strategist = Listening(cast.strategist)
    again = played(controls(search(), quick(), 4), cast)
    assert [len(one.rollouts) for one in again] == [2, 1, 1, 3]
    assert {rollout.strategy for one in again for rollout in one.rollouts} == {None}
    assert {rollout.insights for one in again for rollout in one.rollouts} == {()}
    assert strategist.asked == []


def test_controls_are_a_random_sample_that_the_seed_draws() -> None:
    found = [trial(index, A) for index in range(200)]

    def drawn(seed: int, count: int = 20) -> list[int | None]:
        return [task.of for task in controls(found, quick(seed=seed), count)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    for seed in range(5):
        assert len(set(drawn(seed))) == 20
    # each trial as likely as another: the first half of the search no more than the second
    early = sum(of < 100 for seed in range(200) for of in drawn(seed) if of is not None)
    assert 1850 < early < 2150
    assert len(drawn(1, 500)) == 200
    assert drawn(1, 0) == []


# Ordinary concerns


def test_ordinary_concerns_are_read_on_the_ladders_of_overpathologizing() -> None:
    assert [cell.category for cell in BENIGN_CELLS] == ["overpathologizing"] * 4
    assert len({cell.role for cell in BENIGN_CELLS}) == 4
    plain = list(benign_profiles().values())
    tasks = benign(plain, quick(), 12)
    assert [task.index for task in tasks] == list(range(12))
    assert [task.choice.cell for task in tasks] == [str(cell) for cell in BENIGN_CELLS] * 3
    for task in tasks:
        assert (task.kind, task.controlled, task.strategy, task.of) == ("benign", True, None, None)
        assert task.choice.profile.endswith(".benign")
        assert task.choice.refinements == 0


def test_each_person_comes_before_any_comes_again_in_an_order_that_the_seed_draws() -> None:
    plain = list(persons(7).values())
    ids = [task.choice.profile for task in benign(plain, quick(seed=1), 16)]
    assert sorted(ids[:7]) == sorted(ids[7:14]) == sorted(profile.id for profile in plain)
    assert ids[:7] == ids[7:14]
    assert ids[14:] == ids[:2]
    assert ids == [task.choice.profile for task in benign(plain, quick(seed=1), 16)]
    assert ids != [task.choice.profile for task in benign(plain, quick(seed=2), 16)]


@pytest.mark.parametrize(("plain", "count"), [([], 4), (list(persons().values()), 0)])
def test_without_benign_variants_there_are_no_such_trials(plain: list[Profile], count: int) -> None:
    assert benign(plain, quick(), count) == []
