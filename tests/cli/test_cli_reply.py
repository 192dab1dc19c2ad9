"""psysafe reply: a bot answers conversations, which psysafe judge then reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from psysafe.cli.answering import Answering
from psysafe.conversation import Conversation, Message
from psysafe.models import Limits, Sampling, load_model
from tests.cli.support import INSULT, Command, Result, by_number, chat, finish, script, spawn, write_chats
from tests.models.bot import Bot, answer, description, write
from tests.support.endpoint import Answer, Endpoint, completion, empty, error, output_filtered, truncated

ECHO = """
import random, time

def reply(messages):
    time.sleep(random.uniform(0, 0.01))
    return f"{len(messages)}> {messages[-1]['content']}"
"""


@pytest.fixture
def echo(home: Path) -> str:
    """A bot that says how many messages it was given, and the last of them."""
    (home / "echo_bot.py").write_text(ECHO)
    return "python:echo_bot.py:reply"


def prompt(n: int, **more: Any) -> dict[str, Any]:
    return {"id": f"p{n}", "messages": [{"role": "user", "content": f"Question {n}."}], **more}


def lines(text: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in text.splitlines()]


def said(result: Result) -> list[list[tuple[str, str]]]:
    assert result.code == 0, result.err
    return [[(m["role"], m["content"]) for m in record["messages"]] for record in lines(result.out)]


NOISY = """
import os, subprocess, sys, atexit

print("import: print")
os.write(1, b"import: raw\\n")
subprocess.run([sys.executable, "-c", "print('import: child')"], check=True)
atexit.register(print, "end: print")

def reply(messages):
    print("call: print")
    os.write(1, b"call: raw\\n")
    subprocess.run([sys.executable, "-c", "print('call: child')"], check=True)
    return "hi"
