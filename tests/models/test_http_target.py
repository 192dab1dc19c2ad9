"""A bot behind any HTTP API: its file, its sessions, its faults, its secrets."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from psysafe.conversation import Message
from psysafe.errors import UsageError
from psysafe.models import Limits, ModelError, Sampling, load_model
from psysafe.models.http_target import HttpTarget
from psysafe.models.http_template import Absent, read_path
from tests.models.bot import Bot, answer, description, write
from tests.support.asking import QUICK, ask, failure_of, run

SECRET = "planted-f3a9c1-token"


@asynccontextmanager
async def talking(
    bot: Bot, folder: Path, environment: Mapping[str, str] | None = None, limits: Limits = QUICK, **changes: Any
) -> AsyncIterator[HttpTarget]:
    """The target of a bot that runs."""
    name = write(folder / "bot.yaml", description(bot, **changes))
    model = load_model(name, limits, environment=environment or {})
    assert isinstance(model, HttpTarget)
    try:
        yield model
    finally:
        await model.close()


async def chat(
    model: HttpTarget, *turns: str, start: tuple[Message, ...] = (), pause: random.Random | None = None
) -> list[str]:
    """The replies to a user's turns, each given with the whole conversation so far, after a pause if wanted."""
    messages = list(start)
    replies = []
    for turn in turns:
        if pause is not None:
            await asyncio.sleep(pause.uniform(0, 0.01))
        messages.append(Message("user", turn))
        reply = await model.generate(messages, Sampling())
        messages.append(Message("assistant", reply.text))
        replies.append(reply.text)
    return replies


def refusal_of(folder: Path, content: Any, environment: Mapping[str, str] | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        load_model(write(folder / "bot.yaml", content), environment=environment or {})
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def file(**changes: Any) -> dict[str, Any]:
    """The content of a file for a bot that does not run."""
    found = {"url": "https://bot.example/api", "body": {"text": "{{message}}"}, "reply": "text"} | changes
    return {name: value for name, value in found.items() if value is not None}


STATELESS: dict[str, Any] = {"session": None, "body": {"text": "{{message}}"}}


# -- asking and answering


def test_a_message_is_sent_as_the_file_says_and_the_reply_read_from_its_path(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path, headers={"X-App": "demo"}, **STATELESS) as model:
            reply = await ask(model, 'quotes " and {{session}} and ${HOME}')
            path, headers, body = bot.requests[0]
            assert (path, headers["x-app"], headers["content-type"]) == ("/chat", "demo", "application/json")
            assert body == {"text": 'quotes " and {{session}} and ${HOME}'}
            assert reply.text == answer(['quotes " and {{session}} and ${HOME}'])
            assert reply.finish == "stop"

    run(scenario())


def test_placeholders_become_values_of_their_own_type(tmp_path: Path) -> None:
    body = {
        "text": "so: {{ message }}",
        "history": "{{messages}}",
        "system": "{{system}}",
        "options": {"temperature": "{{temperature}}", "top": 3, "seed": "{{seed}}"},
    }

    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path, session=None, body=body) as model:
            messages = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
            await model.generate(messages, Sampling(temperature=0.5))
            assert bot.requests[0][2] == {
                "text": "so: three",
                "history": [
                    {"role": "user", "content": "one"},
                    {"role": "assistant", "content": "two"},
                    {"role": "user", "content": "three"},
                ],
                # no system message and no seed: left out
                "options": {"temperature": 0.5, "top": 3},
            }
            assert model.info.details["options"] == ["temperature", "seed"]

    run(scenario())


def test_a_bot_that_gets_only_the_last_message_is_not_asked_in_the_middle_of_a_conversation(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path, **STATELESS) as model:
            messages = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
            with pytest.raises(ModelError, match="would not know the 2 before it") as caught:
                await model.generate(messages, Sampling())
            assert caught.value.kind == "bad_request"
            assert bot.requests == []

    run(scenario())


def test_a_system_message_that_the_file_has_no_place_for_is_recorded_as_not_sent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path) as model:
            await chat(model, "hello", start=(Message("system", "Be kind."),))
            assert model.info.details["not_sent"] == ["system"]

    run(scenario())


