"""A model behind an endpoint: what is sent, how answers are read, and how every fault ends."""

import asyncio
import email.utils
import json
import logging
import ssl
import subprocess
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.conversation import Message
from psysafe.models import ErrorKind, Limits, ModelError, Reply, Sampling, Usage, limits, load_model, retries
from psysafe.models.openai_compatible import OpenAICompatible, estimate_tokens
from tests.support.asking import QUICK, ask, failure_of, opened, run
from tests.support.endpoint import (
    Answer,
    Endpoint,
    Fault,
    Play,
    completion,
    empty,
    error,
    in_parts,
    in_thread,
    input_filtered,
    not_json,
    output_filtered,
    redirect,
    refusal,
    too_many,
    truncated,
    wrong_shape,
)

KEY = "sk-planted-0123456789abcdef"
PLAIN_KEY = "Quite-Another-Secret.42"  # nothing that looks like a key


# -- what is sent


def test_a_request_says_what_the_sampling_says_and_no_more() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint) as model:
            messages = [Message("system", "be a judge"), Message("user", "ünï\u2028code"), Message("assistant", "a")]
            await model.generate(messages, Sampling())
            assert endpoint.calls[0].target == "/v1/chat/completions"
            assert endpoint.bodies[0] == {
                "model": "judge",
                "messages": [
                    {"role": "system", "content": "be a judge"},
                    {"role": "user", "content": "ünï\u2028code"},
                    {"role": "assistant", "content": "a"},
                ],
                "max_tokens": 1024,
                "temperature": 0.0,
            }

    run(scenario())


def test_all_of_the_sampling_is_sent_except_the_sample_index() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint) as model:
            config = Sampling(0.7, top_p=0.9, max_tokens=5, seed=11, sample=99, stop=("X",), top_logprobs=3)
            await model.generate([Message("user", "a")], config)
            body = endpoint.bodies[0]
            del body["messages"], body["model"]
            assert body == {
                "temperature": 0.7,
                "top_p": 0.9,
                "max_tokens": 5,
                "seed": 11,
                "stop": ["X"],
                "logprobs": True,
                "top_logprobs": 3,
            }

    run(scenario())


def test_votes_are_calls_nothing_is_kept_between_equal_requests() -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: f"answer {attempt}") as endpoint, opened(endpoint) as model:
            replies = [await ask(model, sample=sample) for sample in range(3)]
            assert [reply.text for reply in replies] == ["answer 0", "answer 1", "answer 2"]

    run(scenario())


# -- how answers are read


def reply_to(answer: Play, **sampling: Any) -> Reply:
    async def scenario() -> Reply:
        async with Endpoint(lambda body, attempt: answer) as endpoint, opened(endpoint) as model:
            return await ask(model, **sampling)

    return run(scenario())


def test_an_answer_becomes_a_reply_with_all_that_the_endpoint_said() -> None:
    logprobs = [{"token": "1", "logprob": -0.1, "top_logprobs": [{"token": "1", "logprob": -0.1}]}]
    answer = completion("ünï", usage=(70, 30), choice={"logprobs": {"content": logprobs}})
    reply = reply_to(answer, top_logprobs=1)
    assert reply == Reply(
        "ünï", "stop", Usage(70, 30), reply.latency, logprobs, model="judge-served", fingerprint="fp_1"
    )
    assert reply.latency > 0


