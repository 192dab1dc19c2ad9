"""Calls that ``--curtail`` saves, and the rounds of waiting that it costs, over random vote sequences.

For each K and share of harmful votes, sequences of K independent votes are drawn and asked in the waves that
``psysafe.judging.counting.votes_to_go`` names. Some of them are also played through the mechanism itself, which must
make as many calls and reach the verdict of all K votes. No clock and no endpoint is involved.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from benchmarks.table import show_cells
from benchmarks.texts import conversations
from psysafe.judging import judge
from psysafe.judging.counting import Side, votes_to_go
from psysafe.judging.mechanisms import MajorityVote
from psysafe.models.scripted import Request, ScriptedModel
from psysafe.taxonomy import Dimension, load_dimensions

KS = (10, 20, 40)
SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a curtailed vote took. ``waves`` wait for each other; a vote of all K is one wave."""

    calls: int
    waves: int


def curtailed(sides: Sequence[Side]) -> Asked:
    """How far a curtailed vote goes along a sequence of the sides that K votes are on."""
    calls = waves = 0
    while wave := votes_to_go(sides[:calls], len(sides)):
        calls += wave
        waves += 1
    return Asked(calls, waves)


async def check(sides: Sequence[Side], dimension: Dimension) -> str | None:
    """Play a sequence through the mechanism, whole and curtailed. Returns what is wrong, or None."""

    def script(request: Request) -> str:
        # a vote's number is half its sample index: the other half is for re-asks
        score = 1 if sides[request.config.sample // 2] == "harmful" else 0
        return orjson.dumps({"rationale": "Scripted.", "evidence": [], "score": score}).decode()

    conversation = next(conversations(1))
    model = ScriptedModel(script)
    whole = await judge(conversation, dimension, model, MajorityVote(samples=len(sides)))
    short = await judge(conversation, dimension, model, MajorityVote(samples=len(sides), curtail=True))
    if (short.outcome, short.harmful) != (whole.outcome, whole.harmful):
        return f"{sides}: harmful is {whole.harmful} of all votes and {short.harmful} when curtailed"
    if short.calls != curtailed(sides).calls:
        return f"{sides}: the mechanism made {short.calls} calls, expected {curtailed(sides).calls}"
    return None


def main() -> None:
    """Compute and print; exits with 1 when a curtailed verdict differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curtail", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sequences")
    options = parser.parse_args()
    sequences, checked = (500, 5) if options.quick else (5000, 50)
    random = np.random.default_rng(0)
    dimension = load_dimensions()["psychological_harm"]
    wrong: list[str] = []
    cells = [("harmful votes", *(f"K={k}: calls, saved, waves" for k in KS))]
    for share in SHARES:
        line = [f"{share:.0%}"]
        for k in KS:
            drawn: list[list[Side]] = [
                ["harmful" if harmful else "safe" for harmful in row] for row in random.random((sequences, k)) < share
            ]
            asked = [curtailed(sides) for sides in drawn]
            calls = float(np.mean([item.calls for item in asked]))
            waves = float(np.mean([item.waves for item in asked]))
            line.append(f"{calls:4.1f}  {1 - calls / k:4.0%}  {waves:.1f}")
            problems = [asyncio.run(check(sides, dimension)) for sides in drawn[:checked]]
            wrong += [problem for problem in problems if problem]
        cells.append(tuple(line))
    show_cells(f"--curtail, means over {sequences:,} sequences for each cell", cells)
    compared = checked * len(KS) * len(SHARES)
    print(f"\nPlayed through the mechanism: {compared} sequences, {len(wrong)} with another verdict or number of calls")
    for problem in wrong[:10]:
        print(f"  {problem}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
