"""Any endpoint that speaks the OpenAI chat protocol, over a thin client of our own.

Bulk judging is the one place where speed decided against a library: docs/decisions/own-http-client.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from psysafe.conversation import Message
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, Sampling, Schema
from psysafe.models.capabilities import Capabilities
from psysafe.models.chat_completion import ErrorInside, read_completion
from psysafe.models.http_errors import connection_problem, error_from_response, scrub
from psysafe.models.limits import Gate, Limits
from psysafe.models.retries import call_with_retries

if TYPE_CHECKING:
    import aiohttp

_REVOKED = 3
_LARGEST_ANSWER = 16 * 2**20

# Tokens of a text, roughly and rather too many than too few; only for reservations and estimates.
_BYTES_PER_TOKEN = 3


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, estimated from its bytes."""
    return sum(_size(message.content) // _BYTES_PER_TOKEN + 6 for message in messages)


def _size(text: str) -> int:
    # Scripts that take several bytes a character take more tokens a character, too.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served.

    Attributes:
        base_url: up to and including ``/v1``, no trailing slash.
        host: host and port, for people. loopback: it is this machine.
        model: None asks the endpoint, which must then serve exactly one.
        key: secret; never printed. key_name: the environment variable that holds it.
    """

    base_url: str
    host: str
    loopback: bool
    model: str | None
    key: str | None = None
    key_name: str | None = None

    def __repr__(self) -> str:  # the key stays out of tracebacks
        return f"Endpoint({self.base_url!r}, model={self.model!r})"


class OpenAICompatible:
    """A model behind ``POST {base_url}/chat/completions``.

    Use as ``await model.open()`` ... ``await model.close()``; ``generate`` opens it when needed.
    """

    def __init__(self, name: str, endpoint: Endpoint, limits: Limits | None = None, price: Price | None = None) -> None:
        self.name = name
        self.endpoint = endpoint
        self.limits = limits or Limits()
        self.gate = Gate(self.limits)
        self.capabilities = Capabilities()
        self.served: set[tuple[str | None, str | None]] = set()
        self._price = price
        self._probing = False
        self._refused = 0  # times in a row that the key was refused
        self._model = endpoint.model
        self._session: aiohttp.ClientSession | None = None
        self._opening: asyncio.Lock = asyncio.Lock()
        self._ready = False  # connected and probed
        self._gives_logprobs = False  # an answer came to a request for them
        self._url = f"{endpoint.base_url}/chat/completions"

    @property
    def info(self) -> ModelInfo:
        """What is known about it now; ``details`` holds no secret."""
        return ModelInfo(
            name=self.name,
            identity=self.endpoint.base_url,
            host=self.endpoint.host,
            loopback=self.endpoint.loopback,
            price=self._price,
            details={
                "base_url": self.endpoint.base_url,
                "model": self._model,
                "capabilities": self.capabilities.as_dict(),
                "served": sorted([list(pair) for pair in self.served], key=str),
            },
        )

    async def open(self) -> None:
        """Connect and find out what the endpoint takes, with one tiny request (more where it refuses a part).

        Raises:
            ModelError: unreachable, wrong key, unknown model, or it refuses even plain text.
        """
        async with self._opening:
            if self._ready:
                return
            if self._session is None:
                self._session = self._new_session()
            try:
                if self._model is None:
                    self._model = await self._only_model()
                await self._probe()
                self._ready = True
            except BaseException:
                await self.close()
                raise

    async def close(self) -> None:
        """Close the connections."""
        self._ready = False
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def stop(self) -> None:
        """Send nothing more."""
        self.gate.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """One reply, with retries as ``limits`` says.

        Raises:
            ModelError: see ``ErrorKind``.
        """
        if not self._ready:
            await self.open()

        async def attempt(number: int, seconds: float) -> Reply:
            try:
                reply = await self._request(messages, config, seconds)
            except ModelError as error:
                told = self._unless_revoked(error)
                if told is error:
                    raise
                raise told from error
            self._refused = 0
            return reply

        return await call_with_retries(attempt, self.gate, estimate_tokens(messages) + config.max_tokens)

    def _unless_revoked(self, error: ModelError) -> ModelError:
        """A single refusal among answers is about this one request (a firewall's page, say), not about the key."""
        if error.status != 403:
            return error
        self._refused += 1
        if self._refused >= _REVOKED or not self.served:
            return error
        return ModelError("endpoint_error", str(error), status=error.status)

    def _new_session(self) -> aiohttp.ClientSession:
        import aiohttp

        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "psysafe"}
        headers["Accept-Encoding"] = "identity"  # a few compressed bytes may unpack to gigabytes
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=self.limits.timeout),
            headers=headers,
            auto_decompress=False,
        )

    async def _request(self, messages: Sequence[Message], config: Sampling, seconds: float) -> Reply:
        """One attempt; parameters that the endpoint refuses by name are dropped and the attempt made again."""
        while True:
            capabilities = self.capabilities
            sent_as = (capabilities.structure, len(capabilities.downgrades))
            body = self._body(messages, config)
            try:
                reply = await self._post(body, seconds)
                self._gives_logprobs = self._gives_logprobs or config.top_logprobs is not None
                return reply
            except ModelError as error:
                if error.kind == "bad_request" and error.parameter is None and self._may_refuse_logprobs(config):
                    # Named or not, that may be what it refuses: not part of the probe, since few calls want it.
                    reply = await self._post(self._body(messages, replace(config, top_logprobs=None)), seconds)
                    self.capabilities.downgrade("logprobs")
                    return reply
                if error.kind != "bad_request" or error.parameter is None:
                    raise
                if (capabilities.structure, len(capabilities.downgrades)) != sent_as:
                    continue  # another call has just learned the same
                if not capabilities.downgrade(error.parameter):
                    raise

    def _may_refuse_logprobs(self, config: Sampling) -> bool:
        wanted = config.top_logprobs is not None and "logprobs" not in self.capabilities.dropped
        return wanted and not self._gives_logprobs

    def _body(self, messages: Sequence[Message], config: Sampling) -> bytes:
        capabilities = self.capabilities
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            capabilities.max_tokens_name: config.max_tokens,
            "temperature": config.temperature,
        }
        if config.top_p is not None:
            body["top_p"] = config.top_p
        if config.seed is not None:
            body["seed"] = config.seed
        if config.stop:
            body["stop"] = list(config.stop)
        if config.top_logprobs is not None:
            body["logprobs"] = True
            body["top_logprobs"] = config.top_logprobs
        if capabilities.dropped:
            for name in capabilities.dropped:
                body.pop(name, None)
            if "logprobs" in capabilities.dropped:
                body.pop("top_logprobs", None)
        if config.schema is not None:
            if capabilities.structure == "json_schema":
                body["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {
                        "name": config.schema.name,
                        "strict": True,
                        "schema": orjson.Fragment(config.schema.json),
                    },
                }
            elif capabilities.structure == "json_object":
                body["response_format"] = {"type": "json_object"}
        return orjson.dumps(body)

    async def _post(self, body: bytes, seconds: float) -> Reply:
        started = time.monotonic()
        status, headers, data = await self._send("POST", self._url, body, seconds)
        latency = time.monotonic() - started
        if "x-ratelimit-remaining-requests" in headers or "x-ratelimit-remaining-tokens" in headers:
            self.gate.read_headers(headers, len(body) // _BYTES_PER_TOKEN)
        if status != 200:
            raise error_from_response(status, headers, data, self.endpoint.key, self.name, trust_words=self._probing)
        reply = self._read(data, latency)
        self.served.add((reply.model, reply.fingerprint))
        return reply

    async def _send(
        self, method: str, url: str, body: bytes | None, seconds: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        import aiohttp

        session = self._session
        if session is None:
            raise ModelError("endpoint_error", f"{self.name}: the connection was closed", retryable=False)
        timeout = session.timeout if seconds >= self.limits.timeout else aiohttp.ClientTimeout(total=seconds)
        try:
            # Redirects are not followed: the key belongs to this host.
            async with session.request(method, url, data=body, timeout=timeout, allow_redirects=False) as response:
                return response.status, response.headers, await self._body_of(response)
        except TimeoutError as error:
            raise ModelError(
                "timeout",
                f"{self.endpoint.host} gave no complete answer within {seconds:.1f} s",
                retryable=True,
            ) from error
        except aiohttp.ClientConnectorError as error:
            reason = scrub(connection_problem(error), self.endpoint.key)
            raise ModelError(
                "endpoint_error",
                f"cannot reach {self.endpoint.host}: {reason}; is it running, and is the address right?",
                retryable=True,
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            detail = scrub(str(error) or type(error).__name__, self.endpoint.key)
            raise ModelError(
                "endpoint_error", f"the connection to {self.endpoint.host} broke: {detail}", retryable=True
            ) from error

    async def _body_of(self, response: aiohttp.ClientResponse) -> bytes:
        """The body, up to a size that no answer has."""
        if response.headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
            raise ModelError("endpoint_error", f"{self.endpoint.host} compressed its answer, unasked", retryable=True)
        body = await response.content.read(_LARGEST_ANSWER)
        while not response.content.at_eof():
            more = await response.content.read(_LARGEST_ANSWER)
            body += more
            if len(body) > _LARGEST_ANSWER:
                raise ModelError(
                    "endpoint_error",
                    f"{self.endpoint.host} sent more than {_LARGEST_ANSWER // 2**20} MB",
                    retryable=True,
                )
        return body

    def _read(self, data: bytes, latency: float) -> Reply:
        """The reply in a 200 body."""
        try:
            return read_completion(data, latency)
        except ErrorInside as inside:
            body = orjson.dumps({"error": inside.error})
            raise error_from_response(inside.status, {}, body, self.endpoint.key, self.name) from None
        except ValueError as error:
            raise ModelError(
                "endpoint_error",
                f"{self.endpoint.host} answered 200 with something that is not a chat completion "
                f"(expected choices[0].message.content); is {self.endpoint.base_url!r} the right base URL?",
                retryable=True,
            ) from error

    async def _only_model(self) -> str:
        """The one model that the endpoint serves."""
        names = await self.list_models()
        if len(names) == 1:
            return names[0]
        shown = scrub(", ".join(names[:20]), self.endpoint.key) or "none"
        raise ModelError(
            "not_found",
            f"{self.endpoint.base_url} serves {len(names)} models ({shown}): "
            f"name one as {self.endpoint.base_url}#MODEL",
        )

    async def list_models(self) -> list[str]:
        """Names at ``GET {base_url}/models``.

        Raises:
            ModelError: unreachable, refused, or not such a list.
        """
        if self._session is None:
            self._session = self._new_session()
        status, headers, data = await self._send(
            "GET", f"{self.endpoint.base_url}/models", None, min(30.0, self.limits.timeout)
        )
        if status != 200:
            raise error_from_response(status, headers, data, self.endpoint.key, self.name)
        try:
            return [str(entry["id"]) for entry in orjson.loads(data)["data"]]
        except (ValueError, LookupError, TypeError) as error:
            raise ModelError(
                "endpoint_error",
                f"{self.endpoint.base_url}/models is not a list of models: name the model as "
                f"{self.endpoint.base_url}#MODEL",
            ) from error

    async def _probe(self) -> None:
        """One call as the judges will make them, so that what is refused shows before the fan-out."""
        config = Sampling(temperature=0.0, top_p=0.95, max_tokens=64, seed=1, schema=_PROBE_SCHEMA)
        messages = [Message("user", 'Answer with this JSON object and nothing else: {"ok": true}')]

        async def attempt(number: int, seconds: float) -> Reply:
            try:
                return await self._request(messages, config, seconds)
            except ModelError as error:
                # A 400 that names nothing: give up the structure step by step before giving up.
                if error.kind == "bad_request" and self.capabilities.downgrade("response_format"):
                    return await attempt(number, seconds)
                raise

        # A dead endpoint should be reported within seconds, not after the retries of a long run.
        limits = self.limits
        quick = Gate(
            Limits(
                concurrency=1,
                timeout=limits.timeout,
                deadline=min(limits.deadline, 2 * limits.timeout),
                max_retries=min(limits.max_retries, 3),
                backoff=min(limits.backoff, 0.5),
            )
        )
        self._probing = True
        try:
            await call_with_retries(attempt, quick, 0)
        finally:
            self._probing = False


_PROBE_SCHEMA = Schema(
    "probe",
    orjson.dumps(
        {
            "type": "object",
            "properties": {"ok": {"type": "boolean"}},
            "required": ["ok"],
            "additionalProperties": False,
        }
    ),
)
