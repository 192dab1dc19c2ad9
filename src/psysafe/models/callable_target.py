"""A Python function as a model: ``python:module:callable``, or ``CallableTarget(function)``."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models.base import ModelError, ModelInfo, Price, Reply, ReplyFinish, Sampling, Usage
from psysafe.models.limits import Gate, Limits
from psysafe.models.openai_compatible import estimate_tokens
from psysafe.models.retries import call_with_retries

_RETURNS = "text, or {text, finish, usage}, or a psysafe Reply"
_OPTIONS = ("temperature", "top_p", "max_tokens", "seed", "stop")


class CallableTarget:
    """Answers with ``function(messages, **options)``.

    Args:
        function: takes a list of ``{"role", "content"}`` and, where it declares them (or ``**options``), any of
            the keywords temperature, top_p, max_tokens, seed and stop. Returns text, or a dict ``{"text", "finish",
            "usage"}`` (``finish`` as in ``Reply``; ``usage`` with prompt_tokens and completion_tokens; both may be
            left out), or a ``Reply``. A coroutine function is awaited; another one runs in a thread, where it must
            bear several calls at once, and where nobody can end it: after the timeout it is only waited for no more.
            It may raise ``ModelError`` to say what kind of failure it was and whether to try again.
        name: how results are kept apart. identity: what must be equal for two runs to have the same target; by
            default a digest of the function's source file, where there is one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        *,
        limits: Limits | None = None,
        price: Price | None = None,
        identity: str | None = None,
    ) -> None:
        self.function = function
        self.name = name or f"python:{getattr(function, '__qualname__', type(function).__name__)}"
        self.identity = identity or _identity(function)
        self.limits = limits or Limits()
        self.gate = Gate(self.limits)
        self._price = price
        self._options = _declared(function, self.name)

    @property
    def info(self) -> ModelInfo:
        """A model in this process. Whether the function sends texts elsewhere is not known."""
        details = {"python": True, "options": list(self._options)}
        return ModelInfo(self.name, self.identity, None, True, self._price, details)

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def stop(self) -> None:
        """Send nothing more."""
        self.gate.stop()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        """What the function says.

        Raises:
            ModelError: it raised, returned something else, or took longer than ``limits.timeout``.
        """
        given = {name: getattr(config, name) for name in self._options}

        async def attempt(number: int, seconds: float) -> Reply:
            started = time.monotonic()
            task = asyncio.current_task()
            try:
                async with asyncio.timeout(seconds) as bound:
                    value = await self._call([{"role": m.role, "content": m.content} for m in messages], given)
            except ModelError:
                raise
            except TimeoutError as error:
                if not bound.expired():
                    raise self._failure(error) from error
                raise ModelError("timeout", f"{self.name}: no reply within {seconds:.1f} s") from error
            except BaseException as error:
                if _means_us(error, task):
                    raise
                raise self._failure(error) from error
            reply = self._reply(value)
            return reply if reply.latency else replace(reply, latency=time.monotonic() - started)

        return await call_with_retries(attempt, self.gate, estimate_tokens(messages) + config.max_tokens)

    async def _call(self, messages: list[dict[str, str]], given: Mapping[str, Any]) -> object:
        kind: Any = type(self.function)
        if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(kind.__call__):
            return await self.function(messages, **given)
        value = await _in_thread(lambda: self.function(messages, **given))
        return await value if isinstance(value, Awaitable) else value

    def _failure(self, error: BaseException) -> ModelError:
        """Type and place; what it says may quote the conversation."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        brief = f"{self.name} raised {type(error).__name__}{place}"
        said = " ".join(str(error).split())[:200]
        failure = ModelError("endpoint_error", f"{brief}: {said}" if said else brief)
        failure.brief = brief
        return failure

    def _reply(self, value: object) -> Reply:
        if isinstance(value, Reply):
            return value
        if isinstance(value, str):
            return Reply(value)
        if isinstance(value, Mapping):
            return self._from_mapping(value)
        raise self._wrong(f"a {type(value).__name__}")

    def _from_mapping(self, value: Mapping[Any, Any]) -> Reply:
        if unknown := [str(key) for key in value if key not in ("text", "finish", "usage")]:
            raise self._wrong(f"a dict with the key {unknown[0][:40]!r}")
        text, finish, usage = value.get("text"), value.get("finish", "stop"), value.get("usage")
        if not isinstance(text, str):
            raise self._wrong("a dict whose text is not a string" if "text" in value else "a dict without text")
        if finish not in get_args(ReplyFinish):
            raise self._wrong(f"finish {str(finish)[:40]!r}, which is none of {', '.join(get_args(ReplyFinish))}")
        return Reply(text, finish, None if usage is None else self._usage(usage))

    def _usage(self, usage: object) -> Usage:
        if isinstance(usage, Usage):
            return usage
        if isinstance(usage, Mapping):
            counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
            if all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
                return Usage(*counts)  # type: ignore[arg-type]
        raise self._wrong("a usage without the whole numbers prompt_tokens and completion_tokens")

    def _wrong(self, found: str) -> ModelError:
        return ModelError("endpoint_error", f"{self.name} returned {found}; expected {_RETURNS}")


def _means_us(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """Whether it ends our own work (cancelled, closed, Ctrl-C), rather than being a bot's own doing."""
    if isinstance(error, asyncio.CancelledError):
        return task is not None and task.cancelling() > 0
    if isinstance(error, GeneratorExit):  # a coroutine that is closed does not run in its task
        try:
            return asyncio.current_task() is not task
        except RuntimeError:
            return True
    if isinstance(error, KeyboardInterrupt):
        if threading.current_thread() is not threading.main_thread():
            return False
        frames = traceback.extract_tb(error.__traceback__)
        by_asyncio = bool(frames) and frames[-1].name == "_on_sigint"  # its first Ctrl-C cancels, its second raises
        return by_asyncio or signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return False


