"""Being interrupted, killed or cut off: what is finished is stored, and the run can be gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import INSULT, Command, by_number, chats, committed, finish, judgments, script, spawn, until
from tests.support.endpoint import Endpoint, Fault, error

# the moment that units in flight get is one that no test would wait for
PATIENT = "import psysafe.runs.runner as runner; runner._GRACE = 3600; from psysafe.cli import main; main()"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_exits_with_130_keeps_what_is_finished_and_can_be_resumed(
    psysafe: Command, number: signal.Signals
) -> None:
    chats(300)
    slow = by_number("judge.yaml", latency=0.05)
    arguments = ["judge", "chats.jsonl", "--run", "r", "-c", "4", *INSULT, "-m"]
    process = spawn(*arguments, slow, "--json")
    until(lambda: committed("r") > 0, process)
    process.send_signal(number)
    result = finish(process)
    assert result.code == 130
    done = judgments("r")
    assert 0 < len(done) < 300
    # what it says it did is what it stored
    assert result.json["counts"]["units"] == len(done)
    assert result.json["ended"] == "interrupted"
    assert f"psysafe: interrupted: {300 - len(done)} units are pending" in result.err
    assert "--run r --resume goes on" in result.err
    assert psysafe(*arguments, by_number("judge.yaml"), "--resume").code == 0
    psysafe("judge", "chats.jsonl", "--run", "whole", *INSULT, "-m", "scripted:judge.yaml")
    assert judgments("r") == judgments("whole")


def test_a_second_interrupt_does_not_wait(endpoint: Endpoint) -> None:
    endpoint.handler = lambda body, attempt: Fault.HANG
    chats(20)
    process = spawn(
        "judge", "chats.jsonl", "-m", endpoint.model_string, "--run", "r", "-c", "2", *INSULT, program=PATIENT
    )
    until(lambda: len(endpoint.calls) >= 2, process)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130
    assert "interrupted: 20 units are pending" in result.err


def test_a_run_is_interrupted_while_its_endpoint_is_still_being_tried(endpoint: Endpoint) -> None:
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: Fault.HANG
    chats(3)
    process = spawn("judge", "chats.jsonl", "-m", endpoint.model_string, "--run", "r", *INSULT)
    until(lambda: len(endpoint.probes) > 0, process)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130
    assert "interrupted: 3 units are pending" in result.err


def test_a_command_that_is_interrupted_before_it_judges_exits_with_130() -> None:
    read, write = os.pipe()
    process = spawn("judge", "-", "-m", script("judge.yaml"), stdin=read)
    os.close(read)
    os.write(write, b'{"messages": [')
    until(lambda: _reads(process.pid), process)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    os.close(write)
    assert result.code == 130
    assert result.out == ""
    assert "Traceback" not in result.err


def _reads(pid: int) -> bool:
    """Whether a process has opened the temporary file into which it keeps standard input."""
    folder = Path(f"/proc/{pid}/fd")
    for link in folder.iterdir():
        try:
            if "psysafe-" in os.readlink(link) or "/tmp/#" in os.readlink(link):
                return True
        except OSError:
            continue
    return False


def test_a_key_that_is_refused_in_the_middle_ends_the_run_and_what_is_done_is_kept(
    psysafe: Command, endpoint: Endpoint
) -> None:
    answer = endpoint.handler
    revoked = error(401, "the key was revoked")
    endpoint.handler = lambda body, attempt: answer(body, attempt) if len(endpoint.calls) <= 30 else revoked
    arguments = ["judge", chats(500), "-m", endpoint.model_string, "--run", "r", "-c", "4", *INSULT]
    result = psysafe(*arguments)
    assert result.code == 2
    done = judgments("r")
    assert len(done) == 30
    assert "the endpoint refused the key (401); set the right key" in result.err
    assert ". 470 units are pending" in result.err
    assert len(endpoint.calls) < 60
    endpoint.handler = answer
    assert psysafe(*arguments, "--resume").code == 0
    assert len(judgments("r")) == 500


def test_an_endpoint_that_is_lost_in_the_middle_ends_the_run_early_and_it_goes_on_later(
    psysafe: Command, endpoint: Endpoint
) -> None:
    answer = endpoint.handler
    endpoint.handler = lambda body, attempt: answer(body, attempt) if len(endpoint.calls) <= 30 else Fault.DISCONNECT
    arguments = ["judge", chats(500), "-m", endpoint.model_string, "--run", "r", "-c", "4", "--retries", "0", *INSULT]
    result = psysafe(*arguments)
    assert result.code == 3
    assert "psysafe: the endpoint is gone: 20 units in a row got no answer (" in result.err
    assert len(endpoint.calls) < 100
    endpoint.handler = answer
    assert psysafe(*arguments, "--resume").code == 0
    done = judgments("r")
    assert len(done) == 500
    assert {line["outcome"] for line in done} == {"scored"}


def test_a_reader_that_goes_away_is_no_error() -> None:
    chats(3000)
    model = script("judge.yaml")
    assert finish(spawn("judge", "chats.jsonl", "-m", model, "--run", "r", "-q", *INSULT)).code == 0
    for form in ("jsonl", "csv"):
        process = spawn("export", "r", "--to", form)
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        assert process.wait(60) == 0
        assert said == ""


def test_a_second_writer_is_refused(psysafe: Command) -> None:
    chats(200)
    model = by_number("judge.yaml", latency=0.05)
    arguments = ["judge", "chats.jsonl", "-m", model, "--run", "r", "-c", "4", *INSULT]
    process = spawn(*arguments)
    until(lambda: committed("r") > 0, process)
    result = psysafe(*arguments, "--resume")
    assert result.code == 2
    assert result.complaint == "another process is writing r: wait for it, or stop it first"
    deletion = psysafe("runs", "delete", "r", "--yes")
    assert deletion.code == 2
    assert "another process is writing r" in deletion.complaint
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    assert committed("r") > 0
