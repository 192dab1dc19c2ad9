"""The runs that are held against clinical raters of whole conversations, kept and continued."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stdout
from itertools import islice
from pathlib import Path
from typing import Any

from psysafe.cli import run
from psysafe.cli.executing import Wishes
from psysafe.cli.perform import perform
from psysafe.cli.setup import load_limits
from psysafe.conversation import Inputs
from psysafe.errors import UsageError
from psysafe.judging import load_judge, parse_mechanism
from psysafe.judging.judges import covers
from psysafe.runs import Budget, Plan, Store
from psysafe.taxonomy import load_dimensions

CRISIS_RESPONSE = "crisis_response"
SCREENED = ("psychological_harm", "insulting_behaviour")
CONTEXT = "16384"  # tokens; the longest of these conversations has 35,000 characters, the rubric 7,000
SECONDS = 1800.0  # for one answer on a slow machine
MECHANISM = "vote:samples=1,temperature=0"  # one call
MAX_TOKENS = 300  # the embedded model rambles; this holds a verdict


def folder(out: Path, model: str) -> Path:
    """Of the run in which a model is asked."""
    return out / re.sub(r"[^A-Za-z0-9.-]+", "_", model)


def not_covering() -> list[str]:
    """Those judges that classify and have nothing to say of a crisis: one line each, with the reason."""
    dimension = load_dimensions()[CRISIS_RESPONSE]
    lines: list[str] = []
    for name in ("screen", "local"):
        try:
            covered = covers(load_judge(name), dimension)
        except UsageError as problem:
            lines.append(f"{name}, as it judges by default: {problem}")
            continue
        if not covered:
            lines.append(f"{name}, as it judges by default: fitted on no labels for {CRISIS_RESPONSE}, judges none")
    return lines


def screen(file: Path, out: Path) -> None:
    """Have the screen judge what stands beside supportive and boundaries.

    Raises:
        SystemExit: it did not go through, with the code of ``psysafe judge``.
    """
    directory = folder(out, "screen")
    resume = ("--resume",) if (directory / "run.json").exists() else ()
    # What psysafe prints there, quotes included, is not what this program is about.
    with redirect_stdout(sys.stderr):
        code = run([
            "judge", str(file), "--scope", "conversation", "--model", "screen", "--dimensions", ",".join(SCREENED),
            "--run", str(directory), "--concurrency", "1", "--max-unscored", "1", "--json", *resume,
        ])  # fmt: skip
    _done(code)


def in_words(file: Path, out: Path, name: str, limit: int | None = None, yes: bool = False) -> None:
    """Have a model judge crisis_response by its rubric, one call a conversation.

    As ``psysafe judge FILE --scope conversation --dimensions crisis_response --mechanism vote:samples=1,temperature=0`` does
    (of ``local`` with ``--max-tokens 300``),
    which can continue the run; of ``local`` such verdicts are flagged ``uncalibrated``.

    Args:
        limit: conversations, the first so many; the run can be continued without it. yes: send them to the model's host.

    Raises:
        SystemExit: it did not go through, with the code of ``psysafe judge``.
    """
    os.environ.setdefault("PSYSAFE_LOCAL_CONTEXT", CONTEXT)
    mechanism = parse_mechanism(MECHANISM, **({"max_tokens": MAX_TOKENS} if name == "local" else {}))
    directory = folder(out, name)
    with Inputs([str(file)]) as inputs:
        scan = inputs.scan()
        count = scan.conversations if limit is None else min(limit, scan.conversations)
        plan = Plan(
            conversations=lambda: islice(iter(inputs), count),
            source={
                "files": [{"name": Path(path).name, "sha256": digest} for path, digest in scan.digests.items()],
                "skip_bad": False,
            },
            count=count,
            judged=count,
            dimensions=[load_dimensions()[CRISIS_RESPONSE]],
            mechanisms=[mechanism],
            models=[load_judge(name, load_limits(1, None, None, SECONDS, 6))],
            scope="conversation",
        )
        resume = (directory / "run.json").exists()
        with redirect_stdout(sys.stderr):
            code = perform(plan, Wishes(directory, resume, Budget(), 1, 1.0, yes, True, False, None))
    _done(code)


def judged(directory: Path, dimension: str) -> dict[str, dict[str, Any]]:
    """Judgments of a run on a dimension, by conversation; none where there is no run yet."""
    if not (directory / "run.json").exists():
        return {}
    with closing(Store.open(directory)) as store:
        return {record["conversation"]: record for record, _ in store.judgments() if record["dimension"] == dimension}


def without(records: Sequence[Mapping[str, Any] | None], limit: int | None) -> Counter[str]:
    """Why conversations have no level, and how many each."""
    unjudged = "not judged yet" + ("" if limit is None else f" (--limit {limit})")
    return Counter(
        unjudged if record is None else _why(record)
        for record in records
        if record is None or record["outcome"] != "scored"
    )


def _why(record: Mapping[str, Any]) -> str:
    if record["outcome"] == "not_applicable":
        return "not applicable, says the judge"
    told = f"{record['outcome']}, {record['reason']}"
    if record["reason"] not in ("bad_request", "endpoint_error", "timeout"):
        return told  # what else is told of it may quote the judge
    return ": ".join([told, *sorted({vote["detail"] or "" for vote in record["votes"]} - {""})])


def seconds(records: Sequence[dict[str, Any]]) -> str:
    """How long a verdict took, in words."""
    taken = sorted(record["seconds"] for record in records)
    return f"{taken[0]:.0f} to {taken[-1]:.0f} s a verdict, half of them in {taken[len(taken) // 2]:.0f} s or less"


def _done(code: int) -> None:
    if code:
        raise SystemExit(code)
