"""What psysafe makes of an endpoint that fails, and of being killed.

(a) Judges conversations at an endpoint where every tenth attempt goes wrong (see ``faults``) and compares each unit in
the store with what must come of it (see ``expectation``). (b) Kills ``psysafe judge`` with SIGKILL at random moments,
start-up included, resumes it each time, and compares the export with that of a run that nobody disturbed.

Exits with 1 when anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks.endpoint import Endpoint
from benchmarks.expectation import Result, call_seeds, expected
from benchmarks.faults import SHARES, FaultPlan
from benchmarks.texts import conversations
from psysafe.conversation import Conversation
from psysafe.judging import parse_mechanisms, subjects
from psysafe.models import Limits
from psysafe.models.openai_compatible import OpenAICompatible
from psysafe.models.resolve import load_model
from psysafe.runs import EXPORTS, Plan, Store, execute
from psysafe.taxonomy import load_dimensions

DIMENSION = "psychological_harm"
LATENCY = 0.05
IN_FLIGHT = 256
# So few that every kind of failure outlasts them for some units; the default is 6.
MAX_RETRIES = 1
# Much longer than the latency, so that a slow machine makes no timeouts of its own.
TIMEOUT = 5.0

_KILLED_MECHANISMS = ("single", "vote:samples=5")
_KILLED_IN_FLIGHT = 64
# A kill comes so many seconds after the start of a process: during the imports, the scan, or the judging.
_EARLIEST, _LATEST = 0.1, 2.0
_COMMAND = [sys.executable, "-c", "from psysafe.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Ended:
    """What a run with faults left behind, by conversation."""

    results: dict[str, list[Result]]
    wall: float
    halvings: int
    lowest: int


def faulty(units: int) -> bool:
    """(a) Judge so many conversations through the faults; print what came of them. Returns whether all is right."""
    given = list(conversations(units))
    plan = FaultPlan()
    with Endpoint(LATENCY, plan) as endpoint:
        ended = asyncio.run(_through_faults(given, endpoint.model))
        stats = endpoint.stats()
    dimension = load_dimensions()[DIMENSION]
    wanted: dict[str, Result] = {}
    for conversation in given:
        seeds = call_seeds(next(subjects(conversation)), dimension, endpoint.model, 0)
        wanted[conversation.id] = expected(plan, conversation.id.removeprefix("case-"), seeds, MAX_RETRIES)
    lost = [name for name in wanted if name not in ended.results]
    twice = [name for name, results in ended.results.items() if len(results) > 1]
    wrong = [name for name, results in ended.results.items() if results[0] != wanted.get(name)]
    # The probe is the one request that belongs to no unit.
    sent, needed = stats.requests - 1, sum(result.attempts for result in wanted.values())

    print(f"\n(a) {units:,} units, single, {IN_FLIGHT} in flight, latency {LATENCY} s, {MAX_RETRIES} retry")
    print(f"  faults planned  {', '.join(f'{name} {share:.0%}' for name, share in SHARES.items())}")
    print(f"  faults played   {_counted(stats.faults)}")
    outcomes = Counter(result.reason or result.outcome for results in ended.results.values() for result in results)
    print(f"  outcomes        {_counted(outcomes)}")
    print(f"  requests        {sent:,} sent, {needed:,} right")
    print(f"  wall            {ended.wall:.1f} s; without faults and at full concurrency {_fault_free(units):.1f} s")
    print(f"  concurrency     halved {ended.halvings} times, {ended.lowest} at its lowest")
    print(f"  lost {len(lost)}, twice {len(twice)}, with another outcome than the plan's {len(wrong)}")
    for name in wrong[:5]:
        print(f"    {name}: {ended.results[name][0]}, expected {wanted.get(name)}")
    return not lost and not twice and not wrong and sent == needed


def _fault_free(units: int) -> float:
    return LATENCY * units / IN_FLIGHT


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in counts.most_common())


async def _through_faults(given: list[Conversation], name: str) -> Ended:
    limits = Limits(concurrency=IN_FLIGHT, timeout=TIMEOUT, max_retries=MAX_RETRIES)
    model = load_model(name, limits)
    assert isinstance(model, OpenAICompatible)
    plan = Plan(
        conversations=lambda: iter(given),
        source={"made": len(given)},
        count=len(given),
        judged=len(given),
        dimensions=[load_dimensions()[DIMENSION]],
        mechanisms=parse_mechanisms(["single"]),
        models=[model],
    )
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder) / "run")
        started = time.perf_counter()
        execution = await execute(plan, store, concurrency=IN_FLIGHT)
        wall = time.perf_counter() - started
        if execution.ended != "complete":
            raise RuntimeError(f"the run ended as {execution.ended}: {execution.detail}")
        results: dict[str, list[Result]] = {}
        for record in _exported(store).values():
            found = Result(*(record[name] for name in ("outcome", "reason", "score", "calls", "attempts")))
            results.setdefault(record["conversation"], []).append(found)
        store.close()
    return Ended(results, wall, model.gate.halvings, model.gate.lowest)


def _exported(store: Store) -> dict[str, dict[str, Any]]:
    """The JSON Lines export of a run, by unit key.

    Raises:
        RuntimeError: a key stands twice.
    """
    out = io.BytesIO()
    EXPORTS["jsonl"](store, out)
    records = [orjson.loads(line) for line in out.getvalue().splitlines()]
    by_key = {record["key"]: record for record in records}
    if len(by_key) < len(records):
        raise RuntimeError(f"{len(records)} judgments, but only {len(by_key)} keys")
    return by_key


def killed(units: int, kills: int, seed: int) -> bool:
    """(b) Kill and resume a run; print how it compares with an undisturbed one. Returns whether they are equal."""
    with tempfile.TemporaryDirectory() as name, Endpoint(LATENCY) as endpoint:
        folder = Path(name)
        with (folder / "input.jsonl").open("wb") as out:
            for conversation in conversations(units):
                out.write(orjson.dumps(conversation.to_dict()) + b"\n")
        command = [*_COMMAND, "judge", "input.jsonl", "--model", endpoint.model, "--dimensions", DIMENSION, "--quiet"]
        command += [part for spec in _KILLED_MECHANISMS for part in ("--mechanism", spec)]
        command += ["--concurrency", str(_KILLED_IN_FLIGHT), "--run"]
        _finish(_start(command, folder / "undisturbed"))
        needed = endpoint.stats().requests
        met = _kill_and_resume(command, folder / "disturbed", kills, random.Random(seed), endpoint)
        repeated = endpoint.stats().requests - 2 * needed
        undisturbed, disturbed = _without_timings(folder / "undisturbed"), _without_timings(folder / "disturbed")
    differing = [key for key in undisturbed.keys() | disturbed.keys() if undisturbed.get(key) != disturbed.get(key)]

    print(f"\n(b) {units:,} conversations, {', '.join(_KILLED_MECHANISMS)}, {_KILLED_IN_FLIGHT} in flight, seed {seed}")
    print(f"  kills           {len(met)}, at {', '.join(f'{kill.moment:.2f}' for kill in met)} s after a start")
    print(f"                  that had sent {', '.join(f'{kill.requests:,}' for kill in met)} requests")
    print(f"  units           {len(undisturbed):,} undisturbed, {len(disturbed):,} killed and resumed")
    print(f"  requests again  {repeated:,} of {needed:,}, for what had not been committed, and a probe for each start")
    print(f"  equal           {'no' if differing else 'yes'}: everything that is exported but seconds, by unit key")
    for key in differing[:5]:
        print(f"    {key}: {_difference(undisturbed.get(key), disturbed.get(key))}")
    return not differing and len(met) == kills


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill that met its process alive, so many seconds and requests after the start of that process."""

    moment: float
    requests: int


