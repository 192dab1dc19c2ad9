"""Judging: prompts, answers, mechanisms, judgments."""

from psysafe.judging.judgment import OUTCOMES, TRANSIENT, Argument, Evidence, Judgment, Outcome, Reason, Vote
from psysafe.judging.mechanisms import (
    MECHANISMS,
    PRESETS,
    Mechanism,
    debate,
    dual,
    parse_mechanism,
    parse_mechanisms,
    single,
    vote,
)
from psysafe.judging.units import SCOPES, Scope, judge, judge_subject, subjects, unit_key

__all__ = [
    "MECHANISMS",
    "OUTCOMES",
    "PRESETS",
    "SCOPES",
    "TRANSIENT",
    "Argument",
    "Evidence",
    "Judgment",
    "Mechanism",
    "Outcome",
    "Reason",
    "Scope",
    "Vote",
    "debate",
    "dual",
    "judge",
    "judge_subject",
    "parse_mechanism",
    "parse_mechanisms",
    "single",
    "subjects",
    "unit_key",
    "vote",
]
