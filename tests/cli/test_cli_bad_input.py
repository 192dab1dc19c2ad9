"""Bad input: one clear line on stderr, exit 2, and nothing was called; with --skip-bad the rest is judged."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.support import (
    INSULT,
    Command,
    by_number,
    chat,
    chats,
    finish,
    judgments,
    script,
    spawn,
    verdict,
    write_chats,
)
from tests.support.endpoint import Endpoint, error

BIG = "x" * 3_000_000


def with_message(**message: Any) -> dict[str, Any]:
    return {"id": "bad", "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", **message}]}


# what is wrong with the second of three records -> what is said of it
RECORDS: dict[str, tuple[Any, str]] = {
    "a malformed line": (b'{"id": "bad", "messages": [', r"chats\.jsonl:2: malformed JSON at column \d+"),
    "not an object": (b"42", r"chats\.jsonl:2: found 42; expected an object with messages"),
    "an unknown role": (
        with_message(role="bot", content="Hi."),
        r"chats\.jsonl:2: messages\[1\]\.role: unknown role 'bot'; expected one of system, ",
    ),
    "an empty conversation": (
        {"id": "bad", "messages": []},
        r"chats\.jsonl:2: messages: found an empty list; expected at least one message",
    ),
    "no assistant message": (
        {"id": "bad", "messages": [{"role": "user", "content": "Hi."}]},
        r"chats\.jsonl:2: messages: found no assistant message; expected at least one",
    ),
    "a message of 3 MB": (
        with_message(content=BIG),
        r"chats\.jsonl:2: messages\[1\]\.content: found 3,000,000 characters; expected at most 1,000,000",
    ),
    "an escaped NUL": (
        with_message(content="a\0b"),
        r"chats\.jsonl:2: messages\[1\]\.content: found a NUL character at position 2; expected text",
    ),
    "a NUL byte": (
        b'{"id": "bad", "messages": [{"role": "assistant", "content": "a\0b"}]}',
        r"chats\.jsonl:2: found a NUL byte at byte \d+; expected UTF-8",
    ),
    "a lone surrogate": (
        b'{"id": "bad", "messages": [{"role": "assistant", "content": "cut \\ud83d"}]}',
        r"chats\.jsonl:2: found a lone surrogate escape .* at column \d+; expected Unicode text",
    ),
    "another encoding": (
        '{"id": "bad", "messages": [{"role": "assistant", "content": "schön"}]}'.encode("latin-1"),
        r"chats\.jsonl:2: found 0xF6 at byte \d+, which is not UTF-8; expected UTF-8, so convert it",
    ),
    "an id that was used": (
        chat(1) | {"id": "c1"},
        r"chats\.jsonl:2: id: id 'c1' was already used at chats\.jsonl:1; expected every id once",
    ),
    "a judged message that is not the assistant's": (
        chat(2, judged_message=0),
        r"chats\.jsonl:2: judged_message: found 0, where the role is user; expected the 0-based index",
    ),
}


def three_records(bad: Any) -> Path:
    return write_chats("chats.jsonl", [chat(1), bad, chat(3)])


@pytest.mark.parametrize("kind", RECORDS)
def test_a_bad_record_is_named_with_file_line_and_field_before_anything_is_called(
    psysafe: Command, endpoint: Endpoint, kind: str
) -> None:
    bad, problem = RECORDS[kind]
    result = psysafe("judge", three_records(bad), "--model", endpoint.model_string)
    assert result.code == 2
    assert result.out == ""
    first, record, remedy = result.err.splitlines()
    assert first == "psysafe: 1 record cannot be read:"
    assert re.match("  " + problem, record)
    assert remedy == "Correct them; or --skip-bad (skip_bad=True) judges the rest and lists these."
    assert len(result.err) < 600
    assert endpoint.everything == []
    assert not Path("runs").exists()


@pytest.mark.parametrize("kind", RECORDS)
def test_with_skip_bad_the_rest_is_judged_and_the_bad_one_is_listed(psysafe: Command, kind: str) -> None:
    bad, problem = RECORDS[kind]
    result = psysafe(
        "judge", three_records(bad), "-m", script("judge.yaml"), "--skip-bad", "--json", "--run", "r", *INSULT
    )
    assert result.code == 0
    assert result.json["counts"]["conversations"] == 2
    assert [line["id"] for line in judgments("r")] == ["c1", "c3"]
    first, record, *_ = result.err.splitlines()
    assert first == "skipped 1 that cannot be read:"
    assert re.match("  " + problem, record)


def test_many_bad_records_make_a_short_list(psysafe: Command, endpoint: Endpoint) -> None:
    write_chats("chats.jsonl", [chat(0), *[b"{"] * 5000])
    result = psysafe("judge", "chats.jsonl", "--model", endpoint.model_string)
    assert result.code == 2
    assert result.err.startswith("psysafe: 5,000 records cannot be read:\n  chats.jsonl:2: malformed JSON")
    assert "  ... and 4,990 more\n" in result.err
    assert len(result.err.splitlines()) == 13


def test_when_nothing_is_left_to_judge_skip_bad_does_not_help(psysafe: Command) -> None:
    write_chats("chats.jsonl", [b"{", b"["])
    result = psysafe("judge", "chats.jsonl", "-m", script("judge.yaml"), "--skip-bad")
    assert result.code == 2
    assert "No conversation is left to judge; correct the input." in result.err


def test_a_bad_last_line_of_a_large_file_is_found_before_the_first_call(psysafe: Command, endpoint: Endpoint) -> None:
    write_chats("chats.jsonl", [*(chat(n) for n in range(20_000)), b'{"id": "bad"'])
    result = psysafe("judge", "chats.jsonl", "--model", endpoint.model_string)
    assert result.code == 2
    assert "chats.jsonl:20001: malformed JSON" in result.err
    assert endpoint.everything == []


def test_bad_records_of_several_files_are_named_with_theirs(psysafe: Command) -> None:
    write_chats("one.jsonl", [chat(1), b"{"])
    write_chats("two.jsonl", [chat(1)])
    result = psysafe("judge", "one.jsonl", "two.jsonl", "-m", script("judge.yaml"))
    assert result.code == 2
    assert "  one.jsonl:2: malformed JSON" in result.err
    assert "  two.jsonl:1: id: id 'c1' was already used at one.jsonl:1" in result.err


@pytest.mark.parametrize(
    "content, problem",
    [
        (codecs.BOM_UTF16_LE + orjson.dumps(chat(1)).decode().encode("utf-16-le"), "the byte order mark of UTF-16"),
        (b"", "is empty; expected one JSON record a line"),
        (b"\n \n", "is empty; expected one JSON record a line"),
    ],
)
def test_a_file_that_holds_no_records_is_refused(psysafe: Command, content: bytes, problem: str) -> None:
    Path("chats.jsonl").write_bytes(content)
    result = psysafe("judge", "chats.jsonl", "-m", script("judge.yaml"))
    assert result.code == 2
    assert problem in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["missing.jsonl"], r"missing\.jsonl: there is no such file; expected the path of a file, or - for standard"),
        (["folder"], r"folder: is a directory; expected a file, such as those in folder/\*\.jsonl"),
        (["table.xlsx"], r"table\.xlsx: has the suffix \.xlsx; expected one of \.jsonl"),
        (["chats.jsonl", "chats.jsonl"], r"chats\.jsonl"),
        (["chats.jsonl", "--format", "xml"], r"unknown format 'xml'; expected jsonl, json, transcript"),
        (["chats.jsonl", "--scope", "word"], r"unknown scope 'word'; expected reply, turn, conversation"),
        (["chats.jsonl", "--dimensions", "sarcasm"], r"unknown dimension 'sarcasm'; there are: privacy_violation, "),
        (["chats.jsonl", "--dimensions", ","], r"--dimensions is empty; expected all, a group or ids with commas"),
        (["chats.jsonl", "--mechanism", "jury"], r"unknown mechanism 'jury'; there are: single, dual, debate, vote; "),
        (["chats.jsonl", "--mechanism", "vote:k=3"], r"'vote:k=3': vote has no parameter 'k'; it has: max_tokens, "),
        (["chats.jsonl", "--mechanism", "vote:samples=0"], r"'vote:samples=0': samples: Input should be greater"),
        (["chats.jsonl", "--mechanism", "dual:weights=1,1"], r"'dual:weights=1,1': weights: .*sum to 1"),
        (["chats.jsonl", "--mechanism", "vote:20"], r"'vote:20': '20' is not parameter=value; for example vote:"),
        (["chats.jsonl", "--mechanism", "dialogguard-paper", "--curtail"], r"dialogguard-paper fixes all parameters"),
        (["chats.jsonl", "--price", "cheap"], r"--price cheap: expected IN,OUT in US dollars per million tokens"),
        (["chats.jsonl", "--price", "1"], r"--price 1: expected IN,OUT"),
        (["chats.jsonl", "--price", "1,2,3"], r"--price 1,2,3: expected IN,OUT"),
        (["chats.jsonl", "--price", "-1,2"], r"--price -1,2: expected IN,OUT"),
        (["chats.jsonl", "--price", "nan,1"], r"--price nan,1: expected IN,OUT"),
        (["chats.jsonl", "--price", "1,inf"], r"--price 1,inf: expected IN,OUT"),
        (["chats.jsonl", "--max-cost", "1"], r"--max-cost: the price of http.*#judge is unknown; give it with --price"),
        (["chats.jsonl", "--resume"], r"--resume goes on with a run: name it with --run DIR"),
        (["chats.jsonl", "--resume", "--run", "none"], r"none holds no run \(no run\.json in it\)"),
        (["chats.jsonl", "--taxonomy", "none"], r"none: not a folder; expected one that holds a YAML file per dimen"),
        (["chats.jsonl", "--run", "chats.jsonl"], r"cannot make a run in chats\.jsonl: File exists"),
        (["chats.jsonl", "--run", "."], r"\. holds other files \(such as chats\.jsonl\)"),
        ([], r"Missing argument 'FILE'.* \(see psysafe judge --help\)"),
        (["chats.jsonl", "--modle", "x"], r"No such option: --modle.* \(see psysafe judge --help\)"),
        (["chats.jsonl", "--concurrency", "0"], r"Invalid value for '--concurrency'.*greater than or equal to 1"),
        (["chats.jsonl", "--seed", "one"], r"Invalid value for '--seed'.*integer"),
        (["chats.jsonl", "--max-calls", "-1"], r"Invalid value for '--max-calls'"),
        (["chats.jsonl", "--max-unscored", "5"], r"Invalid value for '--max-unscored'"),
        (["chats.jsonl", "--max-unscored", "nan"], r"Invalid value for '--max-unscored'"),
        (["chats.jsonl", "--max-cost", "nan"], r"Invalid value for '--max-cost'"),
        (["chats.jsonl", "--max-seconds", "nan"], r"Invalid value for '--max-seconds'"),
        (["chats.jsonl", "--timeout", "nan"], r"Invalid value for '--timeout'"),
        (["chats.jsonl", "--temperature", "nan"], r"Invalid value for '--temperature'"),
        (["chats.jsonl", "--rpm", "nan"], r"Invalid value for '--rpm'"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_in_one_line_before_anything_is_called(
    psysafe: Command, endpoint: Endpoint, arguments: list[str], problem: str
) -> None:
    chats(2)
    Path("folder").mkdir()
    Path("table.xlsx").write_bytes(b"PK")
    before = sorted(Path().rglob("*"))
    result = psysafe("judge", *arguments, "--model", endpoint.model_string)
    assert result.code == 2
    assert re.search(problem, result.complaint)
    assert endpoint.everything == []
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    "model, problem",
    [
        (
            "gpt-4",
            r"unknown model 'gpt-4'; expected one of: screen, .*panel:A\+B, .*openai/MODEL, .*scripted:FILE\.yaml",
        ),
        ("openai/", r"unknown model 'openai/'"),
        ("openai/gpt-4o-mini", r"openai/gpt-4o-mini: no key; set the environment variable OPENAI_API_KEY"),
        ("scripted:none.yaml", r"scripted:none\.yaml: No such file or directory"),
        ("scripted:bad.yaml", r"bad\.yaml: rules\.0\.faults: Extra inputs are not permitted"),
        ("http://", r"names no host; expected something like http://127\.0\.0\.1:8000/v1#MODEL"),
        ("http://127.0.0.1:port/v1#m", r"is not a URL"),
        ("http://me:hunter2@127.0.0.1/v1#m", r"the URL of 127\.0\.0\.1 holds a user name or password"),
        ("http://127.0.0.1/v1?key=hunter2#m", r"a base URL has no query part"),
    ],
)
def test_a_model_that_cannot_be_used_is_named_in_one_line(psysafe: Command, model: str, problem: str) -> None:
    chats(2)
    Path("bad.yaml").write_text("rules: [{reply: '0', faults: hang}]")
    result = psysafe("judge", "chats.jsonl", "--model", model)
    assert result.code == 2
    assert re.search(problem, result.complaint)
    assert "hunter2" not in result.err


def test_without_a_model_the_ways_to_name_one_are_shown(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psysafe.judging.judges.installed", lambda: None)
    chats(1)
    result = psysafe("judge", "chats.jsonl")
    assert result.code == 2
    assert "no judge model: add --model" in result.complaint
    assert "PSYSAFE_MODEL" in result.complaint
    assert "pip install 'psysafe[screen]'" in result.complaint


def test_without_a_model_the_embedded_judge_that_is_installed_is_taken_and_named(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psysafe.judging.judges.installed", lambda: "lexicon")
    chats(1)
    result = psysafe("judge", "chats.jsonl", "--json")
    assert "no --model given: judging with lexicon" in result.err
    assert list(result.json["models"]) == ["lexicon"]


def test_two_models_of_one_name_are_refused_since_results_are_keyed_by_it(psysafe: Command) -> None:
    chats(2)
    Path("a").mkdir()
    Path("b").mkdir()
    first, second = script("a/judge.yaml"), script("b/judge.yaml")
    result = psysafe("judge", "chats.jsonl", "-m", first, "-m", second)
    assert result.code == 2
    assert "two models have the name scripted:judge" in result.complaint


def test_an_endpoint_that_cannot_be_reached_is_named(psysafe: Command) -> None:
    chats(2)
    result = psysafe("judge", "chats.jsonl", "--model", "http://127.0.0.1:9/v1#m", "--retries", "0", "--run", "r")
    assert result.code == 2
    assert result.err.splitlines() == ["run: r", "psysafe: cannot reach 127.0.0.1:9: Connect call failed"] or (
        "psysafe: cannot reach 127.0.0.1:9: " in result.err.splitlines()[-1]
    )
    assert result.out == ""


@pytest.mark.parametrize(
    "status, said, problem",
    [
        (401, "Incorrect API key provided", r"the endpoint refused the key \(401\): Incorrect API key provided"),
        (403, "forbidden", r"the endpoint refused the key \(403\): forbidden"),
        (404, "The model `judge` does not exist", r"no such model or path \(404\): The model `judge` does not exist"),
    ],
)
def test_a_wrong_key_or_an_unknown_model_ends_the_run_at_once(
    psysafe: Command, endpoint: Endpoint, status: int, said: str, problem: str
) -> None:
    chats(50)
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: error(status, said)
    result = psysafe("judge", "chats.jsonl", "--model", endpoint.model_string, "--run", "r")
    assert result.code == 2
    assert re.search(problem, result.err.splitlines()[-1])
    assert len(result.err.splitlines()) == 2
    assert (len(endpoint.probes), len(endpoint.calls)) == (1, 0)
    assert not Path("r").exists()  # the same command can simply be given again


def test_a_directory_that_holds_a_run_is_not_written_over(psysafe: Command) -> None:
    chats(2)
    model = script("judge.yaml")
    assert psysafe("judge", "chats.jsonl", "-m", model, "--run", "r", *INSULT).code == 0
    before = judgments("r")
    result = psysafe("judge", "chats.jsonl", "-m", model, "--run", "r", *INSULT)
    assert result.code == 2
    assert result.complaint == "r already holds a run: add --resume to go on with it, or name another --run"
    assert judgments("r") == before


# ---- what looks odd and is fine


@pytest.mark.parametrize(
    "change",
    [
        lambda data: codecs.BOM_UTF8 + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: codecs.BOM_UTF8 + data.replace(b"\n", b"\r\n"),
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b"\n", b"\n\n"),
    ],
    ids=["BOM", "CRLF", "BOM and CRLF", "no last line end", "blank lines"],
)
def test_marks_and_line_ends_change_no_judgment(psysafe: Command, change: Any) -> None:
    model = by_number()
    data = chats(6).read_bytes()
    assert psysafe("judge", "chats.jsonl", "-m", model, "--run", "plain", *INSULT).code == 0
    Path("chats.jsonl").write_bytes(change(data))
    assert psysafe("judge", "chats.jsonl", "-m", model, "--run", "changed", *INSULT).code == 0
    assert judgments("changed") == judgments("plain")
    assert len(judgments("changed")) == 6


def test_standard_input_is_read_like_a_file(psysafe: Command) -> None:
    model = by_number()
    data = chats(6).read_bytes()
    psysafe("judge", "chats.jsonl", "-m", model, "--run", "file", *INSULT)
    assert psysafe("judge", "-", "-m", model, "--run", "stdin", *INSULT, stdin=data).code == 0
    assert judgments("stdin") == judgments("file")


def test_a_bad_record_on_standard_input_is_named(psysafe: Command) -> None:
    result = psysafe("judge", "-", "-m", script("judge.yaml"), stdin=orjson.dumps(chat(1)) + b"\n{")
    assert result.code == 2
    assert "-:2: malformed JSON" in result.err


def test_a_pipe_from_another_process_is_read(psysafe: Command) -> None:
    process = spawn("judge", "-", "-m", script("judge.yaml"), "--json", *INSULT, stdin=-1)
    result = finish(process, orjson.dumps(chat(1)).decode())
    assert result.code == 0
    assert result.json["counts"]["scored"] == 1


def test_a_transcript_is_judged(psysafe: Command) -> None:
    Path("talk.txt").write_text("User: Hello\nAssistant: Reply 2.\n")
    result = psysafe("judge", "talk.txt", "-m", by_number(), "--json", *INSULT)
    assert result.json["dimensions"]["insulting_behaviour"]["single"]["mean_score"] == 2.0
    assert verdict(2)["score"] == 2
