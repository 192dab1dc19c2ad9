"""Anchors: judging them before a run, and psysafe anchors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.agreement.drift import Drift
    from psysafe.judging import ManagedJudge, Mechanism
    from psysafe.runs import Execution, Plan
    from psysafe.runs.anchors import Pass
    from psysafe.taxonomy import Dimension


@dataclass(frozen=True, slots=True)
class Anchors:
    """What is judged before a run, and where its passes are kept."""

    plan: Plan
    folder: Path
    characters: int

    @property
    def passes(self) -> int:
        """How often they are judged: twice where something is asked for the first time."""
        from psysafe.runs.anchors import is_new, read_passes

        return 2 if is_new(self.plan, read_passes(self.folder)) else 1


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it. ``stopped``: how it ended before it was complete."""

    drifts: Sequence[Drift]
    calls: int
    cost: float | None
    stopped: Execution | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "moved": any(one.moved for one in self.drifts), "calls": self.calls, "cost": self.cost,
            "judges": [one.as_dict() for one in self.drifts],
        }  # fmt: skip


def load_anchors(
    file: Path | None,
    dimensions: Sequence[Dimension],
    mechanisms: Sequence[Mechanism],
    models: Sequence[ManagedJudge],
    seed: int,
    cache: bool,
) -> Anchors | None:
    """The plan of ``--anchors``: a file of conversations, judged like the run, reply by reply.

    Raises:
        UsageError: with the cache, whose kept replies would hide that a model has moved; the file cannot be read.
    """
    if file is None:
        return None
    from psysafe.conversation import Inputs
    from psysafe.errors import UsageError
    from psysafe.runs import Plan
    from psysafe.runs.anchors import anchor_folder

    if cache:
        raise UsageError("--anchors with --cache: kept replies would hide that a model has moved; leave one out")
    inputs = Inputs([str(file)])
    scan = inputs.scan()
    plan = Plan(
        conversations=lambda: iter(inputs),
        source={"anchors": [{"name": Path(name).name, "sha256": digest} for name, digest in scan.digests.items()]},
        count=scan.conversations, judged=scan.conversations, dimensions=dimensions, mechanisms=mechanisms,
        models=models, seed=seed,
    )  # fmt: skip
    return Anchors(plan, anchor_folder(file), scan.characters)


def judge_anchors(anchors: Anchors, wishes: Any) -> Judged:
    """Judge the anchors, twice where they are new to the judge, and hold them against earlier passes."""
    from psysafe.agreement.drift import drifts
    from psysafe.cli.console import note
    from psysafe.cli.perform import run_plan
    from psysafe.runs import Store, summarise
    from psysafe.runs.anchors import new_pass, read_pass, read_passes

    earlier = read_passes(anchors.folder)
    times = anchors.passes
    calls, cost = 0, 0.0 if times else None
    now: Pass | None = None
    for number in range(times):
        if now is not None:
            earlier = [*earlier, now]
        note(f"anchors: judging {anchors.plan.count}{', once more to know the noise' if number else ''}")
        values = {"manifest": anchors.plan.manifest(), "created": datetime.now(UTC).isoformat(timespec="seconds")}
        with closing(Store.create(new_pass(anchors.folder), values=values)) as store:
            store.lock()
            store.put("moment", datetime.now(UTC).isoformat(timespec="milliseconds"))
            execution = asyncio.run(run_plan(anchors.plan, store, wishes))
            spent = summarise(store).spent
            calls += spent.calls
            cost = None if cost is None or spent.cost is None else cost + spent.cost
            if execution.ended != "complete":
                store.delete()
                return Judged([], calls, cost, execution)
            store.put("state", {"ended": execution.ended, "detail": execution.detail})
            now = read_pass(store)
    assert now is not None
    found = drifts(earlier, now)
    for drift in found:
        note(drift.sentence())
    return Judged(found, calls, cost)


def anchors(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that --anchors named.")],
    json: o.Json = False,
) -> int:
    """Show how the verdicts on a file of anchors have moved over time."""
    from rich.table import Table

    from psysafe.agreement.drift import drifts
    from psysafe.cli.console import out, print_json, printable, results
    from psysafe.errors import UsageError
    from psysafe.runs.anchors import anchor_folder, read_passes

    folder = anchor_folder(file)
    passes = read_passes(folder)
    if not passes:
        raise UsageError(f"{folder} holds no pass: judge with --anchors {file} first")
    history = [(one, drifts(passes[:number], one)) for number, one in enumerate(passes)]
    with results():
        if json:
            print_json([
                {"made": one.made, "run": str(one.directory), "judges": [drift.as_dict() for drift in of]}
                for one, of in history
            ])  # fmt: skip
            return 0
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("made", "judge", "served", "units", "changed", "mean score", ""):
            table.add_column(name, overflow="fold")
        for one, of in history:
            for drift in of:
                table.add_row(
                    one.made[:16], printable(f"{drift.model} {drift.mechanism}"),
                    printable(str(one.served.get(drift.model) or "-")),
                    str(drift.units or "the first"), str(drift.changed) if drift.units else "-",
                    "-" if drift.shift is None else f"{drift.shift:+.2f}", "MOVED" if drift.moved else "",
                )  # fmt: skip
        out().print(table)
    return 0
