"""Many trials in flight, one record: the same seed and the same number in flight give the same bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from psysafe.models import ModelError, Price
from psysafe.probing.cast import Cast
from psysafe.probing.choosing import Situation
from psysafe.probing.ordered import Waiting
from psysafe.probing.records import Choice, Trial
from psysafe.probing.search import Searching
from psysafe.probing.settings import SEARCHERS, Searcher, Settings
from psysafe.probing.trial import Task
from tests.probing.support import Lagging, Players, every_other_cell, quick, record_bytes, records_of
from tests.support.asking import run


def late() -> Players:
    """Players that answer after a few milliseconds, never the same."""
    return Players(every_other_cell()).lagging()


def prompt() -> Players:
    """Players that answer at once."""
    return Players(every_other_cell())


def kept(players: Players, settings: Settings) -> list[bytes]:
    """The records of a whole search."""
    return record_bytes(run(records_of(players.searching(settings))))


# The same bytes


@pytest.mark.parametrize(("in_flight", "trials"), [(1, 24), (32, 70)])
@pytest.mark.parametrize("searcher", ["psysafe", "paper"])
def test_latencies_change_no_byte_of_the_records(searcher: str, in_flight: int, trials: int) -> None:
    settings = quick(searcher, trials=trials, in_flight=in_flight)
    first, second, third = (kept(late(), settings) for _ in range(3))
    assert first == second == third == kept(prompt(), settings)
    assert len(first) == trials


def test_every_searcher_runs_and_is_the_same_twice() -> None:
    assert set(SEARCHERS) == set(get_args(Searcher))
    for searcher in SEARCHERS:
        settings = quick(searcher, trials=16, in_flight=5)
        assert kept(late(), settings) == kept(late(), settings), searcher


def test_costs_are_summed_in_an_order_that_latencies_do_not_change() -> None:
    """The last digit of a sum of fractions depends on its order."""
    costs = []
    for judge, blind in ((0.0, 0.004), (0.004, 0.0)):
        players = prompt()
        players.judge = Lagging(players.judge, Price(0.15e-6, 0.6e-6), (judge, judge))
        players.blind = Lagging(players.blind, Price(2.5e-6, 1e-5), (blind, blind))
        for role in ("target", "client", "strategist"):
            setattr(players, role, Lagging(getattr(players, role), Price(0.4e-6, 1.6e-6), (0, 0)))
        records = run(records_of(players.searching(quick(in_flight=16))))
        assert all(record.cost for record in records)
        costs.append([record.cost for record in records])
    assert costs[0] == costs[1]


def test_the_seed_and_the_number_in_flight_are_part_of_what_a_search_is() -> None:
    one = kept(prompt(), quick())
    assert kept(prompt(), quick(seed=4)) != one
    assert kept(prompt(), quick(in_flight=8)) != one


def test_two_searches_share_nothing() -> None:
    """A defect of the published code: archives leak from one search into the next."""
    players = prompt()
    first, second = players.searching(quick(trials=20)), players.searching(quick(trials=20, seed=9))

    async def both() -> None:
        await asyncio.gather(records_of(first), records_of(second))

    run(both())
    assert record_bytes(first.records) == kept(prompt(), quick(trials=20))
    assert record_bytes(second.records) == kept(prompt(), quick(trials=20, seed=9))


# Order


@pytest.mark.parametrize("in_flight", [1, 7, 32])
def test_records_are_committed_in_the_order_of_their_index(in_flight: int) -> None:
    searching = late().searching(quick(in_flight=in_flight))
    committed: list[int] = []
    run(searching.run(lambda trial: committed.append(trial.index)))
    assert committed == list(range(40))
    assert [record.index for record in searching.records] == committed


@pytest.mark.parametrize("in_flight", [1, 2, 7, 32, 64])
def test_a_choice_reads_the_records_so_far_behind_it_and_no_others(in_flight: int) -> None:
    searching = late().searching(quick(in_flight=in_flight))
    choose = searching.search.choose
    chosen: list[Choice] = []

    def spy(situation: Situation, random: Any) -> Choice:
        seen = max(0, len(chosen) - in_flight + 1)
        assert situation.archive.trials == seen
        assert list(situation.under_way) == chosen[seen:]
        chosen.append(choose(situation, random))
        return chosen[-1]

    searching.search = replace(searching.search, choose=spy)
    records = run(records_of(searching))
    assert [record.choice for record in records] == chosen
    assert len(chosen) == 40


def with_run(searching: Searching, around: Callable[[Task, Callable[[], Any]], Any]) -> Searching:
    """The search with something around each of its trials."""
    real = searching.search.run

    async def trial(task: Task, cast: Cast, settings: Settings, stage: Any) -> Trial:
        found = await around(task, lambda: real(task, cast, settings, stage))
        assert isinstance(found, Trial)
        return found

    searching.search = replace(searching.search, run=trial)
    return searching


def test_as_many_trials_are_under_way_as_may_be_and_none_too_far_ahead() -> None:
    searching, under_way, most = late().searching(quick(in_flight=6)), 0, 0

    async def counted(task: Task, play: Callable[[], Any]) -> Any:
        nonlocal under_way, most
        assert task.index < len(searching.records) + 6
        under_way += 1
        most = max(most, under_way)
        try:
            return await play()
        finally:
            under_way -= 1

    run(records_of(with_run(searching, counted)))
    assert most == 6


def test_time_in_which_places_stood_empty_is_told() -> None:
    settings = quick(trials=12, in_flight=4)

    async def first_is_slow(task: Task, play: Callable[[], Any]) -> Any:
        await asyncio.sleep(0.2 if task.index == 0 else 0)
        return await play()

    waited, alone = Waiting(), Waiting()
    run(with_run(prompt().searching(settings), first_is_slow).run(lambda trial: None, waiting=waited))
    run(prompt().searching(quick(trials=12, in_flight=1)).run(lambda trial: None, waiting=alone))
    # Three of four places wait for the first record; where only one is in flight, none ever waits.
    assert 0.2 < waited.idle <= waited.all
    assert alone.idle == 0 < alone.all


# Going on


@pytest.mark.parametrize("searcher", ["psysafe", "paper", "pair"])
@pytest.mark.parametrize(("in_flight", "after"), [(1, 1), (1, 13), (8, 1), (8, 5), (8, 21), (32, 30), (32, 39)])
def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(searcher: str, in_flight: int, after: int) -> None:
    settings = quick(searcher, in_flight=in_flight)
    whole = kept(prompt(), settings)
    searching = prompt().searching(settings)
    run(searching.run(lambda trial: None, go_on=lambda: len(searching.records) < after))
    # Those that were in flight are finished and kept.
    assert after <= len(searching.records) < after + in_flight
    for records in (searching.records, searching.records[:after]):
        read = [Trial.model_validate_json(record.model_dump_json()) for record in records]
        resumed = (late() if in_flight > 1 else prompt()).searching(settings, read)
        more: list[Trial] = []
        run(resumed.run(more.append))
        assert record_bytes(resumed.records) == whole
        assert record_bytes(more) == whole[len(records) :]


def test_a_search_that_is_done_has_nothing_to_go_on_with() -> None:
    records = run(records_of(prompt().searching(quick(trials=5))))
    more: list[Trial] = []
    run(prompt().searching(quick(trials=5), records).run(more.append))
    assert more == []


def test_a_search_that_is_cancelled_leaves_no_trial_behind_and_goes_on_the_same() -> None:
    settings = quick(in_flight=8)
    searching, ended = late().searching(settings), []

    async def noted(task: Task, play: Callable[[], Any]) -> Any:
        try:
            return await play()
        except asyncio.CancelledError:
            ended.append(task.index)
            raise

    async def cancelled() -> None:
        searches = asyncio.ensure_future(records_of(with_run(searching, noted)))
        while len(searching.records) < 11:
            await asyncio.sleep(0)
        searches.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searches
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(cancelled())
    assert ended
    assert min(ended) >= len(searching.records) >= 11
    resumed = prompt().searching(settings, searching.records)
    assert record_bytes(run(records_of(resumed))) == kept(prompt(), settings)


# A trial that raises


def failing_at(bad: int, settings: Settings, *, first: int | None = None) -> tuple[Searching, list[int]]:
    """A search in which a trial raises: after those before it have ended, or while ``first`` is still under way.

    Returns:
        the search; the trials that get cancelled.
    """
    searching, cancelled = prompt().searching(settings), []
    before: set[int] = set()
    fallen = asyncio.Event()

    async def faulty(task: Task, play: Callable[[], Any]) -> Any:
        try:
            if task.index == bad:
                while before != set(range(bad)) - {first}:
                    await asyncio.sleep(0)
                fallen.set()
                raise ModelError("auth", "the key was withdrawn")
            if task.index == first or task.index > bad:
                await fallen.wait()
                await asyncio.sleep(0.05)
            found = await play()
            before.add(task.index)
            return found
        except asyncio.CancelledError:
            cancelled.append(task.index)
            raise

    return with_run(searching, faulty), cancelled


def test_when_a_trial_raises_those_before_it_are_committed_and_the_others_cancelled() -> None:
    settings = quick(in_flight=8)
    searching, cancelled = failing_at(5, settings)
    committed: list[int] = []
    with pytest.raises(ModelError, match="the key was withdrawn"):
        run(searching.run(lambda trial: committed.append(trial.index)))
    assert committed == [0, 1, 2, 3, 4]
    assert cancelled
    assert min(cancelled) > 5
    resumed = prompt().searching(settings, searching.records)
    assert record_bytes(run(records_of(resumed))) == kept(prompt(), settings)


def test_when_a_trial_raises_what_waits_for_an_earlier_one_is_not_committed() -> None:
    """Trials 0 to 2 and 4 are done, 3 is under way: a record with a gap in it could not be gone on with."""
    searching, cancelled = failing_at(5, quick(in_flight=8), first=3)
    with pytest.raises(ModelError, match="the key was withdrawn"):
        run(searching.run(lambda trial: None))
    assert [record.index for record in searching.records] == [0, 1, 2]
    assert 3 in cancelled


def test_wherever_a_trial_raises_what_was_committed_is_gone_on_with_as_if_nothing_had_been() -> None:
    settings = quick(in_flight=8)
    searching, _ = failing_at(5, settings, first=3)
    with pytest.raises(ModelError, match="the key was withdrawn"):
        run(searching.run(lambda trial: None))
    resumed = late().searching(settings, searching.records)
    assert record_bytes(run(records_of(resumed))) == kept(prompt(), settings)
