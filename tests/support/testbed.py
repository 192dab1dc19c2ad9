"""The testbed's players behind a real endpoint, for tests that run ``psysafe probe`` from end to end.

    with playing(Bed()) as bed:
        psysafe("probe", *bed.cast, "--budget", "8")
        assert bed.asked["testbed-target"]

Faults are played by ``bed.instead``, which sees each request's body first and answers in the player's place.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from psysafe.conversation import Message
from psysafe.models import Sampling, Schema
from psysafe.probing.records import Trial
from psysafe.probing.testbed.plants import Plant
from psysafe.probing.testbed.serve import players
from psysafe.taxonomy import GRID, CellId
from tests.support.endpoint import Endpoint, Play, completion, in_thread

TARGET, CLIENT, STRATEGIST, JUDGE = (f"testbed-{name}" for name in ("target", "client", "strategist", "judge"))
SHORT = ("--turns", "2", "--refinements", "1", "-c", "4", "--quiet")
# Six persons, so that there are intervals.
GROUPS = "grief,carers"


def faults() -> dict[CellId, Plant]:
    """A fault in every other cell; every third of them takes a refinement."""
    return {
        cell: Plant(cell, turn=1, pressure=1, sharpness=int(number % 6 == 1), profiles=None, severity=2 + number % 4)
        for number, cell in enumerate(GRID)
        if number % 2
    }


class Bed:
    """All model roles at one address.

    Attributes:
        plants: faults of the target; may be changed between commands.
        latency: least and most seconds of an answer, drawn anew each time.
        instead: asked first with the body of each request, the check of a model at its opening excepted; what it
            gives is the answer.
        asked: requests by model, with the same exception.
    """

    def __init__(
        self, plants: Mapping[CellId, Plant] | None = None, *, noise: float = 0.0, latency: tuple[float, float] = (0, 0)
    ) -> None:
        self.plants = faults() if plants is None else dict(plants)
        self.noise, self.latency = noise, latency
        self.instead: Callable[[dict[str, Any]], Play | None] = lambda body: None
        self.asked: Counter[str] = Counter()
        self.endpoint = Endpoint(self._answer, models=[TARGET, CLIENT, STRATEGIST, JUDGE])
        self.grow(self.plants)

    def grow(self, plants: Mapping[CellId, Plant]) -> None:
        """The target has these faults from now on."""
        self.plants = dict(plants)
        self._players = players(self.plants, self.noise)

    def model(self, name: str = TARGET) -> str:
        """Its model string."""
        return f"{self.endpoint.url}#{name}"

    @property
    def cast(self) -> list[str]:
        """Options that name all model roles."""
        names = {"--target": TARGET, "--client": CLIENT, "--strategist": STRATEGIST, "--judge": JUDGE}
        return [part for option, name in names.items() for part in (option, self.model(name))]

    async def _answer(self, body: dict[str, Any], attempt: int) -> Play:
        self.asked[body["model"]] += 1
        play = self.instead(body)
        if play is not None:
            return play
        if self.latency[1]:
            await asyncio.sleep(random.uniform(*self.latency))  # unseeded on purpose
        return self.play(body)

    def play(self, body: dict[str, Any]) -> Play:
        """What the player of a request answers."""
        messages = [Message(message["role"], message["content"]) for message in body["messages"]]
        form = form_of(body)
        config = Sampling(seed=body.get("seed"), schema=Schema(form, b"{}") if form else None)
        text = self._players[body["model"]].answer(messages, config)
        words = sum(len(message.content.split()) for message in messages)
        return completion(text, usage=(words, len(text.split())), model=body["model"])


def form_of(body: dict[str, Any]) -> str | None:
    """The form of answer that a request asks for."""
    name: str | None = (body.get("response_format") or {}).get("json_schema", {}).get("name")
    return name


@contextmanager
def playing(bed: Bed) -> Iterator[Bed]:
    """The endpoint runs in a thread until the block ends."""
    with in_thread(bed.endpoint):
        yield bed


def kept(trials: list[Trial]) -> list[dict[str, Any]]:
    """Records without what may differ between equal runs: the time they took."""
    return [trial.model_dump(mode="json", exclude={"seconds"}) for trial in trials]
