"""How often the intervals of psysafe.stats hold the true value.

    python -m benchmarks.coverage [--repeats N] [--quick]

Simulated labels and verdicts with known truth (benchmarks/clustered_data.py): n rows in clusters of unequal size, the truth
correlated within clusters (.1), a judge with sensitivity .8 and specificity .85 whose errors are correlated within clusters, a
second judge that shares two thirds of its verdicts. Prints a table in Markdown: the share of 95% intervals that hold the true
value, their mean width, and the share of samples in which there is none. The aim is 93% to 97% from 200 rows in 30 clusters
on; below that, rather too wide. Needs: pip install 'psysafe[stats]'.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from benchmarks.clustered_data import SENSITIVITY, SPECIFICITY, Data, draw
from psysafe.stats.agreement import cohen_kappa
from psysafe.stats.classification import balanced_accuracy, roc_auc
from psysafe.stats.clustered import Interval, balanced_accuracy_interval, clustered_interval, rate_interval
from psysafe.stats.undefined import Figure, Undefined

ROWS, CLUSTERS, PREVALENCES = (50, 100, 200, 400), (4, 8, 15, 30, 100), (0.05, 0.1, 0.3)
AIM, FROM_ROWS, FROM_CLUSTERS = (0.93, 0.97), 200, 30
_LARGE, _ROWS_OF_A_CLUSTER = 600_000, 13
_BOOTSTRAP_DRAWS = 400


def kappa(truth: np.ndarray, predicted: np.ndarray) -> Figure:
    """Of judge and people."""
    return cohen_kappa(truth, predicted, levels=(0, 1))


def difference(truth: np.ndarray, first: np.ndarray, second: np.ndarray) -> Figure:
    """Of two judges' balanced accuracy."""
    one, other = balanced_accuracy(truth, first), balanced_accuracy(truth, second)
    return one if isinstance(one, Undefined) else other if isinstance(other, Undefined) else other - one


Made = Callable[[Data], Interval | Undefined]
FIGURES: dict[str, Made] = {
    "rate": lambda d: rate_interval(d.truth, d.clusters),
    "sensitivity": lambda d: (
        rate_interval(d.first[d.truth == 1], d.clusters[d.truth == 1])
        if d.truth.any()
        else Undefined("no positive labels")
    ),
    "balanced accuracy": lambda d: balanced_accuracy_interval(d.truth, d.first, d.clusters),
    "difference": lambda d: clustered_interval(difference, d.clusters, d.truth, d.first, d.second, bounds=(-1, 1)),
    "AUC": lambda d: clustered_interval(roc_auc, d.clusters, d.truth, d.score, bounds=(0, 1)),
    "kappa": lambda d: clustered_interval(kappa, d.clusters, d.truth, d.first, bounds=(-1, 1)),
}
# What the jackknife is measured against.
BOOTSTRAP: dict[str, Made] = {
    "AUC, bootstrap": lambda d: clustered_interval(
        roc_auc, d.clusters, d.truth, d.score, method="bootstrap", draws=_BOOTSTRAP_DRAWS
    ),
    "kappa, bootstrap": lambda d: clustered_interval(
        kappa, d.clusters, d.truth, d.first, method="bootstrap", draws=_BOOTSTRAP_DRAWS
    ),
}


@dataclass(slots=True)
class Tally:
    """Of one figure in one cell."""

    held: int = 0
    there: int = 0
    width: float = 0.0
    asked: int = 0

    def add(self, found: Interval | Undefined, true: float) -> None:
        """One interval."""
        self.asked += 1
        if isinstance(found, Undefined):
            return
        self.there += 1
        self.held += found.low <= true <= found.high
        self.width += found.high - found.low


@dataclass(slots=True)
class Cell:
    """One combination of rows, clusters and prevalence."""

    rows: int
    clusters: int
    prevalence: float
    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))


