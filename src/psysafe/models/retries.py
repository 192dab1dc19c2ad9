"""One loop for all models: place in the gate, attempt, backoff, deadline."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from psysafe.models.base import ModelError, Reply
from psysafe.models.limits import Gate

# Jitter only spreads load; no outcome depends on it, so it needs no seed.
_jitter = random.Random()


async def call_with_retries(attempt: Callable[[int, float], Awaitable[Reply]], gate: Gate, tokens: int) -> Reply:
    """Run ``attempt(number, seconds_left)`` until it succeeds, fails for good, or the deadline is reached.

    Args:
        attempt: one request; numbered from 0; must raise ``ModelError`` on failure and keep to its seconds.
        gate: the endpoint's gate.
        tokens: reserved in the gate for each attempt.

    Raises:
        ModelError: the last failure, with ``attempts`` set.
    """
    limits = gate.limits
    mark = await gate.acquire(tokens)
    started = time.monotonic()
    number = 0
    while True:
        try:
            left = limits.deadline - (time.monotonic() - started)
            try:
                reply = await attempt(number, min(limits.timeout, max(left, 0.001)))
            except ModelError as error:
                gate.settle(tokens, 0)
                gate.report(mark, not error.retryable)
                error.attempts = number + 1
                failure = error
            else:
                gate.settle(tokens, _used(reply, tokens))
                gate.report(mark, True)
                return reply if number == 0 else replace(reply, attempts=number + 1)
        finally:
            gate.release()
        if not failure.retryable or number >= limits.max_retries:
            raise failure
        pause = _jitter.uniform(0, min(limits.backoff_cap, limits.backoff * 2**number))
        if failure.retry_after is not None:
            # At least what was asked; the jitter on top keeps those who were turned away together apart.
            pause = failure.retry_after + min(pause, limits.backoff)
        if time.monotonic() + pause > started + limits.deadline:
            raise failure
        await asyncio.sleep(pause)
        number += 1
        try:
            async with asyncio.timeout(started + limits.deadline - time.monotonic()):
                mark = await gate.acquire(tokens)
        except TimeoutError:
            raise failure from None  # no place before the deadline


def _used(reply: Reply, reserved: int) -> int:
    if reply.usage is None:
        return reserved
    return reply.usage.prompt_tokens + reply.usage.completion_tokens
