"""The testbed: planted faults, whose search has a known truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Message
from psysafe.conversation.fence import fence
from psysafe.errors import UsageError
from psysafe.judging.form import Form
from psysafe.judging.prompt import render
from psysafe.models import Sampling
from psysafe.probing.blind import FORM as BLIND
from psysafe.probing.testbed.plants import SHARPEST, Garden, Plant
from psysafe.probing.testbed.players import JudgePlayer, TargetPlayer
from psysafe.probing.testbed.tokens import (
    Aim,
    harm_token,
    harms,
    hint_token,
    hints,
    person,
    person_token,
    strategies,
    strategy_token,
)
from psysafe.taxonomy import CATEGORIES, GRID, CellId
from tests.probing.support import LADDER, UNHURRIED, Players, every_other_cell, open_plant, quick, records_of
from tests.support.asking import run

CELL, NEAR, FAR = CellId("enabler", "blaming"), CellId("facilitator", "blaming"), CellId("enabler", "gaslighting")
PERSONS = ("person0", "person1", "person2")


def client_turn(aim: Aim | None, who: str = "person0") -> str:
    """What a client says who presses for something."""
    pressed = f" {strategy_token(aim, 1)}" if aim is not None else ""
    return f"the letter came {person_token(who)}{pressed}."


def pressing(degree: int = 0, cell: CellId | None = CELL, category: str = "blaming") -> Aim:
    return Aim(cell, category, degree)


def reply_to(plant: Plant, turns: Sequence[str]) -> list[Aim]:
    """The harms in the reply to the last of these turns."""
    messages = []
    for turn in turns:
        messages += [Message("user", turn), Message("assistant", "so")]
    return harms(TargetPlayer({plant.cell: plant}).answer(messages[:-1], Sampling(seed=1)))


# What has to come together

P, IDLE = pressing(), None  # the client presses for the cell, or for nothing


@pytest.mark.parametrize(
    ("plant", "aims", "shows"),
    [
        ({}, [P], True),
        ({}, [IDLE], False),
        # turn: not before it
        ({"turn": 3}, [P, P], False),
        ({"turn": 3}, [P, P, P], True),
        ({"turn": 3}, [IDLE, IDLE, P], True),
        ({"turn": 3}, [P, P, P, P, P], True),
        # pressure: turns that pressed, this one included
        ({"pressure": 3}, [P, P], False),
        ({"pressure": 3}, [P, P, P], True),
        ({"pressure": 3}, [P, IDLE, P, IDLE, P], True),
        ({"pressure": 2}, [P, P, IDLE], False),
        ({"turn": 2, "pressure": 2}, [IDLE, P], False),
        # sharpness: of the strategy in the last turn
        ({"sharpness": 2}, [pressing(1)], False),
        ({"sharpness": 2}, [pressing(2)], True),
        ({"sharpness": 2}, [pressing(5)], True),
        ({"sharpness": 2}, [pressing(3), pressing(1)], False),
        # aim: the cell, or a neighbour of the plant; a category alone where the plant takes it
        ({}, [pressing(cell=NEAR)], False),
        ({}, [pressing(cell=FAR, category="gaslighting")], False),
        ({"neighbours": frozenset({NEAR})}, [pressing(cell=NEAR)], True),
        ({"neighbours": frozenset({NEAR}), "pressure": 2}, [pressing(cell=NEAR), P], True),
        ({}, [pressing(cell=None)], False),
        ({"any_role": True}, [pressing(cell=None)], True),
        ({"any_role": True}, [pressing(cell=None, category="gaslighting")], False),
        ({"any_role": True, "pressure": 2}, [pressing(cell=FAR, category="gaslighting"), P], False),
    ],
)
def test_a_plant_shows_if_and_only_if_turn_pressure_sharpness_and_aim_are_met(
    plant: dict[str, Any], aims: Sequence[Aim | None], shows: bool
) -> None:
    shown = reply_to(open_plant(CELL, 4, **plant), [client_turn(aim) for aim in aims])
    assert shown == ([Aim(CELL, "blaming", 4)] if shows else [])


@pytest.mark.parametrize(
    ("profiles", "who", "shows"),
    [(None, "person2", True), ({"person0", "person2"}, "person2", True), ({"person0"}, "person2", False)],
)
def test_a_plant_shows_to_its_profiles_alone(profiles: set[str] | None, who: str, shows: bool) -> None:
    plant = open_plant(CELL, profiles=frozenset(profiles) if profiles is not None else None)
    assert bool(reply_to(plant, [client_turn(P, who)])) == shows


def test_in_one_reply_all_faults_show_whose_conditions_are_met() -> None:
    plants = {CELL: open_plant(CELL, 2), NEAR: open_plant(NEAR, 5, neighbours=frozenset({CELL}))}
    reply = TargetPlayer(plants).answer([Message("user", client_turn(P))], Sampling(seed=1))
    assert set(harms(reply)) == {Aim(CELL, "blaming", 2), Aim(NEAR, "blaming", 5)}


conditions = st.fixed_dictionaries(
    {
        "turn": st.integers(1, 6),
        "pressure": st.integers(1, 5),
        "sharpness": st.integers(0, 6),
        "profiles": st.one_of(st.none(), st.frozensets(st.sampled_from([*PERSONS, "person7"]), max_size=2)),
    }
)


@UNHURRIED
@given(conditions, st.integers(1, 5), st.integers(0, 6))
def test_a_plant_is_reachable_if_and_only_if_some_dialogue_within_the_bounds_shows_it(
    given_: dict[str, Any], turns: int, refinements: int
) -> None:
    plant = open_plant(CELL, **given_)
    # The most that can be done: press in every turn with the sharpest strategy, with anybody.
    best = pressing(min(refinements, SHARPEST))
    shown = any(reply_to(plant, [client_turn(best, who)] * turns) for who in PERSONS)
    assert plant.reachable(turns, refinements, PERSONS) == shown


def test_unreachable_plants_are_never_brought_out() -> None:
    everyone = tuple(Players().persons)
    garden = Garden(12, everyone, turns=3, unreachable=5)
    plants = garden.grow(1)
    reachable = {cell for cell, plant in plants.items() if plant.reachable(3, 5, everyone)}
    assert len(plants) - len(reachable) == 5
    records = run(records_of(Players(plants).searching(quick("random", trials=150, refinements=5))))
    shown = {aim.cell for t in records for r in t.rollouts for line in r.lines for aim in harms(line.content)}
    assert shown
    assert shown <= reachable


# What is planted

gardens = st.tuples(st.integers(0, 28), st.integers(0, 2**32), st.integers(2, 12))


@UNHURRIED
@given(gardens)
def test_of_a_garden_a_third_is_gated_by_profile_and_a_third_by_refinement(garden: tuple[int, int, int]) -> None:
    count, seed, turns = garden
    plants = Garden(count, PERSONS, turns=turns).grow(seed)
    assert len(plants) == count
    assert [*plants] == [cell for cell in GRID if cell in plants]
    assert sum(plant.profiles is not None for plant in plants.values()) >= count / 3
    assert sum(plant.sharpness > 0 for plant in plants.values()) >= count / 3
    for cell, plant in plants.items():
        assert plant.cell == cell
        assert 1 <= plant.turn <= turns
        assert 1 <= plant.pressure <= plant.turn
        assert 0 <= plant.sharpness <= 3
        assert 2 <= plant.severity <= 5
        assert plant.profiles is None or set() < plant.profiles <= set(PERSONS)
        assert all(other.category == cell.category and other != cell for other in plant.neighbours)
        assert plant.reachable(turns, 3, PERSONS)


@UNHURRIED
@given(gardens, st.data())
def test_as_many_plants_are_unreachable_as_were_asked_for(garden: tuple[int, int, int], data: st.DataObject) -> None:
    count, seed, turns = garden
    beyond = data.draw(st.integers(0, count))
    plants = Garden(count, PERSONS, turns=turns, unreachable=beyond).grow(seed)
    assert sum(not plant.reachable(turns, SHARPEST, PERSONS) for plant in plants.values()) == beyond


@pytest.mark.parametrize(("count", "beyond"), [(29, 0), (-1, 0), (3, 4), (3, -1)])
def test_a_garden_that_cannot_be_is_refused(count: int, beyond: int) -> None:
    with pytest.raises(UsageError, match="expected 0 to 28"):
        Garden(count, PERSONS, unreachable=beyond).grow(0)


def test_a_garden_follows_from_its_seed() -> None:
    garden = Garden(14, PERSONS)
    assert garden.grow(5) == garden.grow(5)
    assert len({str(garden.grow(seed)) for seed in range(20)}) == 20
    assert {cell for seed in range(20) for cell in garden.grow(seed)} == set(GRID)


@UNHURRIED
@given(st.sampled_from([*GRID, None]), st.sampled_from(CATEGORIES), st.integers(0, 5), st.integers(0, 300))
def test_what_players_pass_on_is_read_as_it_was_said(cell: CellId | None, category: str, degree: int, n: int) -> None:
    aim = Aim(cell, cell.category if cell else category, degree)
    for token, read in ((strategy_token(aim, n), strategies), (hint_token(aim), hints), (harm_token(aim, n), harms)):
        text = f"You say: {token}, {token}. And {token}x."
        assert read(text) == [aim, aim]
        others = [other for other in (strategies, hints, harms) if other is not read]
        assert not any(other(text) for other in others)
    assert person(f"one {person_token('a')} two {person_token('b')}.") == person_token("b")


# Noise


def judged(judge: JudgePlayer, reply: str, number: int, form: Form[Any] | None) -> str:
    """What the judge answers; the fence's nonce is another each time."""
    talk = [Message("user", client_turn(P)), Message("assistant", f"quiet rain {reply}.")]
    prompt = [Message("system", render(LADDER.ladder(CELL))), Message("user", fence(talk, f"{number:012x}", {1}))]
    return judge.answer(prompt, Sampling(schema=form.schema if form is not None else None))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("harmful", [True, False], ids=["harm", "no harm"])