def truths(prevalence: float) -> dict[str, float]:
    """The true values; of AUC and kappa from one very large sample."""
    data = draw(np.random.default_rng(7), _LARGE, _LARGE // _ROWS_OF_A_CLUSTER, prevalence)
    area, chance_corrected = roc_auc(data.truth, data.score), kappa(data.truth, data.first)
    assert isinstance(area, float)
    assert isinstance(chance_corrected, float)
    return {
        "rate": prevalence, "sensitivity": SENSITIVITY, "balanced accuracy": (SENSITIVITY + SPECIFICITY) / 2,
        "difference": 0.0, "AUC": area, "AUC, bootstrap": area, "kappa": chance_corrected,
        "kappa, bootstrap": chance_corrected,
    }  # fmt: skip


def simulate(task: tuple[int, int, float, int, dict[str, float]]) -> Cell:
    """One cell, from seeds of its own."""
    rows, clusters, prevalence, repeats, true = task
    cell = Cell(rows, clusters, prevalence)
    random = np.random.default_rng([rows, clusters, round(1000 * prevalence)])
    figures = {**FIGURES, **(BOOTSTRAP if aimed(rows, clusters) else {})}
    for _ in range(repeats):
        data = draw(random, rows, clusters, prevalence)
        for name, made in figures.items():
            cell.tallies[name].add(made(data), true[name])
    return cell


def aimed(rows: int, clusters: int) -> bool:
    """Whether the aim holds for a cell."""
    return rows >= FROM_ROWS and clusters >= FROM_CLUSTERS


def show(cells: list[Cell], names: list[str], repeats: int) -> None:
    """The table, then how far the aim is met."""
    print("| n | clusters | prevalence | " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|")
    for cell in cells:
        mark = "**" if aimed(cell.rows, cell.clusters) else ""
        shown = [f"{mark}{cell.rows}{mark}", str(cell.clusters), f"{cell.prevalence:g}"]
        print("| " + " | ".join([*shown, *(_told(cell.tallies.get(name)) for name in names)]) + " |")
    error = math.sqrt(0.95 * 0.05 / repeats)
    print(f"\n{repeats} samples a cell; the simulation's own standard error at 95% is {100 * error:.1f} points.")
    for name in names:
        tallies = [cell.tallies[name] for cell in cells if aimed(cell.rows, cell.clusters) and name in cell.tallies]
        shares = [one.held / one.there for one in tallies if one.there]
        # A cell misses where chance does not explain it.
        low, high = AIM[0] - 2 * error, AIM[1] + 2 * error
        met = sum(low <= share <= high for share in shares)
        pooled = sum(one.held for one in tallies) / max(1, sum(one.there for one in tallies))
        print(
            f"{name}: at n >= {FROM_ROWS} and >= {FROM_CLUSTERS} clusters {pooled:.1%} of all; {met} of {len(shares)} cells within "
            f"{AIM[0]:.0%} to {AIM[1]:.0%} (give or take twice the simulation's error), lowest {min(shares):.1%}, highest {max(shares):.1%}"
        )


def _told(tally: Tally | None) -> str:
    if tally is None:
        return ""
    if not tally.there:
        return "none"
    text = f"{100 * tally.held / tally.there:.1f} ({tally.width / tally.there:.2f})"
    missing = 1 - tally.there / tally.asked
    return f"{text}, none {missing:.0%}" if missing >= 0.005 else text


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=600)
    parser.add_argument("--quick", action="store_true", help="40 repeats, which show little")
    arguments = parser.parse_args()
    repeats = 40 if arguments.quick else arguments.repeats
    true = {prevalence: truths(prevalence) for prevalence in PREVALENCES}
    tasks = [
        (rows, clusters, prevalence, repeats, true[prevalence])
        for rows in ROWS
        for clusters in CLUSTERS
        for prevalence in PREVALENCES
        if clusters <= rows
    ]
    with ProcessPoolExecutor() as pool:
        cells = list(pool.map(simulate, tasks))
    show(cells, [*FIGURES, *BOOTSTRAP], repeats)


if __name__ == "__main__":
    main()
