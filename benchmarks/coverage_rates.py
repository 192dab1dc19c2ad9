"""How often the intervals of corrected rates hold the true share, over simulated runs.

    python -m benchmarks.coverage_rates [--quick] [--repeats N] [--seed N]

A run is 2,000 units in clusters of unequal size (clustered_data.py: intraclass correlation of the truth .1, the judge's
sensitivity .8 and specificity .85 in the mean, other in each cluster). All units are judged, a part is labelled. The
true share is that of the distribution which clusters come from, not of the run at hand. Prints a grid in Markdown:
coverage of nominal 95% intervals in percent, mean width, share without interval; then a summary of the cells that the
target of 93% to 97% is for, give or take twice their Monte Carlo error. The functions that are called are those that ship.
Needs: pip install 'psysafe[stats]'.
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

from benchmarks.clustered_data import Data, draw
from psysafe.stats.classification import confusion
from psysafe.stats.rates import Rate, prediction_powered, weighted_rate
from psysafe.stats.rogan_gladen import label_worth, rogan_gladen, rogan_gladen_within
from psysafe.stats.undefined import Undefined

Array = np.ndarray[Any, Any]
UNITS = 2000
LABELS, CLUSTERS, SHARES = (50, 100, 200, 400), (4, 8, 15, 30, 100), (0.05, 0.1, 0.3)
OVERSAMPLED = 3.0  # how many times as likely a flagged unit is labelled, where chances are unequal
LOW, HIGH = 0.93, 0.97  # the target, from 200 labels and 30 clusters on


def estimates(random: np.random.Generator, labels: int, clusters: int, share: float) -> dict[str, Rate | Undefined]:
    """Every interval, from one simulated run."""
    run = draw(random, UNITS, clusters, share)
    equal = np.zeros(UNITS, bool)
    equal[random.permutation(UNITS)[:labels]] = True
    chance = np.where(run.first == 1, OVERSAMPLED, 1.0)
    chance *= labels / chance.sum()
    unequal = random.random(UNITS) < chance
    other = draw(random, UNITS, clusters, share)  # the labels of another run of the same judge
    return {
        "prediction-powered": _powered(run, equal, None),
        "prediction-powered, unequal chances": _powered(run, unequal, 1 / chance),
        "labels alone": weighted_rate(run.truth[equal], np.full(labels, labels / UNITS), run.clusters[equal]),
        "labels alone, unequal chances": weighted_rate(run.truth[unequal], chance[unequal], run.clusters[unequal]),
        "Rogan-Gladen, labels of the run itself": rogan_gladen_within(
            run.first, np.where(equal, run.truth, np.nan), run.clusters
        ),
        "Rogan-Gladen, labels of another run": _rogan_gladen(run, other, equal),
    }


def _powered(run: Data, labelled: Array, weights: Array | None) -> Rate | Undefined:
    return prediction_powered(
        run.truth[labelled], run.first[labelled], run.first[~labelled], run.clusters[labelled], run.clusters[~labelled],
        None if weights is None else weights[labelled],
    )  # fmt: skip


def _rogan_gladen(run: Data, known: Data, labelled: Array) -> Rate | Undefined:
    truth, judge = known.truth[labelled], known.first[labelled]
    counts = confusion(truth, judge)
    return rogan_gladen(
        run.first, tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp),
        transported=True, clusters=run.clusters, worth=label_worth(truth, judge, known.clusters[labelled]),
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
    """One table: settings down, methods across. Labels and clusters that the target applies to are bold."""
    rows: dict[tuple[int, int, float], dict[str, Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.labels, cell.clusters, cell.share), {})[cell.method] = cell
    methods = list(next(iter(rows.values())))
    lines = [f"| labels | clusters | share | {' | '.join(methods)} |", "|" + "---|" * (3 + len(methods))]
    for (labels, clusters, share), row in rows.items():
        mark = "**" if row[methods[0]].aimed else ""
        told = " | ".join(_told(row[method]) for method in methods)
        lines.append(f"| {mark}{labels}{mark} | {clusters} | {share:g} | {told} |")
    return "\n".join(lines)


def _told(cell: Cell) -> str:
    if cell.undefined == 1:
        return "none"
    return f"{100 * cell.coverage:.1f} ({cell.width:.2f})" + (f", none {cell.undefined:.0%}" if cell.undefined else "")


def summary(cells: Iterable[Cell]) -> str:
    """Per method, of the cells that the target applies to."""
    of: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.aimed:
            of.setdefault(cell.method, []).append(cell)
    lines = ["| | held | cells within the aim | lowest to highest cell |", "|---|---|---|---|"]
    for method, found in of.items():
        within = sum(LOW - 2 * cell.error <= cell.coverage <= HIGH + 2 * cell.error for cell in found)
        coverage = [100 * cell.coverage for cell in found]
        lines.append(
            f"| {method} | {np.mean(coverage):.1f}% | {within} of {len(found)} | "
            f"{min(coverage):.1f} to {max(coverage):.1f} |"
        )
    return "\n".join(lines)


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
    print(f"\n{repeats} repeats; Monte Carlo standard error at 95%: {100 * (0.0475 / repeats) ** 0.5:.1f} points.\n")
    print(summary(cells))


if __name__ == "__main__":
    main()
