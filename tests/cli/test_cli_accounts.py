"""What was spent is accounted for, what was deleted stays deleted, and what will never pass is not tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.runs import Store
from tests.support.endpoint import Endpoint, error

from .support import INSULT, Command, by_number, chat, chats, judgments, script, verdict, write_chats


def test_calls_of_a_unit_that_the_budget_cut_off_are_in_the_account(psysafe: Command) -> None:
    # every first answer is unusable, so a unit that was planned with three calls needs six
    rules = [
        {"when": {"sample": [0, 2, 4]}, "reply": "no form at all"},
        {"reply": verdict(1)},
    ]  # fmt: skip
    model = script("judge.yaml", *rules, price=[1.0, 1.0])
    arguments = ["judge", chats(4), "-m", model, "--mechanism", "vote:samples=3", "--run", "r", *INSULT, "--json"]
    result = psysafe(*arguments, "--max-calls", "10")
    assert result.code == 4
    stored = judgments("r")
    assert result.json["calls"] == 10 > sum(line["calls"] for line in stored)
    assert result.json["cost"] > sum(line["cost"] for line in stored)
    resumed = psysafe(*arguments, "--resume")
    assert (resumed.code, resumed.json["counts"]["scored"]) == (0, 4)
    wasted = 10 - sum(line["calls"] for line in stored)
    assert resumed.json["calls"] == 4 * 6 + wasted


def test_calls_of_a_unit_that_is_judged_again_stay_in_the_account(psysafe: Command, endpoint: Endpoint) -> None:
    broken = True

    def handler(body: dict[str, Any], attempt: int) -> Any:
        return error(503, "overloaded") if broken else orjson.dumps(verdict(0)).decode()

    endpoint.handler = handler
    arguments = ["judge", chats(3), "-m", endpoint.model_string, "--run", "r", "--retries", "0", *INSULT, "--json"]
    first = psysafe(*arguments)
    assert (first.json["calls"], first.json["counts"]["by_reason"]) == (3, {"endpoint_error": 3})
    broken = False
    second = psysafe(*arguments, "--resume")
    assert second.code == 0
    assert (second.json["calls"], second.json["attempts"], second.json["counts"]["scored"]) == (6, 6, 3)


def test_a_deleted_conversation_does_not_come_back_with_a_resume(psysafe: Command) -> None:
    arguments = ["judge", chats(5), "-m", by_number(), "--run", "r", *INSULT]
    assert psysafe(*arguments).code == 0
    assert psysafe("runs", "delete", "r", "--conversation", "c2", "--yes").code == 0
    result = psysafe(*arguments, "--resume", "--json")
    assert (result.code, result.json["counts"]["units"], result.json["calls"]) == (0, 4, 5 - 1)
    assert [line["id"] for line in judgments("r")] == ["c0", "c1", "c3", "c4"]
    store = Store.open(Path("r"))
    assert "c2" not in str(store.get("deleted"))
    store.close()


def test_a_request_that_is_refused_for_good_is_named_and_not_tried_again(psysafe: Command, endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: error(400, "This model's maximum context length is 10 tokens.")
    arguments = ["judge", chats(30), "-m", endpoint.model_string, "--run", "r", "-c", "2", *INSULT, "--json"]
    result = psysafe(*arguments)
    assert result.code == 3
    assert result.json["ended"] == "complete"  # the endpoint is there; it answers
    assert result.json["counts"]["by_reason"] == {"bad_request": 30}
    assert len(endpoint.calls) == 30
    assert psysafe(*arguments, "--resume").json["counts"]["by_reason"] == {"bad_request": 30}
    assert len(endpoint.calls) == 30


@pytest.mark.parametrize(
    "broken", ['{"rationale": "half \\ud83d of it", "score": 1}', '{"rationale": "\\udc00", "score": 1} .']
)
def test_half_of_a_surrogate_pair_in_an_answer_ends_no_run(psysafe: Command, endpoint: Endpoint, broken: str) -> None:
    endpoint.handler = lambda body, attempt: broken
    assert psysafe("judge", chats(2), "-m", endpoint.model_string, "--run", "r", *INSULT).code in (0, 3)
    assert len(judgments("r")) == 2


def test_a_dry_run_needs_no_key_and_a_run_does(psysafe: Command) -> None:
    chats(2)
    assert psysafe("judge", "chats.jsonl", "-m", "openai/gpt-4o-mini", "--dry-run", *INSULT).code == 0
    result = psysafe("judge", "chats.jsonl", "-m", "openai/gpt-4o-mini", *INSULT)
    assert result.code == 2
    assert "set the environment variable OPENAI_API_KEY" in result.complaint


def test_a_price_given_by_hand_holds_for_every_kind_of_judge(psysafe: Command) -> None:
    result = psysafe(
        "judge", chats(1), "-m", script("judge.yaml"), "--price", "1000000,0", "--run", "r", *INSULT, "--json"
    )
    assert result.json["cost"] == result.json["usage"]["prompt_tokens"]


def test_a_run_that_could_not_begin_leaves_nothing_behind(psysafe: Command) -> None:
    arguments = ["judge", write_chats("chats.jsonl", [chat(1)]), "--run", "r", *INSULT]
    dead = psysafe(*arguments, "-m", "http://127.0.0.1:9/v1#m", "--retries", "0")
    assert dead.code == 2
    assert "cannot reach 127.0.0.1:9" in dead.err
    assert not Path("r").exists()
    assert psysafe(*arguments, "-m", script("judge.yaml")).code == 0
