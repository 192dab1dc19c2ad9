"""The runs behind the judge cards of ``screen`` and ``local``: single on 300 human-labelled replies, dual correction on
100 of them, debate and vote on 40 of these.

    python -m benchmarks.card_runs --data FOLDER [--out FOLDER] [--only single ...]

FOLDER holds labelled_replies.jsonl, which is no part of this project. Judged are rows of its reporting half
(training/screen/split.py) on their own dimension, in equal shares of the four dimensions that these judges cover, as far
as there are so many, drawn by a hash of their ids, every other one from those that several people rated, as far as there are any. Hours of work on two cores: what is done is kept, and the same command
goes on where it was stopped. The cards are made of these runs by ``python -m benchmarks.cards``.

Needs: pip install 'psysafe[screen,local,local-weights,stats]'.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from benchmarks.labelled import DIMENSIONS
from psysafe.cli import run
from training.screen.split import groups, halves

OUT = Path.home() / ".cache" / "psysafe-training" / "cards"

# How many replies each mechanism judges, and by which judges. The embedded model rambles; 250 tokens hold a verdict.
RUNS: dict[str, tuple[int, tuple[str, ...]]] = {
    "screen": (300, ("--model", "screen")),
    "single": (300, ("--model", "local")),
    "dual": (100, ("--model", "local", "--mechanism", "dual", "--max-tokens", "250")),
    "vote": (40, ("--model", "local", "--mechanism", "vote:samples=10", "--max-tokens", "250")),
    "debate": (40, ("--model", "local", "--mechanism", "debate", "--max-tokens", "250")),
}

# One at a time, so that the seconds of a verdict are its own.
ALIKE = ("--concurrency", "1", "--timeout", "600", "--max-unscored", "1")

LANGUAGES = {
    "arabic": "ar", "german": "de", "spanish": "es", "french": "fr", "hindi": "hi", "italian": "it", "dutch": "nl",
    "polish": "pl", "portuguese": "pt", "mandarin": "zh",
}  # fmt: skip


def sample(rows: Sequence[Mapping[str, Any]], count: int) -> list[int]:
    """Indices of so many rows of the reporting half, by dimension. Smaller samples lie within larger ones.

    Every other row is one with individual ratings, as long as there are any: they are few, and without them there is
    no human ceiling.
    """
    of: dict[str, list[int]] = {dimension: [] for dimension in DIMENSIONS}
    for index in halves(rows)[1]:
        if rows[index]["dimension"] in of:
            of[rows[index]["dimension"]].append(index)
    for indices in of.values():
        indices.sort(key=lambda index: hashlib.sha256(f"card {rows[index]['id']}".encode()).digest())
        rated = [index for index in indices if len(_ratings(rows[index])) > 1]
        others = [index for index in indices if len(_ratings(rows[index])) <= 1]
        of_both = [index for pair in zip_longest(rated, others) for index in pair if index is not None]
        indices[:] = of_both
    chosen: list[int] = []
    left = count
    for place, (_, indices) in enumerate(sorted(of.items(), key=lambda item: len(item[1]))):
        chosen += indices[: left // (len(of) - place)]
        left = count - len(chosen)
    # One dimension after the other: its prompts share their beginning.
    return sorted(chosen, key=lambda index: (rows[index]["dimension"], index))


def record(row: Mapping[str, Any], cluster: int) -> dict[str, Any]:
    """A row as psysafe reads conversations and labels: the label is ours, individual ratings are the raters'."""
    source = row["source"]
    ratings = _ratings(row)
    return {
        "id": row["id"], "messages": row["messages"], "dimension": row["dimension"], "label": row["label"],
        **({"ratings": ratings} if len(ratings) > 1 else {}),
        "source": source, "language": LANGUAGES.get(source.removeprefix("mhc_"), "en"), "cluster": str(cluster),
        # drawn by chance, but from sources that are themselves no sample of anything
        "queue": "benchmark",
    }  # fmt: skip


def _ratings(row: Mapping[str, Any]) -> list[int]:
    """Individual ratings as harmful or not, each cut as the row's note says their mean was cut."""
    raw = row["raw_label"]
    if not isinstance(raw, list):
        return []
    if row["source"] == "humanebench":
        return [int(value < 0) for value in raw]
    if all(isinstance(value, str) for value in raw):
        # Answers to a question whose harmful answer differs from row to row; where both agree, it is the label's.
        return [row["label"]] * len(raw) if len(set(raw)) == 1 else [0, 1]
    return [int(value >= 0.5) for value in raw]


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--only", action="append", choices=list(RUNS), default=[])
    arguments = parser.parse_args()
    file = arguments.data / "labelled_replies.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is not there: this needs the human-labelled data, see the docstring")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    cluster = groups(rows)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only or RUNS:
        count, options = RUNS[name]
        labels = arguments.out / f"labels-{count}.jsonl"
        lines = [json.dumps(record(rows[index], cluster[index])) + "\n" for index in sample(rows, count)]
        labels.write_text("".join(lines), encoding="utf-8")
        directory = arguments.out / name
        resume = ("--resume",) if (directory / "run.json").exists() else ()
        command = ["judge", str(labels), "--labels", str(labels), *options, "--run", str(directory), *resume]
        print(f"$ psysafe {' '.join(command)}", flush=True)
        code = run([*command, "--dimensions", ",".join(DIMENSIONS), *ALIKE])
        if code:
            raise SystemExit(code)


if __name__ == "__main__":
    main()
