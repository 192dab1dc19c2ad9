"""Probe runs: gone on with, bounded, interrupted and cut off; what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.cli import run as command
from psysafe.runs import Store
from psysafe.runs.trials import read_trials
from tests.cli.support import Result, finish, spawn, until
from tests.support.endpoint import Answer, Fault, Play, completion, error
from tests.support.testbed import CLIENT, GROUPS, JUDGE, SHORT, TARGET, Bed, form_of, kept, playing

BUDGET = 12
Probe = Callable[..., Result]


@pytest.fixture(scope="module")
def one_bed() -> Iterator[Bed]:
    with playing(Bed()) as found:
        yield found


@pytest.fixture
def bed(one_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    """An endpoint at which nothing is wrong, and an empty directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("PSYSAFE_MODEL", "PSYSAFE_RUNS", "PSYSAFE_STORE", "PSYSAFE_API_KEY", "PSYSAFE_API_KEY_HOST"):
        monkeypatch.delenv(name, raising=False)
    one_bed.instead = lambda body: None
    one_bed.endpoint.script_probe = False
    one_bed.asked.clear()
    for seen in (one_bed.endpoint.calls, one_bed.endpoint.probes):
        seen.clear()
    return one_bed


@pytest.fixture(scope="module")
def whole(one_bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The records of a probe that nothing disturbed."""
    directory = str(tmp_path_factory.mktemp("whole") / "run")
    one_bed.instead, one_bed.endpoint.script_probe = lambda body: None, False
    assert command(arguments(one_bed, directory)) == 0
    found = records(directory)
    assert Counter(record["kind"] for record in found)["search"] == BUDGET
    return found


def arguments(bed: Bed, run: str, *more: str) -> list[str]:
    size = ["--budget", str(BUDGET), "--controls", "2", "--benign", "2", "--reproductions", "1"]
    return ["probe", *bed.cast, *size, "--profiles", GROUPS, *SHORT, "--run", run, *more]


@pytest.fixture
def probe(bed: Bed, capsys: pytest.CaptureFixture[str]) -> Probe:
    """Runs ``psysafe probe`` into a directory, with further options."""

    def call(run: str, *more: str) -> Result:
        capsys.readouterr()
        code = command(arguments(bed, run, *more))
        return Result(code, *capsys.readouterr())

    return call


def records(run: str) -> list[dict[str, Any]]:
    """What a run holds, without the time that it took."""
    store = Store.open(Path(run))
    try:
        return kept(list(read_trials(store)))
    finally:
        store.close()


def committed(run: str) -> int:
    return len(records(run)) if (Path(run) / "run.json").exists() else 0


def state(run: str) -> Any:
    store = Store.open(Path(run))
    try:
        return store.get("state")
    finally:
        store.close()


# Going on


def test_a_resume_of_a_finished_probe_does_nothing_more(bed: Bed, probe: Probe) -> None:
    assert probe("r").code == 0
    before, asked = records("r"), bed.asked.total()
    assert probe("r", "--resume").code == 0
    assert bed.asked.total() == asked
    assert records("r") == before


def test_a_resume_with_other_settings_is_refused_with_what_differs(bed: Bed, probe: Probe) -> None:
    assert probe("r", "--max-calls", "40").code == 4
    before, asked = records("r"), len(bed.endpoint.everything)
    result = probe("r", "--resume", "--turns", "3", "--seed", "5", "--cells", "enabler", "--blind-judge", bed.model())
    assert result.code == 2
    assert "r was begun with other settings and cannot be resumed with these:\n" in result.err
    assert "\n  probe.turns: the run has 2, asked for 3\n" in result.err
    assert "\n  probe.seed: the run has 0, asked for 5\n" in result.err
    assert "\n  probe.cells: the run has ['perpetrator/toxic_language'" in result.err
    assert f"\n  models.blind_judge.{bed.model(JUDGE)}: the run has " in result.err
    assert "Repeat the original command with --resume, or start a new run." in result.err
    # how many are in flight decides what a trial can have learned
    assert "probe.in_flight: the run has 4, asked for 5" in probe("r", "--resume", "-c", "5").err
    assert (records("r"), len(bed.endpoint.everything)) == (before, asked)


def test_a_directory_that_holds_a_run_is_not_written_over(probe: Probe) -> None:
    assert probe("r", "--max-calls", "40").code == 4
    result = probe("r")
    assert result.code == 2
    assert "r already holds a run: add --resume to go on with it, or name another --run" in result.err


# Budgets


def test_a_probe_with_too_few_calls_ends_with_4_and_goes_on_later_to_the_same_records(
    probe: Probe, whole: list[dict[str, Any]]
) -> None:
    result = probe("r", "--max-calls", "100", "--json")
    assert result.code == 4
    assert result.json["ended"] == "budget"
    done = records("r")
    assert 0 < len(done) < BUDGET
    assert "budget reached (--max-calls 100" in result.err
    going_on = f"search: {len(done)} of {BUDGET} trials are done; the same command with --run r --resume goes on"
    assert going_on in result.err
    # no trial is begun for which there is no room, and what was spent on those that were cut off is told apart
    spent = sum(record["calls"] for record in done)
    assert result.json["calls"] == spent
    assert spent + result.json["unstored_calls"] <= 100
    again = 0
    while probe("r", "--max-calls", "100", "--resume").code == 4:
        again += 1
        assert again < 9
    assert state("r") == {"ended": "complete", "detail": None}
    assert records("r") == whole


def test_a_probe_whose_time_is_over_ends_with_4_and_goes_on_later_to_the_same_records(
    bed: Bed, probe: Probe, whole: list[dict[str, Any]]
) -> None:
    # whatever follows the first trials is never answered: the time is over before the probe is
    bed.instead = lambda body: Fault.HANG if bed.asked[CLIENT] > 20 else None
    result = probe("r", "--max-seconds", "4")
    assert result.code == 4
    done = records("r")
    assert len(done) < BUDGET
    assert f"budget reached (--max-seconds 4). search: {len(done)} of " in result.err
    bed.instead = lambda body: None
    assert probe("r", "--resume").code == 0
    assert records("r") == whole


def test_a_bound_on_cost_holds_and_needs_a_price(bed: Bed, probe: Probe) -> None:
    result = probe("r", "--max-cost", "0.01")
    assert result.code == 2
    assert "--max-cost: the price of http://" in result.err
    assert not Path("r").exists()
    result = probe("r", "--max-cost", "0.1", "--price", "1,4", "--json")
    assert result.code == 4
    assert result.json["cost"] <= 0.1
    assert "budget reached (--max-cost 0.1)" in result.err
    assert probe("r", "--price", "1,4", "--resume", "--json").json["cost"] > 0.1


# Interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_probe_exits_with_130_and_goes_on_later_to_the_same_records(
    bed: Bed, probe: Probe, number: signal.Signals, whole: list[dict[str, Any]]
) -> None:
    # the last trials of the search are never answered, so that it is not over before it is interrupted
    bed.instead = lambda body: Fault.HANG if bed.asked[CLIENT] > 20 else None
    process = spawn(*arguments(bed, "r", "--events", "e.jsonl"))
    until(lambda: committed("r") > 0 and bed.asked[CLIENT] > 20, process)
    process.send_signal(number)
    result = finish(process)
    assert result.code == 130
    done = records("r")
    assert 0 < len(done) < BUDGET
    assert f"interrupted. search: {len(done)} of {BUDGET} trials are done" in result.err
    assert "--run r --resume goes on" in result.err
    assert state("r") == {"ended": "interrupted", "detail": None}
    assert orjson.loads(Path("e.jsonl").read_bytes().splitlines()[-1])["ended"] == "interrupted"
    bed.instead = lambda body: None
    assert probe("r", "--resume").code == 0
    assert records("r") == whole


# Models that do not answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [(error(401, "no such key"), "the endpoint refused the key (401)"), (error(404, "no such model"), "404")],
)
def test_a_wrong_key_or_an_unknown_model_ends_it_before_any_dialogue_and_leaves_no_run(
    bed: Bed, probe: Probe, answer: Answer, said: str
) -> None:
    bed.endpoint.script_probe = True
    bed.instead = lambda body: answer
    result = probe("r")
    assert result.code == 2
    assert said in result.err
    assert not Path("r").exists()
    # the same command can be given again
    bed.endpoint.script_probe, bed.instead = False, lambda body: None
    assert probe("r").code == 0


def test_the_testbed_can_be_served_and_names_its_players(bed: Bed, capsys: pytest.CaptureFixture[str]) -> None:
    serving = subprocess.Popen(
        [sys.executable, "-m", "psysafe.probing.testbed.serve", "--port", "0", "--turns", "2", "--seed", "4"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert serving.stderr is not None
        url = next(word for word in serving.stderr.readline().split() if word.startswith("http://127.0.0.1:"))
        cast = [part.replace(bed.endpoint.url, f"{url}/v1") for part in bed.cast]
        size = ["--budget", "2", "--controls", "0", "--benign", "0", *SHORT]
        assert command(["probe", *cast, *size, "--run", "r"]) == 0
        assert len([record for record in records("r") if record["kind"] == "search"]) == 2
        unknown = [part.replace("testbed-client", "nobody") for part in cast]
        assert command(["probe", *unknown, *size, "--run", "other"]) == 2
        assert "no model 'nobody'; there are testbed-client, testbed-strategist" in capsys.readouterr().err
        assert not Path("other").exists()
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)


def test_an_endpoint_that_dies_ends_the_probe_with_3_and_what_it_lost_is_done_later(
    bed: Bed, probe: Probe, whole: list[dict[str, Any]]
) -> None:
    bed.instead = lambda body: Fault.DISCONNECT if bed.asked[CLIENT] > 12 else None
    result = probe("r", "--retries", "0")
    assert result.code == 3
    done = records("r")
    assert 0 < len(done) < BUDGET
    assert "the endpoint is gone: 5 trials in a row reached no model (" in result.err
    assert (
        f"search: {len(done)} of {BUDGET} trials are done; the same command with --run r --resume goes on" in result.err
    )
    assert state("r")["ended"] == "endpoint_lost"
    # a trial that failed for that is no record, though it was over
    assert all(record["rollouts"][-1]["reason"] is None for record in done)
    bed.instead = lambda body: None
    assert probe("r", "--retries", "0", "--resume").code == 0
    assert records("r") == whole


def test_a_single_lost_connection_costs_its_trial_alone(bed: Bed, probe: Probe) -> None:
    bed.instead = lambda body: Fault.DISCONNECT if body["model"] == TARGET and bed.asked[TARGET] == 5 else None
    assert probe("r", "--retries", "0", "--json").code == 0
    failed = [rollout for record in records("r") for rollout in record["rollouts"] if rollout["outcome"] != "scored"]
    assert [(rollout["outcome"], rollout["reason"], rollout["flags"]) for rollout in failed] == [
        ("reply_failed", "reply_error", ["transient"])
    ]


def test_a_key_that_is_revoked_in_the_middle_ends_the_probe_and_it_goes_on_with_a_new_one(
    bed: Bed, probe: Probe, whole: list[dict[str, Any]]
) -> None:
    bed.instead = lambda body: error(401, "revoked") if bed.asked[CLIENT] > 12 else None
    result = probe("r")
    assert result.code == 2
    done = records("r")
    assert 0 < len(done) < BUDGET
    assert "the endpoint refused the key (401)" in result.err
    assert f"search: {len(done)} of {BUDGET} trials are done" in result.err
    bed.instead = lambda body: None
    assert probe("r", "--resume").code == 0
    assert records("r") == whole


# Verdicts that are not there


def test_too_many_dialogues_without_a_verdict_are_told_by_exit_3(bed: Bed, probe: Probe) -> None:
    bed.instead = lambda body: completion("no form at all") if form_of(body) not in _OTHER_FORMS else None
    result = probe("r", "--json")
    assert result.code == 3
    found = result.json
    assert found["rollouts"] == {"unscored": found["by_reason"]["judge_unparseable"]}
    assert "100.0% of a judge's verdicts are missing, above --max-unscored 5%" in result.err
    assert found["rates"]["asr"] == {"value": None, "count": 0, "n": 0, "interval": None, "why": "there are none"}
    # and once more, although nothing is judged any more; with a higher limit there is still no verdict
    result = probe("r", "--resume", "--max-unscored", "1")
    assert result.code == 3
    assert f"no trial of the search has a verdict (judge_unparseable {found['rollouts']['unscored']})" in result.err


# Forms of answers that are not a ladder's; None: plain text.
_OTHER_FORMS = (None, "strategy", "insights", "fit", "on_topic", "blind", "course", "fidelity")


def test_a_few_dialogues_without_a_verdict_are_within_the_limit_that_is_asked_for(bed: Bed, probe: Probe) -> None:
    ladders: Counter[str] = Counter()

    def first_one(body: dict[str, Any]) -> Play | None:
        if form_of(body) in _OTHER_FORMS:
            return None
        ladders[str(body["messages"][0])] += 1
        return completion("no form at all") if ladders.total() <= 2 else None

    bed.instead = first_one
    result = probe("r", "--max-unscored", "0.5", "-c", "1", "--json")
    assert result.code == 0
    assert result.json["rollouts"]["unscored"] == 1
    result = probe("r", "--resume", "-c", "1", "--max-unscored", "0")
    assert result.code == 3
    assert "of a judge's verdicts are missing, above --max-unscored 0%" in result.err


def test_a_probe_of_which_every_dialogue_is_void_is_told_by_exit_3_with_the_reasons(bed: Bed, probe: Probe) -> None:
    bed.instead = lambda body: completion("I can hear how heavy this is.") if body["model"] == CLIENT else None
    result = probe("r", "--json")
    assert result.code == 3
    assert set(result.json["rollouts"]) == {"void"}
    (reason, count), *_ = result.json["by_reason"].items()
    assert f"no trial of the search has a verdict ({reason} {count}" in result.err
    # nothing that failed on the client's side was judged
    assert form_of(bed.endpoint.bodies[-1]) not in ("blind", "course")


# What is left behind


def test_events_are_json_lines_about_every_step_and_hold_no_text(bed: Bed, probe: Probe) -> None:
    assert probe("r", "--events", "e.jsonl").code == 0
    raw = Path("e.jsonl").read_bytes()
    events = [orjson.loads(line) for line in raw.splitlines()]
    counts = Counter(event["event"] for event in events)
    stored = records("r")
    rollouts = sum(len(record["rollouts"]) for record in stored)
    assert counts == {
        "stage": 4,
        "begun": len(stored),
        "turn": 2 * rollouts,
        "judging": rollouts,
        "judged": rollouts,
        "committed": len(stored),
        "ended": 1,
    }
    assert [event["kind"] for event in events if event["event"] == "stage"] == [
        "search", "reproduction", "control", "benign",
    ]  # fmt: skip
    # in the order of the records
    told = [(event["kind"], event["index"]) for event in events if event["event"] == "committed"]
    assert told == [(record["kind"], record["index"]) for record in stored]
    for record in stored:
        for rollout in record["rollouts"]:
            texts = [line["content"] for line in rollout["lines"]] + (
                [rollout["strategy"]] if rollout["strategy"] else []
            )
            assert not any(text.encode()[:40] in raw for text in texts)
    # a second execution adds to them
    assert probe("r", "--events", "e.jsonl", "--resume").code == 0
    assert Path("e.jsonl").read_bytes().startswith(raw)


def test_events_that_cannot_be_written_are_said_and_leave_no_run(bed: Bed, probe: Probe) -> None:
    result = probe("r", "--events", "nowhere/e.jsonl")
    assert result.code == 2
    assert "--events nowhere/e.jsonl: cannot be written: No such file or directory" in result.err
    assert not Path("r").exists()
    assert not bed.asked


def test_a_key_stands_in_no_file_of_a_run(bed: Bed, probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-planted-7f3a91c0"
    monkeypatch.setenv("PSYSAFE_API_KEY", key)
    # an endpoint that repeats the key in what goes wrong
    bed.instead = lambda body: error(400, f"bad key {key}") if bed.asked[TARGET] == 5 else None
    result = probe("r", "--events", "r.events", "--json")
    assert any(key in call.headers.get("authorization", "") for call in bed.endpoint.calls)
    found = [Path("r.events"), *(path for path in Path("r").rglob("*") if path.is_file())]
    assert Path("r/run.sqlite") in found
    assert not [path for path in found if key.encode() in path.read_bytes()]
    assert key not in result.out + result.err


def test_the_directory_of_a_run_is_closed_to_others(probe: Probe) -> None:
    assert probe("r", "--max-calls", "30").code == 4
    assert os.stat("r").st_mode & 0o077 == 0
