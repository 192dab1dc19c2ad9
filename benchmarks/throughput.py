"""How close judging comes to what the endpoint, the HTTP library and the call graph allow.

Every figure is a ratio of two things measured in the same run, the median over rounds in which both were
measured one after the other. Each contender runs in a fresh process; the endpoint has one of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median

from benchmarks.contenders import Measured, bare, in_own_process, judged, preset_calls
from benchmarks.endpoint import Endpoint
from benchmarks.table import Row, show

LATENCY = 0.2
WIDE, NARROW = 256, 64
SAMPLES = 20
GROUP = ("dialogguard",)  # the paper's five dimensions
MECHANISMS = ("single", "dual", "debate", f"vote:samples={SAMPLES}")
PRESET = "dialogguard-code"
# Speech, votes, speech, votes; and, in the published code's arrangement, four speeches and the votes.
CHAIN, PRESET_CHAIN = 4, 5
# Most calls that the four mechanisms make: 1 + 2 + (2 + 5) * 2 + 20.
CALLS_OF_ALL = 5 * (1 + 2 + 14 + SAMPLES)
# As stated of the published code's arrangement for the same calls; not measured here.
PUBLISHED_SECONDS = 4.2


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. ``calls`` and ``sdk_calls`` are judge calls, ``rounds`` repetitions."""

    calls: int = 5000
    narrow_calls: int = 3200
    sdk_calls: int = 1000
    rounds: int = 3
    replies: int = 9


QUICK = Size(calls=1000, narrow_calls=640, sdk_calls=500, rounds=1, replies=3)


def against_bare(size: Size) -> list[Row]:
    """(a) 256 in flight: psysafe and bare aiohttp send the same bytes, by turns."""
    rows: list[Row] = []
    for mechanism, calls_each in (("single", 1), (f"vote:samples={SAMPLES}", SAMPLES)):
        given = size.calls // calls_each
        with tempfile.TemporaryDirectory() as folder:
            bodies = Path(folder) / "bodies"
            with Endpoint(LATENCY, record=bodies) as endpoint:
                in_own_process(judged, endpoint.model, given, [mechanism], WIDE)
            ours: list[Measured] = []
            theirs: list[Measured] = []
            with Endpoint(LATENCY) as endpoint:
                for _ in range(size.rounds):
                    theirs.append(in_own_process(bare, endpoint.base_url, bodies, WIDE))
                    ours.append(in_own_process(judged, endpoint.model, given, [mechanism], WIDE))
                most = endpoint.stats().most_in_flight
        if most != WIDE:
            raise RuntimeError(f"expected {WIDE} calls in flight at most, the endpoint counted {most}")
        rows += _compared(f"{mechanism}, {given:,} conversations", ours, theirs)
    return rows


def _compared(what: str, ours: Sequence[Measured], theirs: Sequence[Measured]) -> list[Row]:
    """Wall and CPU of psysafe over those of bare aiohttp."""
    ideal = LATENCY * ours[0].calls / WIDE
    return [
        Row(
            f"{what}: wall / bare aiohttp",
            median(a.wall / b.wall for a, b in zip(ours, theirs, strict=True)),
            1.35,
            note=f"{_walls(ours, theirs)}, ideal {ideal:.2f} s",
        ),
        Row(
            f"{what}: CPU / bare aiohttp",
            median(_per_call(a) / _per_call(b) for a, b in zip(ours, theirs, strict=True)),
            3.0,
            note=_cpus(ours, theirs),
        ),
    ]


def _per_call(measured: Measured) -> float:
    return 1000 * measured.cpu / measured.calls


def _walls(ours: Sequence[Measured], theirs: Sequence[Measured]) -> str:
    return f"{median(a.wall for a in ours):.2f} s and {median(b.wall for b in theirs):.2f} s"


def _cpus(ours: Sequence[Measured], theirs: Sequence[Measured]) -> str:
    return f"{median(map(_per_call, ours)):.3f} ms and {median(map(_per_call, theirs)):.3f} ms a call"


def against_ideal(size: Size) -> list[Row]:
    """(b) 64 in flight: the wall time over calls / 64 * latency, which no client can beat."""
    rows: list[Row] = []
    ideal = LATENCY * size.narrow_calls / NARROW
    with Endpoint(LATENCY) as endpoint:
        for mechanism, calls_each in (("single", 1), (f"vote:samples={SAMPLES}", SAMPLES)):
            given = size.narrow_calls // calls_each
            walls = [
                in_own_process(judged, endpoint.model, given, [mechanism], NARROW).wall for _ in range(size.rounds)
            ]
            rows.append(
                Row(
                    f"{mechanism}, {given:,} conversations: wall / ideal",
                    median(walls) / ideal,
                    1.10,
                    note=f"{median(walls):.2f} s, ideal {ideal:.2f} s",
                )
            )
    return rows


