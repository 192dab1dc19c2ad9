"""psysafe runs, rejudge and export: what was run can be listed, judged again, taken out and deleted."""

from __future__ import annotations

import csv
import io
import os
import stat
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.runs import Store
from tests.cli.support import (
    INSULT,
    Command,
    by_number,
    chat,
    chats,
    judgments,
    meta,
    put_meta,
    script,
    verdict,
    write_chats,
)
from tests.support.endpoint import Endpoint


@pytest.fixture
def run(psysafe: Command) -> Path:
    """A finished run of six conversations."""
    assert psysafe("judge", chats(6), "-m", by_number(), "--run", "runs/first", *INSULT).code == 0
    return Path("runs/first")


# ---- list


def test_runs_are_listed(psysafe: Command, run: Path) -> None:
    refusing = script("refusing.yaml", {"fault": "refusal"})
    psysafe("judge", "chats.jsonl", "-m", refusing, "--run", "runs/second", "--max-calls", "4", *INSULT)
    result = psysafe("runs", "list")
    assert result.code == 0
    assert result.err == ""
    header, first, second = result.out.splitlines()
    assert header.split() == ["run", "kind", "created", "ended", "units", "unscored", "models"]
    assert first.split()[0] == "runs/first"
    assert first.split()[3:] == ["complete", "6", "0", "scripted:judge"]
    assert second.split()[3:] == ["budget", "2", "2", "scripted:refusing"]
    listed = psysafe("runs", "list", "runs", "--json").json
    assert [row["run"] for row in listed] == ["runs/first", "runs/second"]
    assert listed[0] == {
        "run": "runs/first",
        "kind": "judge",
        "created": listed[0]["created"],
        "expires": None,
        "ended": "complete",
        "units": 6,
        "unscored": 0,
        "models": ["scripted:judge"],
    }


def test_a_folder_without_runs_is_said_to_have_none(psysafe: Command) -> None:
    assert psysafe("runs", "list", "nowhere").out == "no runs in nowhere\n"
    assert psysafe("runs", "list", "nowhere", "--json").json == []


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_listed(psysafe: Command, run: Path) -> None:
    Path("runs/broken").mkdir()
    Path("runs/broken/run.json").write_text("{")
    Path("runs/emptied").mkdir()
    Path("runs/emptied/run.json").write_bytes(Path("runs/first/run.json").read_bytes())
    result = psysafe("runs", "list")
    assert result.code == 0
    assert "runs/first" in result.out
    assert "runs/broken/run.json cannot be read" in result.err
    assert "runs/emptied holds no run.sqlite" in result.err


def test_a_run_that_is_still_going_is_not_called_finished(psysafe: Command, run: Path) -> None:
    Store.create(Path("runs/new")).close()
    result = psysafe("runs", "list")
    assert "not finished" in result.out