async def _in_thread(call: Callable[[], object]) -> object:
    """``call()`` in a thread of its own, which does not keep the program alive when it hangs."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Callable[[], object]] = loop.create_future()

    def tell(outcome: Callable[[], object]) -> None:
        if not ended.done():
            ended.set_result(outcome)

    def run() -> None:
        try:
            value = call()
            outcome: Callable[[], object] = lambda: value  # noqa: E731
        except BaseException as error:
            outcome = _raiser(error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, outcome)

    threading.Thread(target=copy_context().run, args=(run,), name="psysafe-target", daemon=True).start()
    return (await ended)()


def _raiser(error: BaseException) -> Callable[[], object]:
    def again() -> object:
        if isinstance(error, (StopIteration, KeyboardInterrupt, asyncio.CancelledError)):  # they mean something here
            raise RuntimeError(type(error).__name__).with_traceback(error.__traceback__)
        raise error

    return again


def _declared(function: Callable[..., Any], name: str) -> tuple[str, ...]:
    """The options that a function takes as keywords.

    Raises:
        UsageError: it cannot be called with messages alone.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in ones have none
        return ()
    parameters = signature.parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        options: tuple[str, ...] = _OPTIONS
    else:
        options = tuple(p.name for p in parameters if p.name in _OPTIONS and p.kind is not p.POSITIONAL_ONLY)
    try:
        signature.bind([], **dict.fromkeys(options))
    except TypeError as error:
        raise UsageError(
            f"{name}: {error}; expected a function that takes messages (a list of dicts with role and content) and, "
            f"if it wants them, the keywords {', '.join(_OPTIONS)}"
        ) from None
    return options


def _identity(function: Callable[..., Any]) -> str:
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        file = None
    return digest(file) if file and Path(file).is_file() else "python"


def digest(file: str) -> str:
    """What identifies a source file."""
    return f"source {sha256(Path(file).read_bytes()).hexdigest()}"
