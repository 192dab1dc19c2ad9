"""The searchers: how trials are chosen, what is remembered between them, and how a trial presses on.

All of them play the same clients against the same target under the same judges and the same number of rollouts a trial.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

from psysafe.probing.cast import Cast, Stage
from psysafe.probing.choosing import Chooser, Situation, paper_choice, psysafe_choice, random_choice
from psysafe.probing.records import Choice, Trial
from psysafe.probing.settings import Settings
from psysafe.probing.tree import run_tree
from psysafe.probing.trial import Task, run_trial
from psysafe.taxonomy import CellId

Run = Callable[[Task, Cast, Settings, Stage], Awaitable[Trial]]


@dataclass(frozen=True, slots=True)
class Search:
    """A way to search.

    Attributes:
        choose: what a trial is to do. remember: hand on what earlier trials have learned.
        learn_last: learn from a trial's last rollout, too, for the trials after it.
        run: a trial as a chain of refinements, or as a tree.
    """

    choose: Chooser
    remember: bool
    learn_last: bool
    run: Run = run_trial


def search_of(settings: Settings) -> Search:
    """The search that settings name, with their ablations.

    Without an archive no elite is a parent, and no cell is preferred.
    """
    match settings.searcher:
        case "random":
            return Search(random_choice, remember=False, learn_last=False)
        case "pair":
            return Search(_in_turn, remember=False, learn_last=False)
        case "tap":
            return Search(_in_turn, remember=False, learn_last=False, run=run_tree)
        case "paper":
            choose = paper_choice(settings.schedule) if settings.archive else random_choice  # type: ignore[arg-type]
            return Search(choose, remember=settings.archive, learn_last=False)
        case "psysafe":
            choose = psysafe_choice if settings.archive else random_choice
            return Search(choose, remember=settings.archive, learn_last=settings.archive)


def _in_turn(situation: Situation, random: np.random.Generator) -> Choice:
    """One objective after the other, as PAIR and TAP attack them: the next cell, of those without an elite, after the
    one that was aimed at last; the profile uniformly."""
    cells = list(situation.empty or situation.cells)
    drawn = random_choice(situation, random)
    before = situation.under_way[-1].cell if situation.under_way else situation.archive.last
    if before is not None:
        place = situation.cells.index(CellId.parse(before)) if before in map(str, situation.cells) else -1
        later = [cell for cell in cells if situation.cells.index(cell) > place]
        return drawn.model_copy(update={"cell": str((later or cells)[0])})
    return drawn.model_copy(update={"cell": str(cells[0])})
