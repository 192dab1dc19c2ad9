"""How long a probe takes against what its dependent calls alone would take.

    python -m benchmarks.probe_speed [--trials 192] [--in-flight 64] [--turns 10] [--latency 0.2]

All model roles are the testbed's, at one endpoint on loopback in another process that answers after a fixed time. The
ideal: each trial is a chain of calls that wait for each other (the strategy, each utterance and reply, the judges side by
side, what was learned, the check of the client), and so many chains run side by side. Printed is wall time over ideal,
and how much was lost to committing in order.

Needs: pip install psysafe (half a minute).
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.table import Row, show
from psysafe.clients.loading import shipped_profiles
from psysafe.models import Limits, load_model
from psysafe.probing.cast import Cast
from psysafe.probing.records import Trial
from psysafe.probing.settings import Settings
from psysafe.runs import Store
from psysafe.runs.probe import ProbeExecution, execute_probe
from psysafe.runs.probe_plan import ProbePlan
from psysafe.runs.trials import read_trials
from psysafe.taxonomy import load_grid


def chain(trial: Trial) -> int:
    """Calls of a trial that wait for each other."""
    length = 1  # the check of the client
    for rollout in trial.rollouts:
        length += 1 + len(rollout.lines) + 1 + bool(rollout.observed) + bool(rollout.insights)
    return length


async def probe(url: str, given: argparse.Namespace, folder: Path) -> tuple[float, ProbeExecution, list[Trial]]:
    """One probe; its wall time from the first call on, how it ended, its records."""
    limits = Limits(concurrency=4 * given.in_flight)
    names = ("target", "client", "strategist", "judge")
    target, client, strategist, judge = (load_model(f"{url}#testbed-{name}", limits) for name in names)
    everyone = shipped_profiles()
    plan = ProbePlan(
        cast=Cast(target, (client,), strategist, judge, judge, load_grid(), everyone),
        settings=Settings(
            trials=given.trials, turns=given.turns, refinements=0, in_flight=given.in_flight, searcher="psysafe"
        ),
        profiles=list(everyone.values()),
        again=0,
        roles={"target": [target], "client": [client], "strategist": [strategist], "judge": [judge]},
    )
    store = Store.create(folder / "run", values={"manifest": plan.manifest()})
    begun: list[float] = []

    def tell(event: dict[str, object]) -> None:
        if event["event"] == "stage" and not begun:  # the models are open
            begun.append(time.monotonic())

    execution = await execute_probe(plan, store, tell=tell)
    wall = time.monotonic() - begun[0]
    records = list(read_trials(store))
    store.close()
    return wall, execution, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=192)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.2)
    given = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, "-m", "psysafe.probing.testbed.serve", "--port", str(port), "--plants", "28"]
    serve += ["--latency", str(given.latency), str(given.latency), "--turns", str(given.turns)]
    process = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        with tempfile.TemporaryDirectory() as folder:
            wall, execution, records = asyncio.run(probe(f"http://127.0.0.1:{port}/v1", given, Path(folder)))
    finally:
        process.terminate()
        process.wait()
    assert execution.ended == "complete", execution
    calls = sum(trial.calls for trial in records)
    ideal = sum(chain(trial) for trial in records) * given.latency / given.in_flight
    show(
        f"{given.trials} trials, {given.in_flight} in flight, {given.turns} turns, no refinement, an endpoint of "
        f"{given.latency * 1000:.0f} ms: {wall:.1f} s, {calls:,} calls, {calls / wall:,.0f} calls/s",
        [
            Row("wall / ideal", wall / ideal, 1.3, note=f"{ideal:.1f} s of dependent calls"),
            Row("places lost to the order of commits", execution.waiting.share, None, "of the time"),
        ],
    )


def _wait(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe_socket:
            if probe_socket.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the testbed's endpoint did not start")


if __name__ == "__main__":
    main()