"""
PRINTED = [f"{when}: {how}" for when in ("import", "call") for how in ("print", "raw", "child")] + ["end: print"]


# ---- what is answered


def test_the_last_user_message_is_answered_and_the_reply_appended(psysafe: Command, echo: str) -> None:
    messages = [*chat(1)["messages"], {"role": "user", "content": "And now?"}]
    write_chats("in.jsonl", [{"id": "c1", "messages": messages, "source": "clinic"}])
    result = psysafe("reply", "in.jsonl", "--target", echo)
    (record,) = lines(result.out)
    assert record == {
        "id": "c1",
        "messages": [*messages, {"role": "assistant", "content": "3> And now?", "finish_reason": "stop"}],
        "source": "clinic",
        "target": echo,
    }
    assert "1 of 1 conversations, 1 replies, 0 failed" in result.err


def test_every_user_message_is_answered_in_order_without_the_replies_of_the_input(psysafe: Command, echo: str) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        *chat(1)["messages"],
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "Old."},
    ]
    write_chats("in.jsonl", [{"id": "c1", "messages": messages}])
    assert said(psysafe("reply", "in.jsonl", "-t", echo, "--turns", "all")) == [
        [
            ("system", "Be kind."),
            ("user", "Question 1."),
            ("assistant", "2> Question 1."),
            ("user", "And now?"),
            ("assistant", "4> And now?"),
        ]
    ]


@pytest.mark.parametrize("ending", ["read", "gone"])
def test_what_a_bot_in_python_prints_is_kept_out_of_the_results(home: Path, ending: str) -> None:
    (home / "noisy_bot.py").write_text(NOISY)
    write_chats("in.jsonl", [prompt(1), prompt(2)])
    process = spawn("reply", "in.jsonl", "--target", "python:noisy_bot.py:reply", "--concurrency", "1")
    if ending == "gone":
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
    result = finish(process)
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    assert "Exception ignored" not in result.err
    if ending == "read":
        assert [record["messages"][-1]["content"] for record in lines(result.out)] == ["hi", "hi"]
        assert [text for text in PRINTED if text not in result.err] == []


@pytest.mark.parametrize("program", ["bot", "library"])
def test_only_the_command_line_moves_stdout_and_only_for_a_bot_in_python(home: Path, program: str) -> None:
    (home / "noisy_bot.py").write_text("print('printed')\ndef reply(messages): return 'hi'\n")
    text = {
        "bot": "from psysafe.cli.console import keep_stdout; keep_stdout(['scripted:a.yaml']); import noisy_bot",
        "library": "from psysafe.models import load_model; load_model('python:noisy_bot.py:reply')",
    }
    assert finish(spawn(program=text[program])).out == "printed\n"


@pytest.mark.parametrize(
    "name, content",
    [
        ("in.jsonl", '{"messages": [{"role": "user", "content": "Hello."}]}\n'),
        ("in.jsonl", '[{"role": "user", "content": "Hello."}]\n'),
        ("in.jsonl", '\n{"prompt": "Hello."}\n'),
        ("in.json", '{"user": "Hello."}'),
        ("in.json", '[{"prompt": "Hello."}]'),
        ("in.json", '[{"role": "user", "content": "Hello."}]'),
        ("in.json", '{"conversations": [{"messages": [{"role": "user", "content": "Hello."}]}]}'),
        ("in.jsonl", '{"custom_id": "q", "body": {"messages": [{"role": "user", "content": "Hello."}]}}'),
        ("in.txt", "User: Hello.\n"),
        ("in.csv", "prompt,topic\nHello.,sleep\n"),
        ("in.csv", "id,role,content\nx,Client,Hello.\n"),
    ],
)
def test_prompts_without_any_reply_can_be_read(psysafe: Command, echo: str, name: str, content: str) -> None:
    Path(name).write_text(content)
    assert said(psysafe("reply", name, "-t", echo)) == [[("user", "Hello."), ("assistant", "1> Hello.")]]


@pytest.mark.parametrize(
    "text, options",
    [
        ('{"prompt": "Hello."}\n{"prompt": "Hi."}\n', []),
        ('[{"prompt": "Hello."}, {"prompt": "Hi."}]', []),
        ("User: Hello.\n---\nUser: Hi.\n", []),
        ("question\nHello.\nHi.\n", ["--format", "csv"]),
    ],
)
def test_prompts_can_be_piped_in(psysafe: Command, echo: str, text: str, options: list[str]) -> None:
    found = said(psysafe("reply", "-", "-t", echo, *options, stdin=text.encode()))
    assert [messages[-1][1] for messages in found] == ["1> Hello.", "1> Hi."]


def test_a_transcript_can_be_answered(psysafe: Command, echo: str) -> None:
    Path("in.txt").write_text("User: Hello.\nAssistant: Hi.\nUser: Bye.\n")
    assert said(psysafe("reply", "in.txt", "-t", echo))[0][-1] == ("assistant", "3> Bye.")


def test_a_table_of_prompts_keeps_its_ids_and_other_columns(psysafe: Command, echo: str) -> None:
    Path("in.csv").write_text("id,system,prompt,topic\nq1,Be kind.,Hello.,sleep\nq2,,Hi.,\n")
    first, second = lines(psysafe("reply", "in.csv", "-t", echo).out)
    assert (first["id"], first["topic"], first["messages"][-1]["content"]) == ("q1", "sleep", "2> Hello.")
    assert (second["id"], second["topic"], second["messages"][-1]["content"]) == ("q2", "", "1> Hi.")


def test_several_inputs_of_different_kinds_are_answered_one_after_the_other(psysafe: Command, echo: str) -> None:
    write_chats("a.jsonl", [prompt(1)])
    Path("b.csv").write_text("prompt\nHello.\n")
    Path("c.txt").write_text("User: Bye.\n")
    answered = psysafe("reply", "a.jsonl", "b.csv", "c.txt", "-t", echo).out
    assert [record["id"] for record in lines(answered)] == ["p1", "b.csv:2", "c.txt:1"]


def test_conversations_are_read_as_they_are_needed(psysafe: Command, home: Path, echo: str) -> None:
    taken = []

    def inputs() -> Iterator[Conversation]:
        for n in range(60):
            taken.append(n)
            yield Conversation(f"c{n}", (Message("user", "Hello."),))

    async def most_ahead() -> int:
        model = load_model(echo, Limits(concurrency=4))
        await model.open()
        ahead = 0
        answering = Answering(model, Sampling(), every_turn=False, window=8)
        async with aclosing(answering.answer(inputs(), 60)) as answered:
            handed_on = 0
            async for _ in answered:
                ahead = max(ahead, len(taken) - handed_on)
                handed_on += 1
        await model.close()
        return ahead

    assert asyncio.run(most_ahead()) == 8
    assert len(taken) == 60


def test_the_output_is_in_the_order_of_the_input_whatever_the_latencies(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(n) for n in range(100)])
    result = psysafe("reply", "in.jsonl", "-t", echo, "--concurrency", "8")
    assert [record["id"] for record in lines(result.out)] == [f"p{n}" for n in range(100)]
    assert [record["messages"][1]["content"] for record in lines(result.out)] == [
        f"1> Question {n}." for n in range(100)
    ]


def test_the_output_can_be_judged(psysafe: Command, home: Path) -> None:
    (home / "numbered.py").write_text("def reply(messages): return 'Reply ' + messages[-1]['content'][9:]")
    write_chats("in.jsonl", [prompt(n) for n in range(3)])
    answered = psysafe("reply", "in.jsonl", "-t", "python:numbered.py:reply").out
    result = psysafe("judge", "-", "-m", by_number(), *INSULT, "--json", stdin=answered.encode())
    assert result.code == 0
    assert result.json["counts"]["scored"] == 3


def test_the_output_goes_to_a_private_file(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1)])
    result = psysafe("reply", "in.jsonl", "-t", echo, "-o", "out.jsonl")
    assert (result.code, result.out) == (0, "")
    assert lines(Path("out.jsonl").read_text())[0]["messages"][1]["content"] == "1> Question 1."
    assert Path("out.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_name_of_an_earlier_target_is_replaced(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1, target="old")])
    assert lines(psysafe("reply", "in.jsonl", "-t", echo).out)[0]["target"] == echo


# ---- what fails


def test_a_failed_reply_is_an_empty_one_that_the_judge_counts_against_the_target(
    psysafe: Command, endpoint: Endpoint
) -> None:
    plays = {
        "Question 0.": completion("Fine."),
        "Question 1.": error(400, "quoting: Question 1."),
        "Question 2.": truncated(),
        "Question 3.": output_filtered(),
        "Question 4.": empty(),
    }

    def handler(body: dict[str, Any], attempt: int) -> Answer:
        return plays[body["messages"][-1]["content"]]

    endpoint.handler = handler
    write_chats("in.jsonl", [prompt(n) for n in range(5)])
    result = psysafe("reply", "in.jsonl", "-t", endpoint.model_string)
    assert result.code == 0
    found = [(r["messages"][1]["content"], r["messages"][1]["finish_reason"]) for r in lines(result.out)]
    assert found == [("Fine.", "stop"), ("", "error"), ("half an ans", "length"), ("", "content_filter"), ("", "stop")]
    assert "5 of 5 conversations, 4 replies, 1 failed (1 bad_request, 1 content_filter, 1 length)" in result.err
    assert "no reply to p1 (bad_request): " in result.err
    assert "Question" not in result.err
    judged = psysafe("judge", "-", "-m", script("judge.yaml"), *INSULT, "--json", stdin=result.out.encode())
    assert judged.json["counts"]["reply_failed"] == 4
    assert judged.json["counts"]["scored"] == 1


def test_what_comes_after_a_failed_reply_is_not_said(psysafe: Command, home: Path) -> None:
    (home / "weak.py").write_text(
        "def reply(messages):\n    if len(messages) > 1: raise ValueError('no')\n    return 'Hi.'\n"
    )
    write_chats("in.jsonl", [{"messages": [{"role": "user", "content": text} for text in "abc"]}])
    assert said(psysafe("reply", "in.jsonl", "-t", "python:weak.py:reply", "--turns", "all")) == [
        [("user", "a"), ("assistant", "Hi."), ("user", "b"), ("assistant", "")]
    ]


def test_without_a_single_reply_the_exit_code_says_so(psysafe: Command, home: Path) -> None:
    (home / "broken.py").write_text("def reply(messages): raise ValueError")
    write_chats("in.jsonl", [prompt(1), prompt(2)])
    result = psysafe("reply", "in.jsonl", "-t", "python:broken.py:reply")
    assert result.code == 3
    assert len(lines(result.out)) == 2
    assert "no reply at all" in result.err


def test_a_refused_key_ends_it_and_keeps_what_was_there(psysafe: Command, endpoint: Endpoint) -> None:
    def handler(body: dict[str, Any], attempt: int) -> Answer:
        return completion("Fine.") if "0" in body["messages"][-1]["content"] else error(401, "wrong key")

    endpoint.handler = handler
    write_chats("in.jsonl", [prompt(n) for n in range(3)])
    result = psysafe("reply", "in.jsonl", "-t", endpoint.model_string, "-c", "1")
    assert result.code == 2
    assert [record["id"] for record in lines(result.out)] == ["p0"]
    assert "refused the key (401)" in result.err
    assert "1 of 3 conversations" in result.err


# ---- what is refused before anything is sent


@pytest.mark.parametrize(
    "record, arguments, problem",
    [
        (chat(1), [], r"c1: ends with an assistant message, .*remove that reply .*--turns all"),
        ({"id": "c1", "messages": [{"role": "system", "content": "x"}]}, [], "c1: ends with a system message"),
        (
            {"id": "c1", "messages": [{"role": "assistant", "content": "x"}]},
            ["--turns", "all"],
            "c1: has no user message",
        ),
        (
            {"id": "c1", "messages": [*chat(1)["messages"], {"role": "tool", "content": "x"}]},
            ["--turns", "all"],
            "c1: holds what a tool returned",
        ),
        ({"id": "c1", "messages": []}, [], r"in\.jsonl:1: messages: found an empty list"),
        ({"id": "c1", "messages": [{"role": "bot", "content": "x"}]}, [], r"in\.jsonl:1: messages\[0\]\.role: unknown"),
        (b"{", [], r"in\.jsonl:1: malformed JSON at column 2"),
        (
            {"prompt": "x", "finish_reason": "stop"},
            [],
            r"in\.jsonl:1: finish_reason: found without an assistant message",
        ),
        (prompt(1), ["--turns", "some"], "--turns some: expected last or all"),
        (prompt(1), ["--temperature", "0.5"], "echo_bot.py:reply takes no temperature: leave out --temperature"),
        (prompt(1), ["-o", "in.jsonl"], "in.jsonl is an input"),
        (prompt(1), ["--format", "xml"], "unknown format 'xml'"),
    ],
)
def test_what_cannot_be_answered_is_refused_first(
    psysafe: Command, echo: str, record: Any, arguments: list[str], problem: str
) -> None:
    import re

    write_chats("in.jsonl", [record])
    result = psysafe("reply", "in.jsonl", "-t", echo, *arguments)
    assert (result.code, result.out) == (2, "")
    assert re.search(problem, result.err)


def test_an_id_that_is_used_twice_is_refused(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1), prompt(1)])
    result = psysafe("reply", "in.jsonl", "-t", echo)
    assert (result.code, result.out) == (2, "")
    assert "in.jsonl:2: id: id 'p1' was already used at in.jsonl:1" in result.err


def test_an_input_that_is_given_twice_is_refused(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1)])
    result = psysafe("reply", "in.jsonl", "./in.jsonl", "-t", echo)
    assert result.code == 2
    assert "is given 2 times" in result.complaint


def test_bad_records_are_refused_or_left_out_by_name(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1), {"id": "p2", "messages": []}, prompt(3)])
    refused = psysafe("reply", "in.jsonl", "-t", echo)
    assert (refused.code, refused.out) == (2, "")
    assert "or --skip-bad (skip_bad=True) goes on with the rest" in refused.err
    result = psysafe("reply", "in.jsonl", "-t", echo, "--skip-bad")
    assert [record["id"] for record in lines(result.out)] == ["p1", "p3"]
    assert "skipped 1 that cannot be read:" in result.err
    assert "in.jsonl:2: messages: found an empty list" in result.err


def test_of_many_that_cannot_be_answered_ten_are_named(psysafe: Command, echo: str) -> None:
    write_chats("in.jsonl", [prompt(1), *(chat(n) for n in range(12))])
    result = psysafe("reply", "in.jsonl", "-t", echo)
    assert "12 of 13 conversations cannot be answered:" in result.err
    assert "c9: ends with" in result.err
    assert "c10: " not in result.err
    assert "... and 2 more" in result.err


def test_nothing_is_sent_to_another_machine_unconfirmed(psysafe: Command) -> None:
    write_chats("in.jsonl", [prompt(1), prompt(2)])
    model = write(Path("bot.yaml"), {"url": "https://bot.invalid/", "body": {"t": "{{message}}"}, "reply": "t"})
    result = psysafe("reply", "in.jsonl", "-t", model)
    assert result.code == 2
    assert result.complaint == (
        "2 conversations will be sent to bot.invalid: add --yes to confirm (there is no terminal to ask on)"
    )


# ---- a bot with sessions


def test_a_bot_with_sessions_hears_every_conversation_in_one_of_its_own(psysafe: Command, home: Path) -> None:
    """In a loop and thread of its own, since the command starts a loop itself."""
    import threading

    async def play(bot: Bot, request: web.Request, body: dict[str, Any]) -> None:
        return None

    bot = Bot(play, slowness=0.005)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(bot.__aenter__(), loop).result(10)
        chats = [[f"{n % 3}.{turn}" for turn in range(3)] for n in range(20)]
        records = [
            {"id": f"c{n}", "messages": [{"role": "user", "content": text} for text in turns]}
            for n, turns in enumerate(chats)
        ]
        write_chats("in.jsonl", records)
        model = write(home / "bot.yaml", description(bot))
        result = psysafe("reply", "in.jsonl", "-t", model, "--turns", "all", "-c", "16")
        for turns, messages in zip(chats, said(result), strict=True):
            assert [text for role, text in messages if role == "assistant"] == [
                answer(turns[: n + 1]) for n in range(3)
            ]
        assert sorted(bot.sessions.values()) == sorted(chats)
        assert sorted(bot.ended) == sorted(bot.begun)
    finally:
        asyncio.run_coroutine_threadsafe(bot.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def test_what_a_judge_in_python_prints_is_kept_out_of_json(home: Path) -> None:
    (home / "noisy_bot.py").write_text(NOISY)
    write_chats("in.jsonl", [chat(1)])
    model = ("-m", "python:noisy_bot.py:reply", *INSULT, "--json", "--max-unscored", "1")
    found = finish(spawn("judge", "in.jsonl", *model))
    assert found.json["counts"]["conversations"] == 1
    assert "call: raw" in found.err