def one_reply(size: Size) -> list[Row]:
    """(c) five dimensions and all four mechanisms on one reply, over the longest chain of dependent calls.

    Repetitions differ in their seed, and so in how the votes are split; only those in which all five debates go
    their whole length count.
    """
    rows: list[Row] = []
    chain = CHAIN * LATENCY
    with Endpoint(LATENCY) as endpoint:
        for state, warm in (("model already open", True), ("cold, with the capability probe", False)):
            whole = (
                measured
                for seed in count()
                if (measured := in_own_process(judged, endpoint.model, 1, MECHANISMS, WIDE, GROUP, seed, warm)).calls
                == CALLS_OF_ALL
            )
            wall = median(measured.wall for measured in islice(whole, size.replies))
            rows.append(
                Row(
                    f"one reply, {CALLS_OF_ALL} calls, {state}: wall / longest chain",
                    wall / chain,
                    1.30 if warm else None,
                    note=f"{wall:.2f} s, chain {chain:.2f} s",
                )
            )
    return rows


def published(size: Size) -> list[Row]:
    """(d) The published code's four mechanisms on one reply, over the longest chain and the time stated for them."""
    calls = 5 * preset_calls(PRESET)
    with Endpoint(LATENCY) as endpoint:
        runs = [
            in_own_process(judged, endpoint.model, 1, [PRESET], WIDE, GROUP, seed, True) for seed in range(size.replies)
        ]
    if any(run.calls != calls for run in runs):
        raise RuntimeError(f"{PRESET}: expected {calls} calls, made {[run.calls for run in runs]}")
    wall = median(run.wall for run in runs)
    chain = PRESET_CHAIN * LATENCY
    return [
        Row(f"{PRESET}, {calls} calls: wall / longest chain", wall / chain, note=f"{wall:.2f} s, chain {chain:.2f} s"),
        Row(
            f"{PRESET}, {calls} calls: wall / time stated for the published code",
            wall / PUBLISHED_SECONDS,
            note=f"{wall:.2f} s, stated (not measured here) {PUBLISHED_SECONDS} s",
        ),
    ]


def against_sdk(size: Size, python: str) -> list[Row]:
    """(d) The openai SDK and psysafe, 256 in flight, the same bodies, by turns."""
    calls = size.sdk_calls
    with tempfile.TemporaryDirectory() as folder:
        bodies = Path(folder) / "bodies"
        with Endpoint(LATENCY, record=bodies) as endpoint:
            in_own_process(judged, endpoint.model, calls, ["single"], WIDE)
        ours: list[Measured] = []
        theirs: list[Measured] = []
        with Endpoint(LATENCY) as endpoint:
            for _ in range(size.rounds):
                theirs.append(_sdk(python, endpoint.base_url, bodies))
                ours.append(in_own_process(judged, endpoint.model, calls, ["single"], WIDE))
    return [
        Row(
            f"single, {calls:,} conversations: wall / openai SDK",
            median(a.wall / b.wall for a, b in zip(ours, theirs, strict=True)),
            note=_walls(ours, theirs),
        ),
        Row(
            f"single, {calls:,} conversations: CPU / openai SDK",
            median(_per_call(a) / _per_call(b) for a, b in zip(ours, theirs, strict=True)),
            note=_cpus(ours, theirs),
        ),
    ]


def _sdk(python: str, base_url: str, bodies: Path) -> Measured:
    script = Path(__file__).with_name("openai_sdk.py")
    done = subprocess.run(
        [python, str(script), base_url, str(bodies), str(WIDE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{python} {script.name}: {done.stderr.strip()[-500:]}")
    return Measured(**json.loads(done.stdout))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short try; its figures mean little")
    parser.add_argument("--sdk-python", metavar="PYTHON", help="an interpreter that has the openai SDK")
    options = parser.parse_args()
    size = QUICK if options.quick else Size()
    show(f"(a) {WIDE} in flight, latency {LATENCY} s, {size.calls:,} calls, {size.rounds} rounds", against_bare(size))
    show(f"(b) {NARROW} in flight, {size.narrow_calls:,} calls, {size.rounds} rounds", against_ideal(size))
    show(f"(c) one reply, {size.replies} repetitions", one_reply(size))
    show("(d) for reference: the published arrangement", published(size))
    python = options.sdk_python or (sys.executable if importlib.util.find_spec("openai") else None)
    if python is None:
        print("\n(d) for reference: the openai SDK: skipped, it is not installed here; see --sdk-python")
    else:
        show(f"(d) for reference: the openai SDK, {WIDE} in flight", against_sdk(size, python))


if __name__ == "__main__":
    main()
