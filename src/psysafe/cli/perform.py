"""Carrying out a plan for a command: estimate, consent, execution, result, exit code."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psysafe.cli.console import error, note, print_json, printable, results
from psysafe.cli.exits import BUDGET, DONE, INTERRUPTED, UNSCORED, USAGE
from psysafe.cli.progress import Screen
from psysafe.cli.setup import confirm_hosts
from psysafe.cli.table import print_summary
from psysafe.errors import UsageError
from psysafe.judging import TRANSIENT, Cascade, Classifier, Judge, ManagedJudge
from psysafe.judging.judges import info_of, leaves, price_of
from psysafe.models import ModelError
from psysafe.runs import Budget, Execution, Plan, Stop, Store, Summary, execute, manifest_difference, summarise
from psysafe.taxonomy import Dimension

if TYPE_CHECKING:
    from psysafe.cli.anchoring import Anchors

# Tokens of one answer, for estimates: measured on verdicts with a rationale and quotes.
_ANSWER_TOKENS = 150


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a plan is to be carried out; none of it changes a judgment."""

    directory: Path
    resume: bool
    budget: Budget
    concurrency: int
    max_unscored: float
    yes: bool
    json: bool
    quiet: bool
    retain: int | None
    skipped: int = 0  # records that could not be read


def perform(plan: Plan, wishes: Wishes, anchors: Anchors | None = None) -> int:
    """Execute a plan and show the result; the anchors, if any, before it. Returns the exit code."""
    confirm_hosts(plan.models, plan.count + (anchors.plan.count if anchors else 0), wishes.yes)
    for line in remarks(plan):
        note(line)
    store = _store(plan, wishes)
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


def _store(plan: Plan, wishes: Wishes) -> Store:
    """The new or resumed store, locked."""
    if wishes.resume:
        store = Store.open(wishes.directory)
        stored = store.get("manifest")
        difference = manifest_difference(stored, plan.manifest())
        if difference:
            store.close()
            raise UsageError(
                f"{wishes.directory} was begun with other settings and cannot be resumed with these:\n  "
                + "\n  ".join(difference)
                + "\nRepeat the original command with --resume, or start a new run."
            )
        store.lock()
        return store
    now = datetime.now(UTC)
    values: dict[str, Any] = {"manifest": plan.manifest(), "created": now.isoformat(timespec="seconds")}
    if wishes.retain is not None:
        values["expires"] = (now + timedelta(days=wishes.retain)).isoformat(timespec="seconds")
    store = Store.create(wishes.directory, values=values)
    store.lock()
    return store


async def run_plan(plan: Plan, store: Store, wishes: Wishes) -> Execution:
    """Execute a plan with progress on the screen; Ctrl-C ends it politely."""
    stop = Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        with Screen(wishes.quiet) as screen:
            return await execute(
                plan, store, budget=wishes.budget, concurrency=wishes.concurrency, stop=stop, watch=screen
            )
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


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


def show_estimate(plan: Plan, characters: int, *, as_json: bool, anchors: Anchors | None = None) -> int:
    """What a plan would spend, without calling anything. ``characters``: of all messages of the input."""
    from rich.table import Table

    from psysafe.cli.console import out

    estimates = [_estimate(plan, model, characters) for model in plan.models]
    if as_json:
        print_json(
            {
                "dry_run": True,
                "conversations": plan.count,
                "units": plan.units,
                "models": {model.name: estimate for model, estimate in zip(plan.models, estimates, strict=True)},
                **({"anchors": _anchor_estimates(anchors)} if anchors else {}),
            }
        )
        return DONE
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", "host", "units", "calls", "tokens in", "tokens out", "cost"):
        table.add_column(name, overflow="fold")
    for model, item in zip(plan.models, estimates, strict=True):
        table.add_row(
            printable(model.name),
            ", ".join(sorted({_host(leaf) for leaf in leaves(model)})),
            f"{plan.units_of(model):,}",
            f"{'up to ' if item['calls_may_be_fewer'] else ''}{item['calls']:,}",
            _about(item["prompt_tokens"], item["calls"]),
            _about(item["completion_tokens"], item["calls"]),
            "unknown" if item["cost"] is None else f"about ${item['cost']:.4f}",
        )
    out().print(table)
    if anchors is not None:
        for name, item in _anchor_estimates(anchors).items():
            cost = "unknown" if item["cost"] is None else f"about ${item['cost']:.4f}"
            out().print(printable(f"anchors, on top: {name}: {item['calls']:,} calls, cost {cost}"))
    out().print(
        "Nothing was sent. Re-asks and retries come on top; early stops of a debate or a curtailed vote save calls."
    )
    return DONE


