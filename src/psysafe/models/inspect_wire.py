"""Between our types and Inspect's: messages and sampling on the way out, replies on the way back."""

from __future__ import annotations

import math
from collections.abc import Set
from typing import TYPE_CHECKING, Any, Literal

import orjson

from psysafe.conversation import Message
from psysafe.models.base import Reply, ReplyFinish, Sampling, Usage

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
    from inspect_ai.util import JSONSchema

Part = Literal["seed", "schema", "logprobs", "stop"]

# What Inspect's provider does not hand on, found in its source (0.3.285).
IGNORED: dict[str, frozenset[Part]] = {
    "anthropic": frozenset({"seed", "logprobs"}),
    "azureai": frozenset({"schema", "logprobs"}),
    "bedrock": frozenset({"seed", "logprobs"}),
    "google": frozenset({"seed"}),
    "groq": frozenset({"logprobs"}),
    "hf": frozenset({"schema"}),
    "mistral": frozenset({"logprobs", "stop"}),
    "nnterp": frozenset({"seed", "schema"}),
    "transformer_lens": frozenset({"seed", "schema", "logprobs", "stop"}),
}
_FINISH: dict[str, ReplyFinish] = {
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}


def optional_parts(config: Sampling) -> set[Part]:
    """Which parts of a sampling are asked for that not every provider takes."""
    asked: dict[Part, bool] = {
        "seed": config.seed is not None,
        "schema": config.schema is not None,
        "logprobs": config.top_logprobs is not None,
        "stop": bool(config.stop),
    }
    return {part for part, wanted in asked.items() if wanted}


def to_config(config: Sampling, parts: Set[Part], seconds: float, concurrency: int) -> GenerateConfig:
    """Inspect's configuration of one attempt, with those optional ``parts``."""
    from inspect_ai.model import GenerateConfig, ResponseSchema

    result = GenerateConfig(
        max_retries=0,  # Inspect's default is without end
        timeout=math.ceil(seconds),
        attempt_timeout=math.ceil(seconds),
        max_connections=concurrency,
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens,
    )
    if "seed" in parts:
        result.seed = config.seed
    if "stop" in parts:
        result.stop_seqs = list(config.stop)
    if "logprobs" in parts:
        result.logprobs, result.top_logprobs = True, config.top_logprobs
    if "schema" in parts and config.schema is not None and (schema := to_schema(config.schema.json)) is not None:
        result.response_schema = ResponseSchema(name=config.schema.name, json_schema=schema, strict=True)
    return result


def to_schema(data: bytes) -> JSONSchema | None:
    """The schema in Inspect's type, its keys in order; None where that type cannot hold all of it."""
    from inspect_ai.util import JSONSchema

    wanted = orjson.loads(data)
    schema = JSONSchema.model_validate(wanted)
    return schema if schema.model_dump(exclude_none=True) == wanted else None


def to_message(message: Message) -> ChatMessage:
    """The message; what a tool returned has no call that a provider would know, so the user says it."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    match message.role:
        case "system":
            return ChatMessageSystem(content=message.content)
        case "assistant":
            return ChatMessageAssistant(content=message.content)
        case _:
            return ChatMessageUser(content=message.content)


def to_reply(output: ModelOutput, latency: float) -> Reply:
    """The reply in an output that has one."""
    usage = output.usage
    prompt = 0
    if usage is not None:  # what the provider's prompt cache held is counted apart
        prompt = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Reply(
        text=output.completion,  # reasoning is a part of its own and not in it
        finish=_FINISH.get(output.stop_reason, "stop"),
        usage=Usage(prompt, usage.output_tokens) if usage is not None else None,
        latency=latency,
        logprobs=_logprobs(output),
        model=output.model or None,
    )


def _logprobs(output: ModelOutput) -> list[dict[str, Any]] | None:
    found = output.choices[0].logprobs
    if found is None:
        return None
    return [
        {
            "token": token.token,
            "logprob": token.logprob,
            "top_logprobs": [{"token": top.token, "logprob": top.logprob} for top in token.top_logprobs or []],
        }
        for token in found.content
    ]
