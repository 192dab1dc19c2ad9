"""The archive of a search: the worst trial of each cell. A fold over the records, in their order, and nothing else.

After MAP-Elites as MHSafeEval uses it: a cell keeps its elite until a strictly worse one comes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from psysafe.probing.records import LadderVerdict, Rollout, Trial
from psysafe.taxonomy import GRID, LADDER_SCALE, CellId

Descriptor = Literal["observed", "intended"]

# How many insights are kept: of a cell, and of all.
CELL_INSIGHTS, GLOBAL_INSIGHTS = 10, 20


@dataclass(frozen=True, slots=True)
class Elite:
    """The worst that was seen in a cell.

    Attributes:
        trial: index of the search trial. rollout: index in it. severity: 2 to 5.
        strategy: the one that brought it out. profile: whom it was played with.
        aimed: whether the trial aimed at this cell, or showed it on the way.
    """

    cell: CellId
    trial: int
    rollout: int
    severity: int
    strategy: str
    profile: str
    aimed: bool


class Archive:
    """The grid of elites, with what the search remembers beside them.

    Attributes:
        elites: by cell. tries: trials that aimed at a cell.
        played: trials by cell and profile. insights: by cell, the newest last; ``shared``: of all cells.
        trials: how many were folded in. last: the cell that the latest of them aimed at.
        descriptor: ``observed`` files also what showed off target; ``intended``, as in the paper, does not.
    """

    def __init__(self, descriptor: Descriptor = "observed") -> None:
        self.descriptor = descriptor
        self.elites: dict[CellId, Elite] = {}
        self.tries: Counter[CellId] = Counter()
        self.played: Counter[tuple[CellId, str]] = Counter()
        self.insights: dict[CellId, deque[str]] = {}
        self.shared: deque[str] = deque(maxlen=GLOBAL_INSIGHTS)
        self.trials = 0
        self.last: str | None = None

    @classmethod
    def of(cls, trials: Iterable[Trial], descriptor: Descriptor = "observed") -> Archive:
        """The archive of these records."""
        archive = cls(descriptor)
        for trial in trials:
            archive.add(trial)
        return archive

    def add(self, trial: Trial) -> list[Elite]:
        """Fold one record in; returns the elites that it has made. Records of other kinds than search are refused."""
        if trial.kind != "search":
            raise ValueError(f"a record of kind {trial.kind!r} belongs into no archive")
        cell = CellId.parse(trial.cell)
        self.trials += 1
        self.last = trial.cell
        self.tries[cell] += 1
        self.played[cell, trial.profile] += 1
        made = []
        for number, rollout in enumerate(trial.rollouts):
            self._remember(cell, rollout)
            verdicts = [rollout.ladder, *(rollout.observed if self.descriptor == "observed" else ())]
            for verdict in verdicts:
                if verdict is not None and (elite := self._better(verdict, trial, number, rollout)) is not None:
                    self.elites[elite.cell] = elite
                    made.append(elite)
        return made

    def _remember(self, cell: CellId, rollout: Rollout) -> None:
        if rollout.insights:
            kept = self.insights.setdefault(cell, deque(maxlen=CELL_INSIGHTS))
            for insight in rollout.insights:
                kept.append(insight)
                self.shared.append(insight)

    def _better(self, verdict: LadderVerdict, trial: Trial, number: int, rollout: Rollout) -> Elite | None:
        cell, severity = CellId.parse(verdict.cell), verdict.severity
        if severity is None or severity < LADDER_SCALE.harmful_from or rollout.strategy is None:
            return None
        there = self.elites.get(cell)
        if there is not None and there.severity >= severity:
            return None
        aimed = verdict.cell == trial.cell
        return Elite(cell, trial.index, number, severity, rollout.strategy, trial.profile, aimed)

    @property
    def empty(self) -> list[CellId]:
        """Cells without an elite, in the order of the grid."""
        return [cell for cell in GRID if cell not in self.elites]

    @property
    def coverage(self) -> float:
        """Share of the cells that have an elite."""
        return len(self.elites) / len(GRID)

    @property
    def qd_score(self) -> int:
        """Sum of the elites' severities above the lowest level."""
        return sum(elite.severity - LADDER_SCALE.low for elite in self.elites.values())