@pytest.mark.parametrize(
    "value, finish",
    [("max_tokens", "length"), ("blocked", "content_filter"), ("no", "refusal"), ("end", "stop"), (None, "stop")],
)
def test_why_a_reply_ended_is_read_where_the_file_says(tmp_path: Path, value: str | None, finish: str) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        return {"data": {"choices": [{"text": "hm"}]}} | ({"why": value} if value else {})

    rules = {"path": "why", "length": ["max_tokens"], "content_filter": ["blocked"], "refusal": ["no"]}

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, finish=rules, **STATELESS) as model:
            assert (await ask(model)).finish == finish

    run(scenario())


# -- sessions


def test_a_conversation_goes_on_in_its_session_and_a_new_one_begins_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path) as model:
            assert await chat(model, "a", "b") == [answer(["a"]), answer(["a", "b"])]
            assert await chat(model, "a") == [answer(["a"])]
            assert bot.sessions == {"s0": ["a", "b"], "s1": ["a"]}

    run(scenario())


def test_equal_conversations_at_once_have_a_session_each_and_are_never_mixed(tmp_path: Path) -> None:
    """Sixteen at a time, with random latencies; half of all conversations are word for word the same."""
    chats = [[f"{n % 2 and n}.{turn}" for turn in range(4)] for n in range(64)]

    async def scenario() -> None:
        limits = replace(QUICK, concurrency=16)
        async with Bot(slowness=0.01) as bot, talking(bot, tmp_path, limits=limits) as model:
            said = await asyncio.gather(*(chat(model, *turns, pause=random.Random(n)) for n, turns in enumerate(chats)))
            for turns, replies in zip(chats, said, strict=True):
                assert replies == [answer(turns[: n + 1]) for n in range(4)]
            assert sorted(bot.sessions.values()) == sorted(chats)
            assert len(bot.begun) == len(chats)

    run(scenario())


@pytest.mark.parametrize("rules", [{"field": "session"}, {"generate": True}])
def test_the_id_may_come_with_the_first_reply_or_be_made_here(tmp_path: Path, rules: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path, session=rules) as model:
            assert await chat(model, "a", "b", "c") == [answer(list("abc")[: n + 1]) for n in range(3)]
            assert await chat(model, "d") == [answer(["d"])]
            assert sorted(bot.sessions.values()) == [["a", "b", "c"], ["d"]]
            assert ("session" in bot.requests[0][2]) == ("generate" in rules)

    run(scenario())


def test_a_history_that_no_session_had_is_refused_in_plain_words(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path) as model:
            messages = [Message("user", "one"), Message("assistant", "not its own"), Message("user", "two")]
            with pytest.raises(ModelError, match=r"keeps its own memory.*one after the other") as caught:
                await model.generate(messages, Sampling())
            assert caught.value.kind == "bad_request"
            assert bot.requests == []

    run(scenario())


def test_sessions_are_reset_when_they_are_over_pushed_out_or_the_model_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot:
            rules = description(bot)["session"] | {"max_open": 2}
            async with talking(bot, tmp_path, session=rules) as model:
                (said,) = await chat(model, "a")
                await model.end([Message("user", "a"), Message("assistant", said)])
                for turn in "bcde":
                    await chat(model, turn)
                assert model.info.details["sessions_evicted"] == 2
            assert sorted(bot.ended) == ["s0", "s1", "s2", "s3", "s4"]

    run(scenario())


SHARED = r"session\.start\.id: the bot gave a new conversation the id of another one's session"


def same_id(bot: Bot) -> web.Response:
    """A bot that has one session for everybody."""
    bot.sessions.setdefault("everyone", [])
    return web.json_response({"session": {"id": "everyone"}})


