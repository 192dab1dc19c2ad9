"""A response cache: off unless asked for, and never the reason that two votes are one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import orjson

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models.base import ManagedModel, ModelInfo, Reply, Sampling, Usage


class CachedModel:
    """Answers from a SQLite file what ``model`` answered before to the same request.

    The key covers the endpoint, the messages and the whole sampling with seed *and* sample index. Only
    replies that ended by themselves are kept; errors, refusals and cut replies are asked for again.
    """

    def __init__(self, model: ManagedModel, path: Path) -> None:
        self.name = model.name
        self.model = model
        self.path = path
        self._database: sqlite3.Connection | None = None
        self._opening = asyncio.Lock()
        self._ready = False  # both are open

    @property
    def info(self) -> ModelInfo:
        """That of the model behind it."""
        return self.model.info

    async def open(self) -> None:
        """Open the file, then the model.

        Raises:
            UsageError: the file cannot be used.
        """
        async with self._opening:
            if self._ready:
                return
            try:
                self._connect()
                await self.model.open()
                self._ready = True
            except BaseException:
                self._disconnect()
                raise

    def _connect(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._database = sqlite3.connect(self.path, isolation_level=None, timeout=30)
            self.path.chmod(0o600)  # replies quote private conversations
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute("CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply BLOB NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"--cache {self.path}: {error}; name a file that can be written") from error

    def _disconnect(self) -> None:
        self._ready = False
        database, self._database = self._database, None
        if database is not None:
            database.close()

    async def close(self) -> None:
        """Close both."""
        self._disconnect()
        await self.model.close()

    def stop(self) -> None:
        """Send nothing more."""
        self.model.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """The kept reply (``cached=True``), or a new one."""
        if not self._ready:
            await self.open()
        assert self._database is not None
        key = self._key(messages, config)
        row = self._database.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        if row is not None:
            return _load(row[0])
        reply = await self.model.generate(messages, config)
        if reply.finish == "stop" and reply.text.strip() and self._database is not None:
            self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, _dump(reply)))
        return reply

    def _key(self, messages: Sequence[Message], config: Sampling) -> bytes:
        info = self.model.info
        parts = [
            self.name,
            info.identity,
            info.details.get("model"),
            [(m.role, m.content) for m in messages],
            [
                config.temperature,
                config.top_p,
                config.max_tokens,
                config.seed,
                config.sample,
                config.top_logprobs,
            ],
            list(config.stop),
            config.schema.json.decode() if config.schema else None,
        ]
        return blake2b(orjson.dumps(parts), digest_size=16).digest()


def _dump(reply: Reply) -> bytes:
    usage = [reply.usage.prompt_tokens, reply.usage.completion_tokens] if reply.usage else None
    return orjson.dumps([reply.text, usage, reply.logprobs, reply.model, reply.fingerprint])


def _load(data: bytes) -> Reply:
    text, usage, logprobs, model, fingerprint = orjson.loads(data)
    reply = Reply(text, usage=Usage(*usage) if usage else None, logprobs=logprobs, model=model)
    return replace(reply, fingerprint=fingerprint, cached=True, attempts=0)
