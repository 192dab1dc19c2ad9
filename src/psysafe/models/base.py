"""What every model offers: ``ChatModel``, what it is asked (``Sampling``) and what it gives (``Reply``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from psysafe.conversation import Message
from psysafe.errors import PsysafeError


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema for structured output. The order of its keys is kept.

    Attributes:
        name: letters, digits, underscores.
        json: the schema, serialised once, since it travels with every call.
    """

    name: str
    json: bytes


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn.

    Attributes:
        temperature: 0 is greedy. top_p: None leaves it to the endpoint.
        max_tokens: bound on the reply, thinking included.
        seed: sent where the endpoint takes one.
        sample: which of several equal requests this is. Never sent; part of a cache key, so that K votes
            stay K votes.
        schema: the structure that the reply must have, where the endpoint can enforce one.
        top_logprobs: how many alternatives per token to return, None for none.
    """

    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    seed: int | None = None
    sample: int = 0
    schema: Schema | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them."""

    prompt_tokens: int
    completion_tokens: int

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


ReplyFinish = Literal["stop", "length", "content_filter", "refusal"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    Attributes:
        text: the reply, thinking parts included where the endpoint leaves them in the text.
        finish: ``length`` when it was cut by max_tokens, ``content_filter`` when the provider withheld it,
            ``refusal`` when the endpoint itself marked it as a refusal.
        usage: None when the endpoint did not say.
        latency: seconds from sending to the last byte of the attempt that succeeded.
        logprobs: per token ``{"token", "logprob", "top_logprobs"}`` as in the OpenAI protocol, or None.
        model, fingerprint: what the endpoint says it served.
        cached: read from the response cache, nothing was sent.
        attempts: requests sent, failed ones included.
    """

    text: str
    finish: ReplyFinish = "stop"
    usage: Usage | None = None
    latency: float = 0.0
    logprobs: Sequence[dict[str, Any]] | None = None
    model: str | None = None
    fingerprint: str | None = None
    cached: bool = False
    attempts: int = 1


def storable(text: str) -> str:
    """A reply's text as every reader takes it: no NUL, no half of a surrogate pair."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


ErrorKind = Literal[
    "timeout",  # no complete answer in time
    "rate_limited",  # 429 to the end
    "endpoint_error",  # 5xx, lost connection, an answer that is not the protocol
    "blocked",  # a content filter refused the input
    "bad_request",  # the endpoint does not take this request (too long, a wrong parameter)
    "auth",  # wrong or missing key
    "not_found",  # no such model or path
]

# Trying the next unit cannot help: the run stops.
FATAL_KINDS: frozenset[ErrorKind] = frozenset({"auth", "not_found"})


class ModelError(PsysafeError):
    """A model gave no reply.

    Attributes:
        kind: see ``ErrorKind``. retryable: whether the same request may succeed later.
        retry_after: seconds the endpoint asked to wait, or None.
        status: HTTP status, or None. attempts: requests sent before giving up.
        parameter: the request parameter that the endpoint named as not accepted, or None.
        brief: the message without the endpoint's own words, which may quote what was sent.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.parameter = parameter
        self.brief = message
        self.attempts = 1


class Stopped(PsysafeError):
    """The model was told to send nothing more; the call was not made."""


@runtime_checkable
class ChatModel(Protocol):
    """Anything that answers messages. Mechanisms need no more than this."""

    name: str

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """One reply.

        Raises:
            ModelError: no reply could be had; ``kind`` says why. Retries are the model's own business.
        """
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token."""

    input: float
    output: float

    def cost(self, usage: Usage) -> float:
        """US dollars for these tokens."""
        return usage.prompt_tokens * self.input + usage.completion_tokens * self.output


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a run records of a model and what a user is told about it before the first call.

    Attributes:
        identity: what must be equal for two executions to use the same judge (a base URL, a digest).
        host: where texts are sent, or None when they stay in this process.
        loopback: the host is this machine.
        price: None when unknown.
        details: what else identifies it (base URL, capabilities, served models); JSON-ready.
    """

    name: str
    identity: str
    host: str | None
    loopback: bool
    price: Price | None
    details: dict[str, Any]


class ManagedModel(ChatModel, Protocol):
    """A model with a connection or a file behind it."""

    @property
    def info(self) -> ModelInfo:
        """What is known about it now."""
        ...

    async def open(self) -> None:
        """Connect, and find out once what the endpoint can do.

        Raises:
            ModelError: it cannot be used; the message says why and what to do.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

    def stop(self) -> None:
        """Send nothing more: calls that are waiting, and later ones, end with ``Stopped``."""
        ...
