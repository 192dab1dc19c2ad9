"""Executing a plan with progress on the screen."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from pathlib import Path

from psysafe.cli.progress import Screen
from psysafe.runs import Budget, Execution, Plan, Stop, Store, execute


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
