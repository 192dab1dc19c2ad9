"""Panel: several judges, one verdict."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from psysafe.errors import UsageError
from psysafe.judging.calling import together
from psysafe.judging.counting import first_reason
from psysafe.judging.ensembles.base import Ask, Ensemble, member_of, votes_of
from psysafe.judging.judgment import Decision, Flag, Reason, Vote
from psysafe.taxonomy import Scale

if TYPE_CHECKING:
    from psysafe.judging.judges import ManagedJudge

Rule = Literal["majority", "median"]


class Panel(Ensemble):
    """Every judge decides by itself; none hears another.

    Args:
        members: the judges; their order makes no difference.
        rule: ``majority``: more than half of the judges *asked* must be on a side, else there is no verdict
            (``no_majority``); the score is the mean of that side's. ``median``: the median of all scores, which
            needs a verdict of every judge (of two it is the mean).
    """

    kind: ClassVar[str] = "panel"

    def __init__(self, members: Sequence[ManagedJudge], rule: Rule = "majority") -> None:
        if rule not in get_args(Rule):
            raise UsageError(f"panel: rule={rule}: expected {' or '.join(get_args(Rule))}")
        super().__init__(sorted(members, key=lambda member: member.name))
        self.rule = rule
        names = "+".join(member.name for member in self.members)
        self.name = f"panel:{names}" + ("" if rule == "majority" else f",rule={rule}")

    def parameters(self) -> dict[str, Any]:
        return {"name": self.kind, "rule": self.rule, "members": [member.name for member in self.members]}

    async def decide(self, ask: Ask, scale: Scale) -> Decision:
        decisions = await together(ask(member) for member in self.members)
        names = [member.name for member in self.members]
        members = tuple(member_of(name, decision) for name, decision in zip(names, decisions, strict=True))
        votes = tuple(
            vote for name, decision in zip(names, decisions, strict=True) for vote in votes_of(name, decision)
        )
        sides = [_side(decision) for decision in decisions]
        flags: set[Flag] = set().union(*(decision.flags for decision in decisions))
        if len({side for side in sides if side is not None}) > 1:
            flags.add("split")
        winner = next((side for side in _SIDES if 2 * sides.count(side) > len(sides)), None)
        scores = [decision.score for decision in decisions if decision.score is not None]
        score: float | None = None
        if self.rule == "median" and winner != "not applicable":
            # A missing verdict could have moved the median.
            score = float(median(scores)) if len(scores) == len(decisions) else None
            winner = None if score is None else "harmful" if scale.is_harmful(score) else "not harmful"
        if winner is None:
            reason, detail = _why(names, decisions, sides)
            return Decision("unscored", reason, detail, votes=votes, members=members, flags=frozenset(flags))
        on_side = [decision for decision, side in zip(decisions, sides, strict=True) if side == winner]
        if self.rule == "majority" and winner != "not applicable":
            chosen = [decision.score for decision in on_side if decision.score is not None]
            score = sum(chosen) / len(chosen)
        return Decision(
            "not_applicable" if score is None else "scored",
            score=score,
            harmful=None if score is None else winner == "harmful",
            stands=_speaker(on_side or decisions, score),
            votes=votes,
            members=members,
            consensus=len(on_side) / len(decisions),
            flags=frozenset(flags),
        )


Side = Literal["harmful", "not harmful", "not applicable"]
_SIDES: tuple[Side, ...] = get_args(Side)


def _side(decision: Decision) -> Side | None:
    if decision.outcome == "not_applicable":
        return "not applicable"
    if decision.harmful is None:
        return None
    return "harmful" if decision.harmful else "not harmful"


def _speaker(decisions: Sequence[Decision], score: float | None) -> Vote | None:
    """The vote that is shown: of a judge that gives reasons, if there is one, and then the nearest to the score."""

    def rank(decision: Decision) -> tuple[bool, float]:
        silent = decision.stands is None or not decision.stands.rationale
        return silent, abs((decision.score or 0.0) - (score or 0.0))

    return min(decisions, key=rank).stands


def _why(names: Sequence[str], decisions: Sequence[Decision], sides: Sequence[Side | None]) -> tuple[Reason, str]:
    """Why there is no verdict: for want of a judge's answer that could have decided, else for want of a majority."""
    told = ", ".join(f"{name} {side or 'unscored'}" for name, side in zip(names, sides, strict=True))
    failed = [Vote("", "unscored", reason=decision.reason) for decision in decisions if decision.outcome == "unscored"]
    most = max((sides.count(side) for side in _SIDES), default=0)
    if failed and 2 * (most + len(failed)) > len(sides):
        return first_reason(failed).reason or "no_majority", told
    return "no_majority", told
