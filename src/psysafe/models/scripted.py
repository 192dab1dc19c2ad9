"""A model that plays a script: deterministic, for demonstrations and tests, with every fault a real one has."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from psysafe.conversation import Message
from psysafe.conversation.fence import fenced_text
from psysafe.errors import UsageError
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, Sampling, Usage
from psysafe.models.limits import Gate, Limits
from psysafe.models.retries import call_with_retries

Fault = Literal[
    "rate_limited", "server_error", "hang", "disconnect", "blocked", "auth",  # no reply
    "refusal", "empty", "garbage", "truncated", "content_filter",  # a reply that is no answer
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """What a script sees: the messages, the sampling, and the number of the attempt (0 is the first)."""

    messages: Sequence[Message]
    config: Sampling
    attempt: int

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(message.content for message in self.messages)


@dataclass(frozen=True, slots=True)
class Play:
    """What to do for one request.

    Attributes:
        reply: the text. fault: what goes wrong instead (or with it: ``truncated`` cuts the text in half).
        retry_after: seconds, for ``rate_limited``. latency: seconds before anything happens.
    """

    reply: str = ""
    fault: Fault | None = None
    retry_after: float | None = None
    latency: float = 0.0


class ScriptedModel:
    """Plays ``script(request)``. What it returns must depend on the request alone, never on earlier calls."""

    def __init__(
        self,
        script: Callable[[Request], Play | str],
        name: str = "scripted",
        limits: Limits | None = None,
        price: Price | None = None,
        identity: str = "scripted",
    ) -> None:
        self.name = name
        self.identity = identity
        self.price = price
        self.gate = Gate(limits or Limits())
        self._script = script

    @property
    def info(self) -> ModelInfo:
        """A model that stays in this process."""
        return ModelInfo(self.name, self.identity, None, True, self.price, {"scripted": True})

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def stop(self) -> None:
        """Send nothing more."""
        self.gate.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """Play the script; faults without a reply are retried as an endpoint's would be."""

        async def attempt(number: int, seconds: float) -> Reply:
            play = self._script(Request(messages, config, number))
            if isinstance(play, str):
                play = Play(play)
            return await _perform(play, seconds, messages)

        return await call_with_retries(attempt, self.gate, 0)


async def _perform(play: Play, seconds: float, messages: Sequence[Message]) -> Reply:
    if play.latency:
        await asyncio.sleep(min(play.latency, seconds))
        if play.latency > seconds:
            raise ModelError("timeout", f"scripted latency: no answer within {seconds:.1f} s", retryable=True)
        seconds -= play.latency
    text = play.reply
    # Words stand for tokens, so that budgets have something to count.
    usage = Usage(sum(len(message.content.split()) for message in messages), max(1, len(text.split())))
    match play.fault:
        case None:
            return Reply(text, usage=usage, model="scripted")
        case "rate_limited":
            raise ModelError("rate_limited", "scripted 429", retryable=True, retry_after=play.retry_after, status=429)
        case "server_error":
            raise ModelError("endpoint_error", "scripted 500", retryable=True, status=500)
        case "disconnect":
            raise ModelError("endpoint_error", "scripted disconnect", retryable=True)
        case "blocked":
            raise ModelError("blocked", "scripted content filter", status=400)
        case "auth":
            raise ModelError("auth", "scripted 401", status=401)
        case "hang":
            await asyncio.sleep(seconds)
            raise ModelError("timeout", f"scripted hang: no answer within {seconds:.1f} s", retryable=True)
        case "refusal":
            return Reply(text or "I can't fulfil this request.", "refusal", usage, model="scripted")
        case "content_filter":
            return Reply("", "content_filter", usage, model="scripted")
        case "empty":
            return Reply("", usage=usage, model="scripted")
        case "garbage":
            return Reply(text or "%% 0x7f lorem ][ }{", usage=usage, model="scripted")
        case "truncated":
            return Reply(text[: len(text) // 2], "length", usage, model="scripted")


class _When(BaseModel):
    """Conditions; all that are given must hold."""

    model_config = ConfigDict(extra="forbid")
    judged: str | None = None  # pattern searched in the fenced text
    prompt: str | None = None  # pattern searched in the whole prompt
    sample: int | list[int] | None = None
    attempt: int | list[int] | None = None


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid")
    when: _When = _When()
    reply: str | dict[str, Any] | None = None
    fault: Fault | None = None
    retry_after: float | None = None


class _Script(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = "scripted"
    latency: float | tuple[float, float] = 0.0
    price: tuple[float, float] | None = None  # US dollars per million tokens, input and output
    rules: Annotated[list[_Rule], Field(min_length=1)]


def load_scripted(path: Path, limits: Limits | None = None, price: Price | None = None) -> ScriptedModel:
    """A scripted model from a YAML file; docs/scripted-models.md describes it.

    The first rule whose conditions hold is played. ``latency: [low, high]`` is drawn from the request itself.

    Raises:
        UsageError: no such file, or not a script; names the field.
    """
    from psysafe.strict_yaml import load_yaml

    try:
        script = _Script.model_validate(load_yaml(path.read_bytes(), str(path)))
        compiled = [
            (
                rule,
                _pattern(rule.when.judged, f"{path}: rules.{number}.when.judged"),
                _pattern(rule.when.prompt, f"{path}: rules.{number}.when.prompt"),
            )
            for number, rule in enumerate(script.rules)
        ]
    except OSError as error:
        raise UsageError(f"scripted:{path}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where or 'file'}: {first['msg']}; see docs/scripted-models.md") from error

    def play(request: Request) -> Play:
        prompt = request.prompt
        judged = fenced_text(prompt)
        for rule, judged_pattern, prompt_pattern in compiled:
            if (
                (judged_pattern is None or judged_pattern.search(judged))
                and (prompt_pattern is None or prompt_pattern.search(prompt))
                and _is(rule.when.sample, request.config.sample)
                and _is(rule.when.attempt, request.attempt)
            ):
                reply = rule.reply if isinstance(rule.reply, str) else orjson.dumps(rule.reply or {}).decode()
                if rule.reply is None:
                    reply = ""
                return Play(reply, rule.fault, rule.retry_after, _latency(script.latency, request))
        raise ModelError("bad_request", f"{path}: no rule fits this request; end with a rule that has no 'when'")

    rules = script.model_dump_json(include={"rules"}).encode()  # latency and price change no answer
    if price is None and script.price:
        price = Price(script.price[0] / 1e6, script.price[1] / 1e6)
    return ScriptedModel(play, f"scripted:{script.name}", limits, price, f"rules {sha256(rules).hexdigest()}")


def _pattern(source: str | None, where: str) -> re.Pattern[str] | None:
    if not source:
        return None
    try:
        return re.compile(source, re.I | re.S)
    except re.error as error:
        raise UsageError(f"{where}: {source!r} is not a regular expression: {error}") from error


def _is(wanted: int | list[int] | None, value: int) -> bool:
    return wanted is None or value == wanted or (isinstance(wanted, list) and value in wanted)


def _latency(latency: float | tuple[float, float], request: Request) -> float:
    if isinstance(latency, float):
        return latency
    low, high = latency
    seed = f"{request.prompt}|{request.config.seed}|{request.config.sample}|{request.attempt}"
    draw = int.from_bytes(blake2b(seed.encode("utf-8", "replace"), digest_size=4).digest(), "big") / 2**32
    return low + (high - low) * draw
