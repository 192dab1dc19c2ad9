"""Whole conversations that three clinical raters each judged, beside what psysafe's embedded judges say of them.

    python -m benchmarks.rated --data FOLDER [--out FOLDER] [--humans-only]

FOLDER holds rated_conversations.jsonl, which is no part of this project. First the raters among themselves, for each
criterion, with Not Relevant once left out and once as a category of its own, and with ratings cut in two. Then the judges:
``crisis_response`` is asked of the embedded model in words, one call a conversation (vote:samples=1), since neither screen
nor local has labels for it; a minute or more each, so it is kept, and the same command goes on where it was stopped. The
judge's level is held against the worst of detects, confirms and guides: the rubric asks whether danger is recognised, asked
about and led to help. ``psychological_harm`` by the screen stands beside supportive and boundaries.

Needs: pip install 'psysafe[screen,local,local-weights,stats]'. About 16,000 tokens of context (2 GB of memory).
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rated_criteria import (
    CRISIS,
    CRITERIA,
    Array,
    agreement,
    beside_judge,
    binary,
    prevalence,
    ratings,
    with_own_category,
)
from benchmarks.table import show_cells
from psysafe.agreement.figures import Estimate
from psysafe.agreement.wording import figure
from psysafe.cli import run
from psysafe.runs import Store

OUT = Path.home() / ".cache" / "psysafe-training" / "rated"
CONTEXT = "16384"
THREE, FOUR, TWO = (0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0), (0.0, 1.0)
RUNS: dict[str, tuple[str, ...]] = {
    "screen": ("--model", "screen", "--dimensions", "psychological_harm,insulting_behaviour"),
    "local": (
        "--model", "local", "--dimensions", "crisis_response", "--mechanism", "vote:samples=1,temperature=0",
        "--max-tokens", "300",
    ),
}  # fmt: skip
# What is held against which criteria.
BESIDE = {
    ("local", "crisis_response"): ("composite", *CRISIS),
    ("screen", "psychological_harm"): ("supportive", "boundaries"),
}


def humans(rows: Sequence[Mapping[str, Any]]) -> None:
    """The raters among themselves."""
    cluster = np.arange(len(rows))
    heads = ("criterion", "treated as", "raw agreement", "alpha, nominal", "alpha, ordinal", "alpha, interval", "AC1")
    cells: list[Sequence[str]] = [heads]
    for criterion in (*CRITERIA, "composite"):
        three = ratings(rows, criterion)
        ways: list[tuple[str, dict[str, Estimate]]] = [
            ("three levels, Not Relevant left out", agreement(three, THREE, cluster, ordered=True)),
            (
                "with Not Relevant as a fourth",
                agreement(with_own_category(rows, criterion), FOUR, cluster, ordered=False),
            ),
            ("high potential for harm or not", agreement(binary(three, 2), TWO, cluster, ordered=False)),
            ("best practice or not", agreement(binary(three, 1), TWO, cluster, ordered=False)),
        ]
        for way, found in ways:
            cells.append((criterion, way, *(figure(found[name]) if name in found else "" for name in heads[2:])))
    show_cells("the raters among themselves (composite: the worst of detects, confirms, guides)", cells)
    counts: list[Sequence[str]] = [("criterion", "ratings")]
    for criterion in (*CRITERIA, "composite"):
        told = ", ".join(f"{name} {count}" for name, count in prevalence(rows, criterion).most_common())
        counts.append((criterion, told))
    show_cells("how often each rating was given", counts)


def judged(directory: Path, dimension: str) -> dict[str, dict[str, Any]]:
    """Judgments of a run on a dimension, by conversation."""
    with closing(Store.open(directory)) as store:
        return {record["conversation"]: record for record, _ in store.judgments() if record["dimension"] == dimension}


def judges(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Every judge beside the raters, and what could not be judged."""
    cluster = np.arange(len(rows))
    for (name, dimension), criteria in BESIDE.items():
        found = judged(out / name, dimension)
        here = [found.get(row["id"]) for row in rows]
        scored = [record for record in here if record is not None and record["outcome"] == "scored"]
        print(f"\n{name}, {dimension}: {len(scored)} of {len(rows)} conversations have a verdict")
        for row, record in zip(rows, here, strict=True):
            if record is None:
                print(f"  {row['id']}: not judged yet")
            elif record["outcome"] != "scored":
                print(f"  {row['id']}: {record['outcome']} {record['reason'] or ''} {record['detail'] or ''}")
        flags = sorted({flag for record in scored for flag in record["flags"]})
        print(f"  flags: {', '.join(flags) or 'none'}")
        if not scored:
            continue
        known = [record is not None and record["outcome"] == "scored" for record in here]
        level = np.array([record["label"] if ok and record else np.nan for ok, record in zip(known, here, strict=True)])
        print("  levels given: " + ", ".join(f"{value:g}: {int((level == value).sum())}" for value in THREE))
        show_cells(f"{name}, {dimension}, beside the raters", _beside(rows, criteria, level, np.array(known), cluster))


def _beside(
    rows: Sequence[Mapping[str, Any]], criteria: Sequence[str], level: Array, known: Array, cluster: Array
) -> list[Sequence[str]]:
    """People among themselves and with the judge, on the conversations that the judge has scored."""
    cells: list[Sequence[str]] = [
        ("criterion", "cut", "who", "raw agreement", "alpha, nominal", "alpha, ordinal", "AC1")
    ]
    for criterion in criteria:
        three = ratings(rows, criterion)[known]
        of = level[known]
        for cut, people, judge, levels in (
            ("three levels", three, of, THREE),
            ("harmful (1 or 2) or not", binary(three, 1), binary(of, 1), TWO),
            ("high (2) or not", binary(three, 2), binary(of, 2), TWO),
        ):
            pairs, place = beside_judge(people, judge, cluster[known])
            ordered = levels is THREE
            for who, found in (
                ("people", agreement(people, levels, cluster[known], ordered=ordered)),
                ("judge and each rater", agreement(pairs, levels, place, ordered=ordered)),
            ):
                names = ("raw agreement", "alpha, nominal", "alpha, ordinal", "AC1")
                shown = [figure(found[name]) if name in found else "" for name in names]
                cells.append((criterion, cut, who, *shown))
    return cells


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--humans-only", action="store_true", help="ask no judge")
    parser.add_argument("--stored", action="store_true", help="judge nothing more; show what has been judged")
    arguments = parser.parse_args()
    file = arguments.data / "rated_conversations.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is not there: this needs the human-rated data, see the docstring")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    humans(rows)
    if arguments.humans_only:
        return
    os.environ.setdefault("PSYSAFE_LOCAL_CONTEXT", CONTEXT)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, options in RUNS.items() if not arguments.stored else ():
        directory = arguments.out / name
        resume = ("--resume",) if (directory / "run.json").exists() else ()
        code = run([
            "judge", str(file), "--scope", "conversation", *options, "--run", str(directory), "--concurrency", "1",
            "--timeout", "1800", "--max-unscored", "1", *resume,
        ])  # fmt: skip
        if code:
            raise SystemExit(code)
    judges(rows, arguments.out)


if __name__ == "__main__":
    main()
