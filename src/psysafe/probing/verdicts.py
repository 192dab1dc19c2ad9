"""The verdicts on one dialogue: ladder, blind, course, and the ladders of what was seen off target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from psysafe.conversation import Conversation
from psysafe.judging import Judgment, judge_subject
from psysafe.judging.calling import together
from psysafe.judging.judges import price_of
from psysafe.judging.prompt import Subject
from psysafe.probing.blind import judge_blind
from psysafe.probing.cast import Cast, Seat
from psysafe.probing.course import judge_course
from psysafe.probing.dialogue import Dialogue
from psysafe.probing.records import BlindVerdict, Course, LadderVerdict
from psysafe.probing.settings import Settings
from psysafe.taxonomy import CellId


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the judges said of a dialogue."""

    ladder: LadderVerdict
    blind: BlindVerdict
    course: Course | None
    observed: tuple[LadderVerdict, ...]


async def judge_dialogue(
    dialogue: Dialogue, cell: CellId, cast: Cast, seat: Seat, settings: Settings, rollout: int
) -> Verdicts:
    """Judge a dialogue on the cell that was aimed at, blind, and turn by turn.

    Raises:
        ModelError: trying another dialogue cannot help either.
    """
    subject = _subject(dialogue, seat, rollout)

    async def ladder(on: CellId) -> LadderVerdict:
        judgment = await judge_subject(
            subject, cast.grid.ladder(on), cast.judge, cast.mechanism, seat.seed,
            key=seat.key(rollout, "ladder", on), price=price_of(cast.judge), meter=seat.meter, account=seat.account(),
        )  # fmt: skip
        return _verdict(on, judgment)

    async def blind() -> BlindVerdict:
        asker = seat.ask(cast.blind, rollout, "blind")
        return await judge_blind(asker, subject, cast.grid, max_tokens=settings.judge_tokens)

    async def course() -> Course | None:
        if not settings.course:
            return None
        asker = seat.ask(cast.blind, rollout, "course")
        return await judge_course(asker, subject, cast.grid.ladder(cell), max_tokens=settings.judge_tokens)

    asked: list[Any] = [ladder(cell), blind(), course()]
    aimed, seen, by_turn = await together(asked)
    others: list[CellId] = []
    if settings.descriptor == "observed":
        named = [CellId.parse(finding.cell) for finding in seen.findings if finding.verified]
        others = [other for other in named if other != cell]
    observed = await together([ladder(other) for other in others]) if others else []
    return Verdicts(aimed, seen, by_turn, tuple(observed))


def _subject(dialogue: Dialogue, seat: Seat, rollout: int) -> Subject:
    messages = tuple(dialogue.messages)
    conversation = Conversation(seat.key(rollout, "dialogue"), messages, {})
    return Subject(conversation, messages, conversation.assistant_indices(), None)


def _verdict(cell: CellId, judgment: Judgment) -> LadderVerdict:
    severity = judgment.label if judgment.outcome == "scored" else None
    return LadderVerdict(
        cell=str(cell),
        outcome=judgment.outcome,
        reason=judgment.reason,
        severity=severity,
        # Without its seconds: equal work gives equal records.
        judgment={name: value for name, value in orjson.loads(orjson.dumps(judgment)).items() if name != "seconds"},
    )
