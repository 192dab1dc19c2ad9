"""psysafe replay and rejudge of a probe: its strategies on another target, its dialogues before another judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from psysafe.cli import run as command
from psysafe.clients.loading import shipped_profiles
from psysafe.runs import Store
from psysafe.runs.trials import read_trials
from tests.cli.support import INSULT, Command, chats, meta, put_meta, script
from tests.support.endpoint import Fault, Play, completion
from tests.support.testbed import CLIENT, JUDGE, SHORT, STRATEGIST, TARGET, Bed, form_of, kept, playing

SMALL = ("--budget", "10", "--controls", "2", "--benign", "2", "--reproductions", "2")
QUIET = ("-c", "4", "--quiet")


@pytest.fixture(scope="module")
def one_bed() -> Iterator[Bed]:
    with playing(Bed()) as found:
        yield found


@pytest.fixture(scope="module")
def source(one_bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished probe with hits."""
    directory = tmp_path_factory.mktemp("source") / "probe"
    one_bed.instead = lambda body: None
    assert command(["probe", *one_bed.cast, *SMALL, *SHORT, "--run", str(directory)]) == 0
    return directory


@pytest.fixture
def bed(one_bed: Bed, source: Path) -> Iterator[Bed]:
    plants = one_bed.plants
    one_bed.instead = lambda body: None
    one_bed.asked.clear()
    one_bed.endpoint.calls.clear()
    yield one_bed
    one_bed.grow(plants)


def records(run: str | Path) -> list[dict[str, Any]]:
    store = Store.open(Path(run))
    try:
        return kept(list(read_trials(store)))
    finally:
        store.close()


def elites(run: Path) -> int:
    return len({record["cell"] for record in records(run) if record["kind"] == "reproduction"})


# replay


def test_a_target_without_the_faults_shows_none_of_them_any_more(psysafe: Command, bed: Bed, source: Path) -> None:
    bed.grow({})
    found = psysafe("replay", source, "--target", bed.model(), *QUIET, "--run", "r", "--json").json
    count = elites(source)
    assert count > 1
    assert len(found["replay"]["cells"]) == count
    for cell in found["replay"]["cells"]:
        assert (cell["before"], cell["after"], cell["worst"]) == ([2, 2], [0, 3], 1)
    assert (found["replay"]["before"]["count"], found["replay"]["before"]["n"]) == (2 * count, 2 * count)
    assert (found["replay"]["after"]["count"], found["replay"]["after"]["n"]) == (0, 3 * count)
    # each reproduction with a replay of the same strategy
    assert (found["replay"]["change"]["value"], found["replay"]["change"]["n"]) == (-1, 2 * count)


def test_the_same_target_shows_them_again_by_the_same_strategies(psysafe: Command, bed: Bed, source: Path) -> None:
    result = psysafe("replay", source, "--target", bed.model(), "--times", "2", *QUIET, "--run", "r")
    assert result.code == 0
    count = elites(source)
    assert f"comes now: 100.0% of {2 * count} dialogues" in result.out
    assert f"now less then: +0.0% of {2 * count} dialogues" in result.out
    header = result.out.splitlines()[0]
    assert " ".join(header.split()) == "cell profile severity then came again then comes now worst now"
    now = records("r")
    assert {record["kind"] for record in now} == {"replay"}
    earlier = {record["index"]: record for record in records(source) if record["kind"] == "search"}
    for record in now:
        assert record["profile"] == earlier[record["of"]]["profile"]
        (rollout,) = record["rollouts"]
        assert rollout["strategy"] in [one["strategy"] for one in earlier[record["of"]]["rollouts"]]
        # held anew
        assert rollout["lines"] not in [one["lines"] for one in earlier[record["of"]]["rollouts"]]
    assert STRATEGIST not in bed.asked
    # who is not named is who played in the source
    assert list(meta("r", "manifest")["models"]["client"]) == [bed.model(CLIENT)]
    assert list(meta("r", "manifest")["models"]["judge"]) == [bed.model(JUDGE)]


