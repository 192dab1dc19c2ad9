"""Executes a probe: the search, then reproductions, controls and benign clients, each record committed in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from psysafe.judging import Account
from psysafe.judging.judges import info_of, price_of
from psysafe.models import ModelError, Stopped, Usage
from psysafe.probing.archive import Archive
from psysafe.probing.cast import Event, Stage
from psysafe.probing.ordered import Waiting, in_order
from psysafe.probing.records import Kind, Trial
from psysafe.probing.search import Searching
from psysafe.probing.stages import benign, controls, repetitions
from psysafe.probing.trial import Task, run_trial
from psysafe.runs.budget import Budget, BudgetReached, UnitMeter
from psysafe.runs.plan import surroundings
from psysafe.runs.probe_plan import ProbePlan
from psysafe.runs.runner import Ended, Stop, opened
from psysafe.runs.store import Store
from psysafe.runs.trials import read_trials, write_trials
from psysafe.runs.writer import Writer

# Trials in a row in which a model said nothing, after which the rest is left for a resume.
LOST = 5

_GRACE = 4.0


@dataclass(slots=True)
class ProbeProgress:
    """How far a probe has come; the screen reads it. ``done``, ``of``: of the present kind."""

    kind: Kind = "search"
    done: int = 0
    of: int = 0
    calls: int = 0
    cost: float | None = 0.0
    hits: int = 0
    filled: int = 0
    void: int = 0
    unscored: int = 0


@dataclass(frozen=True, slots=True)
class ProbeExecution:
    """How a probe ended. ``detail`` says why when not complete. ``waiting``: places lost to the order of commits."""

    ended: Ended
    detail: str | None
    progress: ProbeProgress
    waiting: Waiting


class _EndpointLost(Exception):
    pass


async def execute_probe(
    plan: ProbePlan,
    store: Store,
    *,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Callable[[ProbeProgress], None] | None = None,
    tell: Callable[[Event], None] | None = None,
) -> ProbeExecution:
    """Carry out what the store does not hold yet. Everything done is committed before this returns or raises.

    Args:
        stop: set it to interrupt. watch: called with the progress whenever a trial is committed.
        tell: told every event.

    Raises:
        ModelError: a model could not be opened. StoreError: the store could not be written.
    """
    stop = stop or Stop()
    probe = _Probe(plan, store, budget or Budget(), stop, watch, tell)
    try:
        for model in plan.models:
            if not await opened(model, stop, probe.budget.seconds_left()):
                ended: Ended = "interrupted" if stop.asked.is_set() else "budget"
                return ProbeExecution(ended, probe.budget.reached(), probe.progress, probe.waiting)
        store.put("surroundings", surroundings())
        return await probe.run()
    finally:
        infos = [info for model in plan.models if (info := info_of(model)) is not None]
        for model in plan.models:
            await model.close()
        store.put("models", [{"name": info.name, "host": info.host, **info.details} for info in infos])


class _Probe:
    def __init__(
        self,
        plan: ProbePlan,
        store: Store,
        budget: Budget,
        stop: Stop,
        watch: Callable[[ProbeProgress], None] | None,
        tell: Callable[[Event], None] | None,
    ) -> None:
        self.plan, self.store, self.budget, self.stop, self.watch = plan, store, budget, stop, watch
        self.tell: Callable[[Event], None] = tell or (lambda event: None)
        self.progress = ProbeProgress(of=plan.first_trials)
        self.waiting = Waiting()
        self.halted = False
        self.whole = False
        self.next: UnitMeter | None = None
        self.open = 0
        self.accounts: list[Account] = []
        self.costs: list[float | None] = []
        self.committed = Account()
        self.held: list[Trial] = []
        self.archive = Archive(plan.settings.descriptor)

    async def run(self) -> ProbeExecution:
        """Until all is done, or something ends it."""
        work = asyncio.create_task(self._work())
        asked = asyncio.create_task(self.stop.asked.wait())
        try:
            await asyncio.wait([work, asked], timeout=self.budget.seconds_left(), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.halted = True
                at_once = asyncio.create_task(self.stop.at_once.wait())
                await asyncio.wait([work, at_once], timeout=_GRACE, return_when=asyncio.FIRST_COMPLETED)
                at_once.cancel()
                if not work.done():
                    for model in self.plan.models:
                        model.stop()
                work.cancel()
            await asyncio.wait([work])
        finally:
            asked.cancel()
            self._account()
        return self._ended(work)

    def _ended(self, work: asyncio.Task[None]) -> ProbeExecution:
        def how(ended: Ended, detail: str | None = None) -> ProbeExecution:
            self.tell({"event": "ended", "ended": ended})
            return ProbeExecution(ended, detail, self.progress, self.waiting)

        error = None if work.cancelled() else work.exception()
        if self.whole and error is None:  # in the moment that is left after a stop, too
            return how("complete")
        if error is not None and not isinstance(error, (BudgetReached, _EndpointLost, ModelError, Stopped)):
            raise error
        if isinstance(error, ModelError):
            return how("fatal", error.brief)
        if self.stop.asked.is_set() and (self.halted or error is not None):
            return how("interrupted")
        if isinstance(error, _EndpointLost):
            return how("endpoint_lost", str(error))
        return how("budget", str(error) if error else self.budget.reached() or self._too_small())

    def _too_small(self) -> str:
        if self.budget.max_calls is None:
            return f"--max-cost {self.budget.max_cost:g}: what is left does not hold another trial"
        left = self.budget.max_calls - self.budget.calls
        return f"--max-calls {self.budget.max_calls}: {left} left, a trial needs {self.plan.least_calls} and more"

    async def _work(self) -> None:
        plan, settings = self.plan, self.plan.settings
        async with Writer[Trial](lambda records: write_trials(self.store, records)) as writer:
            if plan.given:
                self.whole = await self._stages(plan.given.items(), writer)
                return
            first = list(read_trials(self.store, "search"))
            for trial in first:
                self.archive.add(trial)
            self.progress.hits = sum(trial.hit for trial in first)
            self._stage("search", len(first), settings.trials)
            searching = Searching(plan.cast, settings, [profile.id for profile in plan.profiles], first)
            await searching.run(
                lambda trial: self._commit(trial, writer),
                stage=self._new_stage,
                go_on=self._go_on,
                waiting=self.waiting,
            )
            self._flush(writer)
            if len(searching.records) < settings.trials:
                return
            stages: list[tuple[Kind, Sequence[Task]]] = [
                ("reproduction", repetitions("reproduction", self.archive, plan.again)),
                ("control", controls(searching.records, settings, plan.controls)),
                ("benign", benign(plan.plain, settings, plan.benign)),
            ]
            self.whole = await self._stages(stages, writer)

    async def _stages(self, stages: Iterable[tuple[Kind, Sequence[Task]]], writer: Writer[Trial]) -> bool:
        """Whether all of them are done."""
        for kind, tasks in stages:
            done = sum(1 for _ in read_trials(self.store, kind))
            await self._tasks(kind, tasks, writer, done)
            if self.progress.done < self.progress.of:
                return False
        return True

    async def _tasks(self, kind: Kind, tasks: Sequence[Task], writer: Writer[Trial], done: int) -> None:
        """Trials that do not depend on each other."""
        plan = self.plan
        self._stage(kind, done, len(tasks))

        def begin(index: int) -> Awaitable[Trial]:
            return run_trial(tasks[index], plan.cast, plan.settings, self._new_stage())

        await in_order(
            done, len(tasks), begin, lambda trial: self._commit(trial, writer),
            in_flight=plan.settings.in_flight, go_on=self._go_on,
        )  # fmt: skip
        self._flush(writer)

    def _stage(self, kind: Kind, done: int, of: int) -> None:
        self.progress.kind, self.progress.done, self.progress.of = kind, done, of
        self.tell({"event": "stage", "kind": kind, "done": done, "of": of})

    def _go_on(self) -> bool:
        """Whether the next trial may begin: a bound on calls must leave room for one dialogue of it, beside what those
        under way will still need, since a trial that is cut off is lost."""
        if self.halted or self.budget.reached() is not None:
            return False
        if (self.open or self.costs) and not self._affordable():
            return False
        if self.budget.bounded and self.next is None:
            self.next = self.budget.admit(self.plan.least_calls)
            return self.next is not None
        return True

    def _affordable(self) -> bool:
        """Whether a bound on cost leaves room for what is under way and one more, at the mean cost of a trial so far.

        And for a call of each: the budget holds a call's longest answer back until it is there. The first goes alone.
        """
        if self.budget.max_cost is None:
            return True
        done = [trial_cost for trial_cost in self.costs if trial_cost is not None]
        if not done:
            return False
        each = sum(done) / len(done) + self._held_back()
        return self.budget.cost + (self.open + 1) * each <= self.budget.max_cost

    def _held_back(self) -> float:
        """Of the dearest call, in US dollars."""
        settings = self.plan.settings
        longest = max(settings.reply_tokens, settings.judge_tokens, settings.client_tokens)
        prices = [price for model in self.plan.models if (price := price_of(model)) is not None]
        return max((price.cost(Usage(0, longest)) for price in prices), default=0.0)

    def _new_stage(self) -> Stage:
        account, meter = Account(), self.next
        self.accounts.append(account)
        self.next = None
        self.open += 1

        def ended() -> None:
            self.open -= 1
            if meter is not None:
                meter.close()

        return Stage(meter, account, self.tell, ended)

    def _commit(self, trial: Trial, writer: Writer[Trial]) -> None:
        """Keep a record. Those of trials that were cut off wait for one that was not: when the endpoint is gone, they
        are left for a resume, and when it is there, failing was the target's own doing."""
        if trial.cut_off:
            self.held.append(trial)
            dead = 0
            for held in reversed(self.held):
                if not held.unreached:
                    break
                dead += 1
            if dead >= LOST:
                last = trial.rollouts[-1]
                raise _EndpointLost(f"{dead} trials in a row reached no model ({last.detail or last.reason})")
            if dead or len(self.held) < 4 * LOST:
                return
            self._flush(writer)
            return
        self._flush(writer)
        self._keep(trial, writer)

    def _flush(self, writer: Writer[Trial]) -> None:
        held, self.held = self.held, []
        for trial in held:
            self._keep(trial, writer)

    def _keep(self, trial: Trial, writer: Writer[Trial]) -> None:
        writer.add(trial)
        self.costs.append(trial.cost)
        progress = self.progress
        if trial.kind == "search":
            self.archive.add(trial)
        progress.done += 1
        progress.calls += trial.calls
        progress.cost = None if progress.cost is None or trial.cost is None else progress.cost + trial.cost
        progress.hits += trial.hit and trial.kind == "search"
        progress.filled = len(self.archive.elites)
        progress.void += trial.outcome == "void"
        progress.unscored += trial.outcome == "unscored"
        self.committed.calls += trial.calls
        if self.committed.cost is not None:
            self.committed.cost = None if trial.cost is None else self.committed.cost + trial.cost
        worst = trial.worst
        self.tell({
            "event": "committed", "kind": trial.kind, "index": trial.index, "cell": trial.cell,
            "profile": trial.profile, "outcome": trial.outcome, "hit": trial.hit, "confirmed": trial.confirmed(),
            "severity": worst.severity if worst is not None else None, "rollouts": len(trial.rollouts),
            "calls": trial.calls, "cost": trial.cost,
        })  # fmt: skip
        if self.watch is not None:
            self.watch(progress)

    def _account(self) -> None:
        """What was spent on trials that were not kept."""
        spent = Account()
        for account in self.accounts:
            spent.merge(account)
        left = spent.calls - self.committed.calls
        if left <= 0:
            return
        known = spent.cost is not None and self.committed.cost is not None
        cost = spent.cost - self.committed.cost if known else None  # type: ignore[operator]
        self.store.add_unstored(Account(left, left, None, cost))