@pytest.mark.parametrize("reset", ["none", "refused"])
def test_a_session_that_another_conversation_has_or_had_is_not_shared(tmp_path: Path, reset: str) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        if request.path.startswith("/end"):
            return web.Response(status=500)
        return same_id(bot) if request.path == "/start" else None

    async def scenario() -> None:
        async with Bot(play) as bot:
            rules = description(bot)["session"]
            if reset == "none":
                del rules["reset"]
            async with talking(bot, tmp_path, session=rules) as model:
                said = await chat(model, "a")
                with pytest.raises(ModelError, match=SHARED) as caught:
                    await chat(model, "b")
                assert (caught.value.kind, caught.value.attempts) == ("endpoint_error", 1)
                heard = [Message("user", "a"), Message("assistant", said[0])]
                said += await chat(model, "c", start=tuple(heard))
                assert said == [answer(["a"]), answer(["a", "c"])]
                await model.end([*heard, Message("user", "c"), Message("assistant", said[1])])
                with pytest.raises(ModelError, match=SHARED):
                    await chat(model, "b")
            assert bot.sessions == {"everyone": ["a", "c"]}

    run(scenario())


def test_an_id_may_come_again_when_its_session_was_reset(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        if request.path.startswith("/end"):
            await asyncio.sleep(0.05)  # the next conversation begins meanwhile, and waits
            bot.sessions["everyone"].clear()
        return same_id(bot) if request.path == "/start" else None

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path) as model:
            for turn in "ab":
                assert await chat(model, turn) == [answer([turn])]
                await model.end([Message("user", turn), Message("assistant", answer([turn]))])

    run(scenario())


def test_an_id_that_comes_with_a_reply_and_is_that_of_another_conversation_is_a_failed_reply(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        return bot.hear(body | {"session": "everyone"})

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, session={"field": "session"}) as model:
            await chat(model, "a")
            with pytest.raises(ModelError, match=r"session\.field: the bot gave a new conversation the id"):
                await chat(model, "b")

    run(scenario())


