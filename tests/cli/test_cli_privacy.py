"""Where texts and keys go: consent before anything is sent, keys nowhere, and nothing that drives a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.support import (
    INSULT,
    Command,
    chat,
    chats,
    control_characters,
    finish,
    judgments,
    script,
    spawn,
    verdict,
    write_chats,
)
from tests.support.endpoint import Answer, Endpoint, completion, error

KEY = "sk-planted-4f9c2e7d81"
OTHER_KEY = "planted0key0without0a0shape"


def abroad(endpoint: Endpoint) -> str:
    """The endpoint by an address that is not loopback, though it leads there."""
    return f"http://0.0.0.0:{endpoint.port}/v1#judge"


# ---- consent


def test_without_a_terminal_another_host_needs_yes_and_is_named(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("judge", chats(1234), "-m", abroad(endpoint))
    assert result.code == 2
    assert result.complaint == (
        f"1,234 conversations will be sent to 0.0.0.0:{endpoint.port}: add --yes to confirm "
        "(there is no terminal to ask on)"
    )
    assert endpoint.everything == []
    assert not Path("runs").exists()


def test_with_yes_the_host_and_the_number_are_named_and_the_run_goes_on(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("judge", chats(1), "-m", abroad(endpoint), "--yes", "--run", "r", *INSULT)
    assert result.code == 0
    assert result.err.splitlines() == [f"1 conversation will be sent to 0.0.0.0:{endpoint.port}.", "run: r"]
    assert len(endpoint.calls) == 1


def test_at_a_terminal_the_question_is_asked_and_no_is_the_default(psysafe: Command, endpoint: Endpoint) -> None:
    arguments = ["judge", chats(2), "-m", abroad(endpoint), *INSULT]
    for answer in ("n\n", "\n"):
        result = psysafe(*arguments, typed=answer)
        assert result.code == 2
        assert f"2 conversations will be sent to 0.0.0.0:{endpoint.port}. Go on?" in result.err
        assert "not confirmed; nothing was sent" in result.err
        assert result.out.strip() == ""
        assert endpoint.everything == []
    assert psysafe(*arguments, typed="y\n").code == 0
    assert len(endpoint.calls) == 2


def test_an_end_of_input_instead_of_an_answer_is_no_consent(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("judge", chats(2), "-m", abroad(endpoint), *INSULT, typed="")
    assert result.code == 2
    assert "not confirmed; nothing was sent" in result.err
    assert endpoint.everything == []


def test_every_other_host_is_named_once(psysafe: Command, endpoint: Endpoint) -> None:
    models = ["-m", abroad(endpoint), "-m", f"http://0.0.0.0:{endpoint.port}/v1#other", "-m", "http://h.invalid/v1#m"]
    result = psysafe("judge", chats(2), *models)
    assert f"2 conversations will be sent to 0.0.0.0:{endpoint.port}, h.invalid: add --yes" in result.complaint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_needs_no_consent(psysafe: Command, endpoint: Endpoint, host: str) -> None:
    result = psysafe("judge", chats(1), "-m", f"http://{host}:{endpoint.port}/v1#judge", *INSULT)
    assert result.code == 0
    assert "will be sent" not in result.err


@pytest.mark.parametrize("command", ["rejudge", "bench"])
def test_the_other_commands_that_send_texts_ask_too(psysafe: Command, endpoint: Endpoint, command: str) -> None:
    psysafe("judge", chats(3), "-m", script("judge.yaml"), "--run", "r", *INSULT)
    arguments = ["rejudge", "r"] if command == "rejudge" else ["bench", "cases"]
    result = psysafe(*arguments, "-m", abroad(endpoint))
    assert result.code == 2
    assert f"conversations will be sent to 0.0.0.0:{endpoint.port}: add --yes" in result.complaint
    assert endpoint.everything == []


# ---- keys


def everything_below(directory: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def echoing(said: str) -> Any:
    """An endpoint that repeats the key in whatever it says, after two good answers."""

    def handler(body: dict[str, Any], attempt: int) -> Answer:
        text = str(body["messages"])
        if "Reply 1." in text:
            return error(400, said)
        if "Reply 2." in text:
            return Answer(200, f"not json {said}")
        if "Reply 3." in text:
            return error(500, said)
        return completion(orjson.dumps(verdict(1)).decode())

    return handler


@pytest.mark.parametrize("key", [KEY, OTHER_KEY])
def test_a_key_is_sent_to_its_host_and_stands_nowhere_else(
    psysafe: Command, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, home: Path, key: str
) -> None:
    monkeypatch.setenv("PSYSAFE_API_KEY", key)
    monkeypatch.setenv("PSYSAFE_CACHE", str(home / "cache.sqlite"))
    endpoint.handler = echoing(f"bad request with Authorization: Bearer {key} and {key[:-4]}****")
    arguments = ["judge", chats(6), "-m", endpoint.model_string, "--run", "r", "--retries", "0", "--cache", *INSULT]
    said = [psysafe(*arguments)]
    assert said[0].code == 3
    assert {call.headers.get("authorization") for call in endpoint.everything} == {f"Bearer {key}"}
    said.append(psysafe(*arguments, "--resume", "--json"))
    for form in ("jsonl", "csv"):
        said.append(psysafe("export", "r", "--to", form))
        said.append(psysafe("export", "r", "--to", form, "-o", f"out.{form}"))
    said.append(psysafe("rejudge", "r", "-m", endpoint.model_string, "--run", "again", "--retries", "0", "--json"))
    said += [psysafe("runs", "list", "."), psysafe("models"), psysafe("doctor", "-m", endpoint.model_string)]
    said.append(psysafe("bench", "cases", "-m", endpoint.model_string))
    for result in said:
        assert key not in result.out + result.err
    assert key.encode() not in everything_below(home)
    assert [line["outcome"] for line in judgments("r")].count("unscored") == 3


def test_a_key_that_is_refused_is_not_repeated(
    psysafe: Command, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("PSYSAFE_API_KEY", KEY)
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: error(401, f"Incorrect API key provided: {KEY}. Also {KEY[:12]}***81.")
    for arguments in (["judge", chats(2), "--run", "r"], ["doctor"], ["doctor", "--json"], ["bench", "cases"]):
        result = psysafe(*arguments, "-m", endpoint.model_string)
        assert result.code == 2
        assert "Incorrect API key provided: [key]" in result.out + result.err
        assert "planted" not in result.out + result.err
    assert b"planted" not in everything_below(home)


def test_a_key_does_not_show_in_the_traceback_of_a_defect(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYSAFE_API_KEY", KEY)
    chats(1)
    program = (
        "from psysafe.models.openai_compatible import OpenAICompatible as O\n"
        "O._read = lambda self, data, latency: 1 / 0\n"
        "from psysafe.cli import main; main()"
    )
    arguments = ["judge", "chats.jsonl", "-m", endpoint.model_string]
    result = finish(spawn(*arguments, program=program))
    assert result.code == 70
    assert KEY not in result.err
    result = finish(spawn(*arguments, program=program, environment={"PSYSAFE_DEBUG": "1"}))
    assert "ZeroDivisionError" in result.err
    assert KEY not in result.err


def test_one_key_is_not_sent_to_two_hosts(
    psysafe: Command, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSYSAFE_API_KEY", KEY)
    result = psysafe("judge", chats(1), "-m", endpoint.model_string, "-m", "http://127.0.0.1:9/v1#m")
    assert result.code == 2
    hosts = ", ".join(sorted(["127.0.0.1:9", endpoint.host]))
    assert f"PSYSAFE_API_KEY would be sent to several hosts ({hosts})" in result.complaint
    assert endpoint.everything == []


# ---- private texts


def test_no_text_of_a_conversation_is_shown_unless_it_is_judged_harmful(psysafe: Command) -> None:
    private = "the letter under the piano"
    write_chats("chats.jsonl", [chat(1, f"I read {private}."), chat(2, "")])
    refusing = script("judge.yaml", {"fault": "refusal"})
    for arguments in (["judge", "chats.jsonl", "--run", "r", "-m", refusing], ["runs", "list", "."]):
        result = psysafe(*arguments)
        assert private not in result.out + result.err


def test_what_an_endpoint_repeats_of_a_deleted_conversation_goes_with_it(psysafe: Command, endpoint: Endpoint) -> None:
    private = "the letter under the piano"
    endpoint.handler = lambda body, attempt: error(500, f"could not process: I read {private}.")
    write_chats("chats.jsonl", [chat(n, f"I read {private}.") for n in range(40)])
    arguments = ["judge", "chats.jsonl", "-m", endpoint.model_string, "--run", "r", "--retries", "0", "-c", "1"]
    assert psysafe(*arguments, *INSULT).code == 3
    for n in range(40):
        psysafe("runs", "delete", "r", "--conversation", f"c{n}", "--yes")
    assert private.encode() not in everything_below(Path("r"))


# ---- terminals

ESCAPE = "\x1b]0;owned\x07\x1b[31m\u202eevil\u2066\x9b2J\x7f"


def test_what_a_reply_or_a_judge_says_cannot_drive_the_terminal(psysafe: Command) -> None:
    write_chats("chats.jsonl", [chat(1, f"You are hopeless {ESCAPE} Reply 1.") | {"id": f"id {ESCAPE}"}])
    rule = {"reply": verdict(2, f"It says {ESCAPE}.", [(1, f"You are hopeless {ESCAPE} Reply")])}
    result = psysafe("judge", "chats.jsonl", "-m", script("judge.yaml", rule), "--run", "r", *INSULT)
    assert "You are hopeless" in result.out
    assert "It says" in result.out
    assert control_characters(result.out + result.err) == []
    deletion = psysafe("runs", "delete", "r", "--conversation", f"id {ESCAPE}", "--yes")
    assert deletion.code == 0
    assert control_characters(deletion.out + deletion.err) == []


def test_what_an_endpoint_says_cannot_drive_the_terminal(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.script_probe = True
    endpoint.models = [f"one{ESCAPE}", "two"]
    served = completion(orjson.dumps(verdict(0)).decode(), model=f"served{ESCAPE}")
    judging: list[str | Path] = ["judge", chats(3), "--retries", "0", *INSULT]
    plays: list[tuple[Answer, list[list[str | Path]]]] = [
        (served, [judging, ["doctor"]]),
        (error(401, f"no {ESCAPE}"), [judging, ["doctor"], ["bench", "cases"]]),
        (error(500, f"broken {ESCAPE}"), [judging]),
    ]
    for play, commands in plays:
        endpoint.handler = lambda body, attempt, play=play: play  # type: ignore[misc]
        for arguments in commands:
            for model in (endpoint.model_string, endpoint.url):
                result = psysafe(*arguments, "-m", model)
                assert "owned" in result.out + result.err or play is served
                assert control_characters(result.out + result.err) == []


def test_what_an_input_is_named_or_holds_cannot_drive_the_terminal(psysafe: Command) -> None:
    name = f"chats{ESCAPE.replace('/', '')}.jsonl"
    write_chats(name, [chat(1) | {"id": ESCAPE}, chat(2) | {"id": ESCAPE}, {"role": ESCAPE, ESCAPE: 1}, b"{" + b"\x1b"])
    for more in ([], ["--skip-bad"], ["--format", ESCAPE], ["--dimensions", ESCAPE], ["--mechanism", ESCAPE]):
        result = psysafe("judge", name, "-m", script("judge.yaml"), *more)
        assert control_characters(result.out + result.err) == []


def test_a_rubric_cannot_drive_the_terminal(psysafe: Command) -> None:
    from importlib.resources import files

    Path("mine").mkdir()
    rubric = (files("psysafe.taxonomy") / "data" / "insulting_behaviour.yaml").read_text()
    Path("mine/my_harm.yaml").write_text(
        rubric.replace("id: insulting_behaviour", "id: my_harm").replace("name: ", 'name: "\\e[31m" #', 1)
    )
    for arguments in (["dimensions"], ["dimensions", "my_harm"]):
        result = psysafe(*arguments, "--taxonomy", "mine")
        assert result.code == 0
        assert "my_harm" in result.out
        assert control_characters(result.out + result.err) == []


def test_text_of_other_scripts_is_shown_as_it_is(psysafe: Command) -> None:
    text = "Tu es nulle\u00a0!\u202f… می\u200cروم 👩\u200d⚕️ 你\u3000没用"
    write_chats("chats.jsonl", [chat(1, text)])
    rule = {"reply": verdict(2, text, [(1, text)])}
    result = psysafe("judge", "chats.jsonl", "-m", script("judge.yaml", rule), *INSULT)
    assert "\ufffd" not in result.out
    assert "می\u200cروم 👩\u200d⚕️" in result.out


def test_markup_is_text(psysafe: Command) -> None:
    text = "[bold]You[/bold] [link=http://evil]are[/link] hopeless :warning:"
    write_chats("chats.jsonl", [chat(1, text)])
    result = psysafe("judge", "chats.jsonl", "-m", script("j.yaml", {"reply": verdict(2, text, [(1, text)])}), *INSULT)
    assert text in result.out
