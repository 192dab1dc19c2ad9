"""How often the intervals of corrected rates hold the true share, over simulated runs.

    python -m benchmarks.coverage_rates [--quick] [--repeats N] [--seed N]

A run is 2,000 units in clusters of unequal size, with an intraclass correlation of about .1 (each cluster's share of
harm is drawn from a beta distribution). A judge of sensitivity .8 and specificity .85 scores all of them; a part is
labelled. The true share is that of the distribution which clusters come from, not of the run at hand. Prints a grid
in Markdown: coverage of nominal 95% intervals, mean width, share undefined. The functions that are called are those
that ship. Needs: pip install 'psysafe[stats]'.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from psysafe.stats.classification import confusion
from psysafe.stats.rates import Rate, prediction_powered, weighted_rate
from psysafe.stats.rogan_gladen import rogan_gladen
from psysafe.stats.undefined import Undefined

Array = np.ndarray[Any, Any]
UNITS, ICC, SENSITIVITY, SPECIFICITY = 2000, 0.1, 0.8, 0.85
LABELS, CLUSTERS, SHARES = (50, 100, 200, 400), (4, 8, 15, 30, 100), (0.05, 0.1, 0.3)
OVERSAMPLED = 3.0  # how many times as likely a flagged unit is labelled, where chances are unequal
LOW, HIGH = 0.93, 0.97  # the target, from 200 labels and 30 clusters on


@dataclass(frozen=True, slots=True)
class Run:
    """A simulated run. Shapes (UNITS,): the cluster's number, truth and verdict as 0 or 1."""

    cluster: Array
    truth: Array
    judge: Array


def simulate(random: np.random.Generator, clusters: int, share: float) -> Run:
    """Draw a run. Each cluster holds a unit at least; the coefficient of variation of sizes is about .5."""
    size = 1 + random.multinomial(UNITS - clusters, random.dirichlet(np.full(clusters, 4.0)))
    cluster = np.repeat(np.arange(clusters), size)
    concentration = 1 / ICC - 1
    of_cluster = random.beta(share * concentration, (1 - share) * concentration, clusters)
    truth = (random.random(UNITS) < of_cluster[cluster]).astype(int)
    right = random.random(UNITS) < np.where(truth == 1, SENSITIVITY, SPECIFICITY)
    return Run(cluster, truth, np.where(right, truth, 1 - truth))


def estimates(random: np.random.Generator, labels: int, clusters: int, share: float) -> dict[str, Rate | Undefined]:
    """Every interval, from one simulated run."""
    run = simulate(random, clusters, share)
    equal = np.zeros(UNITS, bool)
    equal[random.permutation(UNITS)[:labels]] = True
    chance = np.where(run.judge == 1, OVERSAMPLED, 1.0)
    chance *= labels / chance.sum()
    unequal = random.random(UNITS) < chance
    other = simulate(random, clusters, share)  # the labels of another run of the same judge
    return {
        "prediction-powered, random labels": _powered(run, equal, None),
        "prediction-powered, unequal chances": _powered(run, unequal, 1 / chance),
        "labels alone, random": weighted_rate(run.truth[equal], np.full(labels, labels / UNITS), run.cluster[equal]),
        "labels alone, unequal chances": weighted_rate(run.truth[unequal], chance[unequal], run.cluster[unequal]),
        "Rogan-Gladen, labels of the same run": _rogan_gladen(run, run, equal),
        "Rogan-Gladen, labels of another run": _rogan_gladen(run, other, equal),
    }


def _powered(run: Run, labelled: Array, weights: Array | None) -> Rate | Undefined:
    return prediction_powered(
        run.truth[labelled], run.judge[labelled], run.judge[~labelled], run.cluster[labelled], run.cluster[~labelled],
        None if weights is None else weights[labelled],
    )  # fmt: skip