@pytest.mark.parametrize(
    "answer,text,finish",
    [
        (completion("  spaces stay\n"), "  spaces stay\n", "stop"),
        (completion("<think>hm</think>yes"), "<think>hm</think>yes", "stop"),
        (completion("yes", finish=None), "yes", "stop"),
        (completion("yes", finish="tool_calls"), "yes", "stop"),
        (truncated("half"), "half", "length"),
        (completion("half", finish="max_tokens"), "half", "length"),
        (output_filtered(), "", "content_filter"),
        (completion("so f", finish="content_filter"), "so f", "content_filter"),
        (refusal("I can't."), "I can't.", "refusal"),
        (completion("", message={"refusal": "I can't."}), "I can't.", "refusal"),
        (completion("yes", message={"refusal": None}), "yes", "stop"),
        (empty(), "", "stop"),
        (completion(None), "", "stop"),
        (in_parts("one ", "two"), "one two", "stop"),
        (in_parts(), "", "stop"),
        (completion([{"type": "image_url", "image_url": "x"}, {"type": "text", "text": "a"}, "b"]), "a", "stop"),
        (completion([{"type": "text", "text": None}, {"type": "text", "text": "a"}]), "a", "stop"),
    ],
)
def test_text_and_end_of_a_reply(answer: Answer, text: str, finish: str) -> None:
    reply = reply_to(answer)
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 3},
        {"completion_tokens": 3},
        {"prompt_tokens": None, "completion_tokens": 1},
        {"prompt_tokens": 3, "completion_tokens": -1},
        {"prompt_tokens": 1.5, "completion_tokens": 1},
        "7",
        [],
    ],
)
def test_usage_that_is_missing_or_incomplete_is_unknown_and_never_zero(usage: object) -> None:
    assert reply_to(completion(usage=usage)).usage is None


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 429, "message": "upstream is busy"}}, "rate_limited"),
        ({"error": {"code": 400, "message": "flagged by moderation"}}, "blocked"),
        ({"error": {"message": "the provider failed"}}, "endpoint_error"),
        ({"error": "the provider failed"}, "endpoint_error"),
        ({"choices": [{"message": {"content": "a"}, "finish_reason": "error"}]}, "endpoint_error"),
    ],
)
def test_an_error_inside_a_200_is_the_error_it_names(body: dict[str, Any], kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        reply_to(Answer(200, body, {}))
    assert caught.value.kind == kind


def test_what_was_served_is_recorded_once_per_model_and_fingerprint() -> None:
    answers = iter([completion(model="a", system_fingerprint="1"), completion(model="a", system_fingerprint="2")] * 3)

    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: next(answers)) as endpoint, opened(endpoint) as model:
            for _ in range(6):
                await ask(model)
            served = model.info.details["served"]
            assert [pair for pair in served if pair != ["judge-served", "fp_1"]] == [["a", "1"], ["a", "2"]]
            orjson.dumps(model.info.details)

    run(scenario())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
parts = st.dictionaries(st.sampled_from(["type", "text"]), json_values)
answer_messages = st.fixed_dictionaries({}, optional={"content": json_values | st.lists(parts), "refusal": json_values})
answer_choices = st.fixed_dictionaries(
    {},
    optional={
        "message": answer_messages | json_values,
        "finish_reason": st.sampled_from(["stop", "length"]) | json_values,
        "logprobs": st.fixed_dictionaries({"content": json_values}) | json_values,
    },
)
answer_bodies = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(answer_choices | json_values, max_size=2) | json_values,
        "usage": st.fixed_dictionaries({"prompt_tokens": json_values, "completion_tokens": json_values}) | json_values,
        "model": json_values,
        "system_fingerprint": json_values,
    },
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=answer_bodies | json_values)
def test_whatever_a_200_holds_becomes_a_reply_or_an_endpoint_error(body: object) -> None:
    model = load_model("http://127.0.0.1:1/v1#m", environment={})
    assert isinstance(model, OpenAICompatible)
    failure: ModelError | None = None
    try:
        reply = model._read(json.dumps(body).encode(), 0.1)
    except ModelError as raised:
        failure = raised
    if failure is not None:
        assert (failure.kind, failure.retryable) == ("endpoint_error", True)
        return
    assert isinstance(reply.text, str)
    assert reply.finish in ("stop", "length", "content_filter", "refusal")
    assert reply.usage is None or (isinstance(reply.usage.prompt_tokens, int) and reply.usage.prompt_tokens >= 0)
    assert reply.logprobs is None or all(isinstance(token, dict) for token in reply.logprobs)
    assert isinstance(reply.model, str | None)
    assert isinstance(reply.fingerprint, str | None)


