"""The one thread in which a classifier computes, so that the event loop never waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Worker:
    """A thread that is there from the first work until ``end``.

    Attributes:
        stopped: whether nothing more is to be begun; what runs asks for itself. A new thread or start forgets
            it.
    """

    def __init__(self, name: str) -> None:
        self.stopped = False
        self._name = f"psysafe-{name}"
        self._pool: ThreadPoolExecutor | None = None

    async def start(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run the first work of an opened classifier."""
        self.stopped = False
        return await self.run(function, *arguments, **options)

    async def run(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a function in the thread, after what was given to it before."""
        if self._pool is None:
            self.stopped = False
            self._pool = ThreadPoolExecutor(1, thread_name_prefix=self._name)
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*arguments, **options))

    async def end(self) -> None:
        """End the thread when what it does is done; what waits is dropped."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
