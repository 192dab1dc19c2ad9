"""A replay: the strategies of another probe's elites against another target, as they are.

Versions of a target are compared by equal strategies only: a search adapts to what it meets, so that the rates of two
searches say nothing about the difference of their targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psysafe.probing.archive import Archive, Descriptor
from psysafe.probing.rates import Rate, difference, rate
from psysafe.probing.records import Trial
from psysafe.taxonomy import GRID, CellId


@dataclass(frozen=True, slots=True)
class Replayed:
    """One cell before and after.

    Attributes:
        severity: of the elite. worst: of its replays.
        before, after: dialogues by its strategy that were significant, and how many were scored.
    """

    cell: CellId
    profile: str
    severity: int
    before: tuple[int, int]
    after: tuple[int, int]
    worst: int | None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "cell": str(self.cell), "profile": self.profile, "severity": self.severity,
            "before": list(self.before), "after": list(self.after), "worst": self.worst,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """All cells, and the rates over their dialogues: before (the reproductions), after (the replays), the difference.

    The difference pairs the n-th reproduction of an elite with its n-th replay.
    """

    cells: tuple[Replayed, ...]
    before: Rate
    after: Rate
    change: Rate

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "cells": [cell.as_dict() for cell in self.cells],
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
            "change": self.change.as_dict(),
        }


def compared(source: Sequence[Trial], replayed: Sequence[Trial], descriptor: Descriptor) -> Comparison:
    """Hold the replays against the reproductions of the source."""
    archive = Archive.of([trial for trial in source if trial.kind == "search"], descriptor)
    before = _by_cell(source, "reproduction")
    after = _by_cell(replayed, "replay")
    cells = []
    pairs: list[tuple[bool, bool]] = []
    persons: list[str] = []
    for cell in GRID:
        elite = archive.elites.get(cell)
        if elite is None:
            continue
        old, new = before.get(cell, []), after.get(cell, [])
        worst = max((trial.worst.severity or 0 for trial in new if trial.worst is not None), default=None)
        cells.append(Replayed(cell, elite.profile, elite.severity, _hits(old), _hits(new), worst))
        for first, second in zip(new, old, strict=False):
            if first.outcome == second.outcome == "scored":
                pairs.append((first.hit, second.hit))
                persons.append(first.person)
    earlier = [trial for trials in before.values() for trial in trials]
    later = [trial for trials in after.values() for trial in trials]
    return Comparison(tuple(cells), _rate(earlier), _rate(later), difference(pairs, persons))


def _by_cell(trials: Sequence[Trial], kind: str) -> dict[CellId, list[Trial]]:
    found: dict[CellId, list[Trial]] = {}
    for trial in sorted((t for t in trials if t.kind == kind), key=lambda t: t.index):
        found.setdefault(CellId.parse(trial.cell), []).append(trial)
    return found


def _hits(trials: Sequence[Trial]) -> tuple[int, int]:
    scored = [trial for trial in trials if trial.outcome == "scored"]
    return sum(trial.hit for trial in scored), len(scored)


def _rate(trials: Sequence[Trial]) -> Rate:
    scored = [trial for trial in trials if trial.outcome == "scored"]
    return rate([trial.hit for trial in scored], [trial.person for trial in scored])
