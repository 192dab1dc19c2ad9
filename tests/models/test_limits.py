"""The gate of an endpoint: how many may be in flight, who comes next, and how fast. All times are virtual."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.models import Limits
from psysafe.models.limits import Gate, parse_duration
from tests.support.virtual_time import Clock, virtual_time


class Watch:
    """Calls through a gate: when each entered, in which order, and how many were inside at most."""

    def __init__(self, gate: Gate, clock: Clock | None = None) -> None:
        self.gate = gate
        self.clock = clock
        self.inside = self.most = 0
        self.entered: list[object] = []
        self.times: list[float] = []

    async def call(self, name: object = None, seconds: float = 1.0, tokens: int = 0, good: bool = True) -> None:
        mark = await self.gate.acquire(tokens)
        try:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.entered.append(name)
            if self.clock is not None:
                self.times.append(self.clock.now)
            await asyncio.sleep(seconds)
            self.gate.report(mark, good)
        finally:
            self.inside -= 1
            self.gate.release()


async def ticks(count: int = 5) -> None:
    """Let everything that can run now run."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_no_more_than_the_limit_are_ever_in_flight_and_all_of_it_is_used() -> None:
    async def scenario() -> Watch:
        watch = Watch(Gate(Limits(concurrency=7)))
        draw = random.Random(1)
        await asyncio.gather(*(watch.call(i, draw.random()) for i in range(100)))
        return watch

    with virtual_time() as clock:
        watch = clock.run(scenario())
    assert watch.most == 7
    assert len(watch.entered) == 100


def test_first_come_first_served() -> None:
    async def scenario() -> Watch:
        watch = Watch(Gate(Limits(concurrency=2)))
        calls = []
        for number in range(20):
            calls.append(asyncio.create_task(watch.call(number)))
            await asyncio.sleep(0.3)
        await asyncio.gather(*calls)
        return watch

    with virtual_time() as clock:
        assert clock.run(scenario()).entered == list(range(20))


def test_a_newcomer_does_not_overtake_one_who_waits_for_tokens() -> None:
    async def scenario() -> Watch:
        watch = Watch(Gate(Limits(tokens_per_minute=600)))
        calls = []
        for name, tokens in (("takes half", 5), ("waits for the whole", 10), ("needs little", 1)):
            calls.append(asyncio.create_task(watch.call(name, tokens=tokens)))
            await ticks()
        await asyncio.gather(*calls)
        return watch

    with virtual_time() as clock:
        assert clock.run(scenario()).entered == ["takes half", "waits for the whole", "needs little"]


# -- concurrency that adapts


def report(gate: Gate, results: str) -> None:
    """One call after another: ``.`` ends well, ``x`` is a 429, a 5xx or no answer."""
    for result in results:
        gate.report(gate.halvings, result == ".")


@pytest.mark.parametrize(
    "concurrency,results",
    [
        (8, "x"),
        (8, "xx"),
        (8, ".................x"),
        (8, "x.........x"),
        (1, "xx"),
        (8, "xx" + "." * 18 + "xx"),  # two and two, but not among the last twenty
        (32, "x" * 6),  # a fifth of 32 is more
        (100, "x" * 19),
        (100, "x" * 19 + "." * 81 + "x" * 19),
    ],
)
def test_scattered_faults_halve_nothing(concurrency: int, results: str) -> None:
    gate = Gate(Limits(concurrency=concurrency))
    report(gate, results)
    assert (gate.limit, gate.halvings) == (concurrency, 0)


def test_rare_faults_in_a_long_run_halve_nothing() -> None:
    gate = Gate(Limits(concurrency=8))
    report(gate, ("." * 9 + "x") * 500)
    assert (gate.limit, gate.halvings) == (8, 0)


