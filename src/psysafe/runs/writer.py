"""The one writer: gathers records and commits at most 100 at a time, or what there is after 250 ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Record = TypeVar("Record")

MOST = 100
LONGEST = 0.25
# Beyond this many uncommitted records new units wait, so that a slow disk bounds the memory.
_BACKLOG = 10 * MOST


class Writer(Generic[Record]):
    """``async with Writer(store.write) as writer: writer.add(record)``; leaving commits what is left.

    Args:
        write: commits records in one transaction. Called in a thread, one call after the other, in the order of adding.
    """

    def __init__(self, write: Callable[[Sequence[Record]], None]) -> None:
        self._write = write
        self._pending: list[Record] = []
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._failure: BaseException | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="psysafe-store")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Writer[Record]:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._wake.set()
        assert self._task is not None
        try:
            await self._task
        finally:
            self._thread.shutdown()
        if self._failure is not None:
            raise self._failure

    def add(self, record: Record) -> None:
        """Take a record for the next commit."""
        self._pending.append(record)
        if len(self._pending) >= MOST:
            self._wake.set()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LONGEST, self._wake.set)
        if len(self._pending) >= _BACKLOG:
            self._room.clear()

    async def room(self) -> None:
        """Wait until the disk has caught up.

        Raises:
            StoreError: a commit has failed; no more will be tried.
        """
        if self._failure is not None:
            raise self._failure
        if not self._room.is_set():
            await self._room.wait()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            while self._pending and self._failure is None:
                batch, self._pending = self._pending[:MOST], self._pending[MOST:]
                try:
                    await loop.run_in_executor(self._thread, self._write, batch)
                except Exception as error:
                    self._failure = error  # raised where units are added and at the end
                if len(self._pending) < _BACKLOG:
                    self._room.set()
                if len(self._pending) < MOST and not self._closing:
                    break
            if self._pending and self._failure is None:
                self._timer = loop.call_later(LONGEST, self._wake.set)
            if self._failure is not None:
                self._room.set()
            if self._closing and (not self._pending or self._failure is not None):
                return
