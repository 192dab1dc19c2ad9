"""The scripted model: the same request gets the same reply in any order, and every fault a real endpoint has."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.conversation import Message
from psysafe.conversation.fence import fence
from psysafe.errors import UsageError
from psysafe.models import ErrorKind, Limits, ModelError, Price, Reply, Sampling, Usage
from psysafe.models.scripted import Fault, Play, Request, ScriptedModel, load_scripted
from tests.support.asking import ask, failure_of
from tests.support.virtual_time import virtual_time

PLAIN = Limits(backoff=0, max_retries=2)


@pytest.fixture
def script(tmp_path: Path) -> Any:
    """A model from YAML text."""

    def load(text: str, limits: Limits = PLAIN) -> ScriptedModel:
        path = tmp_path / "script.yaml"
        path.write_text(text, encoding="utf-8")
        return load_scripted(path, limits)

    return load


def answer(model: ScriptedModel, text: str = "hello", **sampling: Any) -> Reply:
    with virtual_time() as clock:
        return clock.run(ask(model, text, **sampling))


def failure(model: ScriptedModel, text: str = "hello") -> ModelError:
    with virtual_time() as clock:
        return clock.run(failure_of(model, text))


# -- faults


def test_a_play_without_fault_is_a_reply() -> None:
    reply = answer(ScriptedModel(lambda request: Play("two words")), "three words here")
    assert reply == Reply("two words", "stop", Usage(3, 2), model="scripted")
    assert answer(ScriptedModel(lambda request: "two words"), "three words here") == reply


LOST: dict[Fault, tuple[ErrorKind, int | None, int]] = {
    "rate_limited": ("rate_limited", 429, 3),
    "server_error": ("endpoint_error", 500, 3),
    "disconnect": ("endpoint_error", None, 3),
    "hang": ("timeout", None, 3),
    "blocked": ("blocked", 400, 1),
    "auth": ("auth", 401, 1),
}
ODD: dict[Fault, tuple[str, str]] = {
    "refusal": ("abcd", "refusal"),
    "content_filter": ("", "content_filter"),
    "empty": ("", "stop"),
    "garbage": ("abcd", "stop"),
    "truncated": ("ab", "length"),
}


def test_every_fault_is_specified_here() -> None:
    assert set(get_args(Fault)) == set(LOST) | set(ODD)


@pytest.mark.parametrize("fault", LOST)
def test_a_fault_without_a_reply_ends_as_an_endpoints_would(fault: Fault) -> None:
    kind, status, attempts = LOST[fault]
    error = failure(ScriptedModel(lambda request: Play("abcd", fault), limits=PLAIN))
    assert (error.kind, error.status, error.attempts) == (kind, status, attempts)
    assert error.retryable == (attempts > 1)


@pytest.mark.parametrize("fault", [fault for fault, (_, _, attempts) in LOST.items() if attempts > 1])
def test_a_fault_that_passes_is_survived(fault: Fault) -> None:
    model = ScriptedModel(lambda request: Play("abcd", fault if request.attempt < 2 else None), limits=PLAIN)
    reply = answer(model)
    assert (reply.text, reply.attempts) == ("abcd", 3)


@pytest.mark.parametrize("fault", ODD)
def test_a_fault_with_a_reply_is_a_reply_that_is_no_answer(fault: Fault) -> None:
    reply = answer(ScriptedModel(lambda request: Play("abcd", fault)))
    assert (reply.text, reply.finish) == ODD[fault]
    assert reply.usage is not None
    assert reply.attempts == 1


@pytest.mark.parametrize("fault", ["refusal", "garbage"])
def test_refusals_and_garbage_have_words_of_their_own(fault: Fault) -> None:
    text = answer(ScriptedModel(lambda request: Play(fault=fault))).text
    assert text
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_a_hang_lasts_as_long_as_the_timeout_allows() -> None:
    with virtual_time() as clock:
        model = ScriptedModel(lambda request: Play(fault="hang"), limits=Limits(timeout=120, max_retries=0))
        error = clock.run(failure_of(model))
        assert clock.now == 120
    assert error.kind == "timeout"


def test_a_reply_that_comes_later_than_the_timeout_does_not_come() -> None:
    with virtual_time() as clock:
        model = ScriptedModel(lambda request: Play("x", latency=500), limits=Limits(timeout=120, max_retries=0))
        assert clock.run(failure_of(model)).kind == "timeout"
        assert clock.now == 120


def test_retry_after_is_obeyed() -> None:
    with virtual_time() as clock:
        plays = {0: Play(fault="rate_limited", retry_after=42)}
        model = ScriptedModel(lambda request: plays.get(request.attempt, Play("x")), limits=PLAIN)
        assert clock.run(ask(model)).attempts == 2
        assert clock.now == 42


def test_it_stays_within_its_limits() -> None:
    inside = most = 0

    async def scenario() -> None:
        nonlocal inside, most
        model = ScriptedModel(lambda request: Play("x", latency=1), limits=Limits(concurrency=3))

        async def watch() -> None:
            nonlocal most
            while True:
                most = max(most, model.gate._in_flight)
                await asyncio.sleep(0.25)

        watcher = asyncio.create_task(watch())
        await asyncio.gather(*(ask(model, str(i)) for i in range(12)))
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)

    with virtual_time() as clock:
        clock.run(scenario())
        assert clock.now == 4
    assert most == 3


def test_it_sends_nothing_anywhere() -> None:
    info = ScriptedModel(lambda request: "x").info
    assert (info.host, info.loopback, info.price) == (None, True, None)


# -- the same request, the same reply

SCRIPT = """
latency: [0.1, 3.0]
rules:
  - when: {prompt: "flaky", attempt: 0}
    fault: rate_limited
  - when: {prompt: "gone"}
    fault: disconnect
  - when: {sample: [1, 3]}
    reply: {score: 2, reason: odd}
  - when: {prompt: "b+"}
    reply: "bees"
  - reply: "default"