def _rogan_gladen(run: Run, known: Run, labelled: Array) -> Rate | Undefined:
    counts = confusion(known.truth[labelled], known.judge[labelled])
    return rogan_gladen(
        run.judge, tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp),
        transported=known is not run, clusters=run.cluster,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of one method in one setting. Coverage and width are of the intervals that there are."""

    method: str
    labels: int
    clusters: int
    share: float
    repeats: int
    undefined: float
    coverage: float
    width: float

    @property
    def aimed(self) -> bool:
        """Whether the target applies."""
        return self.labels >= 200 and self.clusters >= 30

    @property
    def error(self) -> float:
        """Monte Carlo standard error of the coverage."""
        return float((self.coverage * (1 - self.coverage) / max(1, self.repeats * (1 - self.undefined))) ** 0.5)


def measure(setting: tuple[int, int, float], repeats: int, seed: int) -> list[Cell]:
    """All methods in one setting (labels, clusters, share); the same seed gives the same figures."""
    labels, clusters, share = setting
    found: dict[str, list[tuple[float, float]]] = {}
    for number in range(repeats):
        random = np.random.default_rng([seed, labels, clusters, round(1000 * share), number])
        for method, rate in estimates(random, labels, clusters, share).items():
            of_method = found.setdefault(method, [])
            if isinstance(rate, Rate):
                of_method.append((float(rate.low <= share <= rate.high), rate.high - rate.low))
    return [
        Cell(
            method, labels, clusters, share, repeats, 1 - len(rows) / repeats,
            *(np.mean(rows, axis=0).tolist() if rows else (float("nan"), float("nan"))),
        )
        for method, rows in found.items()
    ]  # fmt: skip


def grid(settings: Sequence[tuple[int, int, float]], repeats: int, seed: int, processes: int) -> list[Cell]:
    """``measure`` over all settings."""
    work: Callable[[tuple[int, int, float]], list[Cell]] = partial(measure, repeats=repeats, seed=seed)
    if processes == 1:
        return [cell for setting in settings for cell in work(setting)]
    with ProcessPoolExecutor(processes) as pool:
        return [cell for cells in pool.map(work, settings) for cell in cells]


def markdown(cells: Iterable[Cell]) -> str:
    """A table per method: labels and clusters down, shares across."""
    tables: dict[str, dict[tuple[int, int], dict[float, Cell]]] = {}
    for cell in cells:
        tables.setdefault(cell.method, {}).setdefault((cell.labels, cell.clusters), {})[cell.share] = cell
    return "\n\n".join(_table(method, rows) for method, rows in tables.items())


def _table(method: str, rows: dict[tuple[int, int], dict[float, Cell]]) -> str:
    shares = sorted({share for row in rows.values() for share in row})
    lines = [
        f"**{method}**", "",
        "| labels | clusters | " + " | ".join(f"share {share:g}" for share in shares) + " |",
        "|---|---|" + "---|" * len(shares),
    ]  # fmt: skip
    for (labels, clusters), row in rows.items():
        lines.append(f"| {labels} | {clusters} | " + " | ".join(_told(row[share]) for share in shares) + " |")
    return "\n".join(lines)


def _told(cell: Cell) -> str:
    if cell.undefined == 1:
        return "undefined"
    missing = f" ({cell.undefined:.0%} undefined)" if cell.undefined else ""
    outside = cell.aimed and not LOW <= cell.coverage <= HIGH
    coverage = f"**{cell.coverage:.1%}**" if outside else f"{cell.coverage:.1%}"
    return f"{coverage}, {cell.width:.3f}{missing}"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="100 repeats, three settings")
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    settings = [(n, g, share) for n in LABELS for g in CLUSTERS if g <= n for share in SHARES]
    repeats = arguments.repeats
    if arguments.quick:
        settings, repeats = [(100, 8, 0.1), (200, 30, 0.1), (400, 100, 0.1)], 100
    cells = grid(settings, repeats, arguments.seed, arguments.processes)
    print(markdown(cells))
    aimed = [cell for cell in cells if cell.aimed]
    outside = [cell for cell in aimed if not LOW <= cell.coverage <= HIGH]
    print(
        f"\nCoverage, mean width. {repeats} repeats; Monte Carlo standard error at 95%: {(0.0475 / repeats) ** 0.5:.2%}. "
        f"From 200 labels and 30 clusters on, {len(aimed) - len(outside)} of {len(aimed)} cells lie within "
        f"{LOW:.0%} to {HIGH:.0%}; those outside are bold."
    )


if __name__ == "__main__":
    main()
