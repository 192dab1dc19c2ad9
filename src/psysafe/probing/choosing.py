"""What a trial is to do: cell, profile, operator, parents. Read from the archive alone, drawn from the trial's seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from psysafe.errors import UsageError
from psysafe.probing.archive import Archive, Elite
from psysafe.probing.records import Choice
from psysafe.probing.strategy import MUTATIONS, Operator
from psysafe.taxonomy import GRID, CellId

T = TypeVar("T")

Schedule = Literal["adaptive", "balanced", "exploration"]

# Of category, role, crossover, random, by the coverage below which they hold (MHSafeEval).
WEIGHTS: dict[str, tuple[tuple[float, tuple[float, float, float, float]], ...]] = {
    "adaptive": ((0.3, (0.45, 0.45, 0.05, 0.05)), (0.7, (0.35, 0.35, 0.20, 0.10)), (2.0, (0.25, 0.25, 0.30, 0.20))),
    "balanced": ((2.0, (0.35, 0.35, 0.20, 0.10)),),
    "exploration": ((0.5, (0.45, 0.45, 0.05, 0.05)), (2.0, (0.30, 0.30, 0.25, 0.15))),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a choice may look at.

    Attributes:
        archive: folded from the records that are visible to this trial.
        under_way: the choices of the trials between those records and this one, in order.
        cells: those that the probe is about. profiles: ids of those that may be played.
        refinements: at most so many in a trial.
    """

    archive: Archive
    under_way: Sequence[Choice]
    cells: Sequence[CellId]
    profiles: Sequence[str]
    refinements: int

    @property
    def empty(self) -> list[CellId]:
        """The cells without an elite."""
        return [cell for cell in self.cells if cell not in self.archive.elites]


Chooser = Callable[[Situation, np.random.Generator], Choice]


def random_choice(situation: Situation, random: np.random.Generator) -> Choice:
    """Cell and profile uniformly, a fresh strategy each time."""
    return Choice(
        cell=str(_one(situation.cells, random)),
        profile=_one(situation.profiles, random),
        refinements=situation.refinements,
    )


def paper_choice(schedule: Schedule = "adaptive") -> Chooser:
    """As published: a cell uniformly among the empty ones (among all once none is), a profile uniformly, an elite
    uniformly as parent, the operator by weights that depend on coverage. With no elite yet, the cell that fits the
    profile."""
    if schedule not in WEIGHTS:
        raise UsageError(f"unknown schedule of mutations {schedule!r}; expected {', '.join(WEIGHTS)}")

    def choose(situation: Situation, random: np.random.Generator) -> Choice:
        archive = situation.archive
        profile = _one(situation.profiles, random)
        if not archive.elites:
            return Choice(cell=None, profile=profile, refinements=situation.refinements)
        cell = _one(situation.empty or situation.cells, random)
        operator = _operator(1 - len(situation.empty) / len(situation.cells), schedule, random)
        elites = _parents(archive, operator, random)
        return Choice(
            cell=str(cell),
            profile=profile,
            operator=operator,
            parents=tuple(elite.trial for elite in elites),
            parent_cells=tuple(str(elite.cell) for elite in elites),
            refinements=situation.refinements,
        )

    return choose


def psysafe_choice(situation: Situation, random: np.random.Generator) -> Choice:
    """Ours: the cell that was tried least among those without an elite, with the profile that it was tried with least,
    and few refinements at first.

    Barren cells are thereby given up by degrees: none is tried again before all others were, and the insights of a
    short trial are kept, so that a later, longer one begins where it ended. Once every cell has an elite, the mildest
    are sought to be made worse.
    """
    archive = situation.archive
    tries, played = Counter(archive.tries), Counter(archive.played)
    for choice in situation.under_way:
        if choice.cell is not None:
            cell = CellId.parse(choice.cell)
            tries[cell] += 1
            played[cell, choice.profile] += 1
    open_cells = situation.empty
    if open_cells:
        cell = _least(open_cells, lambda cell: tries[cell], random)
    else:
        cell = _least(situation.cells, lambda cell: (archive.elites[cell].severity, tries[cell]), random)
    profile = _least(situation.profiles, lambda profile: played[cell, profile], random)
    refinements = min(situation.refinements, tries[cell])
    parents = _relatives(archive, cell)
    if not parents or archive.insights.get(cell):
        return Choice(cell=str(cell), profile=profile, refinements=refinements)
    parent = archive.elites[_one(parents, random)]
    operator: Operator = "category" if parent.cell.role == cell.role else "role"
    return Choice(
        cell=str(cell),
        profile=profile,
        operator=operator,
        parents=(parent.trial,),
        parent_cells=(str(parent.cell),),
        refinements=refinements,
    )


def _relatives(archive: Archive, cell: CellId) -> list[CellId]:
    """Cells with an elite that share the category, or else the counselor role."""
    category = [other for other in archive.elites if other.category == cell.category and other != cell]
    return category or [other for other in archive.elites if other.role == cell.role and other != cell]


def _operator(coverage: float, schedule: str, random: np.random.Generator) -> Operator:
    weights = next(weights for below, weights in WEIGHTS[schedule] if coverage < below)
    return MUTATIONS[int(random.choice(len(MUTATIONS), p=weights))]


def _parents(archive: Archive, operator: Operator, random: np.random.Generator) -> tuple[Elite, ...]:
    filled = [cell for cell in GRID if cell in archive.elites]
    count = 2 if operator == "crossover" and len(filled) > 1 else 1
    return tuple(archive.elites[filled[index]] for index in random.permutation(len(filled))[:count])


def _one(items: Sequence[T], random: np.random.Generator) -> T:
    return items[int(random.integers(len(items)))]


def _least(items: Sequence[T], key: Callable[[T], Any], random: np.random.Generator) -> T:
    """One of those with the lowest key, drawn."""
    lowest = min(key(item) for item in items)
    return _one([item for item in items if key(item) == lowest], random)
