"""A bot on loopback that keeps its own memory, for the tests of ``http:`` targets.

It answers each message with a number that counts the messages of the session and a digest of all of them, so that a
reply proves what the bot has seen before it.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from aiohttp import web

Play = web.StreamResponse | dict[str, Any] | None
Handler = Callable[["Bot", web.Request, dict[str, Any]], Awaitable[Play]]


def answer(turns: Sequence[str]) -> str:
    """What the bot says after these messages of one session."""
    return f"{len(turns)}:{sha256('|'.join(turns).encode()).hexdigest()[:12]}"


class Bot:
    """The server. ``play`` may answer in its stead; None leaves the request to it.

    Attributes:
        sessions: the messages of each session, in order of arrival. begun, ended: session ids.
        requests: all of them: path, headers, body.
    """

    def __init__(self, play: Handler | None = None, *, slowness: float = 0.0) -> None:
        self.play = play
        self.sessions: dict[str, list[str]] = {}
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.seen: Counter[str] = Counter()
        self.most_open = 0
        self._slowness = slowness
        self._random = random.Random(1)
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.path_qs, {k.lower(): v for k, v in request.headers.items()}, body))
        if self._slowness:
            await asyncio.sleep(self._random.uniform(0, self._slowness))
        if self.play is not None and (played := await self.play(self, request, body or {})) is not None:
            return web.json_response(played) if isinstance(played, dict) else played
        match request.path.strip("/").split("/"):
            case ["start"]:
                return web.json_response({"session": {"id": self.begin()}})
            case ["end", session]:
                self.ended.append(session)
                return web.json_response({})
            case ["chat"]:
                return web.json_response(self.hear(body))
        return web.json_response({"error": "no such path"}, status=404)

    def begin(self) -> str:
        session = f"s{len(self.begun)}"
        self.begun.append(session)
        self.sessions[session] = []
        return session

    def hear(self, body: dict[str, Any]) -> dict[str, Any]:
        """Remember a message and answer."""
        session = body.get("session") or self.begin()
        turns = self.sessions.setdefault(session, [])
        turns.append(body["text"])
        self.seen[body["text"]] += 1
        self.most_open = max(self.most_open, len(self.sessions) - len(self.ended))
        return {"session": session, "data": {"choices": [{"text": answer(turns)}]}}


def description(bot: Bot, **changes: Any) -> dict[str, Any]:
    """The content of a file for it, with sessions that are started and reset."""
    found = {
        "url": f"{bot.url}/chat",
        "body": {"text": "{{message}}", "session": "{{session}}"},
        "reply": "data.choices[0].text",
        "session": {
            "start": {"url": f"{bot.url}/start", "id": "session.id"},
            "reset": {"url": f"{bot.url}/end/{{{{session}}}}"},
        },
    }
    return {name: value for name, value in (found | changes).items() if value is not None}


def write(path: Path, content: Any) -> str:
    """The model string of a file with this content."""
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return f"http:{path}"
