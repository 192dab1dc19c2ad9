"""Time that passes only when nothing else is left to do: waits of minutes are over at once and are exact.

    with virtual_time() as clock:
        clock.run(scenario())
        assert clock.now == 60.0

Only for coroutines that wait for each other or for time, not for a network. One that waits for something that can
never happen fails with ``Stuck`` instead of hanging.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

from psysafe.models import limits, retries

T = TypeVar("T")


class Stuck(Exception):
    """Every task waits and no timer is set."""


class Clock:
    """``now`` starts at 0."""

    def __init__(self) -> None:
        self.now = 0.0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it in a loop whose time is this clock's."""
        with asyncio.Runner(loop_factory=lambda: _Loop(self)) as runner:
            return runner.run(coroutine)


class _Selector(selectors.DefaultSelector):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[Any]:
        events: list[Any] = super().select(0)
        if not events:
            if timeout is None:
                raise Stuck
            self._clock.now += max(0.0, timeout)
        return events


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self._clock.now


@contextmanager
def virtual_time() -> Iterator[Clock]:
    """A clock that the limits and retries of psysafe follow inside the block."""
    clock = Clock()
    fake = SimpleNamespace(monotonic=lambda: clock.now, time=lambda: 1_800_000_000.0 + clock.now)
    with patch.object(limits, "time", fake), patch.object(retries, "time", fake):
        yield clock
