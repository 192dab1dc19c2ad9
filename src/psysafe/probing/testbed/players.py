"""Who plays in the testbed, by code instead of by a language model.

Client and strategist belong to the search and know nothing of the plants. Target and judges know them, and see of a
dialogue its transcript alone. What a player answers depends on what it is asked and on its seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import orjson

from psysafe.clients.profile import Profile
from psysafe.conversation import Message
from psysafe.conversation.fence import fenced_text
from psysafe.models import ModelInfo, Reply, Sampling, Usage
from psysafe.probing.testbed.plants import SHARPEST, Plant
from psysafe.probing.testbed.tokens import (
    Aim,
    harm_token,
    harms,
    hint_token,
    hints,
    person,
    person_token,
    strategies,
    strategy_token,
)
from psysafe.taxonomy import GRID, CellId, Grid

_WORDS = (  # noqa: SIM905  one word after the other is easier to read
    "again since morning the letter on my table and rain harbour window slow street kettle lamp paper corner quiet "
    "winter sister garden coat early train bread stone river blue upstairs neighbour fence song late borrowed chair"
).split()


def words(count: int, *of: object) -> str:
    """So many plain words, by a hash of ``of``."""
    digest = blake2b("|".join(map(str, of)).encode(), digest_size=32).digest()
    return " ".join(_WORDS[digest[index] % len(_WORDS)] for index in range(count))


def draw(*of: object) -> float:
    """A number from 0 to 1, by a hash of ``of``."""
    return int.from_bytes(blake2b("|".join(map(str, of)).encode(), digest_size=7).digest(), "big") / 2**56


class Player:
    """A model whose answers are computed. Subclasses say ``answer``."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def info(self) -> ModelInfo:
        """A model that stays on this machine."""
        return ModelInfo(self.name, self.name, None, True, None, {"testbed": True})

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def stop(self) -> None:
        """Nothing is under way."""

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """The answer."""
        return Reply(self.answer(messages, config), usage=Usage(0, 0), model=self.name)

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        """What is said."""
        raise NotImplementedError


class ClientPlayer(Player):
    """Says who it is and, with a strategy, presses for what the strategy aims at, in every turn."""

    def __init__(self, profiles: Sequence[Profile]) -> None:
        super().__init__("testbed-client")
        self._persons = {profile.life_history: person_token(profile.id) for profile in profiles}

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        system = messages[0].content
        life = system.partition("\nYour life: ")[2].partition("\n")[0]
        aims = strategies(system)
        pressed = f" {strategy_token(aims[-1], len(messages))}" if aims else ""
        return f"{words(9, system, config.seed, len(messages))} {self._persons[life]}{pressed}."


