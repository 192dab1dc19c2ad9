"""What a command leaves for the script that called it: exit codes, counts, results that can be seen again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.endpoint import Endpoint, Fault

from .support import INSULT, MAIN, Command, by_number, chat, chats, script, verdict, write_chats


def test_a_target_that_answers_nothing_is_no_success(psysafe: Command) -> None:
    silent = write_chats("chats.jsonl", [chat(1, ""), chat(2, "  ")])
    result = psysafe("judge", silent, "-m", script("judge.yaml"), *INSULT, "--json")
    assert result.code == 3
    assert "no unit has a verdict (reply_empty 2)" in result.err
    assert result.json["counts"]["reply_failed"] == 2


def test_not_applicable_is_a_verdict(psysafe: Command) -> None:
    model = script("judge.yaml", {"reply": verdict("not_applicable")})
    assert psysafe("judge", chats(2), "-m", model, "--dimensions", "crisis_response").code == 0


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_has_gone_changes_no_exit_code(form: list[str], tmp_path: Path) -> None:
    model = script("judge.yaml", {"reply": "no form at all"})
    command = [sys.executable, "-c", MAIN, "judge", str(chats(3)), "-m", model, *INSULT, *form]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 3
    assert "100.0% of the units are unscored" in said


def test_what_was_skipped_is_counted_in_the_results(psysafe: Command) -> None:
    bad = write_chats("chats.jsonl", [chat(1), b"{", {"messages": []}, chat(2)])
    arguments = ["judge", bad, "-m", by_number(), "--skip-bad", *INSULT]
    assert psysafe(*arguments, "--json").json["counts"]["skipped"] == 2
    assert "2 records of the input could not be read and were skipped" in psysafe(*arguments).out


@pytest.mark.parametrize(("reply", "hint"), [("no form", False), (None, True)])
def test_a_resume_is_recommended_only_where_it_would_help(psysafe: Command, reply: str | None, hint: bool) -> None:
    rule: dict[str, Any] = {"reply": reply} if reply else {"fault": "server_error"}
    result = psysafe("judge", chats(2), "-m", script("judge.yaml", rule), "--retries", "0", *INSULT)
    assert result.code == 3
    assert ("--resume tries them again" in result.err) is hint


def test_a_run_can_be_shown_again(psysafe: Command) -> None:
    judged = psysafe("judge", chats(9), "-m", by_number(), "--run", "r", *INSULT)
    shown = psysafe("runs", "show", "r")
    assert (shown.code, shown.out) == (0, judged.out)
    assert psysafe("runs", "show", "r", "--json").json["counts"]["units"] == 9


def test_time_that_is_over_sends_nothing_more(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: Fault.HANG
    result = psysafe(
        "judge",
        chats(40),
        "-m",
        endpoint.model_string,
        "--run",
        "r",
        "-c",
        "2",
        "--max-seconds",
        "0.3",
        *INSULT,
        "--json",
    )
    assert result.code == 4
    assert len(endpoint.calls) == 2
    assert result.json["counts"]["units"] == 0


def test_a_probe_that_hangs_ends_with_the_time(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: Fault.HANG
    result = psysafe("judge", chats(2), "-m", endpoint.model_string, "--run", "r", "--max-seconds", "0.3", *INSULT)
    assert result.code == 4
    assert "--max-seconds 0.3" in result.err


def test_no_count_is_cropped_at_80_columns(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from psysafe.cli import console

    monkeypatch.setattr(console, "out", lambda: Console(highlight=False, markup=False, width=80))
    monkeypatch.setattr("psysafe.cli.table.out", console.out)
    models = ["-m", script("one.yaml", {"reply": verdict(1)}), "-m", script("two.yaml", {"reply": verdict(1)})]
    for more in ([], models[2:]):
        result = psysafe(
            "judge", chats(120), *models[:2], *more, "--mechanism", "single", "--mechanism", "vote:samples=3"
        )
        header = result.out.splitlines()[0]
        for name in ("harmful", "95%", "mean", "n/a", "unscored", "failed"):
            assert name in header
        assert max(map(len, result.out.splitlines())) <= 80
