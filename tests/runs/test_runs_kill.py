"""kill -9 in the middle of a run: nothing that was committed is lost, nothing is judged twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest
import yaml

from psysafe.errors import UsageError
from psysafe.runs import Store, StoreError
from tests.runs.conftest import NewStore
from tests.runs.support import lines, stored

COUNT = 90


def _command(directory: Path, *more: str) -> list[str]:
    run = [sys.executable, "-c", "from psysafe.cli import main; main()", "judge", "chats.jsonl"]
    chosen = ["-d", "insulting_behaviour,crisis_response", "--mechanism", "single", "--mechanism", "vote:samples=3"]
    return [*run, *chosen, "-m", "scripted:judge.yaml", "-c", "6", "--quiet", "--run", str(directory), *more]


def _stored(directory: Path) -> int:
    """How many judgments a run holds, while another process writes it."""
    try:
        store = Store.open(directory)
    except UsageError:
        return -1
    try:
        return stored(store)
    except StoreError:
        return -1
    finally:
        store.close()


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    records = [{"id": f"c{n}", "prompt": f"Question {n}.", "response": f"Reply {n}."} for n in range(COUNT)]
    Path("chats.jsonl").write_bytes(b"\n".join(map(orjson.dumps, records)))
    rules = [
        {
            "when": {"judged": rf"Reply \d*[{digits}]\."},
            "reply": {"rationale": "because", "evidence": [], "score": score},
        }
        for score, digits in enumerate(("0369", "147", "258"))
    ]
    Path("rules.yaml").write_text(yaml.safe_dump(rules))


def _judge_takes(low: float, high: float) -> None:
    """Seconds of a request, drawn from the request itself. They are no part of what the judge is."""
    rules = yaml.safe_load(Path("rules.yaml").read_text())
    Path("judge.yaml").write_text(yaml.safe_dump({"latency": [low, high], "rules": rules}))


def test_a_run_that_was_killed_again_and_again_ends_like_one_that_was_not(
    inputs: None, new_store: NewStore, backend: str, tmp_path: Path
) -> None:
    killed = tmp_path / "killed"
    more: list[str] = []
    # slow enough that a busy machine, too, kills it before its end: a run takes 7 s and more
    _judge_takes(0.02, 0.1)
    # at once, then when something more has been committed
    for least in (0, 1, 80, 160):
        process = subprocess.Popen(_command(killed, *more), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while _stored(killed) < least:
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        store = Store.open(killed)
        kept = lines(store)
        assert least <= len(kept) < COUNT * 4
        assert len({line["key"] for line in kept}) == len(kept)
        begun = store.get("manifest") is not None
        if not begun:  # killed before it had put down what it was to do: to be begun again
            store.delete()
        store.close()
        more = ["--resume"] if begun else []
    _judge_takes(0.005, 0.025)
    for directory, arguments in ((killed, more), (tmp_path / "whole", [])):
        finished = subprocess.run(_command(directory, *arguments), capture_output=True, timeout=60)
        assert finished.returncode == 0, finished.stderr.decode()
    found = []
    for directory in (killed, tmp_path / "whole"):
        store = Store.open(directory)
        found.append(lines(store))
        if backend == "postgres":
            store.delete()
        store.close()
    assert len(found[1]) == COUNT * 4
    assert found[0] == found[1]