class StrategistPlayer(Player):
    """Writes strategies, and insights from a judge's reasoning.

    How sharp a strategy comes out: as sharp as the sharpest one it is shown for the same cell, half as sharp as one for
    the same category or the same counselor role; as the insights about this cell lead to, step by step; half as far as
    those about others of its category.
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__("testbed-strategist")
        self._cells = {grid[cell].definition: cell for cell in GRID}
        self._categories = {category.definition: name for name, category in grid.categories.items()}

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        prompt = "\n".join(message.content for message in messages)
        name = config.schema.name if config.schema is not None else ""
        if name == "insights":
            found = " ".join(dict.fromkeys(hint_token(hint) for hint in hints(prompt)))
            return orjson.dumps(
                {"insights": [f"{words(5, prompt, config.seed, n)} {found}" for n in range(3)]}
            ).decode()
        if name == "on_topic":
            return orjson.dumps({"serves": True}).decode()
        if name == "fit":
            drawn = GRID[int(draw(prompt, config.seed) * len(GRID))]
            return orjson.dumps({"cell": str(drawn) if str(drawn) in prompt else drawn.category}).decode()
        cell = next((cell for text, cell in self._cells.items() if text in prompt), None)
        category = cell.category if cell else next(c for text, c in self._categories.items() if text in prompt)
        aim = Aim(cell, category, self._sharpness(cell, category, prompt))
        return f"Bring up the {words(6, prompt, config.seed)} and stay with {strategy_token(aim, 0)} throughout."

    @staticmethod
    def _sharpness(cell: CellId | None, category: str, prompt: str) -> int:
        best = 0
        for shown in strategies(prompt):
            same = shown.cell == cell and shown.category == category
            role = shown.cell is not None and cell is not None and shown.cell.role == cell.role
            best = max(best, shown.degree if same else shown.degree // 2 if shown.category == category or role else 0)
        led = hints(prompt)
        best = max(best, _steps({hint.degree for hint in led if hint.cell == cell and hint.category == category}))
        best = max(best, _steps({hint.degree for hint in led if hint.category == category}) // 2)
        return min(best, SHARPEST)


def _steps(degrees: set[int]) -> int:
    """How far one gets from 0 in steps of one."""
    reached = 0
    while reached + 1 in degrees:
        reached += 1
    return reached


class TargetPlayer(Player):
    """The system under test: harmless, but for its plants."""

    def __init__(self, plants: Mapping[CellId, Plant]) -> None:
        super().__init__("testbed-target")
        self._plants = plants
        self._persons: dict[CellId, frozenset[str] | None] = {
            cell: None if plant.profiles is None else frozenset(map(person_token, plant.profiles))
            for cell, plant in plants.items()
        }

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        turns = [message.content for message in messages if message.role == "user"]
        shown = [
            harm_token(Aim(cell, cell.category, self._plants[cell].severity), len(turns))
            for cell in self._plants
            if self.shows(self._plants[cell], turns)
        ]
        said = " ".join(message.content for message in messages[-3:])
        return " ".join([words(12, said, config.seed, "reply"), *shown]) + "."

    def shows(self, plant: Plant, turns: Sequence[str]) -> bool:
        """Whether a plant shows in the reply to the last of these client turns."""
        if len(turns) < plant.turn:
            return False
        persons = self._persons[plant.cell]
        if persons is not None and person(turns[-1]) not in persons:
            return False
        pressing = [aims[-1] for text in turns if (aims := strategies(text)) and self._meets(plant, aims[-1])]
        last = strategies(turns[-1])
        return (
            bool(last)
            and self._meets(plant, last[-1])
            and len(pressing) >= plant.pressure
            and last[-1].degree >= plant.sharpness
        )

    @staticmethod
    def _meets(plant: Plant, aim: Aim) -> bool:
        if aim.cell is None:
            return plant.any_role and aim.category == plant.cell.category
        return aim.cell == plant.cell or aim.cell in plant.neighbours


class JudgePlayer(Player):
    """All judges: ladder, blind, course, fidelity, by the form of the answer that is asked for.

    Args:
        noise: share of ladder and blind verdicts that are wrong: a harm is missed, or one is seen where there is none.
    """

    def __init__(self, grid: Grid, noise: float = 0.0, seed: int = 0) -> None:
        super().__init__("testbed-judge")
        self._definitions = {grid[cell].definition: cell for cell in GRID}
        self._noise, self._seed = noise, seed

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        prompt = "\n".join(message.content for message in messages)
        name = config.schema.name if config.schema is not None else "verdict"
        replies = _replies(fenced_text(messages[-1].content))
        seen = [(index, aim) for index, text in replies for aim in harms(text)]
        wrong = draw(self._seed, name, prompt) < self._noise
        if name == "blind":
            return self._blind(seen, replies, wrong, prompt)
        if name == "fidelity":
            return orjson.dumps({"rationale": "as described", "client": True, "profile": 2}).decode()
        cell = next(cell for text, cell in self._definitions.items() if text in prompt)
        own = [(index, aim.degree) for index, aim in seen if aim.cell == cell]
        if name == "course":
            severity = dict(own)
            turns = [{"message": index, "severity": severity.get(index, 1)} for index, _ in replies]
            return orjson.dumps({"turns": turns, "refused": [], "redirected": [], "understood": True}).decode()
        score = max((degree for _, degree in own), default=1)
        if wrong:
            score = 1 if own else 2 + int(draw(self._seed, "degree", prompt) * 3)
        at = own[0][0] if own else replies[-1][0]
        quote = dict(replies)[at][:60]
        sharp = [aim.degree for aim in strategies(fenced_text(messages[-1].content)) if aim.cell == cell]
        hint = hint_token(Aim(cell, cell.category, min(SHARPEST, max(sharp, default=0) + 1)))
        reasoning = f"The replies were read against the description. {hint}"
        return orjson.dumps(
            {"rationale": reasoning, "evidence": [{"message": at, "quote": quote}], "score": score}
        ).decode()

    def _blind(self, seen: list[tuple[int, Aim]], replies: list[tuple[int, str]], wrong: bool, prompt: str) -> str:
        worst: dict[CellId, tuple[int, int]] = {}
        for index, aim in seen:
            assert aim.cell is not None
            if aim.degree > worst.get(aim.cell, (0, 0))[0]:
                worst[aim.cell] = (aim.degree, index)
        if wrong:
            made_up = GRID[int(draw(self._seed, "cell", prompt) * len(GRID))]
            worst = {} if worst else {made_up: (2, replies[-1][0])}
        texts = dict(replies)
        found = [
            {"cell": str(cell), "severity": degree, "message": index, "quote": texts[index][:60]}
            for cell, (degree, index) in sorted(worst.items(), key=lambda item: (-item[1][0], item[0]))[:3]
        ]
        return orjson.dumps({"rationale": "as read", "cells": found}).decode()


def _replies(fenced: str) -> list[tuple[int, str]]:
    """Index and text of each assistant message of a fenced conversation."""
    found: list[tuple[int, str]] = []
    lines = fenced.split("\n")
    for position, line in enumerate(lines):
        parts = line.split()
        if len(parts) >= 5 and parts[0] == "[[psysafe" and parts[2] == "message" and parts[4].startswith("assistant"):
            found.append((int(parts[3]), lines[position + 1]))
    return found
