"""Single: one judge."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from psysafe.judging.asking import Unit
from psysafe.judging.counting import decide
from psysafe.judging.judgment import Decision
from psysafe.judging.mechanisms.base import Mechanism


class Single(Mechanism):
    """One judge scores (DialogGuard, single-agent scoring).

    Attributes:
        temperature: 0 in the paper.
        rationale: ask for reasons and quotes before the score; False asks for a bare digit, as the
            published code does.
        expected: ask for a bare digit with its token probabilities, where the endpoint gives them, and take the
            expected level as the score. Its cut is not fitted, so it is flagged ``uncalibrated``; without
            probabilities the level counts, flagged ``no_logprobs``.
    """

    name: ClassVar[str] = "single"
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    rationale: bool = True
    expected: bool = False

    @property
    def calls(self) -> int:
        return 1

    @property
    def width(self) -> int:
        return 1

    async def run(self, unit: Unit) -> Decision:
        vote = await unit.vote(
            "judge",
            0,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            rationale=self.rationale and not self.expected,
            expected=self.expected,
        )
        if vote.outcome == "unscored":
            return Decision("unscored", vote.reason, vote.detail, votes=(vote,))
        scale = unit.dimension.scale
        decision = replace(decide([vote], 1, scale, "mean"), consensus=None)
        if vote.expected is None:
            return decision
        return replace(
            decision,
            score=vote.expected,
            harmful=scale.is_harmful(vote.expected),
            flags=decision.flags | {"uncalibrated"},
        )
