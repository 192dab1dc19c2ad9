"""Cascade: a cheap judge first, a costlier one only where the first is not sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from psysafe.errors import UsageError
from psysafe.judging.ensembles.base import Ask, Ensemble, member_of, votes_of
from psysafe.judging.judgment import Decision, Flag, Member, Vote
from psysafe.taxonomy import Scale

if TYPE_CHECKING:
    from psysafe.judging.judges import ManagedJudge


class Cascade(Ensemble):
    """The verdict is that of the first judge that is sure, else of the last.

    A judge is unsure when it gives no verdict, when its score lies in the band from ``low`` to ``high``, when fewer
    than ``agreement`` of its votes agree, or when its votes or members are split. That a dimension does not apply is
    a verdict; of a screening judge it is none to rely on, and neither is it that one whose cut was not fitted flags
    nothing.

    Args:
        members: in the order of asking, the cheapest first.
        low, high: bounds of the uncertain band on the dimension's scale (both inclusive); level 1 of 2 lies in it.
        agreement: least share of votes on the verdict's side, above which a judge is sure.
    """

    kind: ClassVar[str] = "cascade"

    def __init__(
        self, members: Sequence[ManagedJudge], low: float = 0.25, high: float = 1.25, agreement: float = 0.8
    ) -> None:
        if not low <= high:
            raise UsageError(f"cascade: low={low:g} is above high={high:g}")
        if not 0 <= agreement <= 1:
            raise UsageError(f"cascade: agreement={agreement:g}: expected a share from 0 to 1")
        super().__init__(members)
        self.low, self.high, self.agreement = low, high, agreement
        names = "+".join(member.name for member in self.members)
        given = {"low": (low, 0.25), "high": (high, 1.25), "agreement": (agreement, 0.8)}
        changed = "".join(f",{name}={value:g}" for name, (value, default) in given.items() if value != default)
        self.name = f"cascade:{names}{changed}"

    def parameters(self) -> dict[str, Any]:
        return {
            "name": self.kind,
            "low": self.low,
            "high": self.high,
            "agreement": self.agreement,
            "members": [member.name for member in self.members],
        }

    async def decide(self, ask: Ask, scale: Scale) -> Decision:
        members: list[Member] = []
        votes: list[Vote] = []
        path: set[Flag] = set()
        standing: Decision | None = None
        for member in self.members:
            decision = await ask(member)
            members.append(member_of(member.name, decision))
            votes += votes_of(member.name, decision)
            if standing is not None:
                path.add("escalated")
                if _verdict(standing) is not None and _verdict(decision) not in (None, _verdict(standing)):
                    path.add("overturned")
            standing = decision
            if not self.is_unsure(decision):
                break
        assert standing is not None, "it has members"
        flags = standing.flags | path
        return replace(standing, votes=tuple(votes), members=tuple(members), consensus=None, flags=flags)

    def is_unsure(self, decision: Decision) -> bool:
        """Whether the next judge is to be asked."""
        if decision.flags & {"tie", "split"}:
            return True
        if decision.consensus is not None and decision.consensus < self.agreement:
            return True
        if decision.outcome == "not_applicable":
            # a list or a small model that sees no occasion has not looked far
            return "screening" in decision.flags
        if not decision.harmful and {"screening", "uncalibrated"} <= decision.flags:
            return True  # that a phrase list found nothing says next to nothing
        return decision.score is None or self.low <= decision.score <= self.high


def _verdict(decision: Decision) -> str | None:
    if decision.outcome == "not_applicable":
        return decision.outcome
    return None if decision.harmful is None else str(decision.harmful)
