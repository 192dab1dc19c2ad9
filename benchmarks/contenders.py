"""The clients that are measured, each as a function that runs in a fresh process of its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aiohttp
import orjson

from benchmarks.texts import conversations
from psysafe.judging import PRESETS, parse_mechanisms
from psysafe.models import Limits, load_model
from psysafe.runs import Execution, Plan, Store, execute
from psysafe.taxonomy import choose_dimensions, load_dimensions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender's work.

    Attributes:
        wall: seconds. cpu: seconds of all threads of its process, start-up and imports left out.
        calls: judge calls made, the capability probe left out.
    """

    wall: float
    cpu: float
    calls: int


def in_own_process(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a process that does nothing else and ends with it."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def bare(base_url: str, bodies: Path, in_flight: int) -> Measured:
    """Send recorded bodies with aiohttp and nothing else: read each answer, decode it, drop it."""
    return asyncio.run(_bare(base_url, bodies.read_bytes().splitlines(), in_flight))


async def _bare(base_url: str, bodies: Sequence[bytes], in_flight: int) -> Measured:
    left = iter(bodies)
    url = f"{base_url}/chat/completions"
    wall, cpu = time.perf_counter(), time.process_time()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers={"Content-Type": "application/json"}
    ) as session:

        async def work() -> None:
            for body in left:
                async with session.post(url, data=body) as response:
                    orjson.loads(await response.read())["choices"][0]["message"]["content"]

        await asyncio.gather(*(work() for _ in range(in_flight)))
    return Measured(time.perf_counter() - wall, time.process_time() - cpu, len(bodies))


def judged(
    model: str,
    count: int,
    mechanisms: Sequence[str],
    in_flight: int,
    dimensions: Sequence[str] = ("psychological_harm",),
    seed: int = 0,
    warm: bool = False,
) -> Measured:
    """Judge so many conversations with ``psysafe.runs.execute`` into a store on disk.

    Timed is all that ``execute`` does: the capability probe, every call, the last commit. ``warm``: the model
    is opened, and so probed, before.

    Raises:
        RuntimeError: a unit was left without a score.
    """
    return asyncio.run(_judged(model, count, mechanisms, in_flight, dimensions, seed, warm))


async def _judged(
    name: str,
    count: int,
    mechanisms: Sequence[str],
    in_flight: int,
    dimensions: Sequence[str],
    seed: int,
    warm: bool,
) -> Measured:
    given = list(conversations(count))
    model = load_model(name, Limits(concurrency=in_flight))
    plan = Plan(
        conversations=lambda: iter(given),
        source={"made": count},
        count=count,
        judged=count,
        dimensions=choose_dimensions(list(dimensions), load_dimensions()),
        mechanisms=parse_mechanisms(mechanisms),
        models=[model],
        seed=seed,
    )
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "run")
        if warm:
            await model.open()
        wall, cpu = time.perf_counter(), time.process_time()
        execution = await execute(plan, store, concurrency=in_flight)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        store.close()
    _check(execution, plan)
    return Measured(wall, cpu, execution.progress.calls)


def _check(execution: Execution, plan: Plan) -> None:
    progress = execution.progress
    if execution.ended != "complete" or progress.outcomes["scored"] != plan.units:
        raise RuntimeError(f"{plan.units} units: {execution.ended}, {dict(progress.outcomes)}, {execution.detail}")


def preset_calls(preset: str) -> int:
    """Judge calls of a preset for one conversation and one dimension."""
    return sum(mechanism.calls for mechanism in PRESETS[preset])
