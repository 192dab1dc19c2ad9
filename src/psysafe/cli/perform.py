"""Carrying out a plan for a command: consent, execution, result, exit code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from psysafe.cli.console import error, note, print_json, results
from psysafe.cli.executing import Wishes, run_plan
from psysafe.cli.exits import BUDGET, DONE, INTERRUPTED, UNSCORED, USAGE
from psysafe.cli.run_store import run_store
from psysafe.cli.setup import confirm_hosts
from psysafe.cli.table import print_summary
from psysafe.errors import UsageError
from psysafe.judging import TRANSIENT, Classifier
from psysafe.judging.judges import leaves
from psysafe.models import ModelError
from psysafe.runs import Execution, Plan, Store, Summary, summarise

if TYPE_CHECKING:
    from psysafe.cli.anchoring import Anchors


def perform(plan: Plan, wishes: Wishes, anchors: Anchors | None = None) -> int:
    """Execute a plan and show the result; the anchors, if any, before it. Returns the exit code."""
    confirm_hosts(plan.models, plan.count + (anchors.plan.count if anchors else 0), wishes.yes)
    for line in remarks(plan):
        note(line)
    store = run_store(wishes.directory, plan.manifest(), resume=wishes.resume, retain=wishes.retain)
    try:
        try:
            return _carry_out(plan, store, wishes, anchors)
        except (ModelError, UsageError):
            if not wishes.resume and not summarise(store).units:
                store.delete()  # nothing was done: the same command can simply be given again
            raise
    finally:
        store.close()


def remarks(plan: Plan) -> list[str]:
    """What is to be known before the first verdict: how good an embedded judge is, and what a judge leaves out."""
    found = [leaf for model in plan.models for leaf in leaves(model) if isinstance(leaf, Classifier)]
    lines = [classifier.notice for classifier in dict.fromkeys(found) if classifier.notice]
    for name, missing in plan.not_covered.items():
        lines.append(f"{name} does not judge {', '.join(missing)}: no units are made of these")
    return list(dict.fromkeys(lines))


def _carry_out(plan: Plan, store: Store, wishes: Wishes, anchors: Anchors | None) -> int:
    started = time.monotonic()
    before = float(store.get("seconds") or 0.0)
    note(f"run: {wishes.directory}")
    store.put("skipped", wishes.skipped)
    store.put("concurrency", wishes.concurrency)
    store.put("state", None)  # not finished, however an earlier execution ended
    try:
        execution = _judge_anchors(anchors, store, wishes)
        stopped_at_anchors = execution is not None
        if execution is None:
            execution = asyncio.run(run_plan(plan, store, wishes))
    finally:
        store.put("seconds", before + time.monotonic() - started)
    store.put("state", {"ended": execution.ended, "detail": execution.detail})
    summary = summarise(store)
    with results():
        if wishes.json:
            drift = store.get("anchors")
            print_json({
                **summary.as_dict(str(wishes.directory)), "ended": execution.ended,
                **({"anchors": drift} if drift is not None else {}),
            })  # fmt: skip
        elif summary.units:
            print_summary(summary, store)
    return _stopped_at_anchors(execution, wishes) if stopped_at_anchors else _code(execution, summary, wishes)


def _judge_anchors(anchors: Anchors | None, store: Store, wishes: Wishes) -> Execution | None:
    """How it ended, where it did before the anchors were judged."""
    if anchors is None:
        return None
    from psysafe.cli.anchoring import judge_anchors_once

    return judge_anchors_once(anchors, store, wishes)


def _stopped_at_anchors(execution: Execution, wishes: Wishes) -> int:
    """The exit code where the run proper has not begun."""
    codes = {"interrupted": INTERRUPTED, "budget": BUDGET, "fatal": USAGE, "endpoint_lost": UNSCORED}
    higher = "; it is judged at one go, so the bound has to hold all of it" if execution.ended == "budget" else ""
    error(
        f"{execution.detail or execution.ended} while the anchors were judged, and nothing else was: the same command "
        f"with --run {wishes.directory} --resume begins this pass over them anew{higher}"
    )
    return codes[execution.ended]


def _code(execution: Execution, summary: Summary, wishes: Wishes) -> int:
    progress = execution.progress
    pending = progress.units - progress.resumed - progress.done
    units = "1 unit is" if pending == 1 else f"{pending:,} units are"
    resume = f"{units} pending; the same command with --run {wishes.directory} --resume goes on"
    match execution.ended:
        case "interrupted":
            error(f"interrupted: {resume}")
            return INTERRUPTED
        case "budget":
            stuck = "" if progress.done else " Not one unit fitted under it: the bound has to be higher."
            error(f"budget reached ({execution.detail}): {resume}{stuck}")
            return BUDGET
        case "fatal":
            error(f"{execution.detail}. {resume}")
            return USAGE
        case "endpoint_lost":
            error(f"the endpoint is gone: {execution.detail}. {resume}")
            return UNSCORED
        case "complete":
            if summary.unscored_share > wishes.max_unscored:
                share = f"{summary.unscored_share:.1%} of the units are unscored, above --max-unscored"
                passing = sum(summary.reasons[reason] for reason in TRANSIENT)
                again = f"; {passing:,} failed in passing: --run {wishes.directory} --resume tries them again"
                error(f"{share} {wishes.max_unscored:.0%}{again if passing else ''}")
                return UNSCORED
            if not summary.outcomes["scored"] and not summary.outcomes["not_applicable"]:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(summary.reasons.items()))
                error(f"no unit has a verdict ({reasons})")
                return UNSCORED
            return DONE


def list_bad(errors: Sequence[Exception], count: int) -> None:
    """Name what --skip-bad left out."""
    if not count:
        return
    note(f"skipped {count:,} that cannot be read:")
    for problem in errors:
        note(f"  {problem}")
    if count > len(errors):
        note(f"  ... and {count - len(errors):,} more")
