"""The embedded model: a small language model that runs on this machine, in a child process of ours.

It needs no key and no network. What it is asked goes through ``OpenAICompatible`` to a loopback port that the system
chose, under a key that only this process and its child know.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, Sampling
from psysafe.models.limits import Gate, Limits
from psysafe.models.local_process import LocalProcess, Serving
from psysafe.models.openai_compatible import Endpoint, OpenAICompatible, estimate_tokens
from psysafe.models.retries import call_with_retries
from psysafe.models.weights import PLUMBING_ONLY, find_weights

__all__ = ["CONTEXT_NAME", "PLUMBING_ONLY", "THREADS_NAME", "LocalModel", "default_threads"]

CONTEXT_NAME = "PSYSAFE_LOCAL_CONTEXT"
THREADS_NAME = "PSYSAFE_LOCAL_THREADS"

CONTEXT = 8192
_SMALLEST_CONTEXT = 512

# Deaths in a row, without an answer between them, after which no further process is started.
_DEATHS = 3

_LIMITS = Limits(timeout=600.0)


class LocalModel:
    """``local`` or ``local-tiny``.

    Use as ``await model.open()`` ... ``await model.close()``; ``generate`` opens it when needed. Calls wait for
    their turn; their timeout begins with it. Nothing is retried: the same process would fail the same way.

    Args:
        name: the model string. limits: ``concurrency`` is bounded by ``slots``, ``max_retries`` is not used.
        context: tokens of one prompt with its answer; by default ``PSYSAFE_LOCAL_CONTEXT``, else 8192.
        slots: calls at once. More than one takes more memory and is not faster on a processor.
        threads: by default ``PSYSAFE_LOCAL_THREADS``, else as many as this process may use cores.
        environment: where settings are read from; the process's by default.

    Raises:
        UsageError: a setting that is no number in its range.
    """

    def __init__(
        self,
        name: str = "local",
        limits: Limits | None = None,
        *,
        context: int | None = None,
        slots: int = 1,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self.name = name
        self.weights = find_weights(name, environment)
        self.serving = Serving(
            context or _number(environment, CONTEXT_NAME, _SMALLEST_CONTEXT) or CONTEXT,
            slots,
            threads or _number(environment, THREADS_NAME, 1) or default_threads(),
        )
        limits = limits or _LIMITS
        self.limits = replace(limits, concurrency=min(slots, limits.concurrency), max_retries=0)
        self.gate = Gate(self.limits)
        self._opening = asyncio.Lock()
        self._process: LocalProcess | None = None
        self._endpoint: OpenAICompatible | None = None
        self._last: dict[str, Any] = {}  # what the endpoint is known to take and to serve
        self._deaths: list[int] = []  # the prompts at which it died, since its last answer
        self._stopped = threading.Event()

    @property
    def info(self) -> ModelInfo:
        """What is known about it now. The identity of a user's own file takes reading it once.

        Raises:
            UsageError: a user's own file cannot be read.
        """
        if self._endpoint is not None:
            known = self._endpoint.info.details
            self._last = {name: known[name] for name in ("capabilities", "served")}
        details = self.weights.describe()
        details |= {
            "context": self.serving.context,
            "slots": self.serving.slots,
            "threads": self.serving.threads,
            "xllamacpp": _engine_version(),
            **self._last,
        }
        return ModelInfo(self.name, f"gguf sha256:{self.weights.sha256}", None, True, Price(0.0, 0.0), details)

    def check(self) -> None:
        """Whether engine and weights are installed; quick, nothing is loaded.

        Raises:
            UsageError: one is not; says what to install.
        """
        self.weights.check()
        if find_spec("xllamacpp") is None:
            raise UsageError(f"{self.name}: the engine is not installed: pip install 'psysafe[local]'")

    async def open(self) -> None:
        """Find, join and check the weights, load them in a child process, and ask it one tiny thing.

        Raises:
            UsageError: engine or weights are not installed, or they are not what they should be.
            ModelError: the child could not load them. Stopped: ``stop`` was called meanwhile.
        """
        await self._running()

    async def close(self) -> None:
        """End the child process."""
        endpoint, self._endpoint = self._endpoint, None
        process, self._process = self._process, None
        try:
            if endpoint is not None:
                await endpoint.close()
        finally:
            if process is not None:
                await process.end()

    def stop(self) -> None:
        """Send nothing more."""
        self._stopped.set()
        self.gate.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """One reply.

        Raises:
            ModelError: ``endpoint_error`` when the child died at it (the next call starts another one),
                ``bad_request`` when the prompt is too long, else see ``ErrorKind``.
        """
        prompt = hash(tuple((message.role, message.content) for message in messages))

        async def attempt(number: int, seconds: float) -> Reply:
            self._refuse_after_deaths(prompt)
            endpoint, process = await self._running(prompt)
            try:
                reply = await endpoint.generate(messages, config)
            except ModelError as error:
                raise await self._told(error, process, prompt) from error
            self._deaths.clear()
            return reply

        return await call_with_retries(attempt, self.gate, estimate_tokens(messages) + config.max_tokens)

    async def _running(self, prompt: int = 0) -> tuple[OpenAICompatible, LocalProcess]:
        """The child and the way to it; started when there is none or it has died."""
        async with self._opening:
            if self._process is not None and self._endpoint is not None and self._process.alive:
                return self._endpoint, self._process
            await self.close()
            self.check()
            stopped = threading.Event()
            try:
                path = await asyncio.to_thread(self.weights.prepare, lambda: stopped.is_set() or self._stopped.is_set())
            finally:
                stopped.set()  # a thread cannot be cancelled, but it asks
            try:
                process = await LocalProcess.start(self.name, path, self.serving)
            except ModelError:
                self._deaths.append(prompt)
                raise
            endpoint = OpenAICompatible(
                self.name,
                # Its address means nothing to people; errors name it so.
                Endpoint(f"{process.address}/v1", "the embedded model", True, self.name, process.key),
                self.limits,
            )
            try:
                await endpoint.open()
            except BaseException as error:
                told = await self._told(error, process, prompt) if isinstance(error, ModelError) else error
                await process.end()
                if told is error:
                    raise
                raise told from error
            self._process, self._endpoint = process, endpoint
            return endpoint, process

    async def _told(self, error: ModelError, process: LocalProcess, prompt: int) -> ModelError:
        """The error of a call, or the child's death behind it."""
        if error.kind != "endpoint_error" or error.status is not None or process.ending:
            return error
        death = await process.death()
        if death is None or process.ending:
            return error
        self._deaths.append(prompt)
        return ModelError("endpoint_error", f"{self.name}: the embedded model's process died ({death})")

    def _refuse_after_deaths(self, prompt: int) -> None:
        """Bounds the starts: one prompt may be to blame, or the machine; neither is helped by trying on."""
        if self._deaths.count(prompt) >= _DEATHS:
            raise ModelError(
                "endpoint_error",
                f"{self.name}: the embedded model's process died {_DEATHS} times in a row at this prompt; "
                "it is not asked again",
            )
        if len(set(self._deaths)) >= _DEATHS:
            raise ModelError(
                "endpoint_error",
                f"{self.name}: the embedded model's process died {len(self._deaths)} times in a row; it is not "
                "started again: psysafe doctor --model local says more",
            )


def default_threads() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _engine_version() -> str | None:
    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return None


def _number(environment: Mapping[str, str], name: str, least: int) -> int | None:
    text = environment.get(name, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"{name}={text}: expected a whole number, at least {least}")
    return int(text)
