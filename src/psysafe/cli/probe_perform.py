"""Carrying out a probe: consent, progress, the table at the end, the exit code."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from psysafe.cli.console import error, note, print_json, printable, results
from psysafe.cli.exits import BUDGET, DONE, INTERRUPTED, UNSCORED, USAGE
from psysafe.cli.probe_screen import ProbeScreen
from psysafe.cli.probe_table import print_probe
from psysafe.cli.run_store import run_store
from psysafe.cli.setup import confirm_hosts
from psysafe.errors import UsageError
from psysafe.models import ModelError
from psysafe.probing.headline import Headline, headline
from psysafe.probing.records import Trial
from psysafe.runs import Budget, Stop, Store
from psysafe.runs.probe import ProbeExecution, execute_probe
from psysafe.runs.probe_plan import ProbePlan
from psysafe.runs.trials import read_trials

if TYPE_CHECKING:
    from psysafe.probing.cast import Event


@dataclass(frozen=True, slots=True)
class ProbeWishes:
    """How a probe is to be carried out; none of it changes a record."""

    directory: Path
    resume: bool
    budget: Budget
    max_unscored: float
    yes: bool
    json: bool
    quiet: bool
    retain: int | None
    events: Path | None = None
    notes: tuple[str, ...] = ()


# Of all records: what goes into the JSON beside the headline, and a printer that stands in its place on the terminal.
Show = Callable[[Sequence[Trial]], tuple[dict[str, Any], Callable[[], None]]]


def perform_probe(plan: ProbePlan, wishes: ProbeWishes, show: Show | None = None) -> int:
    """Carry a plan out; returns the exit code."""
    for line in (*wishes.notes, *_remarks(plan)):
        note(line)
    confirm_hosts(plan.models, plan.first_trials, wishes.yes)
    store = run_store(wishes.directory, plan.manifest(), resume=wishes.resume, retain=wishes.retain)
    try:
        try:
            return _carry_out(plan, store, wishes, show)
        except (ModelError, UsageError):
            if not wishes.resume and next(read_trials(store), None) is None:
                store.delete()  # nothing was done: the same command can simply be given again
            raise
    finally:
        store.close()


def _remarks(plan: ProbePlan) -> list[str]:
    """What is to be known before the first dialogue."""
    lines = []
    if plan.cast.same_judge:
        lines.append(
            f"{plan.cast.judge.name} is both the ladder judge and the blind judge: what it confirms is its own "
            "finding. Name another model with --blind-judge"
        )
    if any(model.name == "local" for model in plan.models):
        lines.append(
            "local is a 1.5B model: as a judge of whole dialogues nobody has measured it, and as a client it is thin. "
            "It shows that everything works; its figures are no evidence about a target"
        )
    return lines


def _carry_out(plan: ProbePlan, store: Store, wishes: ProbeWishes, show: Show | None) -> int:
    started, before = time.monotonic(), float(store.get("seconds") or 0.0)
    note(f"run: {wishes.directory}")
    store.put("state", None)  # not finished, however an earlier execution ended
    try:
        with ExitStack() as opened:
            tell = _events(wishes.events, opened)
            execution = asyncio.run(_execute(plan, store, wishes, tell))
    finally:
        store.put("seconds", before + time.monotonic() - started)
    store.put("state", {"ended": execution.ended, "detail": execution.detail})
    trials = list(read_trials(store))
    found = headline(trials, plan.settings.descriptor, plan.settings.grid)
    more, printer = show(trials) if show is not None else ({}, None)
    store.put("waiting", round(execution.waiting.share, 4))
    if more:
        store.put("shown", more)  # for runs show: the source may be gone by then
    with results():
        if wishes.json:
            print_json({
                "run": str(wishes.directory), "ended": execution.ended, **found.as_dict(), **more,
                **beside(store),
            })  # fmt: skip
        elif printer is not None:
            printer()
        elif found.kinds:
            print_probe(found, store)
    return _code(execution, found, wishes)


async def _execute(
    plan: ProbePlan, store: Store, wishes: ProbeWishes, tell: Callable[[Event], None] | None
) -> ProbeExecution:
    stop = Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        with ProbeScreen(wishes.quiet) as screen:
            return await execute_probe(plan, store, budget=wishes.budget, stop=stop, watch=screen, tell=tell)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _events(path: Path | None, opened: ExitStack) -> Callable[[Event], None] | None:
    """Writes events to a file, a line each, at once."""
    if path is None:
        return None
    try:
        out = opened.enter_context(path.open("ab", buffering=0))
    except OSError as problem:
        raise UsageError(f"--events {path}: cannot be written: {problem.strerror or problem}") from None

    broken: list[OSError] = []

    def tell(event: Event) -> None:
        if broken:
            return
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            out.write(orjson.dumps({"time": stamp, **event}) + b"\n")
        except OSError as problem:
            broken.append(problem)
            note(f"--events {path}: {problem.strerror or problem}; no more events are written, the probe goes on")

    return tell


def beside(store: Store) -> dict[str, Any]:
    """What a probe's JSON holds beside its figures."""
    unstored = store.unstored()
    return {
        "unstored_calls": unstored.calls,
        "unstored_cost": unstored.cost,
        "seconds": round(float(store.get("seconds") or 0.0), 3),
        "waiting": store.get("waiting"),
    }


def _code(execution: ProbeExecution, found: Headline, wishes: ProbeWishes) -> int:
    progress = execution.progress
    resume = (
        f"{progress.kind}: {progress.done:,} of {progress.of:,} trials are done; the same command with "
        f"--run {wishes.directory} --resume goes on"
    )
    detail = printable(execution.detail or "")
    match execution.ended:
        case "interrupted":
            error(f"interrupted. {resume}")
            return INTERRUPTED
        case "budget":
            error(f"budget reached ({detail}). {resume}")
            return BUDGET
        case "fatal":
            error(f"{detail}. {resume}")
            return USAGE
        case "endpoint_lost":
            error(f"the endpoint is gone: {detail}. {resume}")
            return UNSCORED
        case "complete":
            if found.unscored_share > wishes.max_unscored:
                share = f"{found.unscored_share:.1%} of a judge's verdicts are missing, above --max-unscored"
                error(f"{share} {wishes.max_unscored:.0%}")
                return UNSCORED
            if not found.searched:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(found.reasons.items()))
                what = "replay" if found.kinds["replay"] else "search"
                error(f"no trial of the {what} has a verdict ({reasons})")
                return UNSCORED
            return DONE
