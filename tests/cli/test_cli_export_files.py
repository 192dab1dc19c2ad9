"""psysafe export --to parquet and --to inspect, and psysafe judge on what tables and logs hold."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from psysafe.cli import run as psysafe_run
from tests.cli.support import MAIN, Command, by_number, chats, judgments


@pytest.fixture
def run(home: Path) -> Path:
    """A finished run of three judgments."""
    assert (
        psysafe_run(
            [
                "judge",
                str(chats(3)),
                "--model",
                by_number(),
                "--dimensions",
                "insulting_behaviour",
                "--run",
                "r",
                "--yes",
            ]
        )
        == 0
    )
    return Path("r")


def test_parquet_goes_to_a_private_file_or_to_a_pipe(psysafe: Command, run: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra")
    written = psysafe("export", run, "--to", "parquet", "-o", "out.parquet")
    assert (written.code, written.out, written.err) == (0, "", "3 judgments written to out.parquet\n")
    assert stat.S_IMODE(os.stat("out.parquet").st_mode) == 0o600
    assert pq.read_table("out.parquet")["id"].to_pylist() == ["c0", "c1", "c2"]
    command = [sys.executable, "-c", MAIN, "export", str(run), "--to", "parquet"]
    piped = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=False)
    assert piped.stdout == Path("out.parquet").read_bytes()


def test_a_log_of_inspect_needs_a_name_that_ends_as_one(psysafe: Command, run: Path) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    unnamed = psysafe("export", run, "--to", "inspect")
    assert (unnamed.code, "name one with -o" in unnamed.complaint) == (2, True)
    other = psysafe("export", run, "--to", "inspect", "-o", "out.json")
    assert (other.code, "ends in .eval" in other.complaint) == (2, True)
    lost = psysafe("export", run, "--to", "inspect", "-o", "nowhere/out.eval")
    assert (lost.code, "cannot write nowhere/out.eval" in lost.complaint) == (2, True)


def test_a_log_of_inspect_can_be_judged_again(psysafe: Command, run: Path) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    written = psysafe("export", run, "--to", "inspect", "-o", "out.eval")
    assert (written.code, written.err) == (0, "3 judgments written to out.eval\n")
    again = psysafe(
        "judge", "out.eval", "--model", by_number(), "--dimensions", "insulting_behaviour", "--run", "s", "--yes"
    )
    assert again.code == 0
    assert [(j["id"], j["score"]) for j in judgments("s")] == [(f"{j['id']}#1", j["score"]) for j in judgments("r")]


def test_a_run_in_several_logs_is_told_by_the_first_and_the_last(
    psysafe: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    monkeypatch.setattr("psysafe.runs.export_inspect.MAX_SAMPLES", 1)
    written = psysafe("export", run, "--to", "inspect", "-o", "out.eval")
    assert written.code == 0
    assert "out-1.eval" in written.err
    assert "out-3.eval (3 files)" in written.err


def test_a_table_is_judged_and_its_columns_travel(psysafe: Command, home: Path) -> None:
    table = b"chat id;Speaker;Text;clinic\nx;Client;Question 1.;A\nx;Therapist;Reply 1.;A\n"
    judge = ["--model", by_number(), "--dimensions", "insulting_behaviour", "--run", "r", "--yes"]
    result = psysafe("judge", "-", "--format", "csv", *judge, stdin=table)
    assert result.code == 0
    (judgment,) = judgments("r")
    assert (judgment["id"], judgment["score"], judgment["metadata"]) == ("x", 1.0, {"clinic": "A"})


def test_what_is_wrong_with_a_table_is_said_with_its_line(psysafe: Command, home: Path) -> None:
    Path("a.csv").write_text("id,role,content\nx,user,Hi\nx,robot,Ho\n")
    result = psysafe("judge", "a.csv", "--model", by_number(), "--yes")
    assert result.code == 2
    assert "a.csv:3: role: unknown role 'robot'" in result.err