def test_a_replay_that_was_cut_off_goes_on(psysafe: Command, bed: Bed, source: Path) -> None:
    arguments = ["replay", source, "--target", bed.model(), *QUIET, "--run"]
    assert psysafe(*arguments, "r", "--max-calls", "30", "--events", "e.jsonl").code == 4
    assert 0 < len(records("r")) < 3 * elites(source)
    refused = psysafe(*arguments, "r", "--resume", "--times", "2")
    assert refused.code == 2
    assert "source.times: the run has 3, asked for 2" in refused.err
    assert psysafe(*arguments, "r", "--resume", "--events", "e.jsonl").code == 0
    assert psysafe(*arguments, "whole").code == 0
    assert records("r") == records("whole")
    assert {json.loads(line)["event"] for line in Path("e.jsonl").read_bytes().splitlines()} >= {"stage", "ended"}


def test_a_dry_run_of_a_replay_calls_nothing(psysafe: Command, bed: Bed, source: Path) -> None:
    before = len(bed.endpoint.everything)
    found = psysafe("replay", source, "--target", bed.model(), "--dry-run", "--json").json
    rows = {row["role"]: row["calls"] for row in found["roles"]}
    dialogues = 3 * elites(source)
    assert rows["target"] == rows["client"] == [2 * dialogues, 2 * dialogues]
    assert rows["strategist"] == [0, 0]
    assert len(bed.endpoint.everything) == before


def test_what_has_no_elites_cannot_be_replayed(psysafe: Command, bed: Bed, source: Path) -> None:
    bed.grow({})
    assert psysafe("probe", *bed.cast, "--budget", "2", *SHORT, "--run", "harmless").code == 0
    result = psysafe("replay", "harmless", "--target", bed.model(), "--run", "r")
    assert result.code == 2
    assert result.complaint == "harmless: no cell was hit, so there is no strategy to replay"
    assert not Path("r").exists()


# rejudge


def test_stored_dialogues_are_judged_again_and_nobody_else_is_called(psysafe: Command, bed: Bed, source: Path) -> None:
    stored = records(source)
    result = psysafe("rejudge", source, "-m", bed.model(JUDGE), *QUIET, "--run", "r", "--json")
    assert result.code == 0
    assert set(bed.asked) == {JUDGE}
    again = records("r")
    assert [(record["kind"], record["index"]) for record in again] == [(r["kind"], r["index"]) for r in stored]
    for before, after in zip(stored, again, strict=True):
        assert [_played(rollout) for rollout in after["rollouts"]] == [_played(r) for r in before["rollouts"]]
        assert (after["cell"], after["profile"], after["person"], after["of"]) == (
            before["cell"], before["profile"], before["person"], before["of"],
        )  # fmt: skip
        assert after["choice"]["operator"] == before["choice"]["operator"]
        assert after["target_calls"] == 0
    # the same judge sees the same
    shown = psysafe("runs", "show", source, "--json").json
    for name in ("rates", "cells", "coverage", "qd_score", "severity_by_turn", "rollouts"):
        assert result.json[name] == shown[name]
    assert records(source) == stored


def _played(rollout: dict[str, Any]) -> bytes:
    """A dialogue as it was held, byte for byte."""
    names = ("strategy", "insights", "lines", "regenerated", "cues")
    return json.dumps({name: rollout[name] for name in names}).encode()


def test_another_judge_gives_other_verdicts_on_them(psysafe: Command, bed: Bed, source: Path) -> None:
    def lenient(body: dict[str, Any]) -> Play | None:
        if form_of(body) in ("course", "fidelity"):
            return None
        if form_of(body) == "blind":
            return completion(json.dumps({"rationale": "calm", "cells": []}))
        return completion(json.dumps({"rationale": "calm", "evidence": [], "score": 1}))

    bed.instead = lenient
    found = psysafe("rejudge", source, "-m", bed.model(JUDGE), *QUIET, "--run", "r", "--json").json
    assert found["rates"]["asr"]["count"] == 0
    assert found["coverage"] == 0
    # what has no verdict any more is unscored, the dialogue kept
    bed.instead = lambda body: completion("no form at all")
    result = psysafe("rejudge", source, "-m", bed.model(JUDGE), *QUIET, "--run", "none", "--json")
    assert result.code == 3
    assert set(result.json["rollouts"]) == {"unscored"}
    for before, after in zip(records(source), records("none"), strict=True):
        assert [_played(rollout) for rollout in after["rollouts"]] == [_played(r) for r in before["rollouts"]]


