"""How often drift anchors warn: without a reason, and with one.

    python -m benchmarks.drift [--repeats N] [--anchors N ...] [--dimensions D] [--quick]

Simulated judges with known truth, held against their former selves by the shipped psysafe.agreement.drift. An anchor is a
conversation judged on D dimensions (1 here, since fewer units are harder). Each unit has a level 0, 1 or 2 by the judge as
it first was; each judgment of it strays by chance, so that the stated share of verdicts differs between two judgments
(unsteady judgments are spread over a third of the units, as those near the border are). A moved judge finds the stated
share of units one or two levels worse than before, for good. Before "now" the anchors are judged in the stated number of
passes, the first of them repeated at once as psysafe does. Prints a table in Markdown: the share of samples with a warning.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np

from psysafe.agreement.drift import SIGNIFICANCE, drifts
from psysafe.runs.anchors import Pass

ANCHORS, NOISES, MOVED, EARLIER = (20, 50, 100), (0.0, 0.05, 0.10), (0.0, 0.05, 0.10, 0.20), (1, 3, 10)
# How many of the units are near the border, where a judge is unsteady.
_UNSTEADY = 1 / 3
# A false alarm is rare: more samples where nothing has moved.
_MORE = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination. ``noise``: share of verdicts that differ between two judgments. ``moved``: share of units."""

    anchors: int
    dimensions: int
    noise: float
    moved: float
    earlier: int
    repeats: int


class Judge:
    """Of ``count`` units: what it finds, and how often it strays."""

    def __init__(self, random: np.random.Generator, cell: Cell) -> None:
        self.random = random
        count = cell.anchors * cell.dimensions
        self.levels = random.choice([0, 1, 2], count, p=[0.5, 0.25, 0.25])
        # Two judgments, each strayed with probability q, differ with 2q(1 - q), in a third of the units.
        share = min(0.5, cell.noise / _UNSTEADY)
        q = (1 - sqrt(1 - 2 * share)) / 2
        self.strays = np.where(random.random(count) < _UNSTEADY, q, 0.0)

    def move(self, share: float) -> None:
        """Find a share of the units worse than before; those it finds safe can become worse, the others cannot."""
        count = len(self.levels)
        safe = np.flatnonzero(self.levels == 0)
        chosen = self.random.choice(safe, min(len(safe), round(share * count)), replace=False)
        self.levels[chosen] = self.random.choice([1, 2], len(chosen))

    def judge(self, cell: Cell, number: int, repeats: str | None = None) -> Pass:
        """One pass."""
        strayed = self.random.random(len(self.levels)) < self.strays
        scores = np.where(strayed, np.where(self.levels == 0, 1, 0), self.levels)
        verdicts = {
            str(unit): {
                "key": str(unit), "conversation": str(unit // cell.dimensions), "dimension": str(unit % cell.dimensions),
                "model": "judge", "spec": "single", "outcome": "scored", "harmful": score >= 1, "score": score,
                "flags": (),
            }
            for unit, score in enumerate(scores.tolist())
        }  # fmt: skip
        return Pass(Path(str(number)), f"{number:04}", {}, verdicts, repeats=repeats)


def simulate(cell: Cell) -> float:
    """The share of samples with a warning, from seeds of their own."""
    seed = [cell.anchors, cell.dimensions, round(1000 * cell.noise), round(1000 * cell.moved), cell.earlier]
    random = np.random.default_rng(seed)
    warned = 0
    for _ in range(cell.repeats):
        judge = Judge(random, cell)
        earlier = [judge.judge(cell, 0), judge.judge(cell, 1, repeats="0")]
        earlier += [judge.judge(cell, number) for number in range(2, cell.earlier + 1)]
        judge.move(cell.moved)
        (drift,) = drifts(earlier, judge.judge(cell, cell.earlier + 1))
        warned += drift.moved
    return warned / cell.repeats


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--anchors", type=int, nargs="+", default=ANCHORS)
    parser.add_argument("--dimensions", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="20 repeats, which show little")
    arguments = parser.parse_args()
    repeats = 20 if arguments.quick else arguments.repeats
    cells = [
        Cell(anchors, arguments.dimensions, noise, moved, earlier, repeats * (1 if moved else _MORE))
        for anchors, noise, earlier, moved in product(arguments.anchors, NOISES, EARLIER, MOVED)
    ]
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(simulate, cells))
    print("| anchors | noise | earlier passes | " + " | ".join(f"moved {share:.0%}" for share in MOVED) + " |")
    print("|---" * (3 + len(MOVED)) + "|")
    for first in range(0, len(cells), len(MOVED)):
        cell = cells[first]
        shares = " | ".join(f"{100 * share:.1f}" for share in found[first : first + len(MOVED)])
        print(f"| {cell.anchors} | {cell.noise:.0%} | {cell.earlier} | {shares} |")
    alarms = [share for cell, share in zip(cells, found, strict=True) if not cell.moved]
    error = sqrt(SIGNIFICANCE * (1 - SIGNIFICANCE) / (repeats * _MORE))
    print(
        f"\nPercent of samples with a warning; {repeats} a cell, {repeats * _MORE} where nothing has moved (standard error at "
        f"1%: {100 * error:.1f} points). False alarms over all cells: {100 * np.mean(alarms):.2f}%, aim at most "
        f"{100 * SIGNIFICANCE:g}%, highest {100 * max(alarms):.1f}%."
    )


if __name__ == "__main__":
    main()