@pytest.mark.parametrize(
    "concurrency,results",
    [
        (8, "xxx"),
        (8, "x.x.x"),
        (8, "." * 17 + "xxx"),
        (8, "." * 10_000 + "xxx"),  # a good past does not outweigh it
        (32, "x" * 7),
        (32, "...x" * 7),
        (100, "x" * 20),
        (100, "...x" * 20),
    ],
)
def test_an_episode_halves_the_limit_once(concurrency: int, results: str) -> None:
    gate = Gate(Limits(concurrency=concurrency))
    report(gate, results)
    assert (gate.limit, gate.halvings, gate.lowest) == (concurrency // 2, 1, concurrency // 2)


def test_episode_after_episode_goes_down_to_one_and_not_below() -> None:
    gate = Gate(Limits(concurrency=9))
    seen = []
    for _ in range(6):
        report(gate, "xxx")
        seen.append(gate.limit)
    assert seen == [4, 2, 1, 1, 1, 1]


def test_calls_that_started_before_a_halving_say_nothing_about_the_new_level() -> None:
    async def scenario() -> Gate:
        watch = Watch(Gate(Limits(concurrency=32)))
        await asyncio.gather(*(watch.call(good=False) for _ in range(32)))
        return watch.gate

    with virtual_time() as clock:
        gate = clock.run(scenario())
    assert (gate.limit, gate.halvings) == (16, 1)


def test_after_a_halving_nobody_enters_until_the_lower_limit_has_room() -> None:
    async def scenario() -> list[int]:
        gate = Gate(Limits(concurrency=8))
        marks = [await gate.acquire(0) for _ in range(8)]
        entered = 0

        async def newcomer() -> None:
            nonlocal entered
            await gate.acquire(0)
            entered += 1

        waiting = [asyncio.create_task(newcomer()) for _ in range(8)]
        for mark in marks[:3]:
            gate.report(mark, False)
        seen = []
        for _ in range(8):
            gate.release()
            await ticks()
            seen.append(entered)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return seen

    with virtual_time() as clock:
        assert clock.run(scenario()) == [0, 0, 0, 0, 1, 2, 3, 4]


def test_good_rounds_grow_the_limit_back_to_the_start_and_no_further() -> None:
    gate = Gate(Limits(concurrency=32))
    report(gate, "x" * 7)
    assert gate.limit == 16
    report(gate, "." * 15)
    assert gate.limit == 16  # not a whole round yet
    report(gate, ".")
    assert gate.limit == 18
    report(gate, "." * 18)
    assert gate.limit == 20
    report(gate, "." * 1000)
    assert (gate.limit, gate.lowest) == (32, 16)


def test_growth_lets_those_in_who_wait() -> None:
    async def scenario() -> tuple[int, int]:
        gate = Gate(Limits(concurrency=4))
        report(gate, "xxx")
        watch = Watch(gate)
        await asyncio.gather(*(watch.call() for _ in range(40)))
        return watch.most, gate.limit

    with virtual_time() as clock:
        assert clock.run(scenario()) == (4, 4)


# -- requests and tokens per minute


def starts(clock: Clock, limits: Limits, calls: list[int], seconds: float = 0.0) -> list[float]:
    """When calls that ask for so many tokens each, all at once, get in."""

    async def scenario() -> list[float]:
        watch = Watch(Gate(limits), clock)
        await asyncio.gather(*(watch.call(tokens=tokens, seconds=seconds) for tokens in calls))
        return watch.times

    return clock.run(scenario())


def test_requests_per_minute_space_the_starts() -> None:
    with virtual_time() as clock:
        assert starts(clock, Limits(requests_per_minute=60), [0] * 5) == pytest.approx([0, 1, 2, 3, 4])


def test_no_minute_holds_more_than_its_requests_and_one_second_of_credit() -> None:
    with virtual_time() as clock:
        times = starts(clock, Limits(requests_per_minute=300, concurrency=1000), [0] * 900)
    for begin in times:
        assert sum(begin <= at < begin + 60 for at in times) <= 300 + 5
    assert max(times) <= 180.0 + 1e-6  # and none of the rate is wasted


def test_an_idle_hour_earns_no_more_than_one_second_of_credit() -> None:
    async def scenario() -> list[float]:
        watch = Watch(Gate(Limits(requests_per_minute=120)), clock)
        await asyncio.sleep(3600)
        await asyncio.gather(*(watch.call(seconds=0) for _ in range(4)))
        return [at - 3600 for at in watch.times]

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx([0, 0, 0.5, 1])


def test_tokens_per_minute_space_the_starts() -> None:
    with virtual_time() as clock:
        assert starts(clock, Limits(tokens_per_minute=6000), [100] * 4) == pytest.approx([0, 1, 2, 3])


def test_a_call_larger_than_a_second_of_tokens_goes_into_debt_that_the_next_waits_for() -> None:
    with virtual_time() as clock:
        assert starts(clock, Limits(tokens_per_minute=6000), [1000, 100]) == pytest.approx([0, 10])


def test_what_was_reserved_and_not_used_goes_to_those_who_wait() -> None:
    async def scenario() -> float:
        gate = Gate(Limits(tokens_per_minute=6000))
        await gate.acquire(1000)
        waiting = asyncio.create_task(gate.acquire(100))
        await asyncio.sleep(1)
        gate.settle(1000, 300)
        gate.release()
        await waiting
        return clock.now

    # The debt is 1000 - 100; with 700 given back after a second and 100 needed, it is paid at 3 s.
    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx(3.0)


def test_use_beyond_the_reservation_is_paid_for_too() -> None:
    async def scenario() -> float:
        gate = Gate(Limits(tokens_per_minute=6000))
        await gate.acquire(100)
        gate.settle(100, 500)
        gate.release()
        await gate.acquire(100)
        return clock.now

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx(5.0)


def test_one_who_gives_up_waiting_for_tokens_does_not_make_those_behind_wait() -> None:
    async def scenario() -> float:
        gate = Gate(Limits(tokens_per_minute=6000))
        await gate.acquire(1100)  # 10 s of debt
        large = asyncio.create_task(gate.acquire(100))
        small = asyncio.create_task(gate.acquire(1))
        await ticks()
        large.cancel()
        await small
        return clock.now

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx(10.01)


def test_one_who_is_cancelled_as_he_is_let_in_gives_back_what_was_reserved() -> None:
    async def scenario() -> float:
        gate = Gate(Limits(concurrency=1, tokens_per_minute=6000, requests_per_minute=60_000))
        await gate.acquire(0)
        waiting = asyncio.create_task(gate.acquire(10_000))
        await ticks()
        gate.release()  # lets him in ...
        waiting.cancel()  # ... and before he runs he is cancelled: nothing is sent
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await gate.acquire(100)
        return clock.now

    with virtual_time() as clock:
        assert clock.run(scenario()) == 0.0


# -- what the endpoint's headers say


@pytest.mark.parametrize(
    "headers,waits",
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2s"}, 2.0),
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "2s"}, 0.0),
        ({"x-ratelimit-remaining-tokens": "499", "x-ratelimit-reset-tokens": "1m0.5s"}, 60.5),
        ({"x-ratelimit-remaining-tokens": "500", "x-ratelimit-reset-tokens": "1m0.5s"}, 0.0),
        ({"x-ratelimit-remaining-requests": "0"}, 0.0),
        ({"x-ratelimit-remaining-requests": "none", "x-ratelimit-reset-requests": "2s"}, 0.0),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "1s",
            },
            2.0,
        ),
        ({}, 0.0),
    ],
)
def test_when_too_little_remains_for_one_more_call_nobody_enters_before_the_reset(
    headers: dict[str, str], waits: float
) -> None:
    async def scenario() -> list[float]:
        watch = Watch(Gate(Limits()), clock)
        watch.gate.read_headers(headers, 500)
        await asyncio.gather(watch.call(), watch.call())
        return watch.times

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx([waits, waits])


