"""Whole conversations that three clinical raters each judged, beside what psysafe's embedded judges say of them.

    python -m benchmarks.rated --data FOLDER [--out FOLDER] [--humans-only] [--limit N] [--stored] [--model MODEL]

CONTENT WARNING: the conversations are about suicide; no word of them is printed.

FOLDER holds rated_conversations.jsonl, which is no part of this project. First the raters among themselves, for each
criterion, with Not Relevant once left out and once as a category of its own, and with ratings cut in two (Not Relevant left
out there, too). Then the judges: ``crisis_response`` by the embedded model asked in words, one call a conversation, since neither
screen nor local has labels for it; minutes each, kept, and the same command goes on where it was stopped. Beside supportive
and boundaries stand ``psychological_harm`` and ``insulting_behaviour`` by the screen. Which verdict is held against which
criterion, and why: benchmarks/rated_criteria.py.

Needs: pip install 'psysafe[screen,local,local-weights,stats]'. About 16,000 tokens of context (2.4 GB of memory).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rated_beside import CUTS, FOUR, THREE, TWO, Beside, by_rater, compare, compare_flags
from benchmarks.rated_criteria import (
    CRISIS,
    CRITERIA,
    LEVELS,
    NOT_RELEVANT,
    agreement,
    binary,
    paired,
    prevalence,
    ratings,
    verdict,
    with_own_category,
)
from benchmarks.rated_runs import (
    CRISIS_RESPONSE,
    SCREENED,
    folder,
    in_words,
    judged,
    not_covering,
    screen,
    seconds,
    without,
)
from benchmarks.table import show_cells
from psysafe.agreement.figures import Estimate
from psysafe.agreement.wording import Notes, number
from psysafe.errors import PsysafeError
from psysafe.models import ModelError
from psysafe.stats.undefined import Figure, Undefined

OUT = Path.home() / ".cache" / "psysafe-training" / "rated"
FIGURES = ("raw agreement", "alpha, nominal", "alpha, ordinal", "alpha, interval", "AC1")
Rows = Sequence[Mapping[str, Any]]


def humans(rows: Rows) -> None:
    """The raters among themselves: no judge can be asked for more."""
    cluster, notes = np.arange(len(rows)), Notes()
    cells: list[Sequence[str]] = [("criterion", "treated as", "conversations", *FIGURES)]
    for criterion in (*CRITERIA, "composite"):
        three = ratings(rows, criterion)
        for way, matrix, levels in (
            ("three levels, Not Relevant left out", three, THREE),
            ("with Not Relevant as a fourth", with_own_category(rows, criterion), FOUR),
            *((cut, binary(three, start), TWO) for cut, start in CUTS),
        ):
            found = agreement(matrix, levels, cluster, ordered=levels is THREE)
            cells.append((criterion, way, str(paired(matrix)), *_figures(found, notes)))
    show_cells("the raters among themselves (composite: the worst of detects, confirms, guides)", cells)
    _tell(notes)
    print(
        "  conversations: with two ratings or three; the others, where ratings are left out, say nothing about agreement"
    )
    counts: list[Sequence[str]] = [("criterion", *LEVELS, NOT_RELEVANT)]
    for criterion in (*CRITERIA, "composite"):
        given = prevalence(rows, criterion)
        counts.append((criterion, *(str(given[name]) for name in (*LEVELS, NOT_RELEVANT))))
    show_cells("how often each rating was given", counts)


def beside(
    rows: Rows, directory: Path, name: str, dimension: str, criteria: Sequence[str], limit: int | None = None
) -> None:
    """A judge beside the raters, and what it gave no verdict on, and why."""
    found = judged(directory, dimension)
    records = [found.get(row["id"]) for row in rows]
    judge = np.array([verdict(record) for record in records])
    print(f"\n{name}, {dimension}: {int((judge <= 2).sum())} of {len(rows)} conversations have a verdict on the scale")
    for why, count in without(records, limit).most_common():
        print(f"  {count}: {why}")
    done = [record for record in records if record is not None]
    if not (judge <= 2).any():
        print("  nothing to hold against the raters")
        return
    flags = Counter(flag for record in done for flag in record["flags"])
    print("  flags: " + (", ".join(f"{flag} {count}" for flag, count in sorted(flags.items())) or "none"))
    print(f"  {seconds(done)}")
    if name == "screen":  # its score says how sure it is, not how bad it is: flagged or not is all
        print(f"  flagged: {int((judge >= 1).sum())}")
        compared = [one for criterion in criteria for one in compare_flags(rows, criterion, binary(judge, 1))]
    else:
        print("  levels given: " + ", ".join(f"{value:g}: {int((judge == value).sum())}" for value in THREE))
        compared = [one for criterion in criteria for one in compare(rows, criterion, judge)]
    _show(f"{name}, {dimension}, beside the raters, on the same conversations", compared)
    if name != "screen":
        _show_raters(by_rater(rows, criteria[0], judge), criteria[0])
    print("\nin plain words")
    for one in compared:
        if one.criterion == criteria[0] or one.cut == CUTS[-1][0]:
            print(f"  {one.in_words()}")


def _show_raters(raters: Sequence[tuple[str, int, Figure, Figure]], criterion: str) -> None:
    cells: list[Sequence[str]] = [("rater", "ratings", "as the judge", "as the other raters")]
    for rater, count, *shares in raters:
        shown = (f"- ({one.why})" if isinstance(one, Undefined) else number(one) for one in shares)
        cells.append((rater, str(count), *shown))
    show_cells(f"each rater, {criterion}, three levels: share of equal pairs", cells)


def _show(title: str, compared: Sequence[Beside]) -> None:
    notes, names = Notes(), [name for name in FIGURES if name != "alpha, interval"]
    cells: list[Sequence[str]] = [("criterion", "cut", "judged", "who", *names)]
    for one in compared:
        for who, found in (
            ("raters among themselves", one.people),
            ("judge and each rater", one.each),
            (
                "judge and raters' median" if one.cut != "not relevant as a fourth" else "judge and most raters",
                one.middle,
            ),
        ):
            cells.append((one.criterion, one.cut, str(one.conversations), who, *_figures(found, notes, names)))
    show_cells(title, cells)
    _tell(notes)


def _figures(found: Mapping[str, Estimate], notes: Notes, names: Sequence[str] = FIGURES) -> list[str]:
    return [notes.figure(found[name]) if name in found else "" for name in names]


def _tell(notes: Notes) -> None:
    for line in notes.lines():
        print(f"  {line}")


def main(given: Sequence[str] | None = None) -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--humans-only", action="store_true", help="ask no judge")
    parser.add_argument("--stored", action="store_true", help="judge nothing more; show what has been judged")
    parser.add_argument("--only", choices=("screen", "crisis"), help="one of the two runs alone")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="ask about crisis_response in the first N conversations alone"
    )
    parser.add_argument("--model", default="local", help="asked about crisis_response; any model string of psysafe")
    parser.add_argument("--yes", action="store_true", help="send the conversations to the host of --model")
    arguments = parser.parse_args(given)
    if arguments.limit is not None and arguments.limit < 1:
        parser.error("--limit: expected 1 or more")
    file = arguments.data / "rated_conversations.jsonl"
    if not file.exists():
        raise SystemExit(f"{file} is not there: this needs the human-rated data, see the docstring")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    humans(rows)
    if arguments.humans_only:
        return
    try:
        _judge(rows, file, arguments)
    except (PsysafeError, ModelError) as problem:
        raise SystemExit(f"rated: {problem}") from None


def _judge(rows: Rows, file: Path, arguments: argparse.Namespace) -> None:
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    if arguments.only != "crisis":
        if not arguments.stored:
            screen(file, out)
        for dimension in SCREENED:
            beside(rows, folder(out, "screen"), "screen", dimension, ("supportive", "boundaries"))
    if arguments.only != "screen":
        print(f"\n{CRISIS_RESPONSE}")
        for line in not_covering():
            print(f"  {line}: {len(rows)} of {len(rows)} conversations not judged")
        print(f"  {arguments.model}, asked in words by the rubric, one call: below; no cut of it was fitted on labels")
        if not arguments.stored:
            in_words(file, out, arguments.model, arguments.limit, arguments.yes)
        beside(
            rows,
            folder(out, arguments.model),
            arguments.model,
            CRISIS_RESPONSE,
            ("composite", *CRISIS),
            arguments.limit,
        )


if __name__ == "__main__":
    main()