def test_a_reset_that_fails_is_counted_and_hurts_nothing(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        return web.Response(status=500) if request.path.startswith("/end") else None

    async def scenario() -> None:
        async with Bot(play) as bot:
            async with talking(bot, tmp_path) as model:
                assert await chat(model, "a") == [answer(["a"])]
            assert model.info.details["resets_failed"] == 1

    run(scenario())


def test_cookies_are_not_kept_since_they_would_mix_sessions(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response:
        response = web.json_response(bot.hear(body))
        response.set_cookie("sid", "1")
        return response

    async def scenario() -> None:
        async with Bot(play) as bot:
            url = f"http://localhost:{bot.port}/chat"  # for an address of digits, none would be kept anyway
            async with talking(bot, tmp_path, url=url, session={"generate": True}) as model:
                await chat(model, "a", "b")
            assert len(bot.requests) == 2
            assert all("cookie" not in headers for _, headers, _ in bot.requests)

    run(scenario())


# -- faults


def too_many() -> web.Response:
    return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": "0"})


@pytest.mark.parametrize("status", [429, 503])
def test_a_message_that_was_turned_away_is_sent_again_into_the_same_session(tmp_path: Path, status: int) -> None:
    turned_away = 0

    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        nonlocal turned_away
        if body.get("text") == "b" and turned_away < 2:
            turned_away += 1
            return web.json_response({}, status=status, headers={"Retry-After": "0"})
        return None

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path) as model:
            assert await chat(model, "a", "b") == [answer(["a"]), answer(["a", "b"])]
            assert turned_away == 2
            assert bot.sessions == {"s0": ["a", "b"]}

    run(scenario())


def test_after_being_turned_away_to_the_end_the_session_is_still_there(tmp_path: Path) -> None:
    closed = False

    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        return too_many() if closed else None

    async def scenario() -> None:
        nonlocal closed
        async with Bot(play) as bot, talking(bot, tmp_path) as model:
            messages = [Message("user", "a"), Message("assistant", answer(["a"])), Message("user", "b")]
            await chat(model, "a")
            closed = True
            with pytest.raises(ModelError) as caught:
                await model.generate(messages, Sampling())
            assert (caught.value.kind, caught.value.attempts) == ("rate_limited", 3)
            closed = False
            assert (await model.generate(messages, Sampling())).text == answer(["a", "b"])
            assert bot.sessions == {"s0": ["a", "b"]}

    run(scenario())


async def server_error(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
    if body.get("text") != "b":
        return None
    bot.hear(body)
    return web.json_response({}, status=500)


async def disconnect(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
    if body.get("text") == "b":
        bot.hear(body)
        assert request.transport is not None
        request.transport.close()
    return None


async def not_json(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
    if body.get("text") != "b":
        return None
    bot.hear(body)
    return web.Response(text="<html>")


@pytest.mark.parametrize("play", [server_error, disconnect, not_json])
def test_a_message_that_may_have_been_received_is_never_sent_again_and_its_session_is_given_up(
    tmp_path: Path, play: Any
) -> None:
    async def scenario() -> None:
        async with Bot(play) as bot:
            async with talking(bot, tmp_path) as model:
                messages = [Message("user", "a"), Message("assistant", answer(["a"])), Message("user", "b")]
                await chat(model, "a")
                with pytest.raises(ModelError) as caught:
                    await model.generate(messages, Sampling())
                assert (caught.value.kind, caught.value.retryable) == ("endpoint_error", False)
                with pytest.raises(ModelError, match="no open session"):
                    await model.generate(messages, Sampling())
            assert sum(1 for _, _, body in bot.requests if body and body.get("text") == "b") == 1
            assert bot.ended == ["s0"]

    run(scenario())


def test_without_sessions_a_server_error_is_tried_again(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        return web.Response(status=500) if len(bot.requests) < 3 else None

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, **STATELESS) as model:
            assert (await ask(model, "a")).attempts == 3

    run(scenario())


def test_a_bot_that_hangs_is_waited_for_as_long_as_the_file_says(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> None:
        if request.path == "/chat":
            await asyncio.sleep(60)

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, timeout=0.2) as model:
            error = await failure_of(model)
            assert (error.kind, error.retryable) == ("timeout", False)
            assert "within 0." in str(error)

    run(scenario())


def test_an_error_inside_a_200_is_an_error(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        return {"error": {"message": "out of order"}, "data": {"choices": [{"text": "sorry"}]}}

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, error="error", **STATELESS) as model:
            error = await failure_of(model)
            assert error.kind == "endpoint_error"
            assert "out of order" in str(error)
            assert "out of order" not in error.brief

    run(scenario())


def test_no_error_is_seen_where_its_place_is_empty(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        return {"error": None, "data": {"choices": [{"text": "fine"}]}}

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, error="error", **STATELESS) as model:
            assert (await ask(model)).text == "fine"

    run(scenario())


def test_a_wrong_path_is_named_with_what_stands_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, talking(bot, tmp_path, reply="data.answer", **STATELESS) as model:
            assert "reply: data.answer: data has no answer (it has choices)" in str(await failure_of(model))

    run(scenario())


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.Response(status=307, headers={"Location": f"{bot.url}/elsewhere"})

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, **STATELESS) as model:
            assert "redirects are not followed" in str(await failure_of(model))
            assert [path for path, _, _ in bot.requests] == ["/chat"]

    run(scenario())


def test_an_endless_answer_is_cut_off(tmp_path: Path) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b" " * 2**20)
        return response

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, **STATELESS) as model:
            assert "more than 16 MB" in str(await failure_of(model))

    run(scenario())


@pytest.mark.parametrize("status, kind", [(401, "auth"), (403, "auth"), (404, "not_found")])
def test_a_bot_that_never_answers_ends_the_run_but_a_single_refusal_later_does_not(
    tmp_path: Path, status: int, kind: str
) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        return web.Response(status=status) if body["text"] == "bad" else None

    async def scenario() -> None:
        async with Bot(play) as bot, talking(bot, tmp_path, **STATELESS) as model:
            assert (await failure_of(model, "bad")).kind == kind
            await ask(model, "good")
            assert (await failure_of(model, "bad")).kind == ("auth" if status == 401 else "endpoint_error")

    run(scenario())


def test_a_bot_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot:
            port = bot.port
        bot.port = port
        async with talking(bot, tmp_path) as model:
            error = await failure_of(model)
            assert f"cannot reach 127.0.0.1:{port}" in str(error)
            assert error.attempts == 3

    run(scenario())


# -- secrets


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_secret_comes_from_the_environment_and_is_in_no_error(tmp_path: Path, status: int) -> None:
    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> web.Response:
        said = {"error": f"bad {request.headers['Authorization']} and {body['key']}"}
        return web.json_response(said, status=status)

    changes = STATELESS | {"body": {"text": "{{message}}", "key": "${BOT_KEY}"}, "error": "error"}

    async def scenario() -> None:
        headers = {"Authorization": "Bearer ${BOT_TOKEN}"}
        environment = {"BOT_TOKEN": f"{SECRET}\n", "BOT_KEY": "other-planted"}
        async with Bot(play) as bot, talking(bot, tmp_path, environment, headers=headers, **changes) as model:
            error = await failure_of(model)
            assert bot.requests[0][1]["authorization"] == f"Bearer {SECRET}"
            assert bot.requests[0][2]["key"] == "other-planted"
            shown = f"{error!r} {error} {error.brief} {error.__cause__!r} {model.info}"
            assert SECRET not in shown
            assert "other-planted" not in shown

    run(scenario())


def test_headers_of_the_bot_go_to_no_other_host(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Bot() as bot, Bot() as other:
            rules = {"start": {"url": f"{other.url}/start", "id": "session.id"}}
            headers = {"Authorization": "Bearer ${T}"}
            async with talking(bot, tmp_path, {"T": SECRET}, headers=headers, session=rules) as model:
                await chat(model, "a")
                assert "authorization" not in other.requests[0][1]
                assert bot.requests[0][1]["authorization"] == f"Bearer {SECRET}"
                assert model.info.host == f"127.0.0.1:{bot.port}, 127.0.0.1:{other.port}"
                assert model.info.loopback

    run(scenario())


def test_an_unset_variable_is_named(tmp_path: Path) -> None:
    content = file(headers={"Authorization": "Bearer ${BOT_TOKEN}"})
    expected = "bot.yaml: headers.Authorization: the environment variable BOT_TOKEN is not set; set it and run again"
    assert refusal_of(tmp_path, content) == expected
    assert load_model(write(tmp_path / "bot.yaml", content), environment={}, need_key=False).info.host == "bot.example"


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": {"Authorization": f"Bearer {SECRET}"}},
        {"headers": {"x-api-key": SECRET}},
        {"headers": {"X-Other": "sk-planted0123456789"}},
        {"body": {"text": "{{message}}", "auth": {"api_key": SECRET}}},
        {"url": f"https://user:{SECRET}@bot.example/"},
        {"url": f"https://bot.example/?api_key={SECRET}"},
        {"session": {"generate": True, "reset": {"url": "https://bot.example/", "headers": {"Cookie": SECRET}}}},
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path, changes: dict[str, Any]) -> None:
    refusal = refusal_of(tmp_path, file(**changes))
    assert "${NAME}" in refusal
    assert "secret" in refusal or "password" in refusal
    assert SECRET not in refusal


# -- the file


@pytest.mark.parametrize(
    "content, problem",
    [
        (file(colour="red"), "bot.yaml: colour: Extra inputs are not permitted"),
        (file(reply=None), "bot.yaml: reply: Field required"),
        (file(reply="a..b"), "bot.yaml: reply: 'a..b' is not a path"),
        (file(method="GET"), "bot.yaml: method: Input should be 'POST' or 'PATCH'"),
        (file(url="bot.example"), "bot.yaml: url: expected something like https://"),
        (file(url="https://{{session}}.example/"), "bot.yaml: url: the host cannot be a placeholder"),
        (file(body={"text": "hello"}), "bot.yaml: body: never holds what the user says"),
        (file(body={"text": "{{massage}}"}), "bot.yaml: body.text: {{massage}} is not known here; expected {{max"),
        (file(body={"a": ["so far: {{messages}}"]}), "bot.yaml: body.a[0]: {{messages}} is not text, so it must stand"),
        (file(body={"a": "{{message}}", "b": "{{session}}"}), "bot.yaml: {{session}} is used; expected a part session"),
        (file(headers={"X-Text": "{{message}}"}), "bot.yaml: headers.X-Text: {{message}} is not known here"),
        (file(session={"generate": True}), "bot.yaml: session: its id is never sent"),
        (file(session={}), "bot.yaml: session: expected exactly one of start, field and generate: true"),
        (
            file(session={"field": "id"}, body={"a": "{{message}}", "b": "id {{session}}"}),
            "bot.yaml: session.field: the first request has no id yet",
        ),
        (file(timeout=0), "bot.yaml: timeout: Input should be greater than 0"),
        ("- a\n- b", "bot.yaml: file: Input should be a valid dictionary"),
        (f"a: {SECRET} [\nb: [", "bot.yaml: not YAML: line 2: "),
        (f"url: http://a\nbody: {SECRET}\nbody: {SECRET}", "bot.yaml: line 3: the key 'body' stands here twice, first"),
        (f"url: http://a\nbody: *{SECRET}", "bot.yaml: line 2: body: anchors and aliases are not read here"),
    ],
)
def test_a_wrong_file_is_refused_with_its_field(tmp_path: Path, content: Any, problem: str) -> None:
    refusal = refusal_of(tmp_path, content)
    assert problem in refusal
    assert SECRET not in refusal


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"http:nowhere\.yaml: No such file"):
        load_model("http:nowhere.yaml", environment={})


