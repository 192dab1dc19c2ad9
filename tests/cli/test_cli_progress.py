"""Progress: on stderr, now and then, and not at all when it is not wanted."""

from __future__ import annotations

import re
from typing import Any

import pytest

from psysafe.cli import progress
from tests.cli.support import INSULT, Command, by_number, chat, chats, script, verdict, write_chats
from tests.support.endpoint import Endpoint


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)


def test_without_a_terminal_progress_is_lines_on_stderr(psysafe: Command) -> None:
    rules: list[dict[str, Any]] = [{"when": {"judged": "Reply 1"}, "fault": "refusal"}, {"reply": verdict(0)}]
    result = psysafe("judge", chats(3), "-m", script("judge.yaml", *rules), "--run", "r", "-c", "1", "--json", *INSULT)
    assert result.json["counts"]["units"] == 3
    lines = [line for line in result.err.splitlines() if line.startswith("judging: ")]
    assert len(lines) == 3
    assert re.fullmatch(r"judging: 3 of 3 units, [\d.]+ calls/s, cost unknown, 1 unscored, about 0 s left", lines[-1])


def test_the_cost_so_far_is_shown_where_it_is_known(psysafe: Command) -> None:
    result = psysafe("judge", chats(3), "-m", by_number(price=[1.0, 2.0]), "-c", "1", *INSULT)
    assert re.search(r"judging: 3 of 3 units, [\d.]+ calls/s, \$0\.0\d+, 0 unscored", result.err)


def test_quiet_is_quiet(psysafe: Command) -> None:
    result = psysafe("judge", chats(3), "-m", by_number(), "--run", "r", "--quiet", *INSULT)
    assert result.err == "run: r\n"


def test_progress_holds_no_text(psysafe: Command, endpoint: Endpoint) -> None:
    write_chats("chats.jsonl", [chat(1, "the letter under the piano")])
    result = psysafe("judge", "chats.jsonl", "-m", endpoint.model_string, *INSULT)
    assert "judging: 1 of 1 units" in result.err
    assert "piano" not in result.out + result.err
