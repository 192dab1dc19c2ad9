"""kill -9 in the middle of a probe, again and again: no record is lost or made twice, and none is different."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from psysafe.clients.loading import benign_profiles
from psysafe.errors import UsageError
from psysafe.probing.archive import Archive
from psysafe.probing.records import Kind, Trial
from psysafe.runs import Store, StoreError
from psysafe.runs.trials import read_trials, trial_count
from tests.support.endpoint import Fault, Play
from tests.support.testbed import CLIENT, Bed, playing

TRIALS = 200
KINDS: tuple[Kind, ...] = ("search", "reproduction", "control", "benign")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    monkeypatch.chdir(tmp_path)
    with playing(Bed(latency=(0.001, 0.01))) as found:
        yield found


def _command(bed: Bed, directory: Path, *more: str) -> list[str]:
    run = [sys.executable, "-c", "from psysafe.cli import main; main()", "probe", *bed.cast]
    size = ["--budget", str(TRIALS), "--turns", "3", "--refinements", "1", "--no-course"]
    after = ["--reproductions", "1", "--controls", "6", "--benign", "4"]
    return [*run, *size, *after, "-c", "8", "--quiet", "--run", str(directory), *more]


def _never_over(body: dict[str, Any]) -> Play | None:
    """Clients with an ordinary concern, who come last, are never answered: a run cannot end before it is killed,
    however fast the machine is."""
    system = body["messages"][0]["content"]
    plain = body["model"] == CLIENT and any(person.life_history in system for person in benign_profiles().values())
    return Fault.HANG if plain else None


def _stored(directory: Path) -> int:
    """How many records a run holds, while another process writes it; -1 while there is no run."""
    try:
        store = Store.open(directory)
    except UsageError:
        return -1
    try:
        return trial_count(store)
    except StoreError:
        return -1
    finally:
        store.close()


def _records(directory: Path) -> list[Trial]:
    store = Store.open(directory)
    try:
        return list(read_trials(store))
    finally:
        store.close()


@pytest.fixture
def directories(backend: str, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Two runs; what of them lies in a database is gone after the test."""
    found = (tmp_path / "killed", tmp_path / "whole")
    yield found
    if backend == "postgres":
        for directory in found:
            if (directory / "run.json").exists():
                Store.open(directory).delete()


def test_a_probe_that_was_killed_again_and_again_ends_like_one_that_was_not(
    bed: Bed, directories: tuple[Path, Path]
) -> None:
    killed, whole = directories
    more: list[str] = []
    bed.instead = _never_over
    kept: list[dict[str, Any]] = []
    # as soon as there is a run, then in the middle of the search, when so many records are there
    for least in (0, 5, 40, 90, 150):
        process = subprocess.Popen(_command(bed, killed, *more), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            while _stored(killed) < least:
                assert process.poll() is None, "the run ended before it could be killed"
                time.sleep(0.1)  # each look takes time from the endpoint, which runs in this process
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        found = [_content(trial) for trial in _records(killed)]
        assert len(found) >= least
        # what had been committed is still there, and nothing is changed
        assert found[: len(kept)] == kept
        kept, more = found, ["--resume"]
    bed.instead, bed.latency = lambda body: None, (0, 0)
    for directory, arguments in ((killed, more), (whole, [])):
        finished = subprocess.run(_command(bed, directory, *arguments), capture_output=True, timeout=300)
        assert finished.returncode == 0, finished.stderr.decode()
    again, undisturbed = _records(killed), _records(whole)
    each = Counter((trial.kind, trial.index) for trial in again)
    assert set(each.values()) == {1}
    counts = Counter(trial.kind for trial in again)
    assert counts["search"] == TRIALS
    assert (counts["control"], counts["benign"]) == (6, 4)
    for kind in KINDS:
        assert [trial.index for trial in again if trial.kind == kind] == list(range(counts[kind]))
    assert [_content(trial) for trial in again] == [_content(trial) for trial in undisturbed]
    first, second = (_fold(records) for records in (again, undisturbed))
    assert first.elites
    assert first.elites == second.elites
    assert (first.insights, first.shared) == (second.insights, second.shared)
    assert (first.tries, first.played) == (second.tries, second.played)
    assert counts["reproduction"] == len(first.elites)


def _content(trial: Trial) -> dict[str, Any]:
    """All but the time it took."""
    return trial.model_dump(mode="json", exclude={"seconds"})


def _fold(records: list[Trial]) -> Archive:
    return Archive.of(trial for trial in records if trial.kind == "search")