def test_a_run_that_goes_on_is_not_called_what_it_was_before(psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["judge", chats(6), "-m", by_number(), "--run", "runs/a", *INSULT]
    psysafe(*arguments, "--max-calls", "2")
    seen: list[Any] = []
    write = Store.write

    def looked_at(self: Store, entries: Any) -> None:
        seen.append(self.get("state"))
        write(self, entries)

    monkeypatch.setattr(Store, "write", looked_at)
    psysafe(*arguments, "--resume")
    assert seen == [None]
    assert meta("runs/a", "state") == {"ended": "complete", "detail": None}


# ---- delete


def test_a_run_is_deleted_when_that_is_confirmed(psysafe: Command, run: Path) -> None:
    result = psysafe("runs", "delete", run)
    assert result.code == 2
    assert result.complaint == (
        "delete the whole run runs/first: add --yes to confirm (there is no terminal to ask on)"
    )
    result = psysafe("runs", "delete", run, typed="n\n")
    assert result.code == 2
    assert "Delete the whole run runs/first for good?" in result.err
    assert "not confirmed; nothing was deleted" in result.err
    assert len(judgments(run)) == 6
    result = psysafe("runs", "delete", run, "--yes")
    assert (result.code, result.out, result.err) == (0, "", "deleted runs/first\n")
    assert not run.exists()


def test_a_conversation_is_deleted_from_a_run(psysafe: Command, run: Path) -> None:
    result = psysafe("runs", "delete", run, "--conversation", "c2", "--yes")
    assert result.code == 0
    assert "deleted conversation 'c2' and 1 judgments" in result.err
    assert [line["id"] for line in judgments(run)] == ["c0", "c1", "c3", "c4", "c5"]
    for path in run.iterdir():
        assert b"Reply 2." not in path.read_bytes()
        assert b"Reply 3." in path.read_bytes() or path.name != "run.sqlite"
    again = psysafe("runs", "delete", run, "--conversation", "c2", "--yes")
    assert again.code == 2
    assert "runs/first holds no conversation 'c2'" in again.complaint


def test_what_is_no_run_is_not_deleted(psysafe: Command) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    result = psysafe("runs", "delete", "mine", "--yes")
    assert result.code == 2
    assert "mine holds no run" in result.complaint
    assert Path("mine/thesis.txt").exists()


# ---- retain


def test_a_run_is_deleted_when_its_days_have_passed_and_not_before(psysafe: Command) -> None:
    model = by_number()
    for name in ("kept", "short", "long"):
        more = [] if name == "kept" else ["--retain", "30"]
        psysafe("judge", chats(2), "-m", model, "--run", f"runs/{name}", *more, *INSULT)
    expires = datetime.fromisoformat(meta("runs/short", "expires"))
    created = datetime.fromisoformat(meta("runs/short", "created"))
    assert expires - created == timedelta(days=30)
    assert psysafe("runs", "list").err == ""
    put_meta("runs/short", "expires", (datetime.now(UTC) - timedelta(seconds=1)).isoformat())
    result = psysafe("runs", "list")
    assert result.err.startswith("deleted runs/short: kept until ")
    assert "runs/short" not in result.out
    assert sorted(os.listdir("runs")) == ["kept", "long"]


def test_a_new_run_sweeps_the_folder_it_is_made_in(psysafe: Command, run: Path) -> None:
    put_meta(run, "expires", (datetime.now(UTC) - timedelta(days=1)).isoformat())
    result = psysafe("judge", "chats.jsonl", "-m", "scripted:judge.yaml", *INSULT)
    assert result.code == 0
    assert "deleted runs/first: kept until" in result.err
    assert not run.exists()


def test_a_dry_run_deletes_nothing(psysafe: Command, run: Path) -> None:
    put_meta(run, "expires", (datetime.now(UTC) - timedelta(days=1)).isoformat())
    psysafe("judge", "chats.jsonl", "-m", "scripted:judge.yaml", "--dry-run")
    assert run.exists()


def test_a_run_whose_days_have_passed_is_not_deleted_while_it_is_written(psysafe: Command, run: Path) -> None:
    put_meta(run, "expires", (datetime.now(UTC) - timedelta(days=1)).isoformat())
    writer = Store.open(run)
    writer.lock()
    result = psysafe("runs", "list")
    writer.close()
    assert result.code == 0
    assert "another process is writing runs/first" in result.err
    assert len(judgments(run)) == 6


@pytest.mark.parametrize("days", ["0", "-1", "soon"])
def test_days_are_a_positive_number(psysafe: Command, days: str) -> None:
    result = psysafe("judge", chats(1), "-m", by_number(), "--retain", days)
    assert result.code == 2
    assert "Invalid value for '--retain'" in result.complaint


# ---- rejudge


def test_a_run_is_judged_again_from_its_own_transcripts_by_the_new_judge_alone(
    psysafe: Command, endpoint: Endpoint
) -> None:
    first = psysafe("judge", chats(6), "-m", endpoint.model_string, "--run", "first", "--json", *INSULT)
    assert first.json["dimensions"]["insulting_behaviour"]["single"]["harmful"] == 0.0
    asked = len(endpoint.everything)
    Path("chats.jsonl").unlink()
    before = judgments("first")
    strict = script("strict.yaml", {"reply": verdict(2)})
    result = psysafe("rejudge", "first", "-m", strict, "--run", "second", "--json")
    assert result.code == 0
    assert result.json["counts"]["units"] == 6
    assert result.json["dimensions"]["insulting_behaviour"]["single"]["harmful"] == 1.0
    assert len(endpoint.everything) == asked
    assert judgments("first") == before
    second = judgments("second")
    assert [line["id"] for line in second] == [line["id"] for line in before]
    assert {line["model"] for line in second} == {"scripted:strict"}


def test_judging_again_alike_gives_the_same(psysafe: Command) -> None:
    records = [chat(n, label=n) for n in range(5)]
    records[3]["judged_message"] = 1
    write_chats("chats.jsonl", [*records, chat(5, "")])
    model = by_number()
    arguments = ["-d", "dialogguard", "--scope", "turn"]
    psysafe("judge", "chats.jsonl", "-m", model, "--run", "first", *arguments)
    psysafe("rejudge", "first", "-m", model, "--run", "second")
    assert judgments("second") == judgments("first")
    assert len(judgments("second")) == 6 * 5


def test_dimensions_scope_and_mechanism_can_be_others(psysafe: Command, run: Path) -> None:
    arguments = ["-d", "crisis_response", "--scope", "conversation", "--mechanism", "vote:samples=3"]
    result = psysafe("rejudge", run, "-m", "scripted:judge.yaml", "--json", *arguments)
    assert list(result.json["dimensions"]) == ["crisis_response"]
    assert list(result.json["dimensions"]["crisis_response"]) == ["vote:samples=3"]


def test_a_run_that_is_judged_again_can_be_resumed_and_only_with_the_same_settings(psysafe: Command, run: Path) -> None:
    arguments = ["rejudge", run, "-m", "scripted:judge.yaml", "--run", "again"]
    assert psysafe(*arguments, "--max-calls", "2").code == 4
    result = psysafe(*arguments, "--resume", "--seed", "9")
    assert result.code == 2
    assert "seed: the run has 0, asked for 9" in result.err
    assert psysafe(*arguments, "--resume").code == 0
    assert len(judgments("again")) == 6


def test_judging_again_over_the_run_itself_is_refused(psysafe: Command, run: Path) -> None:
    before = judgments(run)
    result = psysafe("rejudge", run, "-m", "scripted:judge.yaml", "--run", run)
    assert result.code == 2
    assert "already holds a run" in result.complaint
    assert judgments(run) == before


def test_a_dry_run_of_judging_again_calls_nothing(psysafe: Command, run: Path, endpoint: Endpoint) -> None:
    result = psysafe("rejudge", run, "-m", endpoint.model_string, "--dry-run", "--json")
    assert result.json["units"] == 6
    assert endpoint.everything == []
    assert os.listdir("runs") == ["first"]


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["none"], "none holds no run"),
        (["runs/first", "--scope", "word"], "unknown scope 'word'"),
        (["runs/first", "-d", "sarcasm"], "unknown dimension 'sarcasm'"),
        (["runs/first", "--resume"], "--resume goes on with a run: name it with --run DIR"),
        (["runs/first", "--max-cost", "1"], "--max-cost: the price of scripted:judge is unknown"),
        (["runs/empty"], "runs/empty holds no conversation yet"),
    ],
)
def test_what_cannot_be_judged_again_is_named(psysafe: Command, run: Path, arguments: list[str], problem: str) -> None:
    Store.create(Path("runs/empty")).close()
    result = psysafe("rejudge", *arguments, "-m", "scripted:judge.yaml")
    assert result.code == 2
    assert problem in result.complaint


