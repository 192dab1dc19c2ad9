"""What must come of a unit that a faulty endpoint judges, worked out without the code that is under test.

From the fault plan and the documented rules alone: a 429, a 5xx, a lost connection and a timeout are tried again, at
most ``max_retries`` times; a unit whose last attempt failed is unscored for the reason of that attempt; an answer that
cannot be read is asked for once more, with a request (and so a seed and attempts) of its own; two such answers are
``judge_unparseable``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.faults import Fault, FaultPlan, level
from psysafe.conversation import Message
from psysafe.judging import judge_subject
from psysafe.judging.mechanisms import Single
from psysafe.judging.prompt import Subject
from psysafe.models import Reply, Sampling
from psysafe.taxonomy import Dimension

_REASONS: dict[Fault, str] = {
    "rate_limited": "rate_limited",
    "server_error": "endpoint_error",
    "disconnect": "endpoint_error",
    "hang": "timeout",
}


@dataclass(frozen=True, slots=True)
class Result:
    """How a unit ended, or must end; fields as in ``Judgment``."""

    outcome: str
    reason: str | None
    score: float | None
    calls: int
    attempts: int


class _SeedListener:
    """A model that is told the seeds of a question and of its re-ask, and never answers usably."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seeds: list[int] = []

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        assert config.seed is not None
        self.seeds.append(config.seed)
        return Reply("no verdict")


def call_seeds(subject: Subject, dimension: Dimension, model: str, seed: int) -> list[int]:
    """The seeds of a single judge's question and of its re-ask; they follow from the unit and the run's seed."""
    listener = _SeedListener(model)
    asyncio.run(judge_subject(subject, dimension, listener, Single(), seed))
    return listener.seeds


def expected(plan: FaultPlan, case: str, seeds: Sequence[int], max_retries: int) -> Result:
    """What must come of a case under single.

    Args:
        seeds: of the question and its re-ask. max_retries: attempts after the first.
    """
    attempts = 0
    for calls, seed in enumerate(seeds, 1):
        faults = [plan.fault(case, seed, attempt) for attempt in range(max_retries + 1)]
        answered = next((at for at, fault in enumerate(faults) if fault in (None, "garbage")), None)
        attempts += max_retries + 1 if answered is None else answered + 1
        last = faults[-1 if answered is None else answered]
        if last is None:
            return Result("scored", None, float(level(case, seed)), calls, attempts)
        if last != "garbage":
            return Result("unscored", _REASONS[last], None, calls, attempts)
    return Result("unscored", "judge_unparseable", None, len(seeds), attempts)