def test_dialogues_that_came_to_no_end_stay_as_they_are(psysafe: Command, bed: Bed, source: Path) -> None:
    bed.instead = lambda body: completion("") if body["model"] == TARGET and bed.asked[TARGET] % 3 == 0 else None
    assert psysafe("probe", *bed.cast, *SMALL, *SHORT, "--run", "p").code == 0
    bed.instead = lambda body: None
    assert psysafe("rejudge", "p", "-m", bed.model(JUDGE), *QUIET, "--run", "r").code == 0
    spoiled = [
        (before, after)
        for first, second in zip(records("p"), records("r"), strict=True)
        for before, after in zip(first["rollouts"], second["rollouts"], strict=True)
        if before["outcome"] == "reply_failed"
    ]
    assert spoiled
    assert all(before == after for before, after in spoiled)


def test_a_rejudgement_that_was_cut_off_goes_on(psysafe: Command, bed: Bed, source: Path) -> None:
    arguments = ["rejudge", source, "-m", bed.model(JUDGE), *QUIET, "--run"]
    assert psysafe(*arguments, "r", "--max-calls", "20").code == 4
    bed.instead = lambda body: Fault.DISCONNECT
    lost = psysafe(*arguments, "r", "--resume", "--retries", "0")
    assert lost.code == 3
    assert "the endpoint is gone: 5 trials in a row reached no model" in lost.err
    bed.instead = lambda body: None
    assert psysafe(*arguments, "r", "--resume").code == 0
    assert psysafe(*arguments, "whole").code == 0
    assert records("r") == records("whole")


def test_a_dry_run_of_a_rejudgement_calls_nothing(psysafe: Command, bed: Bed, source: Path) -> None:
    before = len(bed.endpoint.everything)
    result = psysafe("rejudge", source, "-m", bed.model(JUDGE), "--dry-run", "--json")
    assert result.code == 0
    assert {row["role"] for row in result.json["roles"] if row["calls"] != [0, 0]} == {"judge", "blind_judge"}
    assert len(bed.endpoint.everything) == before


def test_a_bound_on_the_cost_of_a_rejudgement_needs_a_price(psysafe: Command, bed: Bed, source: Path) -> None:
    result = psysafe("rejudge", source, "-m", bed.model(JUDGE), *QUIET, "--max-cost", "0.01", "--run", "r")
    assert result.code == 2
    assert "--max-cost: the price of " in result.err


@pytest.mark.parametrize(
    "options",
    [
        ("--dimensions", "insulting_behaviour"),
        ("--scope", "turn"),
        ("--labels", "labels.csv"),
        ("--calibration", "cuts.json"),
        ("--temperature", "1"),
        ("--max-tokens", "50"),
        ("--curtail",),
    ],
)
def test_options_that_a_probe_has_no_use_for_are_refused(
    psysafe: Command, bed: Bed, source: Path, options: tuple[str, ...]
) -> None:
    result = psysafe("rejudge", source, "-m", bed.model(JUDGE), *QUIET, *options, "--run", "r", "--max-calls", "1")
    assert result.code == 2
    assert options[0] in result.err


def test_a_probe_is_judged_again_by_one_judge_at_a_time(psysafe: Command, bed: Bed, source: Path) -> None:
    for more in (["-m", bed.model()], ["--mechanism", "dual", "--mechanism", "single"]):
        result = psysafe("rejudge", source, "-m", bed.model(JUDGE), *more, "--run", "r")
        assert result.code == 2
        assert result.complaint == (f"{source} is a probe: rejudge it with one --model and one --mechanism at a time")


# What is no source


@pytest.mark.parametrize("verb", ["replay", "rejudge"])
def test_there_must_be_a_run(psysafe: Command, bed: Bed, verb: str) -> None:
    result = psysafe(verb, "nowhere", "--target" if verb == "replay" else "-m", bed.model())
    assert result.code == 2
    assert result.complaint == "nowhere holds no run (no run.json in it)"


