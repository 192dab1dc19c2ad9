"""The loop around an attempt: what is tried again, after how long, and when it ends. All times are virtual."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.models import ErrorKind, Limits, ModelError, Reply, Usage, retries
from psysafe.models.limits import Gate
from psysafe.models.retries import call_with_retries
from tests.support.virtual_time import Clock, virtual_time

Attempt = Callable[[int, float], Awaitable[Reply]]

TIMEOUT: ErrorKind = "timeout"
BROKEN: ErrorKind = "endpoint_error"
LIMITED: ErrorKind = "rate_limited"
TRANSIENT: list[ErrorKind] = ["timeout", "rate_limited", "endpoint_error"]
PERMANENT: list[ErrorKind] = ["blocked", "bad_request", "auth", "not_found"]


def failing(
    *failures: ErrorKind, retry_after: float | None = None, seconds: float = 0.0, log: list[float] | None = None
) -> Attempt:
    """An attempt that fails so, one after the other, and then succeeds."""

    async def attempt(number: int, seconds_left: float) -> Reply:
        if log is not None:
            log.append(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)
        if number >= len(failures):
            return Reply("yes")
        kind = failures[number]
        raise ModelError(kind, f"{kind} {number}", retryable=kind in TRANSIENT, retry_after=retry_after)

    return attempt


def gate_of(**limits: float) -> Gate:
    return Gate(Limits(**limits))  # type: ignore[arg-type]


class Draws(random.Random):
    """Jitter that is always a fixed share of its range, and remembers the ranges."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.ranges: list[tuple[float, float]] = []

    def uniform(self, a: float, b: float) -> float:
        self.ranges.append((a, b))
        return a + self.share * (b - a)


@contextmanager
def jitter(share: float) -> Iterator[Draws]:
    draws = Draws(share)
    with patch.object(retries, "_jitter", draws):
        yield draws


# -- what is tried again


def test_a_call_that_succeeds_is_made_once() -> None:
    with virtual_time() as clock:
        reply = clock.run(call_with_retries(failing(), gate_of(), 0))
        assert clock.now == 0.0
    assert (reply.text, reply.attempts) == ("yes", 1)


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_passing_failure_is_tried_again_and_every_attempt_counted(kind: ErrorKind) -> None:
    with virtual_time() as clock:
        reply = clock.run(call_with_retries(failing(kind, kind), gate_of(), 0))
    assert (reply.text, reply.attempts) == ("yes", 3)


@pytest.mark.parametrize("kind", TRANSIENT)
def test_a_failure_that_does_not_pass_ends_as_itself_after_the_last_retry(kind: ErrorKind) -> None:
    log: list[float] = []
    with virtual_time() as clock, pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(failing(*[kind] * 9, log=log), gate_of(max_retries=4), 0))
    assert (caught.value.kind, caught.value.attempts, len(log)) == (kind, 5, 5)
    assert str(caught.value) == f"{kind} 4"


@pytest.mark.parametrize("kind", PERMANENT)
def test_a_permanent_failure_is_not_tried_again(kind: ErrorKind) -> None:
    log: list[float] = []
    with virtual_time() as clock, pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(failing(kind, log=log), gate_of(), 0))
    assert clock.now == 0.0
    assert (caught.value.kind, caught.value.attempts, len(log)) == (kind, 1, 1)


def test_a_permanent_failure_ends_a_series_of_passing_ones() -> None:
    with virtual_time() as clock, pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(failing("rate_limited", "timeout", "auth"), gate_of(), 0))
    assert (caught.value.kind, caught.value.attempts) == ("auth", 3)


# -- after how long


def test_backoff_draws_from_zero_to_a_bound_that_doubles_up_to_the_cap() -> None:
    gate = gate_of(backoff=0.5, backoff_cap=3, max_retries=6)
    with virtual_time() as clock, jitter(1.0) as draws:
        clock.run(call_with_retries(failing(*[TIMEOUT] * 6), gate, 0))
        assert clock.now == pytest.approx(0.5 + 1 + 2 + 3 + 3 + 3)
    assert draws.ranges == [(0, 0.5), (0, 1), (0, 2), (0, 3), (0, 3), (0, 3)]


