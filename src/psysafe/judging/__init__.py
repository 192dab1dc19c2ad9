"""Judging: prompts, answers, mechanisms, judgments."""

from psysafe.judging.calling import Account
from psysafe.judging.classifier import Classification, Classifier
from psysafe.judging.ensembles import Cascade, Ensemble, Panel
from psysafe.judging.judges import Judge, ManagedJudge, load_judge
from psysafe.judging.judgment import OUTCOMES, TRANSIENT, Argument, Evidence, Judgment, Member, Outcome, Reason, Vote
from psysafe.judging.keys import unit_key
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
from psysafe.judging.units import SCOPES, Scope, judge, judge_subject, subjects

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
    "Cascade",
    "Classification",
    "Classifier",
    "Ensemble",
    "Evidence",
    "Judge",
    "Judgment",
    "ManagedJudge",
    "Mechanism",
    "Member",
    "Outcome",
    "Panel",
    "Reason",
    "Scope",
    "Vote",
    "debate",
    "dual",
    "judge",
    "judge_subject",
    "load_judge",
    "parse_mechanism",
    "parse_mechanisms",
    "single",
    "subjects",
    "unit_key",
    "vote",
]
