"""Many pieces of work in flight, handed on in the order of their number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Waiting:
    """Seconds times places: ``idle`` of those that stood empty because an earlier piece was still to come, ``all``."""

    idle: float = 0.0
    all: float = 0.0

    @property
    def share(self) -> float:
        """Of the places, how much was lost to waiting."""
        return self.idle / self.all if self.all else 0.0


async def in_order(
    first: int,
    end: int,
    begin: Callable[[int], Awaitable[T]],
    commit: Callable[[T], None],
    *,
    in_flight: int,
    go_on: Callable[[], bool] = lambda: True,
    waiting: Waiting | None = None,
) -> None:
    """Do the pieces ``first`` to ``end - 1``.

    Args:
        begin: called in order; piece i only once all up to ``i - in_flight`` are committed.
        commit: told each result, in order. go_on: asked before each piece; once False no more are begun, and those in
            flight are finished. waiting: told how much time was lost to the order.

    Raises:
        what a piece raises; what was done before it, in order, is committed, the others are cancelled.
    """
    running: dict[asyncio.Future[T], int] = {}
    done: dict[int, T] = {}
    committed = index = first
    loop = asyncio.get_running_loop()
    try:
        while True:
            while index < min(end, committed + in_flight) and go_on():
                running[asyncio.ensure_future(begin(index))] = index
                index += 1
            if not running:
                return
            began = loop.time()
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if waiting is not None:
                took, held = loop.time() - began, len(done) if index < end else 0
                waiting.idle += took * held
                waiting.all += took * (len(running) + held)
            failed: BaseException | None = None
            for piece in ended:
                number = running.pop(piece)
                if (error := piece.exception()) is not None:
                    failed = failed or error
                else:
                    done[number] = piece.result()
            while committed in done:
                commit(done.pop(committed))
                committed += 1
            if failed is not None:
                raise failed
    finally:
        for piece in running:
            piece.cancel()
        await asyncio.gather(*running, return_exceptions=True)