# -- faults


@pytest.mark.parametrize(
    "play,kind,status",
    [
        (too_many(), "rate_limited", 429),
        (error(500), "endpoint_error", 500),
        (error(502), "endpoint_error", 502),
        (error(503, headers={"Retry-After": "0"}), "endpoint_error", 503),
        (Fault.DISCONNECT, "endpoint_error", None),
        (Fault.DISCONNECT_MID_BODY, "endpoint_error", None),
        (not_json(), "endpoint_error", None),
        (wrong_shape(), "endpoint_error", None),
    ],
)
def test_a_fault_that_may_pass_is_tried_again(play: Play, kind: ErrorKind, status: int | None) -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: play) as endpoint, opened(endpoint, max_retries=2) as model:
            failure = await failure_of(model)
            assert (failure.kind, failure.status, failure.retryable) == (kind, status, True)
            assert failure.attempts == len(endpoint.calls) == 3
            assert endpoint.host in str(failure)

        async with (
            Endpoint(lambda body, attempt: play if attempt < 2 else "yes") as endpoint,
            opened(endpoint, max_retries=2) as model,
        ):
            reply = await ask(model)
            assert (reply.text, reply.attempts) == ("yes", 3)

    run(scenario())


def test_an_endpoint_that_hangs_ends_as_timeout() -> None:
    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: Fault.HANG) as endpoint,
            opened(endpoint, max_retries=2, timeout=0.2) as model,
        ):
            failure = await failure_of(model)
            assert (failure.kind, failure.retryable, failure.attempts) == ("timeout", True, 3)
            assert len(endpoint.calls) == 3
            assert endpoint.host in str(failure)

    run(scenario())


def test_the_deadline_cuts_an_attempt_short_that_its_own_timeout_would_not() -> None:
    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: Fault.HANG) as endpoint,
            opened(endpoint, max_retries=50, timeout=3600, deadline=0.2) as model,
        ):
            assert (await failure_of(model)).kind == "timeout"
            assert len(endpoint.calls) <= 2

    run(scenario())  # fails after a minute where it is not cut


@pytest.mark.parametrize(
    "answer,kind",
    [
        (error(400), "bad_request"),
        (error(400, "This model's maximum context length is 8192 tokens"), "bad_request"),
        (error(401, "bad key"), "auth"),
        (error(402, "Insufficient Balance"), "auth"),
        (error(404, "no such model"), "not_found"),
        (error(413), "bad_request"),
        (error(422), "bad_request"),
        (error(429, "quota", code="insufficient_quota"), "auth"),
        (input_filtered(), "blocked"),
        (redirect("https://elsewhere.example/v1/chat/completions"), "not_found"),
    ],
)
def test_a_permanent_fault_is_not_tried_again(answer: Answer, kind: ErrorKind) -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: answer) as endpoint, opened(endpoint) as model:
            failure = await failure_of(model)
            assert (failure.kind, failure.retryable, failure.attempts) == (kind, False, 1)
            assert failure.status == answer.status
            assert len(endpoint.calls) == 1

    run(scenario())


def test_an_endpoint_that_is_not_there_is_reported_by_host_after_a_few_attempts() -> None:
    async def scenario() -> None:
        async with Endpoint() as gone:
            pass
        with pytest.raises(ModelError) as caught:
            async with opened(gone, max_retries=50):
                pass
        assert (caught.value.kind, caught.value.attempts) == ("endpoint_error", 4)
        assert f"cannot reach {gone.host}" in str(caught.value)

    run(scenario())


def test_a_base_url_that_leads_elsewhere_is_suspected() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint:
            with pytest.raises(ModelError) as caught:
                async with opened(endpoint, f"http://{endpoint.host}/v2#judge"):
                    pass
            assert caught.value.kind == "not_found"
            assert [call.target for call in endpoint.strays] == ["/v2/chat/completions"]

    run(scenario())


def test_a_model_that_was_closed_can_be_opened_again() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint) as model:
            await model.close()
            assert (await ask(model)).text == "yes"

    run(scenario())


