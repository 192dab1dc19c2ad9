"""Target and judges in a process of their own: the search reaches them through a socket, and nothing else of them."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import orjson

from psysafe.conversation import Message
from psysafe.models import ModelError, Reply, Sampling, Schema, Usage
from psysafe.probing.testbed.plants import Plant
from psysafe.probing.testbed.players import JudgePlayer, Player, TargetPlayer, draw
from psysafe.taxonomy import CellId, load_grid

_LONGEST = 2**24  # bytes of one message on the socket


class RemotePlayer(Player):
    """A player in the other process."""

    def __init__(self, name: str, link: _Link) -> None:
        super().__init__(name)
        self._link = link

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """Ask it."""
        text = await self._link.ask(
            self.name,
            [[message.role, message.content] for message in messages],
            config.seed,
            config.schema.name if config.schema is not None else None,
        )
        return Reply(text, usage=Usage(0, 0), model=self.name)


class _Link:
    """Requests and answers on one socket, many at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._numbers = count()
        self._ended = False
        self._task = asyncio.create_task(self._read())

    async def ask(self, player: str, messages: list[list[str]], seed: int | None, form: str | None) -> str:
        if self._ended:
            raise _gone()
        number = next(self._numbers)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._writer.write(orjson.dumps([number, player, messages, seed, form]) + b"\n")
        return await future

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionError):
            while line := await self._reader.readline():
                number, text = orjson.loads(line)
                future = self._waiting.pop(number)
                if not future.done():
                    future.set_result(text)
        self._ended = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_gone())

    async def close(self) -> None:
        self._writer.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def _gone() -> ModelError:
    return ModelError("endpoint_error", "the testbed's process has ended")


@asynccontextmanager
async def other_process(
    plants: Mapping[CellId, Plant], *, noise: float = 0.0, seed: int = 0, latency: tuple[float, float] = (0.0, 0.0)
) -> AsyncIterator[tuple[RemotePlayer, RemotePlayer]]:
    """Target and judge, running in a new process until the block ends.

    Args:
        noise, seed: of the judge. latency: least and most seconds of an answer, drawn anew each time.
    """
    with tempfile.TemporaryDirectory(prefix="psysafe-testbed-") as folder:
        path = str(Path(folder) / "socket")
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_serve, args=(path, dict(plants), noise, seed, latency), daemon=True)
        process.start()
        try:
            link = await _connect(path, process)
            try:
                yield RemotePlayer("testbed-target", link), RemotePlayer("testbed-judge", link)
            finally:
                await link.close()
        finally:
            process.terminate()
            process.join()


async def _connect(path: str, process: multiprocessing.process.BaseProcess) -> _Link:
    while True:
        try:
            return _Link(*await asyncio.open_unix_connection(path, limit=_LONGEST))
        except OSError:
            if not process.is_alive():
                raise ModelError("endpoint_error", "the testbed's process did not start") from None
            await asyncio.sleep(0.02)


def _serve(path: str, plants: dict[CellId, Plant], noise: float, seed: int, latency: tuple[float, float]) -> None:
    players: dict[str, Player] = {
        player.name: player for player in (TargetPlayer(plants), JudgePlayer(load_grid(), noise, seed))
    }
    asyncio.run(_answer(path, players, latency))


async def _answer(path: str, players: Mapping[str, Player], latency: tuple[float, float]) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks: set[asyncio.Task[None]] = set()
        while line := await reader.readline():
            number, name, messages, at, form = orjson.loads(line)
            asked = [Message(role, content) for role, content in messages]
            text = players[name].answer(asked, Sampling(seed=at, schema=Schema(form, b"{}") if form else None))
            answer = orjson.dumps([number, text]) + b"\n"
            if latency[1] > 0:
                pause = latency[0] + (latency[1] - latency[0]) * draw(os.urandom(8))
                task = asyncio.create_task(_later(writer, answer, pause))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            else:
                writer.write(answer)
                await writer.drain()

    server = await asyncio.start_unix_server(handle, path, limit=_LONGEST)
    async with server:
        await server.serve_forever()


async def _later(writer: asyncio.StreamWriter, answer: bytes, pause: float) -> None:
    await asyncio.sleep(pause)
    writer.write(answer)
    await writer.drain()
