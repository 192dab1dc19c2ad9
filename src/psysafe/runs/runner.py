"""Executes a plan: units in flight, budgets, stopping, and the store."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from psysafe.judging import TRANSIENT, Account, Judgment, judge_subject
from psysafe.judging.judges import ManagedJudge, price_of
from psysafe.models import FATAL_KINDS, ModelError, Stopped
from psysafe.runs.budget import Budget, BudgetReached, UnitMeter
from psysafe.runs.entry import Entry, id_hash
from psysafe.runs.plan import Plan, Task, surroundings
from psysafe.runs.store import Store
from psysafe.runs.writer import Writer

Ended = Literal["complete", "budget", "interrupted", "fatal", "endpoint_lost"]

# After Ctrl-C, seconds for what is in flight to finish before it is cancelled.
_GRACE = 4.0


@dataclass(slots=True)
class Progress:
    """What an execution has done so far; the screen reads it."""

    units: int
    resumed: int = 0
    done: int = 0
    calls: int = 0
    cost: float | None = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def count(self, judgment: Judgment) -> None:
        """Add one judgment."""
        self.done += 1
        self.calls += judgment.calls
        self.outcomes[judgment.outcome] += 1
        if judgment.reason:
            self.reasons[judgment.reason] += 1
        if self.cost is not None:
            self.cost = None if judgment.cost is None else self.cost + judgment.cost


@dataclass(frozen=True, slots=True)
class Execution:
    """How an execution ended. ``detail`` says why when not complete."""

    ended: Ended
    detail: str | None
    progress: Progress


class Stop:
    """A request to stop: no new units, a moment for those in flight, then cancel. Asking twice cancels at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def __call__(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()


async def execute(
    plan: Plan,
    store: Store,
    *,
    budget: Budget | None = None,
    concurrency: int = 32,
    stop: Stop | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Execution:
    """Judge every unit of a plan that the store does not hold yet.

    Each model is opened, and so probed, before the first unit. Everything done is committed before this
    returns or raises.

    Args:
        concurrency: judge calls that should be in flight at once, over all models; each model's own gate
            bounds it further.
        stop: set it to interrupt.
        watch: called with the progress whenever a unit ends.

    Raises:
        ModelError: a model could not be opened. StoreError: the store could not be written.
    """
    stop = stop or Stop()
    runner = _Runner(plan, store, budget or Budget(), concurrency, stop, watch)
    with _rare_collections():
        return await _execute(plan, store, runner, stop)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Fewer passes of the garbage collector while units are made by the thousand; they leave hardly any cycles.

    Measured: up to a fifth of the processor time of a call.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def _execute(plan: Plan, store: Store, runner: _Runner, stop: Stop) -> Execution:
    try:
        for model in plan.models:
            if not await opened(model, stop, runner.budget.seconds_left()):
                if stop.asked.is_set():
                    return Execution("interrupted", None, runner.progress)
                return Execution("budget", runner.budget.reached(), runner.progress)
        store.put("surroundings", surroundings())
        return await runner.run()
    finally:
        infos = [model.info for model in plan.models]
        for model in plan.models:
            await model.close()
        store.put("models", [{"name": info.name, "host": info.host, **info.details} for info in infos])


async def opened(model: ManagedJudge, stop: Stop, seconds: float | None) -> bool:
    """Open a model; False when the run is stopped or its time is over meanwhile, since an endpoint may take minutes
    to say nothing."""
    opening = asyncio.create_task(model.open())
    asked = asyncio.create_task(stop.asked.wait())
    try:
        await asyncio.wait([opening, asked], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        in_time = opening.done()
    finally:
        asked.cancel()
        opening.cancel()  # nothing happens to it when it is done
        await asyncio.wait([opening])
    if stop.asked.is_set() or not in_time:
        return False
    await opening
    return True


class _Runner:
    def __init__(
        self,
        plan: Plan,
        store: Store,
        budget: Budget,
        concurrency: int,
        stop: Stop,
        watch: Callable[[Progress], None] | None,
    ) -> None:
        self.plan, self.store, self.budget, self.stop, self.watch = plan, store, budget, stop, watch
        self.finished, self.again = store.done()
        self.deleted = store.deleted()
        self.unstored = Account()
        self.progress = Progress(plan.units, resumed=len(self.finished))
        self.prices = {model.name: price_of(model) for model in plan.models}
        # Units are let in while their widths sum to less than this: enough to keep every place filled while
        # some units wait for their last call, few enough to lose little when the run is killed.
        # With one call at a time, one unit at a time: its seconds are then its own.
        self.capacity = 1 if concurrency == 1 else concurrency + max(8, concurrency // 4)
        self.concurrency = concurrency
        self.width = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended: Ended | None = None
        self.detail: str | None = None
        self.error: BaseException | None = None
        self.lost = 0
        self.freed = asyncio.Event()

    async def run(self) -> Execution:
        stopper = asyncio.create_task(self.stop.asked.wait())
        stopper.add_done_callback(lambda _: self.freed.set())
        clock = None
        if (seconds := self.budget.seconds_left()) is not None:
            clock = asyncio.get_running_loop().call_later(seconds, self.freed.set)
        try:
            async with Writer[Entry](self.store.write) as writer:
                try:
                    for task in self.plan.tasks():
                        key = bytes.fromhex(task.key)
                        if key in self.finished or self._deleted(task):
                            continue
                        if not await self._admitted(task, writer, self.again.get(key, 0) + 1):
                            break
                    await self._drain()
                finally:
                    for running in self.tasks:
                        running.cancel()
                    await asyncio.gather(*self.tasks, return_exceptions=True)
        finally:
            if self.unstored.calls:
                self.store.add_unstored(self.unstored)
            stopper.cancel()
            if clock is not None:
                clock.cancel()
        if self.error is not None:
            raise self.error
        return Execution(self.ended or "complete", self.detail, self.progress)

    async def _admitted(self, task: Task, writer: Writer[Entry], tries: int) -> bool:
        """Start a unit as soon as there is room for it; False when the run is to end."""
        await writer.room()
        width = task.width
        while True:
            if self._should_end():
                return False
            if not self.tasks or self.width + width <= self.capacity:
                meter = None
                if not self.budget.bounded:
                    break
                meter = self.budget.admit(task.calls)
                if meter is not None:
                    break
                if not self.tasks:  # what is under way might have freed calls, but nothing is
                    self._end("budget", self.budget.reached() or self._too_small(task))
                    return False
            self.freed.clear()
            await self.freed.wait()
        self.width += width
        running = asyncio.create_task(self._judge(task, writer, meter, tries))
        self.tasks.add(running)
        return True

    def _too_small(self, task: Task) -> str:
        left = (self.budget.max_calls or 0) - self.budget.calls
        return f"--max-calls {self.budget.max_calls}: {left} left, the next unit may need {task.calls}"

    def _deleted(self, task: Task) -> bool:
        """Whether the unit's conversation was deleted from the run; it counts as dealt with."""
        if not self.deleted or id_hash(task.subject.conversation.id) not in self.deleted:
            return False
        self.progress.resumed += 1
        return True

    async def _judge(self, task: Task, writer: Writer[Entry], meter: UnitMeter | None, tries: int) -> None:
        account = Account()
        stored = False
        try:
            judgment = await judge_subject(
                task.subject,
                task.dimension,
                task.model,
                task.mechanism,
                self.plan.seed,
                key=task.key,
                price=self.prices[task.model.name],
                meter=meter,
                account=account,
                cut=task.cut,
            )
            stored = True
            writer.add(Entry(judgment, task.spec, task.subject.conversation, task.position, tries))
            self._watch_endpoint(judgment)
            self.progress.count(judgment)
            if self.watch is not None:
                self.watch(self.progress)
        except Stopped:
            pass  # the unit stays pending
        except BudgetReached as reached:
            self._end("budget", str(reached))
        except ModelError as error:
            if error.kind not in FATAL_KINDS:
                self.error = self.error or error
            self._end("fatal", error.brief)
        except Exception as error:
            # A defect of ours: what is done is kept, and the run ends with it.
            self.error = self.error or error
            self._end("fatal", repr(error))
        finally:
            if not stored:
                self.unstored.merge(account)
            if meter is not None:
                meter.close()
            self.width -= task.width
            running = asyncio.current_task()
            if running is not None:
                self.tasks.discard(running)
            self.freed.set()

    def _watch_endpoint(self, judgment: Judgment) -> None:
        """When one unit after another finds no endpoint, the rest is left for a resume."""
        if judgment.outcome == "unscored" and judgment.reason in TRANSIENT:
            self.lost += 1
            if self.lost >= max(20, 2 * self.concurrency):
                self._end("endpoint_lost", f"{self.lost} units in a row got no answer ({judgment.reason})")
        elif judgment.calls:
            self.lost = 0

    def _end(self, ended: Ended, detail: str | None) -> None:
        if self.ended is None:
            self.ended, self.detail = ended, detail
        self.freed.set()

    def _should_end(self) -> bool:
        if self.stop.asked.is_set() and self.ended != "fatal":
            # whatever it was about to end with: whoever asks to stop is answered
            self.ended, self.detail = "interrupted", None
        elif self.ended is None and (reached := self.budget.reached()) is not None:
            self._end("budget", reached)
        return self.ended is not None

    def _stop_sending(self) -> None:
        """What has been sent may be answered; what waits for a place is not sent."""
        for model in self.plan.models:
            model.stop()

    async def _drain(self) -> None:
        """Let what is in flight finish, as long as the way the run ends allows."""
        while self.tasks:
            self._should_end()
            if self.ended not in ("interrupted", "fatal") and self.budget.seconds_left() != 0:
                self.freed.clear()
                await self.freed.wait()
                continue
            self._stop_sending()
            at_once = asyncio.create_task(self.stop.at_once.wait())
            waiting = asyncio.ensure_future(self._all_ended())
            await asyncio.wait([waiting, at_once], timeout=_GRACE, return_when=asyncio.FIRST_COMPLETED)
            at_once.cancel()
            waiting.cancel()
            return

    async def _all_ended(self) -> bool:
        while self.tasks:
            self.freed.clear()
            await self.freed.wait()
        return True
