"""The testbed's target and judges in a process of their own."""

from __future__ import annotations

import asyncio
import multiprocessing

import pytest

from psysafe.conversation import Message
from psysafe.models import ModelError, Sampling
from psysafe.probing.testbed.process import other_process
from tests.probing.support import Players, every_other_cell, quick, record_bytes, records_of
from tests.support.asking import run


def test_players_in_another_process_answer_as_those_in_this_one() -> None:
    plants = every_other_cell()

    async def elsewhere() -> list[bytes]:
        players = Players(plants)
        async with other_process(plants, noise=0.1, seed=0, latency=(0.0, 0.002)) as (target, judge):
            players.target, players.judge, players.blind = target, judge, judge
            return record_bytes(await records_of(players.searching(quick(in_flight=8))))

    here = record_bytes(run(records_of(Players(plants, noise=0.1).searching(quick(in_flight=8)))))
    assert run(elsewhere()) == here


def test_no_process_is_left_behind() -> None:
    async def failed() -> None:
        async with other_process({}):
            raise RuntimeError("the search stopped")

    with pytest.raises(RuntimeError, match="the search stopped"):
        run(failed())
    assert multiprocessing.active_children() == []


ASKED = [Message("user", "the letter came")]


async def ended() -> None:
    """The other process is killed, and its end seen."""
    (child,) = multiprocessing.active_children()
    child.kill()
    await asyncio.to_thread(child.join)
    await asyncio.sleep(0.05)


def test_what_was_asked_of_a_process_that_ends_is_an_error() -> None:
    async def asked() -> None:
        async with other_process({}, latency=(60, 60)) as (target, _):
            waiting = asyncio.ensure_future(target.generate(ASKED, Sampling()))
            await asyncio.sleep(0.05)
            await ended()
            async with asyncio.timeout(10):
                with pytest.raises(ModelError, match="has ended"):
                    await waiting

    run(asked())


def test_what_is_asked_of_a_process_that_has_ended_is_an_error() -> None:
    async def asked() -> None:
        async with other_process({}) as (target, _):
            assert (await target.generate(ASKED, Sampling())).text
            await ended()
            async with asyncio.timeout(1):
                with pytest.raises(ModelError, match="has ended"):
                    await target.generate(ASKED, Sampling())

    run(asked())
