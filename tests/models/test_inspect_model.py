"""Inspect's providers as models, with Inspect's own mock in their place."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

pytest.importorskip("inspect_ai", reason="needs psysafe[inspect]")

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    TopLogprob,
    get_model,
)

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging import judge, vote
from psysafe.models import Limits, ModelError, Reply, Sampling, Schema, Usage, load_model
from psysafe.models.inspect_model import InspectModel
from psysafe.taxonomy import load_dimension
from tests.support.asking import QUICK, SCHEMA, ask, failure_of, run

# of the retry package below Inspect, about an argument that Inspect gives it
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")

Play = Callable[[list[ChatMessage], GenerateConfig], Any]
USAGE = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
PRIVATE = "my private words"


def output(text: str = "yes", stop: Any = "stop", **changes: Any) -> ModelOutput:
    found = ModelOutput.from_content("mock-served", text, stop_reason=stop)
    found.usage = USAGE  # without it, the mock downloads a tokenizer
    return found.model_copy(update=changes)


def mock(play: Play, limits: Limits = QUICK, provider: str = "mockllm") -> InspectModel:
    """A model whose answers ``play`` makes. ``provider``: whose habits it is to have."""

    def outputs(messages: list[ChatMessage], tools: Any, choice: Any, config: GenerateConfig) -> Any:
        return play(messages, config)

    return InspectModel(f"inspect:{provider}/model", limits, model=get_model("mockllm/model", custom_outputs=outputs))


def raising(error: Exception) -> Play:
    def play(messages: list[ChatMessage], config: GenerateConfig) -> Any:
        raise error

    return play


class ProviderError(Exception):
    """As the packages of providers raise them."""

    def __init__(self, status: int, message: str = "it failed", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers=headers or {})


# -- asking and answering


def test_messages_and_sampling_reach_the_provider() -> None:
    seen: list[tuple[list[ChatMessage], GenerateConfig]] = []

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        seen.append((messages, config))
        return output()

    config = Sampling(temperature=0.5, top_p=0.9, max_tokens=77, seed=5, schema=SCHEMA, stop=("END",), top_logprobs=4)
    roles = ("system", "user", "assistant", "user")
    run(mock(play).generate([Message(role, role) for role in roles], config))  # type: ignore[arg-type]
    messages, sent = seen[0]
    assert [(message.role, message.text) for message in messages] == [(role, role) for role in roles]
    assert (sent.temperature, sent.top_p, sent.max_tokens, sent.seed) == (0.5, 0.9, 77, 5)
    assert (sent.stop_seqs, sent.logprobs, sent.top_logprobs) == (["END"], True, 4)
    assert sent.response_schema is not None
    assert sent.response_schema.strict
    assert list(sent.response_schema.json_schema.properties or {}) == ["zebra", "apple"]
    assert (sent.max_retries, sent.num_choices) == (0, None)
    assert sent.timeout is not None
    assert 0 < sent.timeout <= QUICK.timeout
    assert not sent.cache


def test_a_reply_has_its_text_usage_and_model() -> None:
    reply = run(ask(mock(lambda messages, config: output("hi"))))
    assert replace(reply, latency=0) == Reply("hi", "stop", Usage(7, 3), model="mock-served")


@pytest.mark.parametrize(
    "stop, finish",
    [
        ("stop", "stop"),
        ("max_tokens", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("unknown", "stop"),
    ],
)
def test_why_a_reply_ended(stop: str, finish: str) -> None:
    assert run(ask(mock(lambda messages, config: output("hm", stop)))).finish == finish


def test_reasoning_is_no_part_of_the_text() -> None:
    parts = [ContentReasoning(reasoning="let me think"), ContentText(text="safe")]
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content=parts), stop_reason="stop")
    reply = run(ask(mock(lambda messages, config: ModelOutput(model="m", choices=[choice], usage=USAGE))))
    assert reply.text == "safe"


def test_tokens_that_a_prompt_cache_held_are_counted() -> None:
    usage = ModelUsage(input_tokens=1, output_tokens=2, input_tokens_cache_read=30, input_tokens_cache_write=400)
    assert run(ask(mock(lambda messages, config: output(usage=usage)))).usage == Usage(431, 2)


def test_token_probabilities_have_our_shape() -> None:
    top = [TopLogprob(token="1", logprob=-0.1, bytes=[49]), TopLogprob(token="2", logprob=-2.5)]
    found = Logprobs(content=[Logprob(token="1", logprob=-0.1, top_logprobs=top), Logprob(token=".", logprob=0.0)])
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content="1."), stop_reason="stop", logprobs=found)
    reply = run(ask(mock(lambda messages, config: ModelOutput(model="m", choices=[choice], usage=USAGE))))
    tops = [{"token": "1", "logprob": -0.1}, {"token": "2", "logprob": -2.5}]
    assert reply.logprobs == [
        {"token": "1", "logprob": -0.1, "top_logprobs": tops},
        {"token": ".", "logprob": 0.0, "top_logprobs": []},
    ]


@pytest.mark.parametrize(
    "provider, lost", [("anthropic", ["logprobs", "seed"]), ("mistral", ["logprobs", "stop"]), ("openai", [])]
)
def test_what_a_provider_ignores_is_not_sent_and_recorded(provider: str, lost: list[str]) -> None:
    seen: list[GenerateConfig] = []

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        seen.append(config)
        return output()

    model = mock(play, provider=provider)
    run(ask(model))
    assert model.info.details["not_sent"] == []  # nothing of it was asked for
    run(ask(model, seed=1, stop=("x",), top_logprobs=2))
    assert model.info.details["not_sent"] == lost
    sent = seen[1]
    missing = {"seed": sent.seed is None, "stop": sent.stop_seqs is None, "logprobs": sent.logprobs is None}
    assert sorted(part for part, left_out in missing.items() if left_out) == lost


def test_a_schema_that_inspect_cannot_hold_is_not_sent_in_part() -> None:
    seen: list[GenerateConfig] = []

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        seen.append(config)
        return output()

    model = mock(play)
    run(ask(model, schema=Schema("odd", b'{"type":"object","patternProperties":{"^x":{"type":"string"}}}')))
    assert seen[0].response_schema is None
    assert model.info.details["not_sent"] == ["schema"]


def test_a_schema_that_the_provider_refuses_is_left_out_from_then_on() -> None:
    seen: list[bool] = []

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        seen.append(config.response_schema is not None)
        if config.response_schema is not None:
            raise ProviderError(400, "no schemas here")
        return output()

    async def scenario() -> None:
        model = mock(play)
        for _ in range(2):
            assert (await ask(model, schema=SCHEMA)).text == "yes"
        assert model.info.details["not_sent"] == ["schema"]

    run(scenario())
    assert seen == [True, False, False]


# -- votes


def test_equal_requests_are_all_made() -> None:
    """Inspect's own cache would answer the second one with the first's reply."""
    calls = 0

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        nonlocal calls
        calls += 1
        return output(str(calls))

    async def scenario() -> list[str]:
        model = mock(play)
        return [(await ask(model, "same", sample=n)).text for n in range(5)]

    assert run(scenario()) == ["1", "2", "3", "4", "5"]


CHAT = Conversation("c1", (Message("user", "I failed again."), Message("assistant", "You are worthless.")))


def verdict(score: int) -> str:
    return orjson.dumps({"rationale": "because", "evidence": [], "score": score}).decode()


def test_a_judge_behind_inspect_judges() -> None:
    model = mock(lambda messages, config: output(verdict(2)))
    judgment = run(judge(CHAT, load_dimension("insulting_behaviour"), model))
    assert (judgment.outcome, judgment.score, judgment.harmful) == ("scored", 2, True)
    assert judgment.usage == Usage(7, 3)


def test_k_votes_are_k_calls() -> None:
    scores = iter([0, 2, 0, 2, 2, 2, 0])

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        return output(verdict(next(scores)))

    judgment = run(judge(CHAT, load_dimension("insulting_behaviour"), mock(play), vote(samples=7)))
    assert sorted(v.score for v in judgment.votes if v.score is not None) == [0, 0, 0, 2, 2, 2, 2]
    assert judgment.calls == 7


# -- faults


@pytest.mark.parametrize(
    "status, kind, retryable",
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (403, "auth", False),
        (404, "not_found", False),
        (429, "rate_limited", True),
        (500, "endpoint_error", True),
        (529, "endpoint_error", True),
    ],
)
def test_a_status_of_the_provider_is_named_in_our_words(status: int, kind: str, retryable: bool) -> None:
    limits = replace(QUICK, max_retries=0)
    error = run(failure_of(mock(raising(ProviderError(status, f"quoting: {PRIVATE}")), limits)))
    assert (error.kind, error.retryable, error.status) == (kind, retryable, status)
    assert PRIVATE not in error.brief


def test_a_provider_that_is_busy_is_asked_again_by_us_and_not_by_inspect() -> None:
    calls = 0

    def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ProviderError(429, headers={"Retry-After": "0"})
        return output()

    assert run(ask(mock(play))).attempts == 3
    assert calls == 3


def test_the_wait_that_a_provider_asks_for_is_known() -> None:
    error = run(failure_of(mock(raising(ProviderError(429, headers={"Retry-After": "900"})))))
    assert (error.retry_after, error.attempts) == (900.0, 1)  # later than the deadline


def test_an_error_that_the_provider_returns_does_not_repeat_the_request() -> None:
    """Inspect puts the whole request into the error's text."""

    def play(messages: list[ChatMessage], config: GenerateConfig) -> Any:
        raise AssertionError

    async def scenario() -> ModelError:
        model = mock(play)
        from inspect_ai.model import ModelCall

        async def generate(input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            return ProviderError(400, "too long"), ModelCall.create({"messages": PRIVATE}, None)

        assert model._model is not None
        model._model.api.generate = generate  # type: ignore[method-assign]
        return await failure_of(model)

    error = run(scenario())
    assert error.kind == "bad_request"
    assert "too long" in str(error)
    assert PRIVATE not in str(error)


def test_a_hang_ends_with_the_timeout() -> None:
    async def play(messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        await asyncio.sleep(60)
        return output()

    limits = replace(QUICK, timeout=0.1, max_retries=1)
    error = run(failure_of(mock(play, limits)))
    assert (error.kind, error.attempts) == ("timeout", 2)


def test_an_output_without_a_choice_is_an_error() -> None:
    error = run(failure_of(mock(lambda messages, config: ModelOutput(model="m", usage=USAGE))))
    assert error.kind == "endpoint_error"
    assert "without a reply" in str(error)


# -- what it is, and what is missing


def test_the_mock_stays_in_this_process_and_a_provider_is_a_host() -> None:
    info = mock(lambda messages, config: output()).info
    assert (info.name, info.host, info.loopback) == ("inspect:mockllm/model", None, True)
    assert load_model("inspect:anthropic/claude-x", environment={}, need_key=False).info.host == "anthropic"
    assert not load_model("inspect:anthropic/claude-x", environment={}, need_key=False).info.loopback
    for provider in ("ollama", "vllm", "openai-api"):
        assert not load_model(f"inspect:{provider}/x", environment={}, need_key=False).info.loopback


def test_a_known_address_is_the_host_without_what_may_be_secret_in_it() -> None:
    model = get_model("mockllm/model", base_url="http://user:planted@127.0.0.1:11434/v1?key=planted")
    info = InspectModel("inspect:ollama/x", model=model).info
    assert (info.host, info.loopback) == ("127.0.0.1:11434", True)
    assert "planted" not in repr(info)


@pytest.mark.parametrize("name", ["inspect:", "inspect:anthropic", "inspect:anthropic/", "inspect:none/none"])
def test_inspect_is_never_left_to_choose_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECT_EVAL_MODEL", "mockllm/model")
    with pytest.raises(UsageError, match="expected inspect:PROVIDER/MODEL"):
        load_model(name)


def test_an_unknown_provider_is_refused() -> None:
    with pytest.raises(UsageError, match=r"inspect:nobody/x: Model API nobody .* not recognized"):
        load_model("inspect:nobody/x")


def test_a_missing_package_is_one_line_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(UsageError) as caught:
        load_model("inspect:anthropic/claude-x")
    assert str(caught.value) == (
        "inspect:anthropic/claude-x: Anthropic API requires optional dependencies: pip install anthropic"
    )


def test_a_missing_key_is_one_line_with_its_variable() -> None:
    from inspect_ai.model._providers.util import environment_prerequisite_error

    from psysafe.models.inspect_errors import prerequisite

    error = prerequisite("inspect:groq/x", environment_prerequisite_error("Groq", "GROQ_API_KEY"))
    assert str(error) == (
        "inspect:groq/x: Unable to initialise Groq client No GROQ_API_KEY defined in the environment. "
        "(set it and run again)"
    )


def test_without_inspect_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(UsageError, match=r"needs Inspect: pip install 'psysafe\[inspect\]'"):
        load_model("inspect:anthropic/claude-x")


# -- privacy


def test_nothing_is_written_and_nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "INSPECT_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    async def scenario() -> int:
        from inspect_ai.log import transcript

        model = mock(lambda messages, config: output())
        for _ in range(20):
            await ask(model, PRIVATE)
        await failure_of(mock(raising(ValueError(PRIVATE))))
        return len(transcript().events)

    assert run(scenario()) == 0
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_model_that_was_closed_can_be_used_in_another_loop() -> None:
    model = load_model("inspect:mockllm/model")
    assert isinstance(model, InspectModel)

    async def once() -> None:
        await model.open()
        assert model._model is not None
        model._model.api.outputs = iter([output()])  # type: ignore[attr-defined]
        assert (await ask(model)).text == "yes"
        await model.close()

    for _ in range(2):
        run(once())
