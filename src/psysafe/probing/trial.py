"""A trial: a strategy, a dialogue, its verdict, and refinements as long as the target withstands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from psysafe.clients.client import Client
from psysafe.clients.fidelity import judge_fidelity
from psysafe.clients.profile import Profile
from psysafe.judging import TRANSIENT
from psysafe.judging.answer import AnswerError
from psysafe.judging.calling import Asker
from psysafe.probing.archive import Archive
from psysafe.probing.cast import Cast, Seat, Stage
from psysafe.probing.dialogue import Counselor, Dialogue, converse
from psysafe.probing.records import Choice, FidelityVerdict, Kind, Rollout, Trial
from psysafe.probing.settings import Settings
from psysafe.probing.strategy import Operator, Parent, Strategist
from psysafe.probing.verdicts import judge_dialogue
from psysafe.taxonomy import GRID, CellId


@dataclass(frozen=True, slots=True)
class Task:
    """What a trial starts from.

    Attributes:
        parents: strategies to be rewritten. insights: by cell, what the archive remembered when the trial was chosen,
            with ``shared`` ones of all cells; the oldest first.
        strategy: a given one, which is not written anew; with ``controlled`` there is none at all.
        stored: dialogues that were held before and are only judged again; the target is not called.
        learn_last: learn from the last rollout, too, although this trial has no use for it.
    """

    kind: Kind
    index: int
    choice: Choice
    parents: tuple[Parent, ...] = ()
    insights: dict[CellId, tuple[str, ...]] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    strategy: str | None = None
    controlled: bool = False
    learn_last: bool = False
    of: int | None = None
    stored: Trial | None = None


def task_of(index: int, choice: Choice, archive: Archive, *, remember: bool, learn_last: bool) -> Task:
    """The task of a search trial: what the archive holds for it at this moment.

    Args:
        remember: False leaves out what was learned. learn_last: see ``Task``.
    """
    elites = [archive.elites[CellId.parse(cell)] for cell in choice.parent_cells]
    parents = tuple(Parent(elite.cell, elite.strategy) for elite in elites)
    cells = [CellId.parse(choice.cell)] if choice.cell is not None else list(GRID)
    insights = {cell: tuple(archive.insights.get(cell, ())) for cell in cells} if remember else {}
    shared = tuple(archive.shared) if remember else ()
    return Task("search", index, choice, parents, insights, shared, learn_last=learn_last)


async def run_trial(task: Task, cast: Cast, settings: Settings, stage: Stage | None = None) -> Trial:
    """Carry a trial out.

    Raises:
        ModelError: trying another trial cannot help either.
        Whatever the stage's meter raises to stop it.
    """
    with Running(task, cast, settings, stage or Stage()) as running:
        return await running.run()


class Running:
    """A trial that is being carried out."""

    def __init__(self, task: Task, cast: Cast, settings: Settings, stage: Stage) -> None:
        self.task, self.cast, self.settings = task, cast, settings
        self.seat = seat = Seat(task.kind, task.index, settings.seed, stage)
        self.profile: Profile = cast.profiles[task.choice.profile]
        self.strategist = Strategist(cast.grid, roles=settings.roles)
        self.writer = seat.ask(cast.strategist, "strategist")
        # One model plays all of a trial's clients.
        self.client = cast.clients[int(self.writer.random.integers(len(cast.clients)))]
        self.calls = 0
        self.flags: set[str] = {"same_judge"} if cast.same_judge else set()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.seat.close()

    async def run(self) -> Trial:
        """A first rollout and refinements, one after the other."""
        started = time.monotonic()
        cell = await self.cell()
        if self.task.stored is not None:
            return await self.record(cell, await self._again(cell, self.task.stored), started)
        rollouts: list[Rollout] = []
        most = self.task.choice.refinements + 1
        while len(rollouts) < most and not (rollouts and rollouts[-1].hit):
            strategy = None if self.task.controlled else await self._strategy(cell, rollouts)
            rollout = await self.play(cell, strategy, len(rollouts))
            last = len(rollouts) == most - 1
            rollouts.append(await self.learned(rollout) if not last or self.task.learn_last else rollout)
        return await self.record(cell, rollouts, started)

    async def _again(self, cell: CellId, stored: Trial) -> list[Rollout]:
        """The stored dialogues, judged again; those that came to no end stay as they are."""
        rollouts = []
        for number, rollout in enumerate(stored.rollouts):
            if rollout.outcome not in ("scored", "unscored"):
                rollouts.append(rollout)
                continue
            dialogue = Dialogue(list(rollout.lines), regenerated=rollout.regenerated, cues=list(rollout.cues))
            judged = await self._judged(cell, rollout.strategy, dialogue, number)
            rollouts.append(judged.model_copy(update={"insights": rollout.insights}))
        return rollouts

    async def record(self, cell: CellId, rollouts: list[Rollout], started: float) -> Trial:
        """The record of this trial."""
        rollouts[-1] = await self._with_fidelity(rollouts[-1])
        target, spent = self.seat.target_calls, self.seat.spent()
        return Trial(
            kind=self.task.kind,
            index=self.task.index,
            choice=self.task.choice,
            cell=str(cell),
            profile=self.profile.id,
            person=self.profile.person or self.profile.id,
            client=self.client.name if self.task.stored is None else self.task.stored.client,
            of=self.task.of,
            rollouts=tuple(rollouts),
            calls=spent.calls,
            target_calls=target,
            prompt_tokens=spent.usage.prompt_tokens if spent.usage else None,
            completion_tokens=spent.usage.completion_tokens if spent.usage else None,
            cost=spent.cost,
            seconds=time.monotonic() - started,
            flags=tuple(sorted(self.flags)),
        )

    async def cell(self) -> CellId:
        """The cell that is aimed at: the chosen one, or the one that fits the profile."""
        if self.task.choice.cell is not None:
            return self._begun(CellId.parse(self.task.choice.cell))
        cells = self.settings.grid
        found = await self.strategist.fit(self.writer, self.number(), self.profile, cells)
        if isinstance(found, AnswerError) or found not in cells:
            self.flags.add("cell_made_up")
            found = cells[int(self.writer.random.integers(len(cells)))]
        return self._begun(found)

    def _begun(self, cell: CellId) -> CellId:
        self.seat.tell("begun", cell=str(cell), profile=self.profile.id, operator=self.task.choice.operator)
        return cell

    def number(self) -> int:
        """Of the strategist's next call."""
        self.calls += 1
        return self.calls

    async def play(self, cell: CellId, strategy: str | AnswerError | None, number: int) -> Rollout:
        """One dialogue with its verdicts; what has gone wrong is its outcome."""
        if isinstance(strategy, AnswerError):
            flags = ("strategist", "transient") if strategy.reason in TRANSIENT else ("strategist",)
            detail = f"the strategist: {strategy}"
            return Rollout(strategy=None, outcome="void", reason=strategy.reason, detail=detail, flags=flags)
        settings = self.settings
        client = Client(self.profile, strategy, settings.style, settings.client_temperature, settings.client_tokens)
        dialogue = await converse(
            client,
            self.seat.ask(self.client, number, "client"),
            Counselor(settings.system, settings.target_temperature, settings.reply_tokens),
            self.seat.ask(self.cast.target, number, "target", target=True),
            settings.turns,
            tell=lambda turn: self.seat.tell("turn", rollout=number, turn=turn),
        )
        return await self._judged(cell, strategy, dialogue, number)

    async def _strategy(self, cell: CellId, before: Sequence[Rollout]) -> str | AnswerError:
        """The next strategy: given, written, or the last one made stronger."""
        if self.task.strategy is not None:
            return self.task.strategy
        written = [rollout for rollout in before if rollout.strategy is not None]
        if not written:
            return await self.write(cell, before)
        last = written[-1]
        assert last.strategy is not None
        if not last.insights:
            return last.strategy  # nothing was learned: once more, with other seeds
        return await self.write(cell, before, previous=last.strategy)

    async def write(self, cell: CellId, before: Sequence[Rollout], previous: str | None = None) -> str | AnswerError:
        """Have a strategy written, with all that was learned before and in this trial."""
        task = self.task
        known = [*task.shared, *task.insights.get(cell, ()), *(text for rollout in before for text in rollout.insights)]
        operator: Operator = task.choice.operator if task.parents else "fresh"  # type: ignore[assignment]
        return await self.strategist.write(
            self.writer, self.number(), cell, self.profile,
            operator=operator, parents=task.parents, insights=_unique(known), previous=previous,
        )  # fmt: skip

    async def learned(self, rollout: Rollout) -> Rollout:
        """The rollout with what its judge's reasoning teaches, where the target withstood."""
        if self.task.controlled or self.task.strategy is not None or rollout.strategy is None:
            return rollout
        if rollout.hit or rollout.ladder is None or rollout.severity is None:
            return rollout
        reasoning = str(rollout.ladder.judgment["rationale"])
        found = await self.strategist.learn(self.writer, self.number(), rollout.strategy, reasoning)
        if isinstance(found, AnswerError):
            self.flags.add("nothing_learned")
            return rollout
        return rollout.model_copy(update={"insights": found})

    async def _judged(self, cell: CellId, strategy: str | None, dialogue: Dialogue, number: int) -> Rollout:
        kept = {
            "strategy": strategy,
            "lines": tuple(dialogue.lines),
            "regenerated": dialogue.regenerated,
            "cues": tuple(dialogue.cues),
            "flags": ("transient",) if dialogue.transient else (),
        }
        if dialogue.outcome != "complete":
            return Rollout(**kept, outcome=dialogue.outcome, reason=dialogue.reason, detail=dialogue.detail)
        self.seat.tell("judging", rollout=number)
        found = await judge_dialogue(dialogue, cell, self.cast, self.seat, self.settings, number)
        scored = found.ladder.severity is not None
        self.seat.tell("judged", rollout=number, cell=str(cell), severity=found.ladder.severity)
        return Rollout(
            **kept,
            outcome="scored" if scored else "unscored",
            reason=found.ladder.reason,
            detail=None if scored else found.ladder.judgment.get("detail"),
            ladder=found.ladder,
            blind=found.blind,
            course=found.course,
            observed=found.observed,
        )

    async def _with_fidelity(self, rollout: Rollout) -> Rollout:
        if not self.settings.fidelity or rollout.outcome not in ("scored", "unscored"):
            return rollout
        asker: Asker = self.seat.ask(self.cast.blind, "fidelity")
        found = await judge_fidelity(asker, rollout.messages(), self.profile)
        if isinstance(found, AnswerError):
            verdict = FidelityVerdict(outcome="unscored", reason=found.reason)
        else:
            verdict = FidelityVerdict(
                outcome="scored", rationale=found.rationale, client=found.client, profile=found.profile
            )
        return rollout.model_copy(update={"fidelity": verdict})


def _unique(insights: Sequence[str]) -> list[str]:
    """Each once, where it was said last."""
    return list(dict.fromkeys(reversed(insights)))[::-1]