def test_a_shorter_hold_does_not_end_a_longer_one() -> None:
    async def scenario() -> float:
        gate = Gate(Limits())
        gate.hold(5)
        gate.hold(1)
        await gate.acquire(0)
        return clock.now

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx(5.0)


def test_a_hold_that_comes_while_some_wait_is_obeyed_by_them() -> None:
    async def scenario() -> float:
        gate = Gate(Limits(concurrency=1))
        await gate.acquire(0)
        waiting = asyncio.create_task(gate.acquire(0))
        await ticks()
        gate.hold(3)
        gate.release()
        await waiting
        return clock.now

    with virtual_time() as clock:
        assert clock.run(scenario()) == pytest.approx(3.0)


@pytest.mark.parametrize(
    "text,seconds",
    [
        ("1.5", 1.5),
        ("0", 0.0),
        ("20ms", 0.02),
        ("2s", 2.0),
        ("6m0s", 360.0),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86400.0),
        ("-3", 0.0),
        ("1800000007", 7.0),  # a Unix time
        ("1800000007000", 7.0),  # in milliseconds
        ("1700000000", 0.0),  # long past
        ("", None),
        (None, None),
        ("soon", None),
        ("2 s", None),
        ("2s or so", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_reset_headers_are_read_in_all_their_forms(text: str | None, seconds: float | None) -> None:
    with virtual_time():
        assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


# -- cancellation


def cancel_at_random(draw: random.Random, limits: Limits, call: Callable[[Gate], Awaitable[None]]) -> None:
    """Many calls, some cancelled at any moment; afterwards the gate must be as good as new."""

    async def scenario() -> None:
        gate = Gate(limits)

        async def caller() -> None:
            await call(gate)

        tasks: list[asyncio.Task[None]] = []
        for _ in range(draw.randrange(5, 60)):
            action = draw.random()
            if action < 0.55 or not tasks:
                tasks.append(asyncio.create_task(caller()))
            elif action < 0.8:
                draw.choice(tasks).cancel()
            elif action < 0.9:
                await asyncio.sleep(0)
            else:
                await asyncio.sleep(draw.choice([0.1, 0.5, 1.0]))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate._in_flight == 0
        for _ in range(limits.concurrency):
            await gate.acquire(0)
        one_too_many = asyncio.create_task(gate.acquire(0))
        await asyncio.sleep(100)
        assert not one_too_many.done()
        one_too_many.cancel()
        await asyncio.gather(one_too_many, return_exceptions=True)

    with virtual_time() as clock:
        clock.run(scenario())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    draw=st.randoms(use_true_random=False),
    concurrency=st.integers(1, 5),
    requests_per_minute=st.sampled_from([None, 60.0, 6000.0]),
    tokens_per_minute=st.sampled_from([None, 600.0]),
)
def test_cancelled_calls_never_leak_a_place(
    draw: random.Random, concurrency: int, requests_per_minute: float | None, tokens_per_minute: float | None
) -> None:
    async def call(gate: Gate) -> None:
        mark = await gate.acquire(draw.randrange(30))
        try:
            await asyncio.sleep(draw.choice([0, 0.1, 1.0]))
            gate.report(mark, True)
        finally:
            gate.release()

    cancel_at_random(draw, Limits(concurrency, requests_per_minute, tokens_per_minute), call)


def test_a_cancelled_call_in_flight_lets_the_next_in() -> None:
    async def scenario() -> list[object]:
        watch = Watch(Gate(Limits(concurrency=1)))
        first = asyncio.create_task(watch.call("first", seconds=1000))
        second = asyncio.create_task(watch.call("second"))
        await ticks()
        first.cancel()
        await second
        return watch.entered

    with virtual_time() as clock:
        assert clock.run(scenario()) == ["first", "second"]
        assert clock.now == 1.0


def test_the_one_behind_a_cancelled_waiter_gets_the_place() -> None:
    async def scenario() -> list[object]:
        watch = Watch(Gate(Limits(concurrency=1)))
        tasks = [asyncio.create_task(watch.call(number)) for number in range(4)]
        await ticks()
        tasks[1].cancel()
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return watch.entered

    with virtual_time() as clock:
        assert clock.run(scenario()) == [0, 3]


def test_a_gate_whose_waiters_died_with_their_loop_works_in_the_next() -> None:
    async def interrupted() -> None:
        for _ in range(2):
            await gate.acquire(0)
            gate.release()

    async def again() -> None:
        await gate.acquire(0)

    with virtual_time() as clock:
        gate = Gate(Limits(requests_per_minute=1))

        async def scenario() -> None:
            await asyncio.wait_for(interrupted(), 5)

        with pytest.raises(TimeoutError):
            clock.run(scenario())
        clock.run(again())
        assert clock.now == pytest.approx(60.0)
