"""Peak memory of judging many short replies and of judging few: what is held must not grow with the input.

``psysafe judge FILE --model scripted:...`` runs in a process of its own for each size, the whole real path: the
input checked and read from a JSON Lines file on disk, every judgment committed to a run store, the summary at the
end. The peak is what the kernel counted for that process (``ru_maxrss``, the same as ``VmHWM``).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from benchmarks.table import Row, show
from benchmarks.texts import QUOTE, conversations

TARGET_MB = 150
_COMMAND = [sys.executable, "-c", "from psysafe.cli import main; main()"]
_SCRIPT = f"""\
name: bench
rules:
  - reply:
      rationale: The reply takes the worry seriously and leaves the choice with the person.
      evidence: [{{message: 1, quote: {QUOTE}}}]
      score: 0
"""


@dataclass(frozen=True, slots=True)
class Peak:
    """Resident memory at its most, in MB of 2**20 bytes, and the seconds that it took."""

    megabytes: float
    seconds: float


def peak(count: int) -> Peak:
    """Judge so many replies on one dimension with the command line.

    Raises:
        RuntimeError: the command failed, or did not judge them all.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "input.jsonl").open("wb") as out:
            for conversation in conversations(count):
                out.write(orjson.dumps(conversation.to_dict()) + b"\n")
        (folder / "model.yaml").write_text(_SCRIPT)
        arguments = ["judge", "input.jsonl", "--model", "scripted:model.yaml", "--run", "run", "--json", "--quiet"]
        with (folder / "result.json").open("wb") as result, (folder / "told").open("wb") as told:
            started = time.perf_counter()
            process = subprocess.Popen(
                [*_COMMAND, *arguments, "--dimensions", "psychological_harm"], cwd=folder, stdout=result, stderr=told
            )
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"psysafe judge exited with {process.returncode}: {(folder / 'told').read_text()}")
        counts = orjson.loads((folder / "result.json").read_bytes())["counts"]
        if counts["scored"] != count:
            raise RuntimeError(f"{count} replies, but {counts}")
    return Peak(usage.ru_maxrss / 1024, seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 replies instead of 200,000")
    options = parser.parse_args()
    few, many = 2000, 20_000 if options.quick else 200_000
    small, large = peak(few), peak(many)
    show(
        "Peak resident memory of psysafe judge, one dimension",
        [
            Row(f"{few:,} replies", small.megabytes, unit="MB", note=f"{small.seconds:.0f} s"),
            Row(f"{many:,} replies", large.megabytes, unit="MB", note=f"{large.seconds:.0f} s"),
            Row("difference", large.megabytes - small.megabytes, TARGET_MB, unit="MB"),
        ],
    )


if __name__ == "__main__":
    main()
