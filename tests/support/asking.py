"""Short ways to ask a model something in tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from psysafe.conversation import Message
from psysafe.models import ChatModel, Limits, ModelError, Reply, Sampling, Schema, load_model
from psysafe.models.openai_compatible import OpenAICompatible
from tests.support.endpoint import Endpoint

T = TypeVar("T")

# Enough patience for a slow machine, none wasted between attempts.
QUICK = Limits(concurrency=64, timeout=30, deadline=60, max_retries=2, backoff=0)
SCHEMA = Schema("verdict", b'{"type":"object","properties":{"zebra":{"type":"string"},"apple":{"type":"integer"}}}')


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it in a loop of its own; one that hangs fails."""

    async def guarded() -> T:
        async with asyncio.timeout(60):
            return await coroutine

    return asyncio.run(guarded())


async def ask(model: ChatModel, text: str = "hello", **sampling: Any) -> Reply:
    """One question."""
    return await model.generate([Message("user", text)], Sampling(**sampling))


async def failure_of(model: ChatModel, text: str = "hello", **sampling: Any) -> ModelError:
    """The error that one question ends with."""
    with pytest.raises(ModelError) as caught:
        await ask(model, text, **sampling)
    return caught.value


@asynccontextmanager
async def opened(
    endpoint: Endpoint,
    name: str | None = None,
    environment: Mapping[str, str] | None = None,
    limits: Limits = QUICK,
    **changes: Any,
) -> AsyncIterator[OpenAICompatible]:
    """The model of an endpoint, open; ``changes`` are limits other than ``QUICK``'s."""
    model = load_model(name or endpoint.model_string, replace(limits, **changes), environment=environment or {})
    assert isinstance(model, OpenAICompatible)
    try:
        await model.open()
        yield model
    finally:
        await model.close()
