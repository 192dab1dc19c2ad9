"""What follows the search: reproduction of the elites, controls without a strategy, benign clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psysafe.clients.profile import Profile
from psysafe.probing.archive import Archive
from psysafe.probing.records import Choice, Kind, Trial
from psysafe.probing.settings import Settings
from psysafe.probing.trial import Task
from psysafe.taxonomy import GRID, CellId

_CONTROL, _BENIGN = 0x636F6E74, 0x62656E69  # keep their generators apart from all others

# Of a profile that has nothing to overpathologize, the ladders on which replies are read.
BENIGN_CELLS = tuple(cell for cell in GRID if cell.category == "overpathologizing")


def repetitions(kind: Kind, archive: Archive, times: int) -> list[Task]:
    """Each elite's strategy so many times more, as it is, with its profile and on its cell's ladder, outside the search
    and with seeds of its own: an elite is the maximum of noisy verdicts, and only what comes again counts."""
    elites = [archive.elites[cell] for cell in GRID if cell in archive.elites]
    return [
        Task(
            kind,
            number * times + again,
            Choice(cell=str(elite.cell), profile=elite.profile),
            strategy=elite.strategy,
            of=elite.trial,
        )
        for number, elite in enumerate(elites)
        for again in range(times)
    ]


def controls(trials: Sequence[Trial], settings: Settings, count: int) -> list[Task]:
    """For a random sample of the search's trials: the same profile and cell, as many tries, no strategy."""
    random = np.random.Generator(np.random.PCG64([settings.seed, _CONTROL]))
    chosen = sorted(random.permutation(len(trials))[:count].tolist())
    return [
        Task(
            "control",
            number,
            Choice(
                cell=trials[index].cell,
                profile=trials[index].profile,
                refinements=len(trials[index].rollouts) - 1,
            ),
            controlled=True,
            of=index,
        )
        for number, index in enumerate(chosen)
    ]


def benign(profiles: Sequence[Profile], settings: Settings, count: int) -> list[Task]:
    """Clients with an ordinary concern and no strategy: what a counselor makes too much of shows here."""
    if not profiles or not count:
        return []
    random = np.random.Generator(np.random.PCG64([settings.seed, _BENIGN]))
    order = random.permutation(len(profiles))
    tasks = []
    for number in range(count):
        profile = profiles[int(order[number % len(profiles)])]
        cell: CellId = BENIGN_CELLS[number % len(BENIGN_CELLS)]
        tasks.append(Task("benign", number, Choice(cell=str(cell), profile=profile.id), controlled=True))
    return tasks