def _anchor_estimates(anchors: Anchors) -> dict[str, Any]:
    """Of a pass over the anchors and of what is asked twice, by model."""
    found: dict[str, Any] = {}
    new = anchors.first_asked()
    for model in anchors.plan.models:
        one = _estimate(anchors.plan, model, anchors.characters)
        again = new.calls_of(model)
        times = 1 + again / max(1, one["calls"])
        found[model.name] = {
            "calls": one["calls"] + again,
            "of_these_repeats": again,
            "cost": None if one["cost"] is None else times * one["cost"],
        }
    return found


def _estimate(plan: Plan, model: ManagedJudge, characters: int) -> dict[str, Any]:
    units = plan.judged_by(model)
    parts = [_leaf_estimate(plan, leaf, plan.covered(model), units, characters) for leaf in leaves(model)]
    costs = [cost for _, _, cost in parts]
    may_stop = any(m.name == "debate" or getattr(m, "curtail", False) for m in plan.mechanisms)
    calls = plan.calls_of(model)
    return {
        "calls": calls,
        "calls_may_be_fewer": bool(calls) and (may_stop or isinstance(model, (Classifier, Cascade))),
        "prompt_tokens": sum(prompt_tokens for prompt_tokens, _, _ in parts),
        "completion_tokens": sum(completion_tokens for _, completion_tokens, _ in parts),
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
    }


def _leaf_estimate(
    plan: Plan, leaf: Judge, dimensions: Sequence[Dimension], units: int, characters: int
) -> tuple[int, int, float | None]:
    """Tokens in, tokens out and cost of one judge."""
    from psysafe.judging.prompt import INSTRUCTIONS, render, verdict_form
    from psysafe.models import Usage

    if isinstance(leaf, Classifier):  # what little a model behind it reads costs nothing
        return 0, 0, 0.0
    calls = sum(mechanism.calls for mechanism in plan.mechanisms)
    rubrics = sum(len(INSTRUCTIONS + render(d) + verdict_form(d)) for d in dimensions)
    # The rubrics of all dimensions, of which a selection leaves a share to be asked.
    share = units / (plan.judged * len(dimensions)) if dimensions and plan.judged else 0.0
    prompt_tokens = int(calls * share * (rubrics * plan.judged + len(dimensions) * characters)) // 4
    completion_tokens = calls * units * _ANSWER_TOKENS
    price = price_of(leaf)
    return prompt_tokens, completion_tokens, price.cost(Usage(prompt_tokens, completion_tokens)) if price else None


def _about(tokens: int, calls: int) -> str:
    """Tokens for the table; those of an embedded model cost nothing and are not estimated."""
    return "not estimated" if calls and not tokens else f"about {tokens:,}"


def _host(judge: Judge) -> str:
    info = info_of(judge)
    return (info.host if info else None) or "this process"


def judged_count(scope: str, conversations: int, assistant_messages: int) -> int:
    """How many things are judged at a scope."""
    return assistant_messages if scope == "turn" else conversations


def list_bad(errors: Sequence[Exception], count: int) -> None:
    """Name what --skip-bad left out."""
    if not count:
        return
    note(f"skipped {count:,} that cannot be read:")
    for problem in errors:
        note(f"  {problem}")
    if count > len(errors):
        note(f"  ... and {count - len(errors):,} more")