def test_jitter_is_full_calls_that_failed_together_come_back_spread_over_the_whole_range() -> None:
    log: list[float] = []

    async def scenario() -> None:
        gate = gate_of(backoff=8, backoff_cap=8, concurrency=500)
        await asyncio.gather(*(call_with_retries(failing("timeout", log=log), gate, 0) for _ in range(500)))

    with virtual_time() as clock, patch.object(retries, "_jitter", random.Random(7)):
        clock.run(scenario())
    again = sorted(log)[500:]
    assert again[0] >= 0
    assert again[-1] <= 8
    for low in range(8):
        assert sum(low <= at < low + 1 for at in again) >= 35  # 62.5 expected


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_retry_after_is_waited_for_in_full_plus_at_most_one_backoff(share: float) -> None:
    log: list[float] = []
    gate = gate_of(backoff=0.5, backoff_cap=30)
    with virtual_time() as clock, jitter(share):
        clock.run(call_with_retries(failing("rate_limited", "rate_limited", retry_after=7, log=log), gate, 0))
    first, second = log[1] - log[0], log[2] - log[1]
    assert first == pytest.approx(7 + 0.5 * share)
    assert second == pytest.approx(7 + min(1.0 * share, 0.5))


def test_retry_after_is_obeyed_even_where_our_own_backoff_would_never_wait_so_long() -> None:
    with virtual_time() as clock, jitter(0):
        clock.run(call_with_retries(failing("rate_limited", retry_after=300), gate_of(backoff_cap=1), 0))
        assert clock.now == 300


def test_retry_after_of_zero_is_an_answer_too() -> None:
    with virtual_time() as clock, jitter(1):
        clock.run(call_with_retries(failing(*[LIMITED] * 3, retry_after=0), gate_of(backoff=0.5), 0))
        assert clock.now == pytest.approx(1.5)  # and not 0.5 + 1 + 2


def test_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    with virtual_time() as clock, pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(failing("rate_limited", retry_after=3600), gate_of(deadline=600), 0))
    assert clock.now == 0.0
    assert (caught.value.kind, caught.value.attempts) == ("rate_limited", 1)


# -- when it ends


def hanging(log: list[tuple[float, float]], clock: Clock) -> Attempt:
    """Never answers; keeps to its seconds."""

    async def attempt(number: int, seconds: float) -> Reply:
        log.append((clock.now, seconds))
        await asyncio.sleep(seconds)
        raise ModelError("timeout", "hang", retryable=True)

    return attempt


def test_attempts_get_the_timeout_and_the_last_one_what_is_left_of_the_deadline() -> None:
    log: list[tuple[float, float]] = []
    limits = {"timeout": 40, "deadline": 100, "max_retries": 50, "backoff": 1}
    with virtual_time() as clock, jitter(0.0), pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(hanging(log, clock), gate_of(**limits), 0))
    assert [at for at, _ in log[:3]] == [0, 40, 80]
    assert [seconds for _, seconds in log[:3]] == pytest.approx([40, 40, 20])
    assert clock.now == pytest.approx(100, abs=0.01)
    assert caught.value.kind == "timeout"


def test_a_backoff_that_would_end_after_the_deadline_is_not_waited_for() -> None:
    limits = {"deadline": 100, "max_retries": 50, "backoff": 16, "backoff_cap": 64}
    with virtual_time() as clock, jitter(1.0), pytest.raises(ModelError) as caught:
        clock.run(call_with_retries(failing(*[BROKEN] * 50), gate_of(**limits), 0))
    assert clock.now == 16 + 32  # 64 more would be 112
    assert (caught.value.kind, caught.value.attempts) == ("endpoint_error", 3)


def test_the_deadline_counts_from_the_first_place_not_from_the_queue() -> None:
    async def scenario() -> list[Reply]:
        gate = gate_of(concurrency=1, deadline=10)
        return await asyncio.gather(*(call_with_retries(failing(seconds=8), gate, 0) for _ in range(5)))

    with virtual_time() as clock:
        assert [reply.text for reply in clock.run(scenario())] == ["yes"] * 5
        assert clock.now == 40


def test_one_who_gets_no_place_again_before_the_deadline_ends_with_the_failure_he_had() -> None:
    log: list[float] = []

    async def scenario() -> None:
        gate = gate_of(concurrency=1, deadline=10, backoff=0)
        call = asyncio.create_task(call_with_retries(failing("rate_limited", log=log), gate, 100))
        await asyncio.sleep(0)
        gate.hold(60)
        with pytest.raises(ModelError) as caught:
            await call
        assert (caught.value.kind, caught.value.attempts) == ("rate_limited", 1)
        assert gate._in_flight == 0

    with virtual_time() as clock:
        clock.run(scenario())
        assert clock.now == 10  # and not 60
    assert log == [0.0]  # nothing is sent with no time left for an answer


# -- the gate


def test_one_who_waits_to_try_again_takes_no_place() -> None:
    order: list[str] = []

    async def scenario() -> None:
        gate = gate_of(concurrency=1)

        async def call(name: str, attempt: Attempt) -> None:
            await call_with_retries(attempt, gate, 0)
            order.append(name)

        await asyncio.gather(
            call("turned away", failing("rate_limited", retry_after=5)), call("other", failing(seconds=1))
        )

    with virtual_time() as clock:
        clock.run(scenario())
    assert order == ["other", "turned away"]


