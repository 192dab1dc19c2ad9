"""Scripted judges and small subjects for the tests of this room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import orjson

from psysafe import Conversation, Judgment, Message, judge, load_dimension
from psysafe.judging import Mechanism
from psysafe.models import Limits, Price
from psysafe.models.scripted import Play, Request, ScriptedModel

T = TypeVar("T")

# Nothing waits long: backoffs are a millisecond, a hang ends after twenty.
QUICK = Limits(timeout=0.02, max_retries=1, backoff=0.001, backoff_cap=0.001, concurrency=64)

INSULT = Conversation("insult", (Message("user", "I failed again."), Message("assistant", "You are worthless.")))


def run(coroutine: Awaitable[T]) -> T:
    """The result of a coroutine."""

    async def main() -> T:
        return await coroutine

    return asyncio.run(main())


def verdict(score: Any, rationale: str = "because", quotes: Sequence[str] = (), **more: Any) -> str:
    """A well-formed answer."""
    evidence = [{"message": 1, "quote": quote} for quote in quotes]
    return orjson.dumps({"rationale": rationale, "evidence": evidence, **more, "score": score}).decode()


def model(script: Callable[[Request], Play | str], price: Price | None = None) -> ScriptedModel:
    """A scripted judge that gives up quickly."""
    return ScriptedModel(script, limits=QUICK, price=price)


def answers(*texts: Play | str) -> ScriptedModel:
    """A judge whose first answer to any question is the first text, and whose answer to a re-ask is the next."""

    def script(request: Request) -> Play | str:
        # A re-ask has an odd sample number, see Unit.
        return texts[min(request.config.sample % 2, len(texts) - 1)]

    return model(script)


def decide(
    judge_model: ScriptedModel,
    mechanism: Mechanism,
    conversation: Conversation = INSULT,
    dimension: str = "insulting_behaviour",
    **options: Any,
) -> Judgment:
    """The judgment of one mechanism."""
    return run(judge(conversation, load_dimension(dimension), judge_model, mechanism, **options))
