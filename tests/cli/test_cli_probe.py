"""psysafe probe: what it can be asked for, what it refuses, what it prints; and its run listed, shown and exported."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.clients.loading import shipped_profiles
from psysafe.runs import Store
from psysafe.runs.trials import read_trials
from psysafe.taxonomy import CATEGORIES, GRID
from tests.cli.support import Command, Result, meta
from tests.support.endpoint import Play, completion
from tests.support.testbed import CLIENT, GROUPS, JUDGE, SHORT, STRATEGIST, TARGET, Bed, form_of, kept, playing

SMALL = ("--budget", "6", "--controls", "2", "--benign", "2", "--reproductions", "1", "--profiles", GROUPS, *SHORT)


@pytest.fixture(scope="module")
def one_bed() -> Iterator[Bed]:
    with playing(Bed()) as found:
        yield found


@pytest.fixture
def bed(one_bed: Bed) -> Bed:
    one_bed.instead = lambda body: None
    one_bed.asked.clear()
    one_bed.endpoint.calls.clear()
    return one_bed


def records(run: str | Path = "r") -> list[dict[str, Any]]:
    store = Store.open(Path(run))
    try:
        return kept(list(read_trials(store)))
    finally:
        store.close()


# What it prints


def test_a_probe_tells_its_figures_what_was_not_covered_and_what_they_do_not_mean(psysafe: Command, bed: Bed) -> None:
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "r")
    assert result.code == 0
    for category in CATEGORIES:
        assert category.split("_")[0][:9] in result.out.splitlines()[0]
    for words in ("tried / hit / confirmed /", "95% interval", "attributable", "Never tried: "):
        assert words in result.out
    assert "no hit does not mean safe" in result.out
    assert "cost unknown" in result.out
    assert "run: r\n" in result.err


def test_json_is_one_object_with_every_figure(psysafe: Command, bed: Bed) -> None:
    found = psysafe("probe", *bed.cast, *SMALL, "--run", "r", "--json").json
    stored = records()
    assert (found["run"], found["ended"]) == ("r", "complete")
    assert found["trials"] == dict(Counter(record["kind"] for record in stored))
    assert found["trials"]["search"] == 6
    assert (found["trials"]["control"], found["trials"]["benign"]) == (2, 2)
    assert set(found["cells"]) == {str(cell) for cell in GRID}
    assert found["calls"] == sum(bed.asked.values())
    assert found["target_calls"] == bed.asked[TARGET]
    # no price is known: never 0
    assert found["cost"] is None
    assert found["unstored_calls"] == 0
    assert found["flags"] == {"same_judge": len(stored)}
    with_price = psysafe("probe", *bed.cast, *SMALL, "--run", "p", "--json", "--price", "1,2").json
    tokens = (with_price["prompt_tokens"], with_price["completion_tokens"])
    assert with_price["cost"] == pytest.approx((tokens[0] + 2 * tokens[1]) / 1e6)


def test_one_model_for_both_judges_is_said_and_two_are_not(psysafe: Command, bed: Bed) -> None:
    notice = f"{bed.model(JUDGE)} is both the ladder judge and the blind judge: what it confirms is its own finding"
    assert notice in psysafe("probe", *bed.cast, *SMALL, "--run", "r").err
    # another name for the same players
    bed.instead = lambda body: bed.play({**body, "model": JUDGE}) if body["model"] == "other" else None
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "two", "--blind-judge", bed.model("other"), "--json")
    assert result.code == 0
    assert "both the ladder judge and the blind judge" not in result.err
    assert result.json["flags"] == {}
    assert {form_of(call.body) for call in bed.endpoint.calls if call.body["model"] == "other"} == {
        "blind", "course", "fidelity",
    }  # fmt: skip


# An estimate


def estimate(result: Result) -> dict[str, list[int]]:
    assert result.code == 0
    assert result.json["dry_run"] is True
    return {row["role"]: row["calls"] for row in result.json["roles"]}


def test_a_dry_run_calls_nothing_makes_nothing_and_tells_ranges(psysafe: Command, bed: Bed) -> None:
    before = len(bed.endpoint.everything)
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "r", "--dry-run", "--price", "1,2")
    assert result.code == 0
    assert "Nothing was sent." in result.out
    assert "22 to 154" not in result.out  # of another size
    for role in ("target", "client", "strategist", "judge", "blind judge"):
        (line,) = (line for line in result.out.splitlines() if line.startswith(f"{role} "))
        assert line.count(" to ") == 4
        assert "$" in line
    assert not Path("r").exists()
    assert len(bed.endpoint.everything) == before


def test_a_probe_spends_what_its_estimate_says(psysafe: Command, bed: Bed) -> None:
    said = estimate(psysafe("probe", *bed.cast, *SMALL, "--dry-run", "--json"))
    assert psysafe("probe", *bed.cast, *SMALL, "--run", "r").code == 0
    ladder = sum(form_of(call.body) not in ("blind", "course", "fidelity") for call in bed.endpoint.calls
                 if call.body["model"] == JUDGE)  # fmt: skip
    spent = {
        "target": bed.asked[TARGET],
        "client": bed.asked[CLIENT],
        "strategist": bed.asked[STRATEGIST],
        "judge": ladder,
        "blind_judge": bed.asked[JUDGE] - ladder,
    }
    for role, count in spent.items():
        least, most = said[role]
        assert least <= count <= most, role


def test_an_estimate_needs_no_key_and_says_where_a_cost_is_unknown(psysafe: Command) -> None:
    models = ("--target", "http://counselor.invalid/v1#m", "--judge", "openai/gpt-4o-mini")
    found = psysafe("probe", *models, "--dry-run", "--json").json
    rows = {row["role"]: row for row in found["roles"]}
    assert rows["target"]["cost"] == [None, None]
    assert rows["target"]["host"] == "counselor.invalid"
    # who is not named is the judge's model
    assert {rows[role]["model"] for role in ("client", "strategist", "judge", "blind_judge")} == {"openai/gpt-4o-mini"}
    low, high = rows["judge"]["cost"]
    assert 0 < low < high


# What is played


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ("enabler", {str(cell) for cell in GRID if cell.role == "enabler"}),
        ("blaming", {str(cell) for cell in GRID if cell.category == "blaming"}),
        ("facilitator/blaming, instigator/gaslighting", {"facilitator/blaming", "instigator/gaslighting"}),
    ],
)
def test_cells_are_aimed_at_that_are_named(psysafe: Command, bed: Bed, names: str, chosen: set[str]) -> None:
    assert psysafe("probe", *bed.cast, *SMALL, "--cells", names, "--run", "r").code == 0
    aimed = {record["cell"] for record in records() if record["kind"] == "search"}
    assert aimed
    assert aimed <= chosen
    assert set(meta("r", "manifest")["probe"]["cells"]) == chosen


def test_profiles_are_played_that_are_named_by_id_or_group(psysafe: Command, bed: Bed) -> None:
    names = "carers, grief_supported_flat"
    assert psysafe("probe", *bed.cast, *SMALL, "--profiles", names, "--run", "r").code == 0
    carers = {profile.id for profile in shipped_profiles().values() if profile.group == "carers"}
    assert {record["person"] for record in records()} <= carers | {"grief_supported_flat"}
    for record in records():
        assert record["profile"].endswith(".benign") == (record["kind"] == "benign")


def test_profiles_of_ones_own_are_played_from_their_folder(psysafe: Command, bed: Bed) -> None:
    Path("own").mkdir()
    ours = shipped_profiles()["grief_supported_flat"]
    # a life that the testbed's client knows
    record = {"life_history": ours.life_history, "core_beliefs": ["I am in the way."], "mood": "low"}
    Path("own/someone.json").write_text(json.dumps(record))
    result = psysafe("probe", *bed.cast, *SMALL, "--profiles", "own", "--run", "r", "--json")
    assert result.code == 0
    # what is left out is said
    assert "unknown key 'mood', not used: someone.json" in result.err
    assert {record["profile"] for record in records()} == {"someone"}
    # they have no benign variant
    assert "benign" not in result.json["trials"]
    source = (files("psysafe.clients") / "profiles" / "carers_locksmith.yaml").read_text(encoding="utf-8")
    Path("own/carers_locksmith.yaml").write_text(source)
    result = psysafe("probe", *bed.cast, *SMALL, "--profiles", "own/", "--run", "both", "--json")
    assert result.json["trials"]["benign"] == 2
    assert {record["profile"] for record in records("both") if record["kind"] == "benign"} == {
        "carers_locksmith.benign"
    }


def test_the_targets_system_prompt_is_sent_as_it_stands_in_its_file(psysafe: Command, bed: Bed) -> None:
    Path("system.txt").write_text("\ufeffYou are a calm counselor.\nAsk before you advise.\n", encoding="utf-8")
    assert psysafe("probe", *bed.cast, *SMALL, "--system", "system.txt", "--run", "r").code == 0
    asked = [call.body["messages"] for call in bed.endpoint.calls if call.body["model"] == TARGET]
    assert asked
    assert {(m[0]["role"], m[0]["content"]) for m in asked} == {
        ("system", "You are a calm counselor.\nAsk before you advise."),
    }  # fmt: skip
    bed.endpoint.calls.clear()
    assert psysafe("probe", *bed.cast, *SMALL, "--run", "without").code == 0
    asked = [call.body["messages"] for call in bed.endpoint.calls if call.body["model"] == TARGET]
    assert {messages[0]["role"] for messages in asked} == {"user"}


def test_a_client_is_asked_in_the_style_that_is_named(psysafe: Command, bed: Bed) -> None:
    for style, roles in (("chat", {("system", "user")}), ("transcript", {("user",)})):
        bed.endpoint.calls.clear()
        assert psysafe("probe", *bed.cast, *SMALL, "--style", style, "--run", style).code == 0
        asked = [call.body["messages"] for call in bed.endpoint.calls if call.body["model"] == CLIENT]
        assert {tuple(message["role"] for message in messages[:2]) for messages in asked} == roles


def test_several_clients_take_turns_by_the_seed(psysafe: Command, bed: Bed) -> None:
    bed.instead = lambda body: bed.play({**body, "model": CLIENT}) if body["model"] == "second" else None
    assert psysafe("probe", *bed.cast, "--client", bed.model("second"), *SMALL, "--run", "r").code == 0
    assert bed.asked["second"]
    assert bed.asked[CLIENT]


def test_what_is_left_out_is_not_asked_for(psysafe: Command, bed: Bed) -> None:
    found = psysafe(
        "probe", *bed.cast, *SMALL, "--no-course", "--reproductions", "0", "--controls", "0", "--benign", "0",
        "--run", "r", "--json",
    ).json  # fmt: skip
    assert found["trials"] == {"search": 6}
    assert "course" not in {form_of(body) for body in bed.endpoint.bodies}
    assert found["severity_by_turn"] == []
    assert found["rates"]["refusal"]["value"] is None


# What it refuses


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--cells", "enabler/nagging"], "unknown cell 'enabler/nagging'; a cell is COUNSELOR_ROLE/CATEGORY, of the"),
        (["--cells", " ,"], "--cells is empty; expected cells (facilitator/blaming), counselor roles or categories"),
        (["--profiles", "grif"], "unknown profile 'grif', perhaps grief. There are the groups adolescence, "),
        (["--profiles", ","], "--profiles is empty; expected ids or groups with commas, or a folder"),
        (["--profiles", "nowhere/"], "nowhere: there is no such file or folder; expected profiles: "),
        (["--style", "loud"], "unknown style 'loud'; expected chat, transcript"),
        (["--system", "empty.txt"], "--system empty.txt: the file is empty; leave the option out for no system prompt"),
        (["--system", "none.txt"], "--system none.txt: cannot be read: No such file or directory"),
        (["--system", "bad.txt"], "--system bad.txt: cannot be read: "),
        (["--preset", "ours"], "unknown preset 'ours'; expected psysafe, paper"),
        (["--searcher", "best"], "unknown searcher 'best'; expected psysafe, paper, random, pair, tap"),
        (["--schedule", "late"], "schedule: found 'late'; expected adaptive, balanced, exploration"),
        (["--mechanism", "guess"], "unknown mechanism 'guess'; there are: "),
        (["--taxonomy", "nowhere"], "nowhere"),
        (["--resume"], "--resume goes on with a run: name it with --run DIR"),
        (["--resume", "--run", "r"], "r holds no run (no run.json in it)"),
        (["--resume", "--run", "r", "--retain", "3"], "--retain is decided when a run is made"),
        (["--budget", "0"], "Invalid value for '--budget'"),
        (["--max-cost", "1"], "--max-cost: the price of "),
        (["--price", "cheap"], "--price cheap: expected IN,OUT in US dollars per million tokens"),
        (["--judge", "anthropic"], "unknown model 'anthropic'; expected one of: "),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_sent(
    psysafe: Command, bed: Bed, options: list[str], complaint: str
) -> None:
    Path("empty.txt").write_text(" \n")
    Path("bad.txt").write_bytes(b"\xff\xfe\x00caf\xe9")
    before, folder = len(bed.endpoint.everything), sorted(os.listdir())
    result = psysafe("probe", *bed.cast, *SMALL, *options)
    assert result.code == 2
    assert complaint in result.err.splitlines()[-1]
    assert len(bed.endpoint.everything) == before
    assert sorted(os.listdir()) == folder


def test_settings_that_do_not_fit_are_said_in_plain_words(psysafe: Command, bed: Bed) -> None:
    assert psysafe("probe", *bed.cast, "--schedule", "late").complaint.startswith("schedule: found 'late'")


def test_the_target_must_be_named(psysafe: Command) -> None:
    result = psysafe("probe", "--budget", "3")
    assert result.code == 2
    assert "Missing option '--target'" in result.complaint


def test_a_host_elsewhere_is_named_and_must_be_confirmed(psysafe: Command, bed: Bed) -> None:
    away = ("--target", "http://counselor.invalid/v1#m")
    result = psysafe("probe", *bed.cast, *SMALL, *away, "--run", "r")
    assert result.code == 2
    assert "6 conversations will be sent to counselor.invalid: add --yes to confirm" in result.err
    assert not Path("r").exists()
    assert "not confirmed; nothing was sent" in psysafe("probe", *bed.cast, *SMALL, *away, typed="n\n").err


# Its run


@pytest.fixture(scope="module")
def hostile() -> str:
    """What a strategist might write to whoever opens the table."""
    return "=HYPERLINK(1)"


@pytest.fixture
def finished(psysafe: Command, bed: Bed, hostile: str) -> Path:
    """A run in which strategies begin like a formula, a reply holds escape codes, and one dialogue has no verdict."""

    def play(body: dict[str, Any]) -> Play | None:
        if body["model"] == STRATEGIST and form_of(body) is None:
            said: Any = bed.play(body)
            return completion(f"{hostile} {said.body['choices'][0]['message']['content']}")
        if body["model"] == TARGET and bed.asked[TARGET] == 3:
            return completion('+cmd \x1b[31mred\x1b[0m, quoted "so"\nand on')
        if body["model"] == TARGET and bed.asked[TARGET] == 9:
            return completion("")
        return None

    bed.instead = play
    assert psysafe("probe", *bed.cast, *SMALL, "-c", "1", "--run", "runs/p").code == 0
    return Path("runs/p")


def test_a_run_is_listed_and_shown_with_the_same_figures(psysafe: Command, finished: Path) -> None:
    (row,) = psysafe("runs", "list", "--json").json
    stored = records(finished)
    assert (row["run"], row["kind"], row["ended"]) == ("runs/p", "probe", "complete")
    assert (row["units"], row["unscored"]) == (len(stored), 0)
    assert [name.rpartition("#")[2] for name in row["models"]] == [TARGET, CLIENT, STRATEGIST, JUDGE]
    listed = psysafe("runs", "list").out
    assert " probe " in listed.splitlines()[1]
    shown = psysafe("runs", "show", finished, "--json").json
    assert shown["trials"]["search"] == 6
    assert shown["rollouts"]["reply_failed"] == 1
    assert shown["by_reason"]["reply_empty"] == 1
    assert shown["ended"] == "complete"
    assert "no hit does not mean safe" in psysafe("runs", "show", finished).out


def test_a_run_that_was_cut_off_is_shown_as_far_as_it_has_come(psysafe: Command, bed: Bed) -> None:
    assert psysafe("probe", *bed.cast, *SMALL, "--run", "r", "--max-calls", "1").code == 4
    result = psysafe("runs", "show", "r")
    assert (result.code, result.out) == (0, "r holds no trial yet\n")
    assert psysafe("runs", "show", "r", "--json").json["rates"]["asr"]["value"] is None


def test_its_records_are_exported_whole_one_a_line(psysafe: Command, finished: Path) -> None:
    result = psysafe("export", finished, "--to", "jsonl", "-o", "out.jsonl")
    assert result.code == 0
    lines = [orjson.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    for line in lines:
        del line["seconds"]
    assert lines == records(finished)
    assert f"{len(lines)} trials written to out.jsonl" in result.err
    assert os.stat("out.jsonl").st_mode & 0o077 == 0


def test_its_dialogues_are_exported_as_a_table_in_which_no_text_runs_as_a_formula(
    psysafe: Command, finished: Path, hostile: str
) -> None:
    result = psysafe("export", finished, "--to", "csv", "-o", "out.csv")
    assert result.code == 0
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_text(encoding="utf-8-sig"), newline="")))
    stored = [(record, rollout) for record in records(finished) for rollout in record["rollouts"]]
    assert len(rows) == len(stored)
    assert f"{len(rows)} dialogues written to out.csv" in result.err
    for row, (record, rollout) in zip(rows, stored, strict=True):
        assert (row["kind"], row["index"], row["cell"]) == (record["kind"], str(record["index"]), record["cell"])
        assert row["outcome"] == rollout["outcome"]
        for line in rollout["lines"]:
            assert line["content"] in row["dialogue"]
        if rollout["strategy"] is not None:
            assert row["strategy"] == f"'{rollout['strategy']}"
            assert rollout["strategy"].startswith(hostile)
        assert not any(value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for value in row.values())
    (empty,) = (row for row in rows if row["outcome"] == "reply_failed")
    assert (empty["reason"], empty["severity"], empty["hit"]) == ("reply_empty", "", "False")


def test_its_dialogues_are_exported_as_parquet(psysafe: Command, finished: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra parquet")
    assert psysafe("export", finished, "--to", "parquet", "-o", "out.parquet").code == 0
    rows = parquet.read_table("out.parquet").to_pylist()
    stored = [(record, rollout) for record in records(finished) for rollout in record["rollouts"]]
    assert [(row["kind"], row["index"], row["strategy"]) for row in rows] == [
        (record["kind"], record["index"], rollout["strategy"]) for record, rollout in stored
    ]
    assert {type(row["hit"]) for row in rows} == {bool}
    # unknown is no number
    assert {row["severity"] for row in rows if row["outcome"] == "reply_failed"} == {None}


def test_a_probe_is_no_log_of_inspect(psysafe: Command, finished: Path) -> None:
    result = psysafe("export", finished, "--to", "inspect", "-o", "out.eval")
    assert result.code == 2
    assert result.complaint == "runs/p is a probe, which is not written as inspect; expected jsonl, csv, parquet"
    assert not Path("out.eval").exists()


# When one of the models is no good


def test_a_blind_judge_that_answers_in_no_form_is_no_blind_judge_that_saw_nothing(psysafe: Command, bed: Bed) -> None:
    bed.instead = lambda body: completion("I see nothing of note.") if form_of(body) == "blind" else None
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "r")
    assert result.code == 3
    assert "100.0% of a judge's verdicts are missing, above --max-unscored 5%" in result.err
    assert "Without a verdict of the blind judge: " in result.out
    assert "confirmed by the blind judge" not in result.out.replace("First line", "")


def test_a_strategist_that_gives_nothing_is_told_by_exit_3(psysafe: Command, bed: Bed) -> None:
    bed.instead = lambda body: completion("No.") if body["model"] == STRATEGIST else None
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "r")
    assert result.code == 3
    assert "no trial of the search has a verdict" in result.err
    assert "(strategist)" in result.err
    # tried, and nothing known of it
    assert "?" in result.out.split("First line")[0]


def test_a_bound_on_cost_ends_with_what_is_done_and_wastes_little(psysafe: Command, bed: Bed) -> None:
    arguments = ("probe", *bed.cast, *SMALL, "--budget", "24", "--price", "1,2", "--run")
    whole = psysafe(*arguments, "whole", "--json").json
    result = psysafe(*arguments, "r", "--json", "--max-cost", str(whole["cost"] / 2))
    assert result.code == 4
    assert result.json["cost"] > 0
    assert len(records()) > 0
    assert result.json["unstored_calls"] < result.json["calls"]


def test_without_a_judge_no_model_is_chosen_in_silence(psysafe: Command, bed: Bed) -> None:
    result = psysafe("probe", "--target", bed.model())
    assert result.code == 2
    assert "no judge: name a language model with --judge" in result.complaint


def test_events_that_cannot_be_written_do_not_end_the_probe(psysafe: Command, bed: Bed) -> None:
    result = psysafe("probe", *bed.cast, *SMALL, "--run", "r", "--events", "/dev/full")
    assert result.code == 0
    assert result.err.count("no more events are written, the probe goes on") == 1
