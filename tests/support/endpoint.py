"""A small endpoint on loopback that speaks the OpenAI chat protocol and plays whatever a handler says.

    def handler(body, attempt):
        return too_many(retry_after="1") if attempt == 0 else "yes"

    async with Endpoint(handler) as endpoint:
        model = load_model(endpoint.model_string, environment={})
        ...
        assert len(endpoint.calls) == 2

The probe that psysafe sends when it opens a model is answered by the endpoint itself and kept apart in
``probes``, unless ``script_probe=True``. For programs that run a loop of their own there is ``in_thread``.
"""

from __future__ import annotations

import asyncio
import enum
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web


class Fault(enum.Enum):
    """What happens instead of an HTTP answer."""

    HANG = "nothing is ever sent"
    DISCONNECT = "the connection is closed without an answer"
    DISCONNECT_MID_BODY = "the connection is closed after a part of the body"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. A ``body`` that is text or bytes is sent as it is, anything else as JSON."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


Play = Answer | Fault | str
Handler = Callable[[dict[str, Any], int], Play | Awaitable[Play]]


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it arrived.

    Attributes:
        attempt: how many requests with the very same body came before.
        raw: the body's bytes. headers: names in lower case. target: path and query.
    """

    body: dict[str, Any]
    attempt: int
    raw: bytes
    headers: dict[str, str]
    target: str


def completion(
    content: object = "yes",
    *,
    finish: str | None = "stop",
    usage: object = (7, 3),
    headers: dict[str, str] | None = None,
    message: dict[str, Any] | None = None,
    choice: dict[str, Any] | None = None,
    **body: Any,
) -> Answer:
    """A chat completion. ``usage=None`` leaves it out; ``message``, ``choice`` and ``body`` add fields."""
    answer: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "judge-served",
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content} | (message or {}),
                "finish_reason": finish,
            }
            | (choice or {})
        ],
    }
    if isinstance(usage, tuple):
        answer["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    elif usage is not None:
        answer["usage"] = usage
    return Answer(200, answer | body, headers or {})


def error(
    status: int,
    message: str = "it failed",
    *,
    code: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """An error as OpenAI words it."""
    return Answer(status, {"error": {"message": message, "type": "x", "code": code, "param": param}}, headers or {})


def refuses(parameter: str, message: str | None = None) -> Answer:
    """A 400 that names a parameter."""
    return error(400, message or f"Unsupported parameter: '{parameter}' is not supported.", param=parameter)


def too_many(*, retry_after: str | None = None, retry_after_ms: str | None = None) -> Answer:
    """A 429; ``retry_after`` in seconds or as an HTTP date."""
    headers = {"Retry-After": retry_after, "retry-after-ms": retry_after_ms}
    return error(429, "slow down", headers={name: value for name, value in headers.items() if value is not None})


def not_json() -> Answer:
    """200 with a page."""
    return Answer(200, "<html>welcome</html>", {"Content-Type": "text/html"})


def wrong_shape() -> Answer:
    """200 with JSON that is not a completion."""
    return Answer(200, {"choices": []})


def input_filtered() -> Answer:
    """400: a content filter refused the prompt."""
    return error(400, "The response was filtered due to the prompt.", code="content_filter")


def output_filtered() -> Answer:
    """200: a content filter withheld the reply."""
    return completion(None, finish="content_filter")


def refusal(text: str = "I can't help with that.") -> Answer:
    """200 with the ``refusal`` field instead of content."""
    return completion(None, message={"refusal": text})


def empty() -> Answer:
    """200 without any text."""
    return completion("")


def truncated(text: str = "half an ans") -> Answer:
    """200, cut by max_tokens."""
    return completion(text, finish="length")


def in_parts(*texts: str) -> Answer:
    """200 with the content as a list of parts."""
    return completion([{"type": "text", "text": text} for text in texts])


def redirect(location: str, status: int = 307) -> Answer:
    """Elsewhere."""
    return Answer(status, "", {"Location": location})


def is_probe(body: dict[str, Any]) -> bool:
    """Whether this is the request that psysafe sends when it opens a model."""
    return '{"ok": true}' in str(body["messages"][-1]["content"])


class Endpoint:
    """The server; an async context manager in the loop of its user.

    Attributes:
        models: what ``GET /v1/models`` lists, or an ``Answer`` to give instead.
        calls, probes: the chat requests in order of arrival; probes apart.
        listings: the requests for the list of models. strays: requests for any other path.
        in_flight, most_in_flight: chat requests that have no answer yet, and the most there ever were.

    What a handler raises (a failed assertion, say) is raised again on leaving.
    """

    def __init__(
        self,
        handler: Handler = lambda body, attempt: "yes",
        *,
        models: Sequence[str] | Answer = ("judge",),
        script_probe: bool = False,
    ) -> None:
        self.handler = handler
        self.models = models
        self.script_probe = script_probe
        self.calls: list[Call] = []
        self.probes: list[Call] = []
        self.listings: list[Call] = []
        self.strays: list[Call] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self._raised: list[Exception] = []
        self._seen: Counter[bytes] = Counter()
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()
        self._changed = asyncio.Event()

    @property
    def host(self) -> str:
        """``127.0.0.1:PORT``."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{self.host}/v1"

    @property
    def model_string(self) -> str:
        """A model string that names it."""
        return f"{self.url}#judge"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of ``calls``."""
        return [call.body for call in self.calls]

    @property
    def everything(self) -> list[Call]:
        """All requests of any kind."""
        return self.calls + self.probes + self.listings + self.strays

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to hold that requests make true; fails after half a minute."""
        async with asyncio.timeout(30):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_route("*", "/{rest:.*}", self._stray)
        # A handler ends with its client, so that in_flight stays true after a client's timeout.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        assert self._runner is not None
        await self._runner.cleanup()
        if self._raised:
            raise self._raised[0]

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        call = await self._record(request)
        probe = is_probe(call.body)
        (self.probes if probe else self.calls).append(call)
        self._changed.set()
        if probe and not self.script_probe:
            return _response(completion('{"ok": true}'))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        self._changed.set()
        try:
            play = await self._play(call)
            if isinstance(play, Fault):
                return await self._fail(request, play)
            return _response(completion(play) if isinstance(play, str) else play)
        finally:
            self.in_flight -= 1

    async def _play(self, call: Call) -> Play:
        try:
            play = self.handler(call.body, call.attempt)
            return await play if isinstance(play, Awaitable) else play
        except Exception as raised:
            self._raised.append(raised)
            return error(500, "the handler failed")

    async def _models(self, request: web.Request) -> web.StreamResponse:
        self.listings.append(await self._record(request))
        if isinstance(self.models, Answer):
            return _response(self.models)
        return _response(Answer(200, {"object": "list", "data": [{"id": name} for name in self.models]}))

    async def _stray(self, request: web.Request) -> web.StreamResponse:
        self.strays.append(await self._record(request))
        return _response(error(404, "no such path"))

    async def _record(self, request: web.Request) -> Call:
        raw = await request.read()
        attempt = self._seen[raw]
        self._seen[raw] += 1
        headers = {name.lower(): value for name, value in request.headers.items()}
        return Call(json.loads(raw) if raw else {}, attempt, raw, headers, request.path_qs)

    async def _fail(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
        if fault is Fault.HANG:
            await self._closing.wait()
        elif fault is Fault.DISCONNECT_MID_BODY:
            await response.prepare(request)
            await response.write(b'{"choices": [{"message": {"content": "ye')
        if request.transport is not None:
            request.transport.close()
        return response


def _response(answer: Answer) -> web.Response:
    headers = dict(answer.headers)
    if isinstance(answer.body, str | bytes):
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    else:
        body = json.dumps(answer.body).encode()
        headers.setdefault("Content-Type", "application/json")
    return web.Response(status=answer.status, body=body, headers=headers)


@contextmanager
def in_thread(endpoint: Endpoint) -> Iterator[Endpoint]:
    """The endpoint in a loop and thread of its own, for programs that start a loop themselves."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="endpoint", daemon=True)
    thread.start()

    async def leave() -> None:
        await endpoint.__aexit__(None, None, None)

    try:
        asyncio.run_coroutine_threadsafe(endpoint.__aenter__(), loop).result(timeout=10)
        try:
            yield endpoint
        finally:
            asyncio.run_coroutine_threadsafe(leave(), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
