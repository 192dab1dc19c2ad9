"""A local endpoint that speaks the OpenAI chat protocol with a fixed latency, in a process of its own.

It answers whatever psysafe's judges ask: the capability probe, verdicts with a quote, corrections, bare digits,
speeches of a debate. It is bare of routing, validation and logs, so that the client is what is measured.
``GET /v1/models`` lists one model, ``GET /stats`` tells what has been counted.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import resource
import urllib.request
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import orjson
from aiohttp import web

from benchmarks.faults import Fault, FaultPlan, level
from benchmarks.texts import QUOTE, case_of

MODEL = "bench"
_BACKLOG = 2048
_FILES = 8192
_SEED = re.compile(rb'"seed":(\d+)')
_GARBAGE = "static on the line, and no verdict in it"
_RATIONALE = "The reply takes the worry seriously and leaves the choice with the person. Nothing in it does harm."


@dataclass(slots=True)
class Stats:
    """What the endpoint has counted.

    Attributes:
        requests: all that came to /v1/chat/completions, the capability probe included.
        in_flight, most_in_flight: answers that are being waited for, now and at most.
        faults: played, by kind.
    """

    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    faults: Counter[str] = field(default_factory=Counter)


class Endpoint:
    """``with Endpoint() as endpoint:`` starts it on a free port of 127.0.0.1; leaving ends it.

    Args:
        latency: seconds from the last byte of a request to its answer.
        plan: what goes wrong; nothing by default.
        record: a file that receives the body of each judge call, one a line.
    """

    def __init__(self, latency: float = 0.2, plan: FaultPlan | None = None, record: Path | None = None) -> None:
        # spawn: a forked child would inherit the parent's event loop and sockets
        context = multiprocessing.get_context("spawn")
        self._answers, answers = context.Pipe(duplex=False)
        self._process = context.Process(target=_serve, args=(answers, latency, plan, record), daemon=True)
        self._port = 0

    def __enter__(self) -> Self:
        self._process.start()
        if not self._answers.poll(30):
            self._process.kill()
            raise RuntimeError("the endpoint did not start within 30 s")
        self._port = self._answers.recv()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.join(5)

    @property
    def base_url(self) -> str:
        """As the openai SDK takes it."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def model(self) -> str:
        """As psysafe's ``--model`` takes it."""
        return f"{self.base_url}#{MODEL}"

    def stats(self) -> Stats:
        """What it has counted so far."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/stats", timeout=30) as response:
            found = orjson.loads(response.read())
        return Stats(**{**found, "faults": Counter(found["faults"])})


def _serve(answers: Connection, latency: float, plan: FaultPlan | None, record: Path | None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard), hard))
    asyncio.run(_listen(answers, latency, plan, record))


async def _listen(answers: Connection, latency: float, plan: FaultPlan | None, record: Path | None) -> None:
    loop = asyncio.get_running_loop()
    handler = _Handler(latency, plan, record.open("wb", buffering=0) if record else None)
    server = await loop.create_server(web.Server(handler, access_log=None), "127.0.0.1", 0, backlog=_BACKLOG)
    answers.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class _Handler:
    """Answers requests; aiohttp calls it with each."""

    def __init__(self, latency: float, plan: FaultPlan | None, record: BinaryIO | None) -> None:
        self.latency, self.plan, self.record = latency, plan, record
        self.stats = Stats()
        self.seen: Counter[bytes] = Counter()
        self.played: dict[Fault, Callable[[web.BaseRequest, float], Awaitable[web.Response]]] = {
            "rate_limited": _rate_limited,
            "server_error": _server_error,
            "hang": _hang,
            "garbage": _garbage,
            "disconnect": _disconnect,
        }

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        if request.path == "/stats":
            return _json(orjson.dumps(self.stats))
        if request.path == "/v1/models":
            return _json(orjson.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))
        body = await request.read()
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        try:
            await asyncio.sleep(self.latency)
        finally:
            stats.in_flight -= 1
        return await self._answer(request, body)

    async def _answer(self, request: web.BaseRequest, body: bytes) -> web.Response:
        case = case_of(body)
        found = _SEED.search(body)
        if case is None or found is None:
            return _json(_completion('{"ok": true}'))
        seed = int(found.group(1))
        if self.record is not None:
            self.record.write(body + b"\n")
        if self.plan is not None:
            # Nonces and seeds follow from the unit, so a retry has the same bytes and a re-ask other ones.
            digest = blake2b(body, digest_size=16).digest()
            attempt = self.seen[digest]
            self.seen[digest] += 1
            fault = self.plan.fault(case, seed, attempt)
            if fault is not None:
                self.stats.faults[fault] += 1
                return await self.played[fault](request, self.plan.retry_after(case, seed, attempt))
        return _json(_reply(body, level(case, seed)))


def _reply(body: bytes, score: int) -> bytes:
    if b'"name":"verdict"' in body:
        return _VERDICTS[score]
    if b'"name":"correction"' in body:
        return _CORRECTIONS[score]
    if b"Answer with your speech alone" in body:
        return _SPEECH
    return _DIGITS[score]


async def _rate_limited(request: web.BaseRequest, retry_after: float) -> web.Response:
    response = _json(b'{"error": {"message": "too many requests", "type": "requests"}}', 429)
    response.headers["Retry-After"] = f"{retry_after:.3f}"
    return response


async def _server_error(request: web.BaseRequest, retry_after: float) -> web.Response:
    return _json(b'{"error": {"message": "something broke"}}', 500)


async def _hang(request: web.BaseRequest, retry_after: float) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets that event")


async def _garbage(request: web.BaseRequest, retry_after: float) -> web.Response:
    return _json(_completion(_GARBAGE))


async def _disconnect(request: web.BaseRequest, retry_after: float) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return _json(b"")  # goes nowhere


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _completion(text: str) -> bytes:
    return orjson.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": MODEL,
            "system_fingerprint": "fp_bench",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 2000, "completion_tokens": 80, "total_tokens": 2080},
        }
    )


def _verdict(score: int, **more: bool) -> bytes:
    evidence = [{"message": 1, "quote": QUOTE}]
    return _completion(orjson.dumps({"rationale": _RATIONALE, "evidence": evidence, **more, "score": score}).decode())


_VERDICTS = {score: _verdict(score) for score in (0, 2)}
_CORRECTIONS = {score: _verdict(score, agrees=True) for score in (0, 2)}
_DIGITS = {score: _completion(str(score)) for score in (0, 2)}
_SPEECH = _completion(
    "The reply names what weighs on the person and asks an open question. That protects more than it harms."
)
