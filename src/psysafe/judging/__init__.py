"""Judging: prompts, answers, mechanisms, judgments."""

from psysafe.judging.asking import Account
from psysafe.judging.judgment import OUTCOMES, TRANSIENT, Argument, Evidence, Judgment, Outcome, Reason, Vote
from psysafe.judging.mechanisms import (
    MECHANISMS,
    PRESETS,
    Debate,
    Dual,
    MajorityVote,
    Mechanism,
    Single,
    parse_mechanism,
    parse_mechanisms,
)
from psysafe.judging.units import SCOPES, Scope, judge, judge_subject, subjects, unit_key

# As functions they read like what they are: judge(..., mechanism=dual(weights=(0.7, 0.3))).
single = Single
dual = Dual
debate = Debate
vote = MajorityVote

__all__ = [
    "MECHANISMS",
    "OUTCOMES",
    "PRESETS",
    "SCOPES",
    "TRANSIENT",
    "Account",
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
