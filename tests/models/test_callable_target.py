"""A Python function as a target."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models import Limits, ModelError, Reply, Sampling, Usage, load_model
from psysafe.models.callable_target import CallableTarget
from tests.support.asking import QUICK, ask, failure_of, run

BOT = """
from dataclasses import dataclass

@dataclass
class Said:
    text: str

def reply(messages, temperature=1.0):
    return Said(f"{len(messages)} messages at {temperature}").text

class Bot:
    @staticmethod
    async def speak(messages):
        return "spoken"

number = 7
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(function: Callable[..., Any], *messages: Message, **sampling: Any) -> Reply:
    target = CallableTarget(function, limits=QUICK)
    return run(target.generate(messages or (Message("user", "hello"),), Sampling(**sampling)))


def failure(function: Callable[..., Any], limits: Limits = QUICK) -> ModelError:
    return run(failure_of(CallableTarget(function, name="bot", limits=limits)))


def refusal_of(name: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_model(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- calling


def test_a_function_gets_the_messages_as_dicts_and_its_text_is_the_reply() -> None:
    def reply(messages: list[dict[str, str]]) -> str:
        assert messages == [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
        return "hi"

    assert answer(reply, Message("system", "be kind"), Message("user", "hello")).text == "hi"


def test_a_coroutine_function_is_awaited_in_the_loop_and_another_one_runs_in_a_thread() -> None:
    where: dict[str, bool] = {}

    async def slow(messages: Any) -> str:
        where["async"] = threading.current_thread() is threading.main_thread()
        return "a"

    def fast(messages: Any) -> str:
        where["sync"] = threading.current_thread() is threading.main_thread()
        return "s"

    class Callable_:
        async def __call__(self, messages: Any) -> str:
            return await slow(messages)

    assert answer(slow).text == answer(Callable_()).text == "a"
    assert answer(fast).text == "s"
    assert where == {"async": True, "sync": False}


def test_a_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later() -> str:
        return "later"

    assert answer(lambda messages: later()).text == "later"


def test_only_the_options_that_a_function_declares_are_given() -> None:
    def none(messages: Any) -> str:
        return "none"

    def some(messages: Any, *, temperature: float, seed: int | None = None) -> str:
        return f"{temperature} {seed}"

    def all_(messages: Any, **options: Any) -> str:
        return " ".join(sorted(options))

    assert answer(none).text == "none"
    assert answer(some, temperature=0.5, seed=3).text == "0.5 3"
    assert answer(all_).text == "max_tokens seed stop temperature top_p"
    assert CallableTarget(some).info.details["options"] == ["temperature", "seed"]


def test_threads_run_side_by_side() -> None:
    together = threading.Barrier(8)

    def reply(messages: Any) -> str:
        together.wait(timeout=30)
        return "met"

    async def scenario() -> None:
        target = CallableTarget(reply, limits=QUICK)
        assert {r.text for r in await asyncio.gather(*(ask(target) for _ in range(8)))} == {"met"}

    run(scenario())


# -- what it returns


@pytest.mark.parametrize(
    "value, expected",
    [
        ("hi", Reply("hi")),
        ("", Reply("")),
        ({"text": "hi"}, Reply("hi")),
        ({"text": "h", "finish": "length"}, Reply("h", "length")),
        (
            {"text": "hi", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
            Reply("hi", usage=Usage(3, 4)),
        ),
        (Reply("hi", "refusal", Usage(1, 2), latency=5.0), Reply("hi", "refusal", Usage(1, 2), latency=5.0)),
    ],
)
def test_text_a_dict_or_a_reply_may_be_returned(value: Any, expected: Reply) -> None:
    found = answer(lambda messages: value)
    assert found.latency > 0
    assert replace(found, latency=0.0) == replace(expected, latency=0.0)


@pytest.mark.parametrize(
    "value, found",
    [
        (None, "a NoneType"),
        (7, "a int"),
        (["hi"], "a list"),
        ({}, "a dict without text"),
        ({"text": None}, "a dict whose text is not a string"),
        ({"content": "hi"}, "a dict with the key 'content'"),
        ({"text": "hi", "finish": "done"}, "finish 'done', which is none of stop, length, content_filter, refusal"),
        ({"text": "hi", "usage": {"prompt_tokens": "3"}}, "a usage without the whole numbers"),
    ],
)
def test_anything_else_is_an_error_that_says_what_was_expected(value: Any, found: str) -> None:
    error = failure(lambda messages: value)
    assert error.kind == "endpoint_error"
    assert f"bot returned {found}" in str(error)
    assert str(error).endswith("; expected text, or {text, finish, usage}, or a psysafe Reply")


# -- how it fails


@pytest.mark.parametrize("raised", [ValueError, KeyError, SystemExit, StopIteration, TimeoutError])
def test_an_exception_is_a_failed_reply_with_its_type_and_place(raised: type[BaseException]) -> None:
    calls = 0

    def reply(messages: Any) -> str:
        nonlocal calls
        calls += 1
        raise raised("client said: private")

    error = failure(reply)
    assert error.kind == "endpoint_error"
    assert "bot raised " in str(error)
    assert "test_callable_target.py:" in error.brief
    assert "private" not in error.brief
    assert calls == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize(
    "raised", [asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit, BaseException, ValueError]
)
def test_whatever_a_bot_raises_by_itself_is_a_failed_reply(raised: type[BaseException], kind: str) -> None:
    def sync(messages: Any) -> str:
        raise raised

    async def coroutine(messages: Any) -> str:
        raise raised

    error = failure(sync if kind == "sync" else coroutine)
    assert (error.kind, error.attempts) == ("endpoint_error", 1)
    assert "bot raised " in error.brief
    assert "test_callable_target.py:" in error.brief
    if kind == "async":
        assert raised.__name__ in error.brief


def test_a_call_that_is_cancelled_is_cancelled() -> None:
    async def scenario() -> None:
        waits = asyncio.Event()

        async def bot(messages: Any) -> str:
            waits.set()
            await asyncio.sleep(60)
            return "late"

        task = asyncio.create_task(ask(CallableTarget(bot, limits=QUICK)))
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    run(scenario())


def test_a_call_that_is_closed_is_closed() -> None:
    async def bot(messages: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    call = ask(CallableTarget(bot, limits=QUICK))

    async def begin() -> None:
        call.send(None)

    run(begin())
    call.close()  # anything but the end of it would be raised here


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_everything_even_inside_a_bot(presses: int) -> None:
    async def bot(messages: Any) -> str:
        for _ in range(presses):
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)
        return "late"

    with pytest.raises(KeyboardInterrupt):
        run(ask(CallableTarget(bot, limits=QUICK)))


def test_a_function_may_say_what_kind_of_failure_it_was_and_whether_to_try_again() -> None:
    calls = 0

    async def reply(messages: Any) -> str:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ModelError("rate_limited", "slow down", retryable=True)
        return "at last"

    assert answer(reply).attempts == 3


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_hang_is_waited_for_no_longer_than_the_timeout(kind: str) -> None:
    release = threading.Event()

    def sync(messages: Any) -> str:
        release.wait(60)
        return "late"

    async def coroutine(messages: Any) -> str:
        await asyncio.sleep(60)
        return "late"

    try:
        error = failure(sync if kind == "sync" else coroutine, replace(QUICK, timeout=0.1))
        assert (error.kind, error.retryable, error.attempts) == ("timeout", False, 1)
    finally:
        release.set()


# -- model strings


def test_a_file_and_a_module_can_be_named(here: Path) -> None:
    (here / "bots").mkdir()
    (here / "bots" / "mine.py").write_text(BOT)
    (here / "target_module_one.py").write_text(BOT)

    async def texts() -> Iterator[str]:
        names = ("python:bots/mine.py:reply", "python:target_module_one:reply", "python:bots/mine.py:Bot.speak")
        return iter([(await ask(load_model(name), temperature=0.25)).text for name in names])

    assert list(run(texts())) == ["1 messages at 0.25", "1 messages at 0.25", "spoken"]


def test_a_file_can_import_its_neighbours(here: Path) -> None:
    (here / "bots").mkdir()
    (here / "bots" / "neighbour_of_target.py").write_text("WORD = 'hello'")
    (here / "bots" / "mine.py").write_text("from neighbour_of_target import WORD\ndef reply(messages): return WORD\n")
    assert run(ask(load_model("python:bots/mine.py:reply"))).text == "hello"


def test_a_target_stays_in_this_process_and_is_identified_by_its_source(here: Path) -> None:
    (here / "mine.py").write_text(BOT)
    first = load_model("python:mine.py:reply").info
    (here / "mine.py").write_text(BOT + "# changed\n")
    second = load_model("python:mine.py:reply").info
    assert (first.name, first.host, first.loopback, first.price) == ("python:mine.py:reply", None, True, None)
    assert first.identity.startswith("source ")
    assert first.identity != second.identity


@pytest.mark.parametrize(
    "name, problem",
    [
        ("python:", "expected python:MODULE:CALLABLE"),
        ("python:mine.py", "expected python:MODULE:CALLABLE"),
        ("python:no_such_module_here:reply", "no module 'no_such_module_here' in this folder or on Python's path"),
        ("python:none.py:reply", "there is no file none.py"),
        ("python:mine.py:answer", "mine.py has no answer"),
        ("python:mine.py:number", "number is a int; expected a function"),
        ("python:broken.py:reply", "importing it failed with ZeroDivisionError at broken.py:1: division by zero"),
        ("python:lacking.py:reply", "importing it failed with ModuleNotFoundError at lacking.py:1: No module named"),
        ("python:exits.py:reply", "importing it failed with SystemExit at exits.py:1"),
        ("python:cancels.py:reply", "importing it failed with CancelledError at cancels.py:1"),
        ("python:odd.py:reply", "missing a required argument: 'config'; expected a function that takes messages"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(here: Path, name: str, problem: str) -> None:
    (here / "mine.py").write_text(BOT)
    (here / "broken.py").write_text("1 / 0")
    (here / "lacking.py").write_text("import no_such_module_either")
    (here / "exits.py").write_text("raise SystemExit")
    (here / "cancels.py").write_text("import asyncio; raise asyncio.CancelledError")
    (here / "odd.py").write_text("def reply(messages, config): pass")
    assert problem in refusal_of(name)
