"""What the tests of probing share: made-up clients, records without a search, a cast of the testbed's players."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from psysafe.clients.profile import Profile
from psysafe.conversation import Conversation, Message
from psysafe.judging.prompt import Subject
from psysafe.models import ModelInfo, Price, Reply, Sampling, Usage
from psysafe.probing.cast import Cast
from psysafe.probing.records import Choice, LadderVerdict, Rollout, Trial
from psysafe.probing.search import Searching
from psysafe.probing.settings import Settings
from psysafe.probing.testbed.plants import Plant
from psysafe.probing.testbed.players import ClientPlayer, JudgePlayer, Player, StrategistPlayer, TargetPlayer
from psysafe.taxonomy import GRID, CellId, load_grid

LADDER = load_grid()

# On a busy machine, too, a property is not called slow.
UNHURRIED = hypothesis_settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def persons(count: int = 4) -> dict[str, Profile]:
    """Made-up profiles by id: just enough to be played."""
    return {
        f"person{number}": Profile(
            id=f"person{number}",
            group="grief",
            life_history=f"You grew up as the {number}. child of a lighthouse keeper and moved inland.",
            core_beliefs=("I am in the way.",),
            vulnerabilities=(f"Being hurried, as on the {number}. of the month.",),
        )
        for number in range(count)
    }


# Records, without a search


def ladder(cell: CellId, severity: int | None) -> LadderVerdict:
    """A verdict on a cell's ladder; None: the judge failed."""
    if severity is None:
        return LadderVerdict(cell=str(cell), outcome="unscored", reason="judge_unparseable", judgment={"rationale": ""})
    return LadderVerdict(cell=str(cell), outcome="scored", severity=severity, judgment={"rationale": "so read"})


def rollout(
    cell: CellId, severity: int | None, *, seen: Mapping[CellId, int | None] | None = None, **more: Any
) -> Rollout:
    """A rollout that was judged; ``seen``: severities off target."""
    given: dict[str, Any] = {
        "strategy": "You bring up the letter.",
        "outcome": "unscored" if severity is None else "scored",
        "ladder": ladder(cell, severity),
        "observed": tuple(ladder(other, found) for other, found in (seen or {}).items()),
    }
    return Rollout(**{**given, **more})


def trial(index: int, cell: CellId, *rollouts: Rollout, profile: str = "person0", **more: Any) -> Trial:
    """A record of a search; with no rollouts, of one that found nothing."""
    given: dict[str, Any] = {
        "kind": "search",
        "index": index,
        "choice": Choice(cell=str(cell), profile=profile),
        "cell": str(cell),
        "profile": profile,
        "person": profile,
        "rollouts": rollouts or (rollout(cell, 1),),
    }
    return Trial(**{**given, **more})


def record_bytes(records: Sequence[Trial]) -> list[bytes]:
    """Each record as stored, without its seconds."""
    return [orjson.dumps(record.model_dump(mode="json", exclude={"seconds"})) for record in records]


def subject(*contents: str) -> Subject:
    """A whole conversation under judgement, the client first."""
    messages = tuple(Message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(contents))
    conversation = Conversation("dialogue", messages, {})
    return Subject(conversation, messages, conversation.assistant_indices(), None)


# Players


@dataclass
class Asked:
    """One request to a player."""

    messages: tuple[Message, ...]
    config: Sampling

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(message.content for message in self.messages)

    @property
    def form(self) -> str | None:
        """The form of answer that was asked for."""
        return self.config.schema.name if self.config.schema is not None else None


class Listening(Player):
    """Another player, and all that it was asked."""

    def __init__(self, player: Player) -> None:
        super().__init__(player.name)
        self.player = player
        self.asked: list[Asked] = []

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        self.asked.append(Asked(tuple(messages), config))
        return self.player.answer(messages, config)


class Lagging(Player):
    """Another player, whose answers come late: by seconds drawn anew each time. With a price, tokens are counted."""

    def __init__(self, player: Player, price: Price | None = None, lag: tuple[float, float] = (0, 0.003)) -> None:
        super().__init__(player.name)
        self.player, self.price, self.lag = player, price, lag

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(self.name, self.name, None, True, self.price, {"testbed": True})

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        await asyncio.sleep(random.uniform(*self.lag))  # unseeded on purpose
        text = self.player.answer(messages, config)
        tokens = (sum(len(message.content.split()) for message in messages), len(text.split()))
        return Reply(text, usage=Usage(*(tokens if self.price else (0, 0))), model=self.name)


@dataclass
class Players:
    """A cast of testbed players, by model role; each can be replaced before ``cast`` is asked for."""

    plants: Mapping[CellId, Plant] = field(default_factory=dict)
    persons: Mapping[str, Profile] = field(default_factory=persons)
    noise: float = 0.0

    def __post_init__(self) -> None:
        self.target: Player = TargetPlayer(self.plants)
        self.client: Player = ClientPlayer(list(self.persons.values()))
        self.strategist: Player = StrategistPlayer(LADDER)
        self.judge: Player = JudgePlayer(LADDER, self.noise)
        self.blind: Player = self.judge

    def lagging(self) -> Players:
        """Every player answers late, by chance."""
        for name in ("target", "client", "strategist", "judge", "blind"):
            setattr(self, name, Lagging(getattr(self, name)))
        return self

    @property
    def cast(self) -> Cast:
        """As a search takes it."""
        return Cast(self.target, (self.client,), self.strategist, self.judge, self.blind, LADDER, self.persons)

    def searching(self, settings: Settings, records: Sequence[Trial] = ()) -> Searching:
        """A search with this cast."""
        return Searching(self.cast, settings, list(self.persons), records)


def quick(searcher: str = "psysafe", **more: Any) -> Settings:
    """Settings of a short search with short dialogues."""
    given: dict[str, Any] = {"trials": 40, "turns": 3, "refinements": 2, "in_flight": 1, "seed": 3}
    return Settings(searcher=searcher, **{**given, **more})  # type: ignore[arg-type]


def open_plant(cell: CellId, severity: int = 4, **more: Any) -> Plant:
    """A fault that shows to whoever presses for it."""
    given: dict[str, Any] = {"turn": 1, "pressure": 1, "sharpness": 0, "profiles": None}
    return Plant(cell=cell, severity=severity, **{**given, **more})


def every_other_cell() -> dict[CellId, Plant]:
    """Faults in half of the cells, some of which take refinement."""
    return {cell: open_plant(cell, 2 + n % 4, sharpness=n % 3) for n, cell in enumerate(GRID) if n % 2}


async def records_of(searching: Searching) -> list[Trial]:
    """All records of a search that runs to its end."""
    await searching.run(lambda trial: None)
    return searching.records


# What the strategist was asked


def searched(settings: Settings, players: Players | None = None) -> tuple[list[Trial], list[list[Asked]]]:
    """A search with one trial in flight: its records, and by trial what the strategist was asked."""
    players = players or Players(every_other_cell())
    listening = players.strategist = Listening(players.strategist)
    searching = players.searching(settings)
    asked: list[list[Asked]] = []

    def commit(trial: Trial) -> None:
        asked.append(list(listening.asked))
        listening.asked.clear()

    asyncio.run(searching.run(commit))
    return searching.records, asked


def briefs(asked: Sequence[Asked]) -> list[str]:
    """The prompts for a brief among them."""
    return [one.prompt for one in asked if one.form is None]


def rewritten(prompt: str) -> str | None:
    """The brief that a prompt asks to make stronger."""
    _, found, rest = prompt.partition("# The brief so far\n")
    return rest.partition("\n\n# Task")[0] if found else None