# -- waiting


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before retries, which are not made."""
    made: list[float] = []

    class FakeAsyncio:
        timeout = staticmethod(asyncio.timeout)

        @staticmethod
        async def sleep(seconds: float) -> None:
            made.append(seconds)

    monkeypatch.setattr(retries, "asyncio", FakeAsyncio)
    return made


@pytest.mark.parametrize(
    "answer,seconds",
    [
        (too_many(retry_after="7"), 7),
        (too_many(retry_after="0.25"), 0.25),
        (too_many(retry_after_ms="1500"), 1.5),
        (too_many(retry_after_ms="1500", retry_after="2"), 1.5),
        (error(503, headers={"Retry-After": "5"}), 5),
        (too_many(retry_after=email.utils.formatdate(1_900_000_040, usegmt=True)), 40),
        (too_many(retry_after=email.utils.formatdate(1_800_000_000, usegmt=True)), 0),
        (too_many(retry_after="soon"), 0),
    ],
)
def test_retry_after_is_obeyed_in_all_its_forms(
    answer: Answer, seconds: float, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_900_000_000.0)

    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: answer if attempt == 0 else "yes") as endpoint,
            opened(endpoint) as model,
        ):
            assert (await ask(model)).attempts == 2

    run(scenario())
    assert pauses == [pytest.approx(seconds)]


def test_retry_after_beyond_the_deadline_ends_the_call_at_once(pauses: list[float]) -> None:
    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: too_many(retry_after="61")) as endpoint,
            opened(endpoint, deadline=60) as model,
        ):
            failure = await failure_of(model)
            assert (failure.kind, failure.retry_after, failure.attempts) == ("rate_limited", 61, 1)

    run(scenario())
    assert pauses == []


@pytest.mark.parametrize("status", [200, 429])
def test_x_ratelimit_headers_hold_the_gate_until_the_reset(status: int, pauses: list[float]) -> None:
    headers = {"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "1m30s"}

    def handler(body: dict[str, Any], attempt: int) -> Play:
        return completion(headers=headers) if status == 200 else error(status, headers=headers)

    async def scenario() -> None:
        async with Endpoint(handler) as endpoint, opened(endpoint, max_retries=0) as model:
            holds: list[float] = []
            model.gate.hold = holds.append  # type: ignore[method-assign,assignment]
            if status == 200:
                await ask(model)
            else:
                await failure_of(model)
            assert holds == [90.0]

    run(scenario())


def test_tokens_are_reserved_for_prompt_and_reply_and_settled_with_usage() -> None:
    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: completion(usage=(70, 30))) as endpoint,
            opened(endpoint, tokens_per_minute=6e9) as model,
        ):
            taken: list[float] = []
            bucket = model.gate._tokens
            assert bucket is not None
            take = bucket.take

            def watched(amount: float) -> None:
                taken.append(amount)
                take(amount)

            bucket.take = watched  # type: ignore[method-assign]
            await ask(model, "x" * 300, max_tokens=1000)
            reserved = estimate_tokens([Message("user", "x" * 300)]) + 1000
            assert reserved > 1000 + 60
            assert taken == [reserved, 100 - reserved]

    run(scenario())


def test_the_estimate_of_a_prompt_is_rather_too_high() -> None:
    text = "I have not slept for three nights and I cannot talk to anyone about it. " * 10
    assert estimate_tokens([Message("user", text)]) > len(text.split()) * 1.3
    assert estimate_tokens([Message("user", "")] * 5) > 0


# -- how much at once


class Slow:
    """Answers in rounds: every request waits until no more are coming, so that as many overlap as may."""

    def __init__(self, then: Any = "yes") -> None:
        self.then = then

    async def __call__(self, body: dict[str, Any], attempt: int) -> Play:
        await asyncio.sleep(0.01)
        play: Play = self.then(body, attempt) if callable(self.then) else self.then
        return play


@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_the_endpoint_never_sees_more_than_the_limit_at_once(concurrency: int) -> None:
    async def scenario() -> None:
        async with Endpoint(Slow()) as endpoint, opened(endpoint, concurrency=concurrency) as model:
            await asyncio.gather(*(ask(model, str(i)) for i in range(5 * concurrency)))
            assert endpoint.most_in_flight == concurrency

    run(scenario())


def test_an_endpoint_that_can_take_only_a_few_is_found_out_and_every_call_answered() -> None:
    """It answers 429 to whoever comes while four are in flight."""

    def strict(body: dict[str, Any], attempt: int) -> Play:
        return "yes" if endpoint.in_flight <= 4 else too_many(retry_after="0")

    async def handler(body: dict[str, Any], attempt: int) -> Play:
        answer = strict(body, attempt)
        await asyncio.sleep(0.005)
        return answer

    endpoint = Endpoint(handler)

    async def scenario() -> None:
        async with endpoint, opened(endpoint, concurrency=32, max_retries=1000) as model:
            replies = await asyncio.gather(*(ask(model, str(i)) for i in range(150)))
            assert [reply.text for reply in replies] == ["yes"] * 150
            assert model.gate.lowest <= 8
            assert endpoint.most_in_flight <= 32

    run(scenario())


def test_one_fault_among_many_calls_halves_nothing() -> None:
    async def scenario() -> None:
        async with (
            Endpoint(
                Slow(lambda body, attempt: error(500) if attempt == 0 and "7" in str(body) else "yes")
            ) as endpoint,
            opened(endpoint, concurrency=8) as model,
        ):
            await asyncio.gather(*(ask(model, str(i)) for i in range(16)))
            assert len(endpoint.calls) == 17
            assert (model.gate.limit, model.gate.halvings) == (8, 0)

    run(scenario())


def test_cancelled_calls_leave_neither_a_place_nor_a_request_behind() -> None:
    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: Fault.HANG) as endpoint, opened(endpoint, concurrency=4) as model:
            calls = [asyncio.create_task(ask(model, str(i))) for i in range(12)]
            await endpoint.until(lambda: endpoint.in_flight == 4)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            assert model.gate._in_flight == 0
            assert len(endpoint.calls) == 4
            endpoint.handler = Slow()
            await asyncio.gather(*(ask(model, f"again {i}") for i in range(12)))
            assert len(endpoint.calls) == 16

    run(scenario())


# -- which model


def test_without_a_name_the_only_model_is_asked_for_and_used() -> None:
    async def scenario() -> None:
        async with Endpoint(models=["the-one"]) as endpoint, opened(endpoint, endpoint.url) as model:
            await ask(model)
            await ask(model, "again")
            assert len(endpoint.listings) == 1
            assert endpoint.listings[0].target == "/v1/models"
            assert [body["model"] for body in endpoint.bodies] == ["the-one", "the-one"]
            assert model.info.details["model"] == "the-one"

    run(scenario())


def test_with_a_name_the_list_of_models_is_not_asked_for() -> None:
    async def scenario() -> None:
        async with Endpoint(models=["a", "b"]) as endpoint, opened(endpoint) as model:
            await ask(model)
            assert endpoint.listings == []

    run(scenario())


@pytest.mark.parametrize(
    "models,kind,says",
    [
        (["first", "second"], "not_found", "serves 2 models (first, second): name one as {url}#MODEL"),
        ([], "not_found", "serves 0 models (none): name one as {url}#MODEL"),
        (error(404), "not_found", "no such model or path"),
        (error(401), "auth", "refused the key"),
        (Answer(200, "<html>"), "endpoint_error", "not a list of models: name the model as {url}#MODEL"),
        (Answer(200, {"data": None}), "endpoint_error", "not a list of models"),
        (Answer(200, {"data": [{}]}), "endpoint_error", "not a list of models"),
        (Answer(200, ["x"]), "endpoint_error", "not a list of models"),
    ],
)
def test_where_there_is_no_only_model_the_error_says_how_to_name_one(
    models: list[str] | Answer, kind: ErrorKind, says: str
) -> None:
    async def scenario() -> None:
        async with Endpoint(models=models) as endpoint:
            with pytest.raises(ModelError) as caught:
                async with opened(endpoint, endpoint.url):
                    pass
            assert caught.value.kind == kind
            assert says.format(url=endpoint.url) in str(caught.value)
            assert endpoint.probes == []

    run(scenario())


# -- the key


def test_the_key_travels_in_one_header_and_nowhere_else() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint, endpoint.url, {"PSYSAFE_API_KEY": KEY}) as model:
            await ask(model)
            assert len(endpoint.everything) == 3  # list, probe, call
            for call in endpoint.everything:
                assert call.headers.pop("authorization") == f"Bearer {KEY}"
                assert KEY not in repr(call)

    run(scenario())


def test_without_a_key_no_authorization_is_sent() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint, endpoint.url) as model:
            await ask(model)
            assert all("authorization" not in call.headers for call in endpoint.everything)

    run(scenario())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("when", ["probe", "call", "listing"])
def test_redirects_are_not_followed_and_the_other_host_sees_nothing(status: int, when: str) -> None:
    async def scenario() -> None:
        async with Endpoint() as other:
            away = redirect(f"{other.url}/chat/completions", status)
            async with Endpoint(lambda body, attempt: away, script_probe=when == "probe") as endpoint:
                if when == "listing":
                    endpoint.models = away
                with pytest.raises(ModelError) as caught:
                    async with opened(endpoint, endpoint.url, {"PSYSAFE_API_KEY": KEY}) as model:
                        await ask(model)
                assert caught.value.kind == "not_found"
                assert f"redirects ({status}) to {other.url}" in str(caught.value)
            assert other.everything == []

    run(scenario())


def everything_said(failure: BaseException) -> str:
    """All that a log or a traceback would show of an error and of what led to it."""
    said = "".join(traceback.format_exception(failure)) + repr(vars(failure))
    link: BaseException | None = failure
    while link is not None:
        said += f"{link!s} {link!r} {link.args!r}"
        link = link.__cause__ or link.__context__
    return said


ECHOES: dict[str, Any] = {
    "401": lambda key: error(401, f"Incorrect API key provided: {key}."),
    "401 text": lambda key: Answer(401, f"who is Bearer {key}?"),
    "401 text after a long preamble": lambda key: Answer(401, " " * 1990 + key),
    "400": lambda key: error(400, f"bad {key}", code=key),
    "403": lambda key: Answer(403, {"detail": {"authorization": f"Bearer {key}"}}),
    "404": lambda key: Answer(404, {"error": f"no model for {key}"}),
    "429": lambda key: error(429, f"key {key} is too fast", headers={"x-key": key}),
    "500": lambda key: error(500, f"{key}\n{key}", headers={"Retry-After": key}),
    "raw": lambda key: Answer(
        500, {"error": {"message": "x", "metadata": {"raw": {"headers": {"Authorization": f"Bearer {key}"}}}}}
    ),
    "redirect": lambda key: redirect(f"https://other.example/v1?key={key}"),
    "200 not json": lambda key: Answer(200, f"hello {key}"),
    "200 wrong shape": lambda key: Answer(200, {"choices": key}),
    "bad header": lambda key: Answer(200, "x", {"Content-Encoding": "gzip", "X-Key": key}),
    "filtered": lambda key: error(400, f"content_filter {key}", code="content_filter"),
}


@pytest.mark.parametrize("key", [KEY, PLAIN_KEY])
@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_the_endpoint_echoes_is_in_no_error(
    echo: str, key: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        async with (
            Endpoint(lambda body, attempt: ECHOES[echo](key)) as endpoint,
            opened(endpoint, environment={"PSYSAFE_API_KEY": key}, max_retries=1) as model,
        ):
            failure = await failure_of(model)
            assert endpoint.calls[0].headers["authorization"].endswith(key)
            shown = [everything_said(failure), repr(model), repr(model.endpoint), repr(model.info)]
            assert [text for text in shown if key[:10] in text] == []
            assert len(str(failure)) < 600

    with caplog.at_level(logging.DEBUG):
        run(scenario())
    assert key[:10] not in caplog.text
    assert key[:10] not in "".join(capfd.readouterr())


@pytest.mark.parametrize("echo", ["names", "not a list", "404"])
def test_a_key_that_the_list_of_models_echoes_is_in_no_error(echo: str) -> None:
    models: Any = {"names": [f"a {KEY}", "b"], "not a list": Answer(200, KEY), "404": error(404, KEY)}[echo]

    async def scenario() -> None:
        async with Endpoint(models=models) as endpoint:
            with pytest.raises(ModelError) as caught:
                async with opened(endpoint, endpoint.url, {"PSYSAFE_API_KEY": KEY}):
                    pass
            assert KEY not in everything_said(caught.value)

    run(scenario())


def test_what_a_run_records_of_a_model_holds_no_key() -> None:
    async def scenario() -> None:
        async with Endpoint() as endpoint, opened(endpoint, environment={"PSYSAFE_API_KEY": KEY}) as model:
            await ask(model)
            info = model.info
            assert KEY not in repr(info)
            assert KEY.encode() not in orjson.dumps(info.details)
            assert (info.host, info.loopback) == (endpoint.host, True)
            assert info.details["base_url"] == endpoint.url

    run(scenario())


# -- the fake endpoint itself


def test_the_endpoint_can_also_live_in_a_thread() -> None:
    with in_thread(Endpoint()) as endpoint:

        async def scenario() -> str:
            async with opened(endpoint, limits=replace(QUICK, max_retries=0)) as model:
                return (await ask(model)).text

        assert run(scenario()) == "yes"
        assert run(scenario()) == "yes"
    assert len(endpoint.calls) == 2
    assert Limits is limits.Limits


def test_a_single_403_among_answers_is_about_one_request_and_three_in_a_row_are_about_the_key() -> None:
    page = error(403, "Attention required")

    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: page) as endpoint, opened(endpoint) as model:
            kinds = [(await failure_of(model, str(number))).kind for number in range(3)]
            assert kinds == ["endpoint_error", "endpoint_error", "auth"]

    run(scenario())


def test_words_that_may_quote_what_was_sent_downgrade_nothing_after_the_probe() -> None:
    said = [
        {"loc": ["body"], "msg": "invalid", "input": {"temperature": 0, "response_format": {"type": "json_schema"}}}
    ]
    echo = Answer(422, {"detail": said}, {})

    async def scenario() -> None:
        async with Endpoint(lambda body, attempt: echo) as endpoint, opened(endpoint) as model:
            before = model.capabilities.as_dict()
            assert (await failure_of(model)).kind == "bad_request"
            assert model.capabilities.as_dict() == before

    run(scenario())


def test_a_compressed_or_endless_answer_is_not_taken_in() -> None:
    packed = completion(headers={"Content-Encoding": "gzip"})
    large = completion("x" * (17 * 2**20))
    for answer in (packed, large):
        assert failure_to(answer).kind == "endpoint_error"


def failure_to(answer: Answer) -> ModelError:
    async def scenario() -> ModelError:
        async with Endpoint(lambda body, attempt: answer) as endpoint, opened(endpoint, max_retries=0) as model:
            return await failure_of(model)

    return run(scenario())


def test_a_certificate_that_nobody_vouches_for_is_an_endpoint_error_in_words(tmp_path: Path) -> None:
    make = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -keyout {tmp_path}/k -out {tmp_path}/c"
    )
    try:
        subprocess.run(make.split(), check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("makes a certificate with openssl, which is not installed")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "c", tmp_path / "k")

    async def scenario() -> ModelError:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        async with server:
            port = server.sockets[0].getsockname()[1]
            model = load_model(f"https://127.0.0.1:{port}/v1#m", replace(QUICK, max_retries=0), environment={})
            return await failure_of(model)

    failure = run(scenario())
    assert failure.kind == "endpoint_error"
    assert "certificate" in str(failure)
