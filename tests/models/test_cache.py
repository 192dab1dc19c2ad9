"""The response cache: K votes stay K calls, a second run makes none, and nothing bad is ever kept."""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models import ModelError, ModelInfo, Reply, Sampling, Schema, Usage, load_model
from psysafe.models.cache import CachedModel
from tests.support.asking import QUICK, SCHEMA, ask, failure_of, run
from tests.support.endpoint import Answer, Endpoint, empty, error, in_thread, output_filtered, refusal, truncated


class Counting:
    """A model that answers with the number of the call."""

    def __init__(
        self,
        name: str = "m",
        identity: str = "u",
        details: dict[str, Any] | None = None,
        reply: Reply | None = None,
    ) -> None:
        self.name = name
        self.identity = identity
        self.details = details or {}
        self.reply = reply or Reply("", usage=Usage(3, 4), latency=0.5, model="served", fingerprint="fp")
        self.calls = 0
        self.opened = self.closed = 0

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(self.name, self.identity, None, True, None, self.details)

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.closed += 1

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        self.calls += 1
        number = self.calls
        await asyncio.sleep(0)
        return replace(self.reply, text=self.reply.text or f"reply {number}")


def with_cache(path: Path, model: Any, use: Callable[[CachedModel], Awaitable[None]]) -> None:
    """One run: open, use, close."""

    async def scenario() -> None:
        cached = CachedModel(model, path)
        await cached.open()
        try:
            await use(cached)
        finally:
            await cached.close()

    run(scenario())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "replies.sqlite"


# -- K votes


@pytest.mark.parametrize("seeds", [[None] * 5, [7] * 5, [0, 1, 2, 3, 4]])
def test_k_votes_are_k_calls_and_none_in_a_second_run(seeds: list[int | None], path: Path) -> None:
    seen: list[list[str]] = []

    async def votes(model: CachedModel) -> None:
        replies = await asyncio.gather(*(ask(model, seed=seed, sample=i) for i, seed in enumerate(seeds)))
        seen.append([reply.text for reply in replies])
        assert [reply.cached for reply in replies] == [len(seen) > 1] * 5

    first, second = Counting(), Counting()
    with_cache(path, first, votes)
    with_cache(path, second, votes)
    assert (first.calls, second.calls) == (5, 0)
    assert len(set(seen[0])) == 5
    assert seen[1] == seen[0]


def test_k_votes_are_k_requests_to_an_endpoint_even_when_all_they_differ_in_is_never_sent(path: Path) -> None:
    with in_thread(Endpoint(lambda body, attempt: f"vote {attempt}")) as endpoint:

        async def votes(model: CachedModel) -> None:
            replies = [await ask(model, temperature=1.0, sample=sample) for sample in range(5)]
            assert [reply.text for reply in replies] == [f"vote {sample}" for sample in range(5)]

        for _ in range(2):
            with_cache(path, load_model(endpoint.model_string, QUICK, environment={}), votes)
        assert len(endpoint.calls) == 5
        assert len({call.raw for call in endpoint.calls}) == 1


# -- what a request is

OTHERS: dict[str, tuple[list[Message], Sampling]] = {
    "text": ([Message("user", "hello!")], Sampling()),
    "role": ([Message("system", "hello")], Sampling()),
    "one more message": ([Message("user", "hello"), Message("user", "")], Sampling()),
    "temperature": ([Message("user", "hello")], Sampling(temperature=0.1)),
    "top_p": ([Message("user", "hello")], Sampling(top_p=1.0)),
    "max_tokens": ([Message("user", "hello")], Sampling(max_tokens=1)),
    "seed": ([Message("user", "hello")], Sampling(seed=0)),
    "sample": ([Message("user", "hello")], Sampling(sample=1)),
    "schema": ([Message("user", "hello")], Sampling(schema=SCHEMA)),
    "another schema": ([Message("user", "hello")], Sampling(schema=Schema("verdict", b"{}"))),
    "stop": ([Message("user", "hello")], Sampling(stop=("x",))),
    "logprobs": ([Message("user", "hello")], Sampling(top_logprobs=1)),
}


