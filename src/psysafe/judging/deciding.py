"""From a unit to a decision, whatever kind of judge is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psysafe.judging.asking import Unit
from psysafe.judging.classifier import Classifier, decide_by_class
from psysafe.judging.ensembles import Ensemble
from psysafe.judging.judges import Judge, price_of
from psysafe.judging.judgment import Decision
from psysafe.judging.keys import unit_key
from psysafe.judging.mechanisms import Mechanism


async def decide(unit: Unit, mechanism: Mechanism) -> Decision:
    """Ask the unit's judge, and decide.

    Raises:
        ModelError: only of a kind that stops a run.
    """
    judge = unit.model
    if isinstance(judge, Ensemble):
        return await judge.decide(lambda member: _member(unit, member, mechanism), unit.dimension.scale)
    if not isinstance(judge, Classifier):
        return await mechanism.run(unit)
    if mechanism.name == "single":
        return await decide_by_class(unit, judge)
    assert judge.chat is not None, "check() has seen to it"
    decision = await mechanism.run(replace(unit, model=judge.chat))
    return replace(decision, flags=decision.flags | {"uncalibrated"})


async def _member(unit: Unit, member: Judge, mechanism: Mechanism) -> Decision:
    """What a member of an ensemble decides: just what it would decide alone, from the same seeds."""
    key = unit_key(unit.subject, unit.dimension, mechanism, member.name, unit.seed)
    return await decide(replace(unit, model=member, key=key, price=price_of(member), _random=None), mechanism)


def describe(judge: Judge, mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism by which a judge decides, with all parameters, JSON-ready."""
    if isinstance(judge, Ensemble):
        return {**judge.parameters(), "each": mechanism.describe()}
    return mechanism.describe()