"""


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draw=st.randoms(use_true_random=False), concurrency=st.integers(1, 8))
def test_whatever_the_order_and_the_number_in_flight(
    tmp_path_factory: pytest.TempPathFactory, draw: random.Random, concurrency: int
) -> None:
    path = tmp_path_factory.mktemp("script") / "s.yaml"
    path.write_text(SCRIPT)
    requests = [
        (text, seed, sample) for text in ("a", "bb", "flaky b", "gone") for seed in (0, 1) for sample in range(4)
    ]

    async def run(order: list[tuple[str, int, int]], concurrency: int) -> dict[tuple[str, int, int], Any]:
        model = load_scripted(path, replace(PLAIN, concurrency=concurrency))

        async def one(request: tuple[str, int, int]) -> Any:
            text, seed, sample = request
            try:
                reply = await ask(model, text, seed=seed, sample=sample)
            except ModelError as error:
                return (error.kind, error.attempts)
            return replace(reply, latency=0.0)

        return dict(zip(order, await asyncio.gather(*map(one, order)), strict=True))

    shuffled = list(requests)
    draw.shuffle(shuffled)
    with virtual_time() as clock:
        straight = clock.run(run(requests, 1))
        assert clock.run(run(shuffled, concurrency)) == straight
    assert straight["gone", 0, 0] == ("endpoint_error", 3)
    assert straight["flaky b", 0, 0].attempts == 2
    assert straight["flaky b", 0, 0].text == "bees"


def test_latency_is_drawn_from_the_request_within_its_bounds(script: Any) -> None:
    model = script("latency: [1.0, 3.0]\nrules: [{reply: x}]")

    async def scenario() -> list[float]:
        taken = []
        for _ in range(2):
            for sample in range(40):
                begin = clock.now
                await ask(model, sample=sample)
                taken.append(clock.now - begin)
        return taken

    with virtual_time() as clock:
        taken = clock.run(scenario())
    assert taken[:40] == pytest.approx(taken[40:])
    assert len({round(seconds, 6) for seconds in taken}) == 40
    assert min(taken) >= 1.0
    assert max(taken) <= 3.0
    assert max(taken) - min(taken) > 1.0


def test_a_fixed_latency_may_be_a_whole_number(script: Any) -> None:
    with virtual_time() as clock:
        clock.run(ask(script("latency: 2\nrules: [{reply: x}]")))
        assert clock.now == 2


# -- rules


def test_the_first_rule_whose_conditions_all_hold_is_played(script: Any) -> None:
    model = script("""
rules:
  - when: {prompt: alpha, sample: 1}
    reply: both
  - when: {prompt: ALPHA}
    reply: prompt
  - when: {sample: [1, 2]}
    reply: sample
  - reply: rest
