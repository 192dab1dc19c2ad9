"""How far a run has come: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from psysafe.cli.console import err, note
from psysafe.runs import Progress

_EVERY = 15.0


def money(cost: float | None) -> str:
    """US dollars in words."""
    return "cost unknown" if cost is None else f"${cost:.4f}" if cost < 1 else f"${cost:.2f}"


class Screen:
    """Shows a ``Progress``; use in a ``with`` block and call it whenever a unit has ended."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._task: Any = None
        self._started = self._last = time.monotonic()

    def __enter__(self) -> Screen:
        if not self._quiet and err().is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Live

            self._live = Live(
                TextColumn("judging"),
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[told]}"),
                TextColumn("ETA"),
                TimeRemainingColumn(),
                console=err(),
                transient=True,
                refresh_per_second=4,
            )
            self._live.start()
            self._task = self._live.add_task("", total=None, told="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._quiet or now - self._last < (0.2 if self._live else _EVERY):
            return
        self._last = now
        rate = progress.calls / max(now - self._started, 1e-6)
        unscored = progress.outcomes["unscored"]
        told = f"{rate:.1f} calls/s, {money(progress.cost)}, {unscored} unscored"
        completed = progress.resumed + progress.done
        if self._live is not None:
            self._live.update(self._task, total=progress.units, completed=completed, told=told)
            return
        left = (progress.units - completed) / max(progress.done / max(now - self._started, 1e-6), 1e-6)
        note(f"judging: {completed:,} of {progress.units:,} units, {told}, about {left:.0f} s left")