def test_whatever_makes_a_request_another_one_is_in_the_key(path: Path) -> None:
    model = Counting()

    async def use(cached: CachedModel) -> None:
        await ask(cached)
        for messages, config in OTHERS.values():
            assert not (await cached.generate(messages, config)).cached
        assert (await ask(cached)).cached

    with_cache(path, model, use)
    assert model.calls == 1 + len(OTHERS)


@pytest.mark.parametrize(
    "other",
    [
        Counting("other", "http://a/v1", {"model": "x"}),
        Counting("m", "http://b/v1", {"model": "x"}),
        Counting("m", "http://a/v1", {"model": "y"}),
    ],
)
def test_another_model_or_endpoint_has_its_own_replies(other: Counting, path: Path) -> None:
    async def use(cached: CachedModel) -> None:
        assert not (await ask(cached)).cached

    with_cache(path, Counting("m", "http://a/v1", {"model": "x"}), use)
    with_cache(path, other, use)


def test_a_script_that_was_changed_has_its_own_replies(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "judge.yaml"
    for text in ("before", "after"):
        script.write_text(f"rules: [{{reply: {text}}}]")

        async def use(cached: CachedModel, text: str = text) -> None:
            assert (await ask(cached)).text == text

        with_cache(path, load_model(f"scripted:{script}", environment={}), use)


def test_what_else_is_known_of_an_endpoint_does_not_change_its_replies(path: Path) -> None:
    """Capabilities and served models grow in the course of a run."""
    model = Counting(details={"model": "x", "served": []})

    async def use(cached: CachedModel) -> None:
        await ask(cached)
        model.details["served"] = [["a", "b"]]
        assert (await ask(cached)).cached

    with_cache(path, model, use)


def test_a_model_whose_name_the_endpoint_tells_is_kept_under_that_name(path: Path) -> None:
    """Also for calls that come before anybody opened it, and while it is being opened."""

    async def scenario() -> None:
        async with Endpoint(models=["told"]) as endpoint:
            for expected in (10, 0):
                before = len(endpoint.calls)
                cached = CachedModel(load_model(endpoint.url, QUICK, environment={}), path)
                await asyncio.gather(*(ask(cached, str(i)) for i in range(10)))
                await cached.close()
                assert len(endpoint.calls) - before == expected
            endpoint.models = ["another"]
            cached = CachedModel(load_model(endpoint.url, QUICK, environment={}), path)
            replies = await asyncio.gather(*(ask(cached, str(i)) for i in range(10)))
            assert not any(reply.cached for reply in replies)
            await cached.close()

    run(scenario())


# -- what is kept


def test_a_kept_reply_is_the_reply_and_says_that_nothing_was_sent(path: Path) -> None:
    logprobs = [{"token": "1", "logprob": -0.5, "top_logprobs": []}]
    original = Reply("ünï\u2028", "stop", Usage(70, 30), 1.5, logprobs, "served", "fp", attempts=3)

    async def use(cached: CachedModel) -> None:
        assert await ask(cached) == original
        assert await ask(cached) == replace(original, latency=0.0, cached=True, attempts=0)

    with_cache(path, Counting(reply=original), use)


def test_unknown_usage_stays_unknown(path: Path) -> None:
    async def use(cached: CachedModel) -> None:
        await ask(cached)
        kept = await ask(cached)
        assert kept.cached
        assert kept.usage is None

    with_cache(path, Counting(reply=Reply("x")), use)


@pytest.mark.parametrize(
    "reply",
    [
        Reply("cut of", "length"),
        Reply("withheld", "content_filter"),
        Reply("I can't", "refusal"),
        Reply(" \n\t"),
    ],
)
def test_a_reply_that_did_not_end_by_itself_is_never_kept(reply: Reply, path: Path) -> None:
    model = Counting(reply=reply)

    async def use(cached: CachedModel) -> None:
        for _ in range(3):
            assert not (await ask(cached)).cached

    with_cache(path, model, use)
    assert model.calls == 3


@pytest.mark.parametrize("answer", [truncated(), refusal(), empty(), output_filtered(), error(400), error(404)])
def test_no_bad_answer_of_an_endpoint_is_ever_kept(answer: Answer, path: Path) -> None:
    with in_thread(Endpoint(lambda body, attempt: answer if attempt == 0 else "good")) as endpoint:

        async def use(cached: CachedModel) -> None:
            if answer.status == 200:
                assert (await ask(cached)).text != "good"
            else:
                await failure_of(cached)
            assert (await ask(cached)).text == "good"
            assert (await ask(cached)).cached

        with_cache(path, load_model(endpoint.model_string, QUICK, environment={}), use)
        assert len(endpoint.calls) == 2


# -- the file


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_the_file_and_what_belongs_to_it_are_readable_by_their_owner_only(umask: int, path: Path) -> None:
    async def use(cached: CachedModel) -> None:
        await ask(cached)
        files = list(path.parent.iterdir())
        assert path in files
        for file in files:  # the write-ahead log too
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    before = os.umask(umask)
    try:
        with_cache(path, Counting(), use)
    finally:
        os.umask(before)


def test_a_file_that_was_open_to_others_is_closed_to_them(path: Path) -> None:
    path.parent.mkdir()
    path.touch(0o644)
    path.chmod(0o644)
    with_cache(path, Counting(), ask_once)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def ask_once(cached: CachedModel) -> None:
    await ask(cached)


def test_prompts_are_not_in_the_file_only_replies_are(path: Path) -> None:
    async def use(cached: CachedModel) -> None:
        await ask(cached, "a very private prompt")

    with_cache(path, Counting(), use)
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"private prompt" not in data
    assert b"reply 1" in data


def test_a_file_that_is_no_cache_is_refused_by_name(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database, but long enough to be taken for one " * 50)
    with pytest.raises(UsageError, match=r"--cache .*replies\.sqlite: .*; name a file that can be written"):
        with_cache(path, Counting(), ask_once)


def test_a_place_that_cannot_be_written_is_refused_by_name(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(UsageError, match=r"--cache .*replies\.sqlite: "):
        with_cache(path, Counting(), ask_once)


def test_two_processes_may_share_it(path: Path) -> None:
    async def use(first: CachedModel) -> None:
        await ask(first)
        second = CachedModel(Counting(), path)
        await second.open()
        assert (await ask(second)).cached
        await ask(second, "new")
        assert (await ask(first, "new")).cached
        await second.close()

    with_cache(path, Counting(), use)


# -- opening and closing


def test_it_opens_and_closes_what_is_behind_it(path: Path) -> None:
    model = Counting()
    with_cache(path, model, ask_once)
    assert (model.opened, model.closed) == (1, 1)


def test_calls_that_come_together_open_it_once(path: Path) -> None:
    class Slow(Counting):
        async def open(self) -> None:
            await super().open()
            await asyncio.sleep(0.01)

    async def scenario() -> None:
        model = Slow()
        cached = CachedModel(model, path)
        await asyncio.gather(*(ask(cached, str(i)) for i in range(10)))
        await cached.open()
        assert model.opened == 1
        await cached.close()

    run(scenario())


def test_it_speaks_for_the_model_behind_it(path: Path) -> None:
    model = Counting("m", details={"model": "x"})
    cached = CachedModel(model, path)
    assert (cached.name, cached.info) == ("m", model.info)


def open_files(directory: Path) -> list[str]:
    """The files under it that this process holds open."""
    held = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the listing itself, closed by now
            held.append(os.readlink(f"/proc/self/fd/{number}"))
    return [file for file in held if file.startswith(str(directory))]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks /proc which files are open")
def test_a_model_that_cannot_be_opened_leaves_no_file_open(path: Path) -> None:
    class Dead(Counting):
        async def open(self) -> None:
            raise ModelError("auth", "no")

    async def scenario() -> None:
        cached = CachedModel(Dead(), path)
        with pytest.raises(ModelError):
            await cached.open()
        with pytest.raises(ModelError):
            await ask(cached)
        assert open_files(path.parent) == []

    run(scenario())
