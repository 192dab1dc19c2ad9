"""How far a probe has come: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from psysafe.cli.console import err, note
from psysafe.cli.progress import money
from psysafe.runs.probe import ProbeProgress

_EVERY = 15.0


class ProbeScreen:
    """Shows a ``ProbeProgress``; use in a ``with`` block and call it whenever a trial is committed."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._began: tuple[str, float, int] = ("", time.monotonic(), 0)
        self._last = time.monotonic()

    def __enter__(self) -> ProbeScreen:
        if not self._quiet and err().is_terminal:
            from rich.live import Live
            from rich.text import Text

            self._live = Live(Text("opening the models"), console=err(), transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: ProbeProgress) -> None:
        now = time.monotonic()
        if progress.kind != self._began[0]:
            self._began = (progress.kind, now, progress.done)
        if self._quiet or now - self._last < (0.2 if self._live else _EVERY):
            return
        self._last = now
        _, since, done = self._began
        rate = (progress.done - done) / max(now - since, 1e-6)
        left = f"about {(progress.of - progress.done) / rate:.0f} s left" if rate else "time left unknown"
        told = (
            f"{progress.kind}: {progress.done:,} of {progress.of:,} trials, {progress.hits:,} hits, "
            f"{progress.filled} of 28 cells, {progress.void} void, {progress.unscored} unscored, "
            f"{progress.calls:,} calls, {money(progress.cost)}, {left}"
        )
        if self._live is None:
            note(told)
            return
        from rich.text import Text

        self._live.update(Text(told, no_wrap=True, overflow="ellipsis"))