def test_a_run_of_judgments_is_no_probe(psysafe: Command, bed: Bed) -> None:
    assert psysafe("judge", chats(2), "-m", script("judge.yaml"), "--run", "judged", *INSULT).code == 0
    result = psysafe("replay", "judged", "--target", bed.model())
    assert result.code == 2
    assert result.complaint == "judged is no probe; psysafe probe makes one"
    result = psysafe("rejudge", "judged", "-m", script("judge.yaml"), "--blind-judge", bed.model(), "--run", "r")
    assert result.code == 2
    assert result.complaint == "--blind-judge is for probes, and judged is none"


@pytest.mark.parametrize("verb", ["replay", "rejudge"])
def test_a_probe_with_other_ladders_needs_them(psysafe: Command, bed: Bed, source: Path, verb: str) -> None:
    assert (
        psysafe("probe", *bed.cast, "--budget", "2", "--controls", "0", "--benign", "0", *SHORT, "--run", "p").code == 0
    )
    manifest = meta("p", "manifest")
    put_meta("p", "manifest", {**manifest, "taxonomy": "0" * 32})
    result = psysafe(verb, "p", "--target" if verb == "replay" else "-m", bed.model(), "--run", "r")
    assert result.code == 2
    assert result.complaint == (
        "p was done with other ladders: give its --taxonomy DIR, or do it anew with the present ones"
    )
    assert not Path("r").exists()


@pytest.fixture
def own_profiles(psysafe: Command, bed: Bed) -> Path:
    """A probe with a profile of one's own, whose life the testbed's client knows."""
    Path("own").mkdir()
    ours = shipped_profiles()["grief_supported_flat"]
    Path("own/someone.json").write_text(
        json.dumps({"life_history": ours.life_history, "core_beliefs": ["I am in the way."], "language": "en"})
    )
    assert psysafe("probe", *bed.cast, *SMALL, *SHORT, "--profiles", "own", "--run", "p").code == 0
    return Path("own")


def test_a_probe_with_other_profiles_is_replayed_with_them(psysafe: Command, bed: Bed, own_profiles: Path) -> None:
    result = psysafe("replay", "p", "--target", bed.model(), *QUIET, "--run", "r")
    assert result.code == 2
    assert result.complaint == "p was done with other profiles (someone): give its --profiles, or do it anew"
    assert psysafe("replay", "p", "--target", bed.model(), "--profiles", own_profiles, *QUIET, "--run", "r").code == 0
    # and they must be what they were
    changed = json.loads(Path("own/someone.json").read_text()) | {"core_beliefs": ["I am quite all right."]}
    Path("own/someone.json").write_text(json.dumps(changed))
    result = psysafe("replay", "p", "--target", bed.model(), "--profiles", own_profiles, *QUIET, "--run", "other")
    assert "p was done with other profiles (someone)" in result.complaint


def test_a_probe_with_other_profiles_is_judged_again_with_them(psysafe: Command, bed: Bed, own_profiles: Path) -> None:
    arguments = ["rejudge", "p", "-m", bed.model(JUDGE), *QUIET, "--run", "r"]
    assert "p was done with other profiles (someone)" in psysafe(*arguments).complaint
    assert psysafe(*arguments, "--profiles", own_profiles).code == 0


def test_the_model_of_a_scripted_bot_can_be_replayed_against(psysafe: Command, bed: Bed, source: Path) -> None:
    Path("bot.yaml").write_text(yaml.safe_dump({"rules": [{"reply": "Who could sit with you tonight?"}]}))
    result = psysafe("replay", source, "--target", "scripted:bot.yaml", *QUIET, "--run", "r", "--json")
    assert result.code == 0
    assert result.json["replay"]["after"]["count"] == 0
    assert result.json["replay"]["after"]["n"] == 3 * elites(source)
    assert TARGET not in bed.asked


def test_a_replay_is_shown_again_without_its_source(psysafe: Command, bed: Bed, source: Path) -> None:
    first = psysafe("replay", source, "--target", bed.model(), *QUIET, "--run", "r")
    again = psysafe("runs", "show", "r")
    assert again.out == first.out
    assert psysafe("runs", "show", "r", "--json").json["replay"]["after"]["n"] == 3 * elites(source)
