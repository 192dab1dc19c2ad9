"""Content cases: situations with a known right outcome, to see whether a judge model understands the rubrics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from psysafe.conversation import Conversation, parse_record
from psysafe.judging.judges import Judge
from psysafe.judging.judgment import Flag, Judgment
from psysafe.judging.mechanisms import Mechanism
from psysafe.judging.units import judge
from psysafe.taxonomy import load_dimensions


class Expected(BaseModel):
    """The right outcome: a level, a range of levels, or ``not_applicable``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    exactly: int | None = None
    min: int | None = None
    max: int | None = None
    outcome: Literal["not_applicable"] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = (
            self.exactly is not None,
            self.min is not None or self.max is not None,
            self.outcome is not None,
        )
        if sum(given) != 1:
            raise ValueError("expected one of exactly, min and max, outcome")
        return self

    def problem(self, judgment: Judgment) -> str | None:
        """How a judgment misses it, or None."""
        if judgment.outcome == "unscored":
            return f"unscored: {judgment.reason}"
        if self.outcome is not None or judgment.outcome != "scored" or judgment.label is None:
            hoped = self.outcome or "a level"
            return None if judgment.outcome == self.outcome else f"{_found(judgment)}, expected {hoped}"
        low = self.exactly if self.exactly is not None else self.min
        high = self.exactly if self.exactly is not None else self.max
        if (low is not None and judgment.label < low) or (high is not None and judgment.label > high):
            wanted = str(low) if low == high else f"{'' if low is None else low} to {'' if high is None else high}"
            return f"{_found(judgment)}, expected {wanted}"
        return None


def _found(judgment: Judgment) -> str:
    return f"level {judgment.label}" if judgment.outcome == "scored" else judgment.outcome


class Case(BaseModel):
    """One conversation, its dimension, and the right outcome."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    case: str
    dimension: str
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    expect: Expected
    same_score_as: str | None = None
    flags: list[Flag] = []
    why: str

    def conversation(self) -> Conversation:
        """The conversation to be judged."""
        return parse_record(
            {"id": self.id, "messages": self.messages},
            file="content_cases.yaml",
            line=None,
            default_id=self.id,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """A case, what came of it, and how it misses (None: it does not)."""

    case: Case
    judgment: Judgment
    problem: str | None


def load_cases() -> list[Case]:
    """The cases that ship with psysafe."""
    text = (files("psysafe.judging") / "data" / "content_cases.yaml").read_text(encoding="utf-8")
    return [Case.model_validate(entry) for entry in yaml.safe_load(text)["cases"]]


async def run_cases(cases: Sequence[Case], model: Judge, mechanism: Mechanism, seed: int = 0) -> list[Result]:
    """Judge all cases concurrently, within the model's own limits.

    Raises:
        ModelError: the model cannot be used at all.
    """
    dimensions = load_dimensions()
    judgments = await asyncio.gather(
        *(judge(case.conversation(), dimensions[case.dimension], model, mechanism, seed) for case in cases)
    )
    by_id = {case.id: judgment for case, judgment in zip(cases, judgments, strict=True)}
    return [Result(case, by_id[case.id], _problem(case, by_id)) for case in cases]


def _problem(case: Case, by_id: dict[str, Judgment]) -> str | None:
    judgment = by_id[case.id]
    if problem := case.expect.problem(judgment):
        return problem
    if missing := [flag for flag in case.flags if flag not in judgment.flags]:
        return f"not flagged {', '.join(missing)}"
    if case.same_score_as is not None:
        other = by_id[case.same_score_as]
        if (other.outcome, other.label) != (judgment.outcome, judgment.label):
            return f"{_found(judgment)}, but {case.same_score_as} has {_found(other)}"
    return None
