"""psysafe judge: results on stdout, all else on stderr; exit codes; estimates; resuming; budgets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.judging.mechanisms import Single
from psysafe.models.scripted import ScriptedModel
from psysafe.runs import Store, StoreError
from tests.cli.support import (
    INSULT,
    Command,
    by_number,
    chat,
    chats,
    judgments,
    meta,
    script,
    verdict,
    write_chats,
)
from tests.support.endpoint import Endpoint

REFUSING = {"when": {"judged": r"Reply \d*[02468]\."}, "fault": "refusal"}
SAFE = {"reply": verdict(0)}


# ---- what is shown


def test_results_go_to_stdout_and_all_else_to_stderr(psysafe: Command) -> None:
    result = psysafe("judge", chats(9), "-m", by_number(), "--run", "r", *INSULT)
    assert result.code == 0
    assert result.err == "run: r\n"
    header, row, *_ = result.out.splitlines()
    assert header.split() == ["dimension", "mechanism", "harmful", "95%", "mean", "n/a", "unscored", "failed"]
    assert row.split() == ["insulting_behaviour", "single", "6/9", "67%", "35-88%", "1.00", "0", "0", "0"]
    assert "9 conversations, 9 units, 9 calls," in result.out
    assert "cost unknown" in result.out


def test_json_is_one_object_with_what_the_manual_says(psysafe: Command) -> None:
    write_chats("chats.jsonl", [*(chat(n) for n in range(9)), chat(9, "")])
    result = psysafe("judge", "chats.jsonl", "-m", by_number(price=[1.0, 2.0]), "--run", "r", "--json", *INSULT)
    found = result.json
    assert result.err == "run: r\n"
    seconds, prompt = found.pop("seconds"), found["usage"].pop("prompt_tokens")
    completion, cost = found["usage"].pop("completion_tokens"), found.pop("cost")
    assert seconds >= 0
    assert cost == pytest.approx(prompt * 1e-6 + completion * 2e-6)
    cell = {
        "harmful": 6 / 9,
        "harmful_count": 6,
        "interval": [pytest.approx(0.3542, abs=1e-4), pytest.approx(0.8794, abs=1e-4)],
        "mean_score": 1.0,
        "curtailed": 0,
        "injection_suspected": 0,
        "flags": {},
        "scored": 9,
        "not_applicable": 0,
        "unscored": 0,
        "reply_failed": 1,
        "by_reason": {"reply_empty": 1},
    }
    dimensions = {"insulting_behaviour": {"single": cell}}
    assert found == {
        "run": "r",
        "counts": {
            "conversations": 10,
            "skipped": 0,
            "units": 10,
            "scored": 9,
            "not_applicable": 0,
            "unscored": 0,
            "reply_failed": 1,
            "by_reason": {"reply_empty": 1},
        },
        "dimensions": dimensions,
        "models": {"scripted:judge": {"dimensions": dimensions}},
        "calls": 9,
        "attempts": 9,
        "usage": {},
        "ended": "complete",
    }


def test_an_unknown_cost_is_null_and_never_0(psysafe: Command, endpoint: Endpoint) -> None:
    result = psysafe("judge", chats(2), "-m", endpoint.model_string, "--json", *INSULT)
    assert result.json["cost"] is None
    assert result.json["usage"] == {"prompt_tokens": 14, "completion_tokens": 6}
    priced = psysafe("judge", "chats.jsonl", "-m", endpoint.model_string, "--json", "--price", "1,2", *INSULT)
    assert priced.json["cost"] == pytest.approx(14e-6 + 12e-6)


def test_several_models_are_keyed_by_each(psysafe: Command) -> None:
    first, second = script("mild.yaml"), script("strict.yaml", {"reply": verdict(2)})
    result = psysafe("judge", chats(3), "-m", first, "-m", second, "--json", *INSULT)
    assert "dimensions" not in result.json
    shares = {
        name: model["dimensions"]["insulting_behaviour"]["single"]["harmful"]
        for name, model in result.json["models"].items()
    }
    assert shares == {"scripted:mild": 0.0, "scripted:strict": 1.0}
    table = psysafe("judge", "chats.jsonl", "-m", first, "-m", second, *INSULT).out
    assert "model" in table.splitlines()[0]
    assert "scripted:strict" in table


def test_the_worst_verdicts_are_shown_with_their_quotes_and_the_unverified_ones_without(psysafe: Command) -> None:
    write_chats("chats.jsonl", [chat(1, "You are hopeless, Reply 1."), chat(2)])
    quotes = [(1, "You are hopeless"), (1, "never said")]
    judge = script("judge.yaml", {"when": {"judged": "hopeless"}, "reply": verdict(2, "Contempt.", quotes)}, SAFE)
    result = psysafe("judge", "chats.jsonl", "-m", judge, "--run", "r", *INSULT)
    assert "Harmful or flagged, the worst first (the quotes may distress):" in result.out
    assert "  c1 message 1: insulting_behaviour 2.00 (single) [evidence_unverified]" in result.out
    assert '    "You are hopeless"\n    Contempt.\n' in result.out
    assert "never said" not in result.out


def test_unscored_is_said_not_to_be_safe(psysafe: Command) -> None:
    result = psysafe("judge", chats(10), "-m", script("judge.yaml", REFUSING, SAFE), *INSULT)
    assert "without a verdict: judge_refused 5" in result.out
    assert "Unscored is not safe: these units were not judged, and are in neither share nor mean." in result.out
    assert "0/5 0%" in result.out


def test_the_default_model_is_read_from_the_environment(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSYSAFE_MODEL", script("default.yaml"))
    result = psysafe("judge", chats(1), "--json", *INSULT)
    assert list(result.json["models"]) == ["scripted:default"]


def test_runs_are_made_in_the_folder_of_runs(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    psysafe("judge", chats(1), "-m", script("judge.yaml"), *INSULT)
    monkeypatch.setenv("PSYSAFE_RUNS", "elsewhere")
    psysafe("judge", "chats.jsonl", "-m", script("judge.yaml"), *INSULT)
    for folder in ("runs", "elsewhere"):
        (found,) = Path(folder).iterdir()
        assert re.fullmatch(r"\d{8}-\d{6}-judge-[0-9a-f]{4}", found.name)
        assert found.stat().st_mode & 0o777 == 0o700


def test_all_dimensions_and_a_preset_make_the_product_of_units(psysafe: Command) -> None:
    speech = {"when": {"prompt": "Answer with your speech alone"}, "reply": "a speech"}
    judge = script("judge.yaml", speech, SAFE)
    result = psysafe("judge", chats(2), "-m", judge, "--mechanism", "dialogguard-paper", "--json")
    assert result.json["counts"]["units"] == 2 * 7 * 4
    assert set(result.json["dimensions"]["privacy_violation"]) == {"single", "dual", "debate", "vote"}


# ---- nothing to be called


def test_a_dry_run_shows_what_would_be_spent_and_calls_nothing(psysafe: Command, endpoint: Endpoint) -> None:
    arguments = ["judge", chats(10), "-m", endpoint.model_string, "--mechanism", "vote:samples=20", "--dry-run"]
    result = psysafe(*arguments)
    assert result.code == 0
    assert result.err == ""
    row = result.out.splitlines()[1].split()
    assert row[:4] == [endpoint.model_string, endpoint.host, "70", "1,400"]
    assert row[-1] == "unknown"
    assert "Nothing was sent." in result.out
    assert endpoint.everything == []
    assert not Path("runs").exists()
    estimate = psysafe(*arguments, "--json", "--price", "1,2").json
    assert (estimate["dry_run"], estimate["conversations"], estimate["units"]) == (True, 10, 70)
    model = estimate["models"][endpoint.model_string]
    assert model["calls"] == 1400
    assert model["cost"] == pytest.approx(model["prompt_tokens"] * 1e-6 + model["completion_tokens"] * 2e-6)


def test_a_dry_run_needs_no_consent(psysafe: Command) -> None:
    result = psysafe("judge", chats(2), "-m", "http://judge.invalid/v1#m", "--dry-run")
    assert result.code == 0
    assert "judge.invalid" in result.out


@pytest.mark.parametrize("arguments", [["--help"], ["judge", "--help"], ["runs", "--help"], []])
def test_help_is_a_result(psysafe: Command, arguments: list[str]) -> None:
    result = psysafe(*arguments)
    assert result.code == 0
    assert "Usage: psysafe" in result.out
    assert result.err == ""


def test_the_version_is_shown(psysafe: Command) -> None:
    from psysafe import __version__

    assert psysafe("--version").out == f"psysafe {__version__}\n"


def test_an_unknown_command_is_a_usage_error(psysafe: Command) -> None:
    result = psysafe("juge")
    assert result.code == 2
    assert "No such command 'juge'" in result.complaint


# ---- exit codes


@pytest.mark.parametrize("limit, code", [("0.5", 0), ("0.49", 3), ("1", 0), ("0", 3)])
def test_more_unscored_than_allowed_is_an_exit_of_its_own(psysafe: Command, limit: str, code: int) -> None:
    judge = script("judge.yaml", REFUSING, SAFE)
    result = psysafe("judge", chats(10), "-m", judge, "--max-unscored", limit, "--run", "r", "--json", *INSULT)
    assert result.code == code
    assert result.json["counts"]["unscored"] == 5
    if code:
        assert "50.0% of the units are unscored, above --max-unscored" in result.err


def test_harm_that_was_found_is_no_failure_of_the_command(psysafe: Command) -> None:
    assert psysafe("judge", chats(3), "-m", script("j.yaml", {"reply": verdict(2)}), *INSULT).code == 0


def test_a_defect_of_ours_is_called_one_and_what_is_done_is_kept(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Single.run

    async def broken(self: Single, unit: Any) -> Any:
        if unit.subject.conversation.id == "c5":
            raise ZeroDivisionError("a defect")
        return await run(self, unit)

    monkeypatch.setattr(Single, "run", broken)
    arguments = ["judge", chats(100), "-m", script("judge.yaml"), "--run", "r", "-c", "1", *INSULT]
    result = psysafe(*arguments)
    assert result.code == 70
    assert result.out == ""
    assert re.search(r"psysafe: internal error: ZeroDivisionError: a defect\. What was committed is kept", result.err)
    assert {line["id"] for line in judgments("r")} >= {f"c{n}" for n in range(5)}
    with pytest.raises(ZeroDivisionError), monkeypatch.context() as context:
        context.setenv("PSYSAFE_DEBUG", "1")
        psysafe(*arguments, "--resume")
    monkeypatch.setattr(Single, "run", run)
    assert psysafe(*arguments, "--resume").code == 0
    assert len(judgments("r")) == 100


@pytest.mark.parametrize("also_meta", [False, True])
def test_a_full_disk_ends_the_run_in_one_line_and_nothing_is_pretended(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch, also_meta: bool
) -> None:
    def full(self: Store, *_: Any) -> None:
        raise StoreError("r: the store cannot be written: database or disk is full")

    arguments = ["judge", chats(500), "-m", script("judge.yaml"), "--run", "r", *INSULT]
    with monkeypatch.context() as context:
        context.setattr(Store, "write", full)
        if also_meta:
            put = Store.put
            context.setattr(Store, "put", lambda s, name, v: (full if name == "seconds" else put)(s, name, v))
        result = psysafe(*arguments)
    assert result.code == 70
    assert result.out == ""
    assert result.err.splitlines() == ["run: r", "psysafe: r: the store cannot be written: database or disk is full"]
    assert judgments("r") == []
    assert meta("r", "state") is None
    assert psysafe(*arguments, "--resume").code == 0
    assert len(judgments("r")) == 500


# ---- budgets


def test_a_budget_that_is_reached_is_an_exit_of_its_own_and_the_run_goes_on_from_there(psysafe: Command) -> None:
    arguments = ["judge", chats(10), "-m", by_number(), "--run", "r", *INSULT]
    result = psysafe(*arguments, "--max-calls", "4", "--json")
    assert result.code == 4
    assert result.json["counts"]["units"] == result.json["calls"] == 4
    assert result.json["ended"] == "budget"
    assert result.err.splitlines()[-1] == (
        "psysafe: budget reached (--max-calls 4): 6 units are pending; the same command with --run r --resume goes on"
    )
    result = psysafe(*arguments, "--max-calls", "4", "--resume")
    assert result.code == 4
    assert "2 units are pending" in result.err
    assert psysafe(*arguments, "--resume").code == 0
    psysafe("judge", "chats.jsonl", "-m", by_number(), "--run", "whole", *INSULT)
    assert judgments("r") == judgments("whole")


def test_a_cost_is_bounded_with_a_price_and_refused_without(psysafe: Command) -> None:
    arguments = ["judge", chats(50), *INSULT, "--max-cost", "0.02", "-m"]
    result = psysafe(*arguments, by_number("priced.yaml", price=[1.0, 2.0]), "--json")
    assert result.code == 4
    assert 0 < result.json["cost"] <= 0.02
    assert result.json["counts"]["units"] < 50
    result = psysafe(*arguments, by_number("unpriced.yaml"))
    assert result.code == 2
    assert "--max-cost: the price of scripted:unpriced is unknown; give it with --price IN,OUT" in result.complaint


def test_time_that_is_over_is_a_budget(psysafe: Command) -> None:
    result = psysafe("judge", chats(50), "-m", by_number(), "--run", "r", "--max-seconds", "0", *INSULT)
    assert result.code == 4
    assert "budget reached (--max-seconds 0): 50 units are pending" in result.err
    assert result.out == ""


# ---- resuming


def test_a_finished_run_is_resumed_without_a_call(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["judge", chats(5), "-m", by_number(), "--run", "r", "--json", *INSULT]
    first = psysafe(*arguments)

    async def no_call(self: ScriptedModel, *_: Any) -> None:
        raise AssertionError("called")

    monkeypatch.setattr(ScriptedModel, "generate", no_call)
    second = psysafe(*arguments, "--resume")
    assert second.code == 0
    assert second.json | {"seconds": 0} == first.json | {"seconds": 0}


def _other_bytes() -> None:
    write_chats("chats.jsonl", [chat(n, "Another reply 1.") for n in range(4)])


def _other_rubric() -> None:
    path = Path("mine/insulting_behaviour.yaml")
    path.write_text(path.read_text().replace("version: 1", "version: 2"))


def _other_script() -> None:
    path = Path("judge.yaml")
    path.write_text(path.read_text().replace("because", "since"))
    assert "since" in path.read_text()


@pytest.mark.parametrize(
    "more, change, named",
    [
        (["--seed", "1"], None, ["seed: the run has 0, asked for 1"]),
        (["--scope", "turn"], None, ["scope: the run has reply, asked for turn"]),
        (["--mechanism", "dual"], None, ["mechanisms: the run has [{'name': 'single'"]),
        (["--temperature", "0.5"], None, ["mechanisms: the run has [{'name': 'single'"]),
        (["--max-tokens", "99"], None, ["mechanisms: the run has [{'name': 'single'"]),
        (["--dimensions", "crisis_response"], None, ["dimensions.insulting_behaviour: ", "dimensions.crisis_response"]),
        (["--model", "scripted:other.yaml"], None, ["models.scripted:other: the run has none, asked for rules"]),
        (["--skip-bad"], None, ["source.skip_bad: the run has False, asked for True"]),
        ([], _other_bytes, ["source.files: the run has [{'name': 'chats.jsonl', 'sha256': '"]),
        ([], _other_script, ["models.scripted:judge: the run has rules"]),
        ([], _other_rubric, ["dimensions.insulting_behaviour: the run has "]),
        (["--seed", "1", "--scope", "turn"], None, ["scope: the run has reply", "seed: the run has 0"]),
    ],
)
def test_a_run_is_not_resumed_with_other_settings_and_what_differs_is_named(
    psysafe: Command, more: list[str], change: Any, named: list[str]
) -> None:
    from importlib.resources import files

    Path("mine").mkdir()
    rubric = files("psysafe.taxonomy") / "data" / "insulting_behaviour.yaml"
    Path("mine/insulting_behaviour.yaml").write_text(rubric.read_text())
    script("other.yaml")
    arguments = ["judge", chats(4), "-m", by_number(), "--run", "r", "--taxonomy", "mine", *INSULT]
    assert psysafe(*arguments).code == 0
    before = judgments("r")
    if change is not None:
        change()
    result = psysafe(*arguments, *more, "--resume")
    assert result.code == 2
    assert result.out == ""
    first, *differences, last = result.err.splitlines()
    assert first == "psysafe: r was begun with other settings and cannot be resumed with these:"
    assert len(differences) == len(named)
    for line, start in zip(differences, named, strict=True):
        assert line.startswith("  " + start)
    assert last == "Repeat the original command with --resume, or start a new run."
    assert judgments("r") == before


def test_what_changes_no_judgment_may_change_when_a_run_is_resumed(psysafe: Command) -> None:
    arguments = ["judge", chats(4), "-m", by_number(), "--run", "r", *INSULT]
    psysafe(*arguments, "--max-calls", "2")
    more = ["--concurrency", "3", "--timeout", "5", "--retries", "1", "--max-unscored", "1", "--quiet", "--json"]
    assert psysafe(*arguments, "--resume", *more).code == 0
    assert len(judgments("r")) == 4


def test_the_name_of_the_folder_of_the_input_is_no_setting(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    chats(2)
    model = script(Path("judge.yaml").absolute())
    assert psysafe("judge", "chats.jsonl", "-m", model, "--run", "r", *INSULT).code == 0
    path = Path("chats.jsonl").absolute()
    assert psysafe("judge", path, "-m", model, "--run", "r", "--resume", *INSULT).code == 0


# ---- the cache


def test_equal_requests_are_answered_from_the_cache_and_votes_stay_votes(
    psysafe: Command, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSYSAFE_CACHE", "kept/replies.sqlite")

    def drawn(body: dict[str, Any], attempt: int) -> str:
        return orjson.dumps(verdict(body["seed"] % 3)).decode()

    endpoint.handler = drawn
    arguments = ["judge", chats(3), "-m", endpoint.model_string, "--mechanism", "vote:samples=6", "--cache", *INSULT]
    assert psysafe(*arguments, "--run", "first").code == 0
    assert len(endpoint.calls) == 18
    assert psysafe(*arguments, "--run", "second").code == 0
    assert len(endpoint.calls) == 18
    first, second = judgments("first"), judgments("second")
    assert len({vote["score"] for line in first for vote in line["votes"]}) > 1
    for line in (*first, *second):
        for name in ("attempts", "usage", "cost"):
            line.pop(name)
    assert first == second
    assert Path("kept/replies.sqlite").stat().st_mode & 0o777 == 0o600


# ---- taxonomy of one's own


def test_a_dimension_of_ones_own_is_judged(psysafe: Command) -> None:
    from importlib.resources import files

    Path("mine").mkdir()
    rubric = (files("psysafe.taxonomy") / "data" / "insulting_behaviour.yaml").read_text()
    mine = rubric.replace("id: insulting_behaviour", "id: my_harm")
    mine = mine.replace("group: dialogguard", "group: mine")
    Path("mine/my_harm.yaml").write_text(mine)
    result = psysafe("judge", chats(2), "-m", by_number(), "--taxonomy", "mine", "-d", "mine", "--json")
    assert list(result.json["dimensions"]) == ["my_harm"]
