"""Judging anchors before a run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psysafe.agreement.drift import Drift
    from psysafe.cli.executing import Wishes
    from psysafe.conversation.redaction import RedactedInputs, Redactor
    from psysafe.judging import ManagedJudge, Mechanism
    from psysafe.runs import Execution, Plan, Store
    from psysafe.runs.anchors import Part, Pass
    from psysafe.taxonomy import Dimension

SEED = 0
"""Of all passes, whatever the run's: or runs with different seeds would ask different questions."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """What is judged before a run, and where its passes are kept.

    Attributes:
        redacted: the conversations as they are sent, where personal data is replaced.
    """

    plan: Plan
    folder: Path
    characters: int
    redacted: RedactedInputs | None = None

    def first_asked(self) -> Part:
        """What no pass has asked before, and so is asked twice."""
        from psysafe.runs.anchors import first_asked, read_passes

        return first_asked(self.plan, read_passes(self.folder))


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of it. ``stopped``: how it ended before it was complete."""

    source: dict[str, Any]
    drifts: Sequence[Drift]
    calls: int
    cost: float | None
    stopped: Execution | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            **self.source, "moved": any(one.moved for one in self.drifts), "calls": self.calls, "cost": self.cost,
            "judges": [one.as_dict() for one in self.drifts],
        }  # fmt: skip


def load_anchors(
    file: Path | None,
    dimensions: Sequence[Dimension],
    mechanisms: Sequence[Mechanism],
    models: Sequence[ManagedJudge],
    *,
    cache: bool = False,
    redactor: Redactor | None = None,
) -> Anchors | None:
    """The plan of ``--anchors``: a file of conversations, judged like the run, but always their last reply, by the
    default cuts and with one seed, so that runs that differ in these can be compared.

    Raises:
        UsageError: with the cache, whose kept replies would hide that a model has moved; not a file that stays.
        InputError: the file cannot be read.
    """
    if file is None:
        return None
    from psysafe.conversation import Inputs
    from psysafe.conversation.redaction import RedactedInputs
    from psysafe.errors import UsageError
    from psysafe.runs import Plan
    from psysafe.runs.anchors import anchor_folder

    if cache:
        raise UsageError("--anchors with --cache: kept replies would hide that a model has moved; leave one out")
    if str(file) == "-" or (file.exists() and not file.is_file() and not file.is_dir()):
        raise UsageError(f"--anchors {file}: expected a file that stays, since passes over it are kept beside it")
    inputs = Inputs([file])
    scan = inputs.scan()
    redacted = RedactedInputs(inputs, redactor) if redactor else None
    plan = Plan(
        conversations=lambda: iter(redacted or inputs),
        source={
            "anchors": [{"name": Path(name).name, "sha256": digest} for name, digest in scan.digests.items()],
            **({"redacted": True, "redactor": redactor.describe()} if redactor else {}),
        },
        count=scan.conversations, judged=scan.conversations, dimensions=dimensions, mechanisms=mechanisms,
        models=models, seed=SEED,
    )  # fmt: skip
    return Anchors(plan, anchor_folder(file), scan.characters, redacted)


def judge_anchors_once(anchors: Anchors, store: Store, wishes: Wishes) -> Execution | None:
    """Judge the anchors of a run, once. Returns how that ended before it was complete."""
    from psysafe.cli.console import note

    before = store.get("anchors") or {}
    if "judges" in before:
        given, judged_then = anchors.plan.source["anchors"], before["anchors"]
        other = "" if given == judged_then else f" (then: {judged_then[0]['name']}, with other content or name)"
        note(f"anchors: they were judged when this run was begun{other}, and are not judged again")
        return None
    if wishes.retain is not None:
        note(f"anchors: --retain is for the run; passes over them stay in {anchors.folder} until you delete them")
    judged = judge_anchors(anchors, wishes)
    # What passes that were cut off have cost is spent as well.
    calls, cost = before.get("calls", 0) + judged.calls, before.get("cost", 0.0)
    spent = {"calls": calls, "cost": None if cost is None or judged.cost is None else cost + judged.cost}
    store.put("anchors", spent if judged.stopped is not None else {**judged.as_dict(), **spent})
    return judged.stopped


def judge_anchors(anchors: Anchors, wishes: Wishes) -> Judged:
    """Judge the anchors, what is new among them twice, and hold them against earlier passes.

    A pass that does not come to its end is deleted.
    """
    from psysafe.agreement.drift import drifts
    from psysafe.cli.console import note
    from psysafe.runs.anchors import first_asked, read_passes

    earlier = read_passes(anchors.folder)
    new = first_asked(anchors.plan, earlier)
    source = anchors.plan.source
    note(f"anchors: judging {_counted(anchors.plan.units)}")
    now, calls, cost, stopped = _judge_once(anchors, anchors.plan, wishes)
    if now is None:
        return Judged(source, [], calls, cost, stopped)
    again = None
    if new.keys:
        note(f"anchors: {_counted(new.units)} once more, to know what changes by itself")
        again, more, price, stopped = _judge_once(anchors, new, wishes, now.directory.name)
        calls += more
        cost = None if cost is None or price is None else cost + price
        if again is None:
            return Judged(source, [], calls, cost, stopped)
    if anchors.redacted is not None:
        note(f"anchors, {anchors.redacted.sentence()}")
    found = drifts(earlier, now, again)
    for drift in found:
        note(drift.sentence())
    return Judged(source, found, calls, cost)


def _counted(units: int) -> str:
    return "1 unit" if units == 1 else f"{units:,} units"


def _judge_once(
    anchors: Anchors, plan: Plan, wishes: Wishes, repeats: str | None = None
) -> tuple[Pass | None, int, float | None, Execution | None]:
    """One pass, or how it ended without one; its calls and cost in between."""
    from psysafe.cli.executing import run_plan
    from psysafe.runs import Store, summarise
    from psysafe.runs.anchors import new_pass, read_pass

    now = datetime.now(UTC)
    values = {
        "manifest": plan.manifest(), "created": now.isoformat(timespec="seconds"),
        "moment": now.isoformat(timespec="milliseconds"), "repeats": repeats,
    }  # fmt: skip
    with closing(Store.create(new_pass(anchors.folder), values=values)) as store:
        store.lock()
        complete = False
        try:
            execution = asyncio.run(run_plan(plan, store, wishes))
            spent = summarise(store).spent
            complete = execution.ended == "complete"
            if not complete:
                return None, spent.calls, spent.cost, execution
            store.put("state", {"ended": execution.ended, "detail": execution.detail})
            return read_pass(store), spent.calls, spent.cost, None
        finally:
            if not complete:
                store.delete()