def _kill_and_resume(
    command: list[str], run: Path, kills: int, moments: random.Random, endpoint: Endpoint
) -> list[Kill]:
    """Start, kill, resume and so on, then let it finish. Fewer kills when it has finished before the last."""
    met: list[Kill] = []
    for _ in range(kills):
        moment, before = moments.uniform(_EARLIEST, _LATEST), endpoint.stats().requests
        process = _start(command, run)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            met.append(Kill(moment, endpoint.stats().requests - before))
        else:
            _finish(process)
            return met
    _finish(_start(command, run))
    return met


def _start(command: list[str], run: Path) -> subprocess.Popen[bytes]:
    """Go on with the run, or begin it where there is none yet."""
    resume = ["--resume"] if (run / "run.json").exists() else []
    return subprocess.Popen(
        [*command, run.name, *resume], cwd=run.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def _finish(process: subprocess.Popen[bytes]) -> None:
    _, told = process.communicate()
    if process.returncode:
        raise RuntimeError(f"psysafe judge exited with {process.returncode}: {told.decode().strip()[-500:]}")


def _without_timings(run: Path) -> dict[str, dict[str, Any]]:
    """A run's export by unit key, without the seconds that each unit took."""
    store = Store.open(run)
    try:
        return {
            key: {name: value for name, value in record.items() if name != "seconds"}
            for key, record in _exported(store).items()
        }
    finally:
        store.close()


def _difference(one: dict[str, Any] | None, other: dict[str, Any] | None) -> str:
    if one is None or other is None:
        return "only in the one that was killed" if one is None else "lost"
    return ", ".join(name for name in one if one[name] != other.get(name))


def main() -> None:
    """Run both and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 units and three kills")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of the kills")
    options = parser.parse_args()
    right = faulty(1000 if options.quick else 10_000)
    equal = killed(500 if options.quick else 3000, 3 if options.quick else 10, options.seed)
    raise SystemExit(0 if right and equal else 1)


if __name__ == "__main__":
    main()