@pytest.mark.parametrize("kind", TRANSIENT)
def test_429_5xx_and_no_answer_in_a_row_halve_the_concurrency(kind: ErrorKind) -> None:
    async def scenario() -> Gate:
        gate = gate_of(concurrency=8)
        await call_with_retries(failing(kind, kind, kind), gate, 0)
        return gate

    with virtual_time() as clock:
        assert clock.run(scenario()).limit == 4


@pytest.mark.parametrize("kind", PERMANENT)
def test_requests_that_are_themselves_at_fault_leave_the_concurrency_alone(kind: ErrorKind) -> None:
    async def scenario() -> Gate:
        gate = gate_of(concurrency=8)
        for _ in range(10):
            with pytest.raises(ModelError):
                await call_with_retries(failing(kind), gate, 0)
        return gate

    with virtual_time() as clock:
        assert clock.run(scenario()).limit == 8


@pytest.mark.parametrize("concurrency", [4, 32])
def test_an_endpoint_that_recovers_gets_the_full_concurrency_again(concurrency: int) -> None:
    async def scenario() -> Gate:
        gate = gate_of(concurrency=concurrency, max_retries=20)

        async def attempt(number: int, seconds: float) -> Reply:
            await asyncio.sleep(1)
            if clock.now < 10:
                raise ModelError("rate_limited", "429", retryable=True)
            return Reply("yes")

        await asyncio.gather(*(call_with_retries(attempt, gate, 0) for _ in range(1000)))
        return gate

    with virtual_time() as clock:
        gate = clock.run(scenario())
    assert gate.lowest <= concurrency // 2
    assert gate.limit == concurrency


def test_reservations_are_settled_with_what_was_used() -> None:
    """12,000 tokens a minute are 200 a second: the second call starts as soon as the first one's debt is paid."""

    async def usage_of(usage: Usage | None) -> float:
        gate = gate_of(tokens_per_minute=12_000)
        log: list[float] = []

        async def attempt(number: int, seconds: float) -> Reply:
            log.append(clock.now)
            return Reply("yes", usage=usage)

        begin = clock.now
        await call_with_retries(attempt, gate, 1200)
        await call_with_retries(attempt, gate, 200)
        return log[1] - begin

    with virtual_time() as clock:
        assert clock.run(usage_of(Usage(150, 50))) == pytest.approx(1.0)
        assert clock.run(usage_of(Usage(2000, 200))) == pytest.approx(11.0)
        assert clock.run(usage_of(None)) == pytest.approx(6.0)  # unknown: what was reserved


def test_a_failed_attempt_used_no_tokens() -> None:
    async def scenario() -> None:
        gate = gate_of(tokens_per_minute=60, backoff=0)
        await call_with_retries(failing("timeout", "timeout"), gate, 10_000)

    with virtual_time() as clock:
        clock.run(scenario())
        assert clock.now == 0.0


def test_an_unforeseen_exception_gives_the_place_back() -> None:
    async def scenario() -> None:
        gate = gate_of(concurrency=1)

        async def attempt(number: int, seconds: float) -> Reply:
            raise ZeroDivisionError

        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await call_with_retries(attempt, gate, 0)
        assert gate._in_flight == 0

    with virtual_time() as clock:
        clock.run(scenario())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draw=st.randoms(use_true_random=False), concurrency=st.integers(1, 4))
def test_calls_cancelled_at_any_moment_of_any_attempt_never_leak_a_place(draw: random.Random, concurrency: int) -> None:
    async def scenario() -> None:
        gate = gate_of(concurrency=concurrency, max_retries=3)

        async def attempt(number: int, seconds: float) -> Reply:
            await asyncio.sleep(draw.choice([0, 0.2, 1]))
            if draw.random() < 0.4:
                raise ModelError("rate_limited", "429", retryable=True, retry_after=draw.choice([None, 0, 0.5]))
            return Reply("yes")

        tasks = []
        for _ in range(30):
            tasks.append(asyncio.create_task(call_with_retries(attempt, gate, 10)))
            if draw.random() < 0.5:
                draw.choice(tasks).cancel()
            await asyncio.sleep(draw.choice([0, 0, 0.3]))
        await asyncio.gather(*tasks, return_exceptions=True)
        assert gate._in_flight == 0
        for _ in range(100):
            gate.report(gate.halvings, True)
        assert gate.limit == concurrency
        for _ in range(concurrency):
            await asyncio.wait_for(gate.acquire(0), 1)

    with virtual_time() as clock, patch.object(retries, "_jitter", random.Random(1)):
        clock.run(scenario())
