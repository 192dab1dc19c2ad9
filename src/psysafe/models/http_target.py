"""A bot behind any HTTP API, as its YAML file describes it: ``http:bot.yaml``."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, Sampling
from psysafe.models.hosts import host_of
from psysafe.models.http_answer import read_id, read_reply
from psysafe.models.http_bot import Bot, load_bot, missing_variables
from psysafe.models.http_sessions import Session, Sessions, digest
from psysafe.models.http_template import variables
from psysafe.models.http_wire import NotReceived, Prepared, Wire
from psysafe.models.limits import Gate, Limits
from psysafe.models.openai_compatible import estimate_tokens
from psysafe.models.retries import call_with_retries

_SAMPLING = ("temperature", "max_tokens", "seed")
_RESET_SECONDS = 10.0
_ALL_RESETS_SECONDS = 30.0
_RESETS_AT_ONCE = 8
_REFUSALS_THAT_COUNT = 3
_LOST = (
    "this bot keeps its own memory, and no open session has had this conversation; give it the user's turns one after "
    "the other (psysafe reply --turns all), each with the replies it gave itself"
)


class HttpTarget:
    """A bot that is asked as its file says.

    With ``session`` in the file, a conversation whose history this object has produced goes on in the session that
    has it; one without a history begins a new session. A message that the bot may have received is never sent into
    its session again: the session is given up, and the call fails.

    Args:
        bot, data: as ``load_bot`` gives them. name: of the model.
        environment: where ``${NAME}`` is read from.
    """

    def __init__(
        self,
        name: str,
        bot: Bot,
        data: bytes,
        limits: Limits | None = None,
        price: Price | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self.name = name
        self.bot = bot
        self.limits = limits or Limits()
        self.gate = Gate(self.limits)
        self.resets_failed = 0
        self._identity = f"file {sha256(data).hexdigest()}"
        self._price = price
        self._uses = bot.used()
        self._sessions = Sessions(bot.session.max_open) if bot.session is not None else None
        self._secrets = {
            environment.get(variable, "").strip()
            for _, request, _ in bot.requests()
            for _, text in request.places()
            for variable in variables(text)
        }
        # by what their fields begin with
        self._prepared = {prefix: Prepared(bot, request, environment) for prefix, request, _ in bot.requests()}
        hosts = dict(host_of(request.url) for _, request, _ in bot.requests())
        self._host, self._loopback = ", ".join(hosts), all(hosts.values())
        self._wire: Wire | None = None
        self._resets = asyncio.Semaphore(_RESETS_AT_ONCE)
        self._resetting: dict[asyncio.Task[None], str] = {}  # to the session's id
        self._answered = False
        self._refused = 0
        self._not_sent: set[str] = set()

    @property
    def info(self) -> ModelInfo:
        """What is known about it now; ``options`` are the parts of the sampling that the file sends on."""
        details: dict[str, Any] = {
            "url": urlsplit(self.bot.url)._replace(query="", fragment="").geturl(),
            "options": [name for name in _SAMPLING if name in self._uses],
            "not_sent": sorted(self._not_sent),
        }
        if self._sessions is not None:
            details |= {"sessions_evicted": self._sessions.evicted, "resets_failed": self.resets_failed}
        return ModelInfo(self.name, self._identity, self._host, self._loopback, self._price, details)

    async def open(self) -> None:
        """Make connections possible. Nothing is sent: a bot has no question that would not be part of a chat."""
        if self._wire is None:
            self._resets = asyncio.Semaphore(_RESETS_AT_ONCE)
            self._wire = Wire(self.name, self._host, self._secrets, lasting=self._sessions is None)

    async def close(self) -> None:
        """Reset what is open, within half a minute, and let go of connections."""
        if self._sessions is not None:
            for session in self._sessions.clear():
                self._reset(session)
        if self._resetting:
            _, late = await asyncio.wait(self._resetting, timeout=_ALL_RESETS_SECONDS)
            for task in late:
                task.cancel()
            self.resets_failed += len(late)
            self._resetting.clear()
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()

    def stop(self) -> None:
        """Send nothing more, resets apart."""
        self.gate.stop()

    async def end(self, messages: Sequence[Message]) -> None:
        """Say that a conversation, which ends with a reply of this bot, is over: its session is reset."""
        if self._sessions is not None and (session := self._sessions.take(digest(messages))):
            self._reset(session)

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """The bot's reply to the last message, which must be the user's.

        Raises:
            ModelError: see ``ErrorKind``; ``bad_request`` for a conversation that this bot cannot be given.
        """
        values = self._values(messages, config)
        await self.open()
        tokens = estimate_tokens(messages) + config.max_tokens
        if self._sessions is None:

            async def attempt(number: int, seconds: float) -> Reply:
                return await self._message(values, self._seconds(seconds))

            return await call_with_retries(attempt, self.gate, tokens)
        return await self._in_session(self._sessions, messages, values, tokens)

    async def _in_session(
        self, sessions: Sessions, messages: Sequence[Message], values: dict[str, Any], tokens: int
    ) -> Reply:
        history = digest(messages[:-1])
        begins = all(message.role == "system" for message in messages[:-1])
        session = None if begins else sessions.take(history)
        if session is None and not begins:
            raise ModelError("bad_request", f"{self.name}: {_LOST}")
        received = False

        async def attempt(number: int, seconds: float) -> Reply:
            nonlocal session, received
            ends = time.monotonic() + self._seconds(seconds)
            if session is None:
                session = await self._begin(values, ends)
            values["session"] = session.id
            try:
                reply = await self._message(values, max(0.001, ends - time.monotonic()), session)
            except NotReceived:
                raise
            except ModelError as error:
                if error.retryable:  # the bot is in trouble, though this message cannot be sent again
                    self.gate.report(self.gate.halvings, False)
                received, error.retryable = True, False
                raise
            except BaseException:
                received = True
                raise
            return reply

        try:
            reply = await call_with_retries(attempt, self.gate, tokens)
        except BaseException:
            if session is not None:
                if begins or received:
                    self._reset(session)
                else:
                    self._put(history, session)
            raise
        assert session is not None
        self._put(digest([*messages, Message("assistant", reply.text)]), session)
        return reply

    def _put(self, history: bytes, session: Session) -> None:
        assert self._sessions is not None
        for gone in self._sessions.put(history, session):
            self._reset(gone)

    async def _begin(self, values: Mapping[str, Any], ends: float) -> Session:
        rules = self.bot.session
        assert rules is not None
        if rules.generate:
            return Session(str(uuid4()))
        if rules.start is None:
            return Session(None)
        data = await self._send("session.start.", values, max(0.001, ends - time.monotonic()))
        session = Session(read_id(data, rules.start.id, f"{self.name}: session.start.id"))
        await self._claim(session.id, "session.start.id", ends)
        return session

    async def _claim(self, id: str | None, where: str, ends: float) -> None:
        """No two conversations in one session of the bot.

        Raises:
            ModelError: another conversation has, or had, the session of this id.
        """
        assert self._sessions is not None
        if id is None:
            return
        if ending := [task for task, of in self._resetting.items() if of == id]:
            await asyncio.wait(ending, timeout=max(0.001, ends - time.monotonic()))
        if not self._sessions.claim(id):
            raise ModelError(
                "endpoint_error",
                f"{self.name}: {where}: the bot gave a new conversation the id of another one's session, which it was "
                "not told to end; is this the place of the id, and does the bot begin a session each time?",
            )

    async def _message(self, values: Mapping[str, Any], seconds: float, session: Session | None = None) -> Reply:
        started = time.monotonic()
        data = await self._send("", values, seconds)
        reply = read_reply(data, self.bot, self.name, time.monotonic() - started, self._clean)
        rules = self.bot.session
        if session is not None and rules is not None and rules.field is not None:
            named = read_id(data, rules.field, f"{self.name}: session.field", session.id)
            if named != session.id:
                await self._claim(named, "session.field", time.monotonic())
                self._forget(session)
                session.id = named
        return reply

    async def _send(self, which: str, values: Mapping[str, Any], seconds: float) -> bytes:
        wire = self._wire
        if wire is None:
            raise ModelError("endpoint_error", f"{self.name}: the connection was closed")
        try:
            data = await wire.send(self._prepared[which], values, seconds)
        except ModelError as error:
            told = self._unless_passing(error)
            if told is error:
                raise
            raise told from error
        self._answered, self._refused = True, 0
        return data

    def _unless_passing(self, error: ModelError) -> ModelError:
        """A single 403 or 404 among answers is about one message or session (a firewall, one that expired)."""
        if error.status not in (403, 404, 410):
            return error
        self._refused += 1
        if self._refused >= _REFUSALS_THAT_COUNT or not self._answered:
            return error
        told = ModelError("endpoint_error", str(error), status=error.status)
        told.brief = error.brief
        return told

    def _reset(self, session: Session) -> None:
        """Tell the bot that a session is over, if it wants to know; best effort, beside everything else."""
        wanted = self.bot.session is not None and self.bot.session.reset is not None
        if wanted and session.id is not None and self._wire is not None:
            task = asyncio.create_task(self._send_reset(session))
            self._resetting[task] = session.id
            task.add_done_callback(lambda done: self._resetting.pop(done, None))

    async def _send_reset(self, session: Session) -> None:
        wire, prepared = self._wire, self._prepared["session.reset."]
        assert wire is not None
        async with self._resets:
            try:
                await wire.send(prepared, {"session": session.id}, _RESET_SECONDS)
            except ModelError:
                self.resets_failed += 1
            else:
                self._forget(session)

    def _forget(self, session: Session) -> None:
        if self._sessions is not None and session.id is not None:
            self._sessions.release(session.id)

    def _values(self, messages: Sequence[Message], config: Sampling) -> dict[str, Any]:
        if not messages or messages[-1].role != "user":
            raise ModelError("bad_request", f"{self.name}: a bot answers a user; the last message is not the user's")
        told = [message for message in messages if message.role != "system"]
        systems = [message.content for message in messages if message.role == "system"]
        if len(told) > 1 and self._sessions is None and "messages" not in self._uses:
            raise ModelError(
                "bad_request",
                f"{self.name}: its file sends only the last message, so the bot would not know the {len(told) - 1} "
                "before it; send {{messages}}, or describe its sessions",
            )
        if systems and not self._uses & {"system", "messages"}:
            self._not_sent.add("system")
        return {
            "message": messages[-1].content,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "system": "\n\n".join(systems) if systems else None,
            "session": None,
            **{name: getattr(config, name) for name in _SAMPLING},
        }

    def _seconds(self, seconds: float) -> float:
        return min(seconds, self.bot.timeout) if self.bot.timeout is not None else seconds

    def _clean(self, text: str) -> str:
        return self._wire.clean(text) if self._wire is not None else ""


def load_http(
    name: str,
    limits: Limits | None = None,
    price: Price | None = None,
    environment: Mapping[str, str] | None = None,
    need_key: bool = True,
) -> HttpTarget:
    """The bot of ``http:FILE.yaml``, named after the file or as the file says.

    Args:
        need_key: whether an unset variable is an error; False for a model that will not be asked.

    Raises:
        UsageError: no such file, a wrong one, or a variable that is not set; names file and field.
    """
    environment = os.environ if environment is None else environment
    path = Path(name.removeprefix("http:"))
    bot, data = load_bot(path)
    if need_key and (missing := missing_variables(bot, environment)):
        field, variable = missing[0]
        raise UsageError(f"{path}: {field}: the environment variable {variable} is not set; set it and run again")
    return HttpTarget(f"http:{bot.name or path.stem}", bot, data, limits, price, environment)