def test_the_identity_of_a_bot_is_its_file(tmp_path: Path) -> None:
    def identity(content: dict[str, Any]) -> str:
        return load_model(write(tmp_path / "bot.yaml", content), environment={}).info.identity

    assert identity(file()) == identity(file()) != identity(file(reply="answer"))


def test_a_bot_is_named_after_its_file_or_as_the_file_says(tmp_path: Path) -> None:
    assert load_model(write(tmp_path / "helper.yaml", file()), environment={}).name == "http:helper"
    assert load_model(write(tmp_path / "helper.yaml", file(name="v2")), environment={}).name == "http:v2"


@pytest.mark.parametrize("host, loopback", [("127.0.0.1:1", True), ("[::1]:1", True), ("bot.example", False)])
def test_only_this_machine_is_loopback(tmp_path: Path, host: str, loopback: bool) -> None:
    info = load_model(write(tmp_path / "bot.yaml", file(url=f"http://{host}/")), environment={}).info
    assert (info.host, info.loopback) == (host, loopback)


# -- paths


ANSWER = {"a": {"b-c": [{"d": 1}, {"d": 2}]}, "x.y": "dotted", "n": None}


@pytest.mark.parametrize(
    "path, found",
    [
        ("a.b-c[0].d", 1),
        ("a.b-c[-1].d", 2),
        ('["x.y"]', "dotted"),
        ("$.n", None),
        ("$", ANSWER),
        ('a["b-c"][1]', {"d": 2}),
    ],
)
def test_a_path_leads_to_a_value(path: str, found: object) -> None:
    assert read_path(ANSWER, path) == found


@pytest.mark.parametrize(
    "path, problem",
    [
        ("z", r"the answer has no z \(it has a, x\.y, n\)"),
        ("a.b-c.d", "a.b-c is a list, so it has no d"),
        ("a.b-c[2]", r"a.b-c has 2 items, so no \[2\]"),
        ("n.z", "n is null, so it has no z"),
        ("a[0]", r"a is an object, so it has no \[0\]"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, problem: str) -> None:
    with pytest.raises(Absent, match=problem):
        read_path(ANSWER, path)


# -- documentation

ROOT = Path(__file__).parents[2]


def documented() -> str:
    (block,) = [part for part in (ROOT / "docs/models.md").read_text("utf-8").split("```yaml\n")[1:] if "url:" in part]
    return block.partition("```")[0]


@pytest.mark.parametrize("content", [documented(), (ROOT / "examples/bot.yaml").read_text("utf-8")])
def test_the_documented_files_can_be_used(tmp_path: Path, content: str) -> None:
    model = load_model(write(tmp_path / "any.yaml", content), environment={"EXAMPLE_BOT_TOKEN": "x"})
    assert (model.name, model.info.host) == ("http:example-bot", "bot.example")