# ---- export


def test_judgments_are_exported_to_stdout_or_to_a_file(psysafe: Command, run: Path) -> None:
    result = psysafe("export", run)
    assert result.code == 0
    assert result.err == ""
    found = [orjson.loads(line) for line in result.out.splitlines()]
    assert [line["id"] for line in found] == [f"c{n}" for n in range(6)]
    written = psysafe("export", run, "--to", "jsonl", "-o", "out.jsonl")
    assert (written.code, written.out, written.err) == (0, "", "6 judgments written to out.jsonl\n")
    assert Path("out.jsonl").read_text() == result.out
    assert Path("out.jsonl").stat().st_mode & 0o777 == 0o600
    table = psysafe("export", run, "--to", "csv").out
    assert [row["id"] for row in csv.DictReader(io.StringIO(table.lstrip("\ufeff")))] == [f"c{n}" for n in range(6)]


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["--to", "xlsx"], "unknown export 'xlsx'; there are: jsonl, csv"),
        (["-o", "nowhere/out.jsonl"], "cannot write nowhere/out.jsonl: No such file or directory"),
        (["-o", "runs"], "cannot write runs: Is a directory"),
    ],
)
def test_an_export_that_cannot_be_written_is_refused(
    psysafe: Command, run: Path, arguments: list[str], problem: str
) -> None:
    result = psysafe("export", run, *arguments)
    assert result.code == 2
    assert problem in result.complaint
    assert sorted(os.listdir()) == ["chats.jsonl", "judge.yaml", "runs"]


def test_an_export_that_breaks_off_leaves_the_old_file(
    psysafe: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psysafe.runs import StoreError

    Path("out.jsonl").write_text("old")

    def broken(self: Store) -> Any:
        yield from ()
        raise StoreError("the store cannot be read")

    monkeypatch.setattr(Store, "judgments", broken)
    result = psysafe("export", run, "-o", "out.jsonl")
    assert result.code == 70
    assert Path("out.jsonl").read_text() == "old"
    assert sorted(os.listdir()) == ["chats.jsonl", "judge.yaml", "out.jsonl", "runs"]


def test_a_pipe_or_a_device_is_written_to_and_not_replaced(psysafe: Command, run: Path) -> None:
    # not tried on /dev/null: an export that replaces it would spoil the machine
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    assert psysafe("export", run, "-o", "pipe").code == 0
    assert len(reader.communicate(timeout=60)[0].splitlines()) == 6
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_an_export_goes_where_a_link_leads(psysafe: Command, run: Path) -> None:
    Path("elsewhere").mkdir()
    Path("out.jsonl").symlink_to("elsewhere/data.jsonl")
    Path("elsewhere/data.jsonl").write_text("old")
    assert psysafe("export", run, "-o", "out.jsonl").code == 0
    assert Path("out.jsonl").is_symlink()
    assert len(Path("elsewhere/data.jsonl").read_text().splitlines()) == 6


def test_an_export_of_no_run_is_refused(psysafe: Command) -> None:
    chats(1)
    for name in ("none", "chats.jsonl"):
        result = psysafe("export", name)
        assert result.code == 2
        assert result.complaint.startswith(name)
