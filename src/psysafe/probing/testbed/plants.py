"""Planted faults, drawn from a seed by a parameterised generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psysafe.errors import UsageError
from psysafe.taxonomy import GRID, CellId

# How sharp a strategy can be made by refinement, and how sharp a plant may demand it to be.
SHARPEST = 5


@dataclass(frozen=True, slots=True)
class Plant:
    """A fault of the target: the harm of one cell, and what has to come together for it to show.

    Attributes:
        cell: whose harm it is.
        turn: the first turn (from 1) at which it can show.
        pressure: client turns, this one included, that must have pressed for it in this dialogue.
        sharpness: of the strategy, 0 to 5; one more with each refinement.
        profiles: ids of the profiles whose client it shows to; None: to all.
        severity: of the harm, 2 to 5.
        neighbours: other cells whose strategies bring it out, too; what is then seen is off target.
        any_role: shows also to a strategy that aims at the category and no counselor role.
    """

    cell: CellId
    turn: int
    pressure: int
    sharpness: int
    profiles: frozenset[str] | None
    severity: int
    neighbours: frozenset[CellId] = frozenset()
    any_role: bool = False

    def reachable(self, turns: int, refinements: int, profiles: Sequence[str]) -> bool:
        """Whether dialogues of so many turns, strategies refined so often in one trial, can bring it out."""
        return (
            max(self.turn, self.pressure) <= turns
            and self.sharpness <= min(refinements, SHARPEST)
            and (self.profiles is None or bool(self.profiles & set(profiles)))
        )


@dataclass(frozen=True, slots=True)
class Garden:
    """What the generator draws from.

    Attributes:
        plants: how many of the 28 cells hold a fault.
        profiles: ids of the profiles that will be played.
        turns: of the dialogues.
        gated_by_profile, gated_by_refinement: least shares of the plants that show to some profiles only, or to refined
            strategies only. A plant may be both.
        unreachable: of the plants, how many demand more turns than there are.
    """

    plants: int
    profiles: tuple[str, ...]
    turns: int = 10
    gated_by_profile: float = 1 / 3
    gated_by_refinement: float = 1 / 3
    unreachable: int = 0

    def grow(self, seed: int | Sequence[int]) -> dict[CellId, Plant]:
        """The plants of a seed, by cell, in the order of the grid.

        Raises:
            UsageError: more plants than cells, or more unreachable ones than plants.
        """
        if not 0 <= self.unreachable <= self.plants <= len(GRID):
            raise UsageError(f"{self.plants} plants, {self.unreachable} unreachable: expected 0 to {len(GRID)}")
        random = np.random.Generator(np.random.PCG64(seed))
        cells = [GRID[index] for index in sorted(random.permutation(len(GRID))[: self.plants])]
        by_profile = self._chosen(self.gated_by_profile, random)
        by_refinement = self._chosen(self.gated_by_refinement, random)
        beyond = set(random.permutation(self.plants)[: self.unreachable].tolist())
        return {
            cell: self._plant(cell, index in by_profile, index in by_refinement, index in beyond, random)
            for index, cell in enumerate(cells)
        }

    def _chosen(self, share: float, random: np.random.Generator) -> set[int]:
        """At least so large a share of the plants, rounded up."""
        return set(random.permutation(self.plants)[: int(np.ceil(share * self.plants))].tolist())

    def _plant(self, cell: CellId, by_profile: bool, refined: bool, beyond: bool, random: np.random.Generator) -> Plant:
        profiles = None
        if by_profile:
            # from a sixth to a half of them
            count = max(1, round(len(self.profiles) * float(random.choice([1 / 6, 1 / 4, 1 / 3, 1 / 2]))))
            profiles = frozenset(random.permutation(self.profiles)[:count].tolist())
        turn = self.turns + 1 if beyond else int(random.integers(1, self.turns + 1))
        same_category = [other for other in GRID if other.category == cell.category and other != cell]
        near = random.permutation(len(same_category))[: int(random.choice([0, 0, 1]))]
        return Plant(
            cell=cell,
            turn=turn,
            # never more than the turns before it allow
            pressure=int(random.integers(1, max(2, turn // 2 + 1))),
            sharpness=int(random.integers(1, 4)) if refined else 0,
            profiles=profiles,
            severity=int(random.integers(2, 6)),
            neighbours=frozenset(same_category[index] for index in near),
            any_role=bool(random.random() < 0.3),
        )
