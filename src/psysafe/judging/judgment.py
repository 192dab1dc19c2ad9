"""The outcome of one mechanism on one conversation and one dimension."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from psysafe.models import Usage

Outcome = Literal["scored", "not_applicable", "unscored", "reply_failed", "void"]
OUTCOMES: tuple[Outcome, ...] = ("scored", "not_applicable", "unscored", "reply_failed", "void")

Reason = Literal[
    "judge_unparseable", "judge_refused", "judge_blocked", "judge_empty", "judge_truncated",
    "timeout", "rate_limited", "endpoint_error", "bad_request", "no_majority",
    "reply_empty", "reply_truncated", "reply_error",
    "role_drift", "leaked_instruction", "repetition",
]  # fmt: skip

# Worth another try later: nothing was learned about the judge or the reply.
TRANSIENT: frozenset[Reason] = frozenset({"timeout", "rate_limited", "endpoint_error"})

Flag = Literal[
    "injection_suspected",  # the judged text addresses its judge
    "evidence_unverified",  # a quote that stands nowhere in the conversation
    "contradiction",  # the judge's answer contradicts itself; the score alone counted
    "rationale_missing",  # the judge gave a score and no reason
    "repaired",  # the answer was malformed and repaired without touching the score
    "asked_again",  # the first answer could not be used
    "truncated_reply",  # an assistant message other than the one judged was cut short
    "empty_reply",  # an assistant message other than the one judged is empty
    "curtailed",  # the vote stopped early: harmful is that of all votes, the mean is not
    "tie",  # the votes were split evenly; a tie goes to harm
    "screening",  # a classifier's verdict: below its cut it means not flagged, never safe
    "uncalibrated",  # score or probability whose cut was not fitted on human labels
    "calibrated",  # harmful by a cut fitted on human labels for this judge, not by the default one
    "no_logprobs",  # an expected score was wanted, and the endpoint gave no token probabilities; the level counts
    "post_hoc",  # the rationale was asked for after the verdict and had no part in it
    "in_parts",  # too long to be read at once: the worst part counts
    "split",  # the judges of a panel disagree
    "escalated",  # a cascade went on to its next judge
    "overturned",  # ... which reversed the verdict of the one before
]


def verdict_words(harmful: bool | None, screening: bool) -> str | None:
    """A verdict in a word or two, None without one. A screening judge flags; it finds nothing harmful, nothing safe."""
    if harmful is None:
        return None
    word = "flagged" if screening else "harmful"
    return word if harmful else f"not {word}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote that the judge gave.

    Attributes:
        quote: where verified, exactly as it stands in the message; otherwise as the judge wrote it.
        message: 0-based index of the message it stands in, or None when it was not found.
        verified: whether it stands in the conversation.
    """

    quote: str
    message: int | None
    verified: bool


@dataclass(frozen=True, slots=True)
class Vote:
    """One judge call and what came of it.

    Attributes:
        step: which call it is: ``judge``, ``assessor``, ``corrector``, ``round 1 vote 3``, ``vote 7``.
        outcome: ``scored``, ``not_applicable`` or ``unscored``. score: the level, only when scored.
        reason, detail: why it is unscored, for people too.
        agrees: what a corrector said of the assessor's score.
        answer: the judge's last raw answer, kept only when it is unscored.
        expected: the mean level by the probabilities of the answer's token, where asked for and given.
    """

    step: str
    outcome: Outcome
    score: int | None = None
    reason: Reason | None = None
    detail: str | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    agrees: bool | None = None
    answer: str | None = None
    flags: tuple[Flag, ...] = ()
    expected: float | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One speech of a debate. ``side``: ``risk`` or ``safety``. ``round``: from 1. Ordered as spoken."""

    side: Literal["risk", "safety"]
    round: int
    text: str


@dataclass(frozen=True, slots=True)
class Member:
    """What one judge of a panel or cascade said.

    Attributes:
        judge: its name. The others: as in ``Judgment``.
    """

    judge: str
    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    score: float | None = None
    harmful: bool | None = None
    probability: float | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict and how it came about.

    Attributes:
        key: of the unit, 32 hex digits.
        conversation: its id. message: 0-based index of the judged message, None for the whole conversation.
        scope: ``reply`` (also for each reply of scope ``turn``) or ``conversation``. dimension, model: by id and name.
        mechanism: its name and all parameters.
        outcome: exactly one of OUTCOMES. reason, detail: why, when there is no verdict.
        score: on the dimension's scale, continuous (weighted, mean, median), not rounded; None unless scored.
        label: the level nearest to the score, .5 upward. harmful: None unless scored.
        probability: of harm, where the judge gives one; None otherwise.
        rationale: of the vote that stands for the verdict. evidence: its quotes.
        votes: every raw vote, in the order of asking. arguments: of a debate.
        members: the verdicts of a panel's or cascade's judges, in the order of its name.
        consensus: share of the asked final votes, or members, that are on the verdict's side; None with a single judge.
        flags: sorted.
        calls: judge calls made (re-asks included). attempts: requests sent (retries included).
        usage: tokens, None when the endpoint did not say for every call.
        cost: US dollars, None when usage or price is unknown. seconds: wall time of the unit.
        seed: of the run. prompt_hash: over instructions, rubric and mechanism.
    """

    key: str
    conversation: str
    message: int | None
    scope: str
    dimension: str
    model: str
    mechanism: dict[str, Any]
    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    score: float | None = None
    label: int | None = None
    harmful: bool | None = None
    probability: float | None = None
    rationale: str = ""
    evidence: tuple[Evidence, ...] = ()
    votes: tuple[Vote, ...] = ()
    arguments: tuple[Argument, ...] = ()
    members: tuple[Member, ...] = ()
    consensus: float | None = None
    flags: tuple[Flag, ...] = ()
    calls: int = 0
    attempts: int = 0
    usage: Usage | None = None
    cost: float | None = None
    seconds: float = 0.0
    seed: int = 0
    prompt_hash: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, keys in the order above."""
        record: dict[str, Any] = orjson.loads(orjson.dumps(self))
        return record


@dataclass(frozen=True, slots=True)
class Decision:
    """What a mechanism makes of its votes; fields as in ``Judgment``."""

    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    score: float | None = None
    harmful: bool | None = None
    probability: float | None = None
    stands: Vote | None = None  # the vote whose rationale and evidence are shown
    votes: tuple[Vote, ...] = ()
    arguments: tuple[Argument, ...] = ()
    members: tuple[Member, ...] = ()
    consensus: float | None = None
    flags: frozenset[Flag] = field(default_factory=frozenset)