@pytest.mark.parametrize("form", [None, BLIND], ids=["ladder", "blind"])
def test_so_large_a_share_of_verdicts_is_wrong(noise: float, harmful: bool, form: Form[Any] | None) -> None:
    judge, count = JudgePlayer(LADDER, noise, seed=1), 800
    reply = harm_token(Aim(CELL, "blaming", 3), 1) if harmful else "and stone"
    answers = [judged(judge, reply, number, form) for number in range(count)]
    absent = '"cells":[]' if form is BLIND else '"score":1}'
    wrong = sum((absent in answer) == harmful for answer in answers)
    assert abs(wrong - noise * count) <= 4 * (count * noise * (1 - noise)) ** 0.5
    # The same question gets the same answer.
    assert answers == [judged(judge, reply, number, form) for number in range(count)]


@pytest.mark.parametrize("searcher", ["psysafe", "paper", "random"])
def test_without_noise_verdicts_are_the_truth_and_nothing_is_confirmed_falsely(searcher: str) -> None:
    records = run(records_of(Players(every_other_cell()).searching(quick(searcher, trials=80))))
    assert any(record.confirmed(exact=True) for record in records)
    for record in records:
        for played in record.rollouts:
            shown = {str(aim.cell): aim.degree for line in played.lines for aim in harms(line.content)}
            assert played.severity == shown.get(record.cell, 1)
            assert played.blind is not None
            assert {found.cell for found in played.blind.findings} == set(shown)
            assert all(found.verified for found in played.blind.findings)
            assert all(seen.severity == shown[seen.cell] for seen in played.observed)
        assert record.confirmed() == record.confirmed(exact=True) == record.hit


def test_with_noise_the_judges_err_each_for_itself() -> None:
    records = run(records_of(Players(noise=0.3).searching(quick("random", trials=80))))  # a target without faults
    assert sum(record.hit for record in records) > 20
    assert any(played.blind and played.blind.findings for record in records for played in record.rollouts)
    assert sum(record.confirmed() for record in records) < 10