""")
    assert answer(model, "say alpha", sample=1).text == "both"
    assert answer(model, "say alpha").text == "prompt"  # patterns ignore case
    assert answer(model, "say beta", sample=2).text == "sample"
    assert answer(model, "say beta").text == "rest"


def test_judged_looks_only_inside_the_fence(script: Any) -> None:
    model = script("rules: [{when: {judged: secret}, reply: inside}, {reply: outside}]")
    inside = fence([Message("assistant", "a secret")], "0a1b", {0})
    outside = fence([Message("assistant", "nothing")], "0a1b", {0})
    assert answer(model, f"The rubric.\n{inside}\nAnswer.").text == "inside"
    assert answer(model, f"The secret rubric.\n{outside}\nThe secret answer.").text == "outside"


def test_patterns_reach_over_lines(script: Any) -> None:
    assert answer(script("rules: [{when: {prompt: 'a.*z'}, reply: y}, {reply: n}]"), "a\nb\nz").text == "y"


def test_an_attempt_may_have_its_own_rule(script: Any) -> None:
    model = script("rules: [{when: {attempt: [0, 1]}, fault: server_error}, {reply: x}]")
    assert answer(model).attempts == 3


def test_a_reply_that_is_a_mapping_is_sent_as_json_keys_in_order(script: Any) -> None:
    text = answer(script("rules: [{reply: {zebra: ü, apple: [1, null, true], inner: {b: 1, a: 2.5}}}]")).text
    assert text == '{"zebra":"ü","apple":[1,null,true],"inner":{"b":1,"a":2.5}}'


def test_a_request_that_no_rule_fits_says_how_to_end_a_script(script: Any) -> None:
    error = failure(script("rules: [{when: {prompt: never}, reply: x}]"))
    assert (error.kind, error.attempts) == ("bad_request", 1)
    assert "script.yaml: no rule fits this request; end with a rule that has no 'when'" in str(error)


def test_name_and_price_come_from_the_file(script: Any) -> None:
    model = script("name: strict judge\nprice: [2.0, 10]\nrules: [{reply: x}]")
    assert model.name == "scripted:strict judge"
    assert model.info.price == Price(2e-6, 10e-6)
    assert script("rules: [{reply: x}]").info.price is None


# -- files that are no script


@pytest.mark.parametrize(
    "text,where",
    [
        ("", "file: "),
        ("just text", "file: "),
        ("- rules", "file: "),
        ("{}", "rules: "),
        ("rules: []", "rules: "),
        ("rules: {reply: x}", "rules: "),
        ("rules: [x]", "rules.0: "),
        ("rules: [{reply: x}, {replies: x}]", "rules.1.replies: "),
        ("rules: [{reply: x}]\nlatencies: 1", "latencies: "),
        ("rules: [{fault: crash}]", "rules.0.fault: "),
        ("rules: [{reply: [1]}]", "rules.0.reply"),
        ("rules: [{reply: x, retry_after: soon}]", "rules.0.retry_after: "),
        ("rules: [{reply: x, when: {prompt: [a]}}]", "rules.0.when.prompt: "),
        ("rules: [{reply: x, when: {promt: a}}]", "rules.0.when.promt: "),
        ("rules: [{reply: x, when: {sample: one}}]", "rules.0.when.sample"),
        (
            "rules: [{reply: x}, {reply: y, when: {prompt: '(a'}}]",
            "rules.1.when.prompt: '(a' is not a regular expression",
        ),
        ("rules: [{reply: x, when: {judged: '*'}}]", "rules.0.when.judged: '*' is not a regular expression"),
        ("rules: [{reply: x}]\nlatency: [1]", "latency"),
        ("rules: [{reply: x}]\nlatency: fast", "latency"),
        ("rules: [{reply: x}]\nprice: [1]", "price"),
        ("rules: [{reply: x}]\nname: [a]", "name: "),
        ("rules: [{reply: x", "not YAML: "),
        ("rules:\n\t- reply: x", "not YAML: "),
        ("a: *b", "line 1: a: anchors and aliases are not read here"),
        ("rules: &all [{reply: x}]", "line 1: rules: anchors and aliases are not read here"),
        ("name: a\nrules: [{reply: x}]\nname: b", "line 3: the key 'name' stands here twice, first on line 1"),
        ("rules:\n- reply: x\n  reply: y", "line 3: the key 'reply' stands here twice, first on line 2"),
        ("name: 2024-13-45", "not YAML: line 1: no such value"),
        ("a: !!python/object/apply:os.getcwd []", "not YAML: "),
    ],
)
def test_an_error_in_a_script_names_file_and_field_in_one_line(text: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_scripted(path)
    assert str(caught.value).startswith(f"{path}: {where}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_bytes(b"rules: [{reply: \xff\xfe}]")
    with pytest.raises(UsageError, match=r"script\.yaml: not YAML: "):
        load_scripted(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"scripted:.*none\.yaml: No such file"):
        load_scripted(tmp_path / "none.yaml")
    with pytest.raises(UsageError, match=r"Is a directory"):
        load_scripted(tmp_path)


def test_a_request_shows_a_script_all_messages_as_one_text() -> None:
    request = Request([Message("system", "a"), Message("user", "b")], Sampling(), 0)
    assert request.prompt == "a\nb"
