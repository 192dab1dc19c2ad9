"""One conversation, one dimension, one mechanism: a judgment."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, get_args

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging.asking import Unit
from psysafe.judging.calibration import Cut, calibrated
from psysafe.judging.calling import Account, Meter
from psysafe.judging.deciding import decide, describe
from psysafe.judging.injection import addresses_judge
from psysafe.judging.judges import Judge, check, price_of
from psysafe.judging.judgment import Decision, Flag, Judgment, Reason
from psysafe.judging.keys import mechanism_identity, unit_key
from psysafe.judging.mechanisms import Mechanism, Single
from psysafe.judging.prompt import Subject, prompt_hash
from psysafe.models import Price
from psysafe.taxonomy import Dimension

Scope = Literal["reply", "turn", "conversation"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_addresses_judge = lru_cache(maxsize=1024)(addresses_judge)


def subjects(conversation: Conversation, scope: Scope = "reply", message: int | None = None) -> Iterator[Subject]:
    """What is to be judged in a conversation.

    Args:
        scope: ``reply``: its last assistant message, or the chosen one; ``turn``: every assistant message;
            both with only what precedes it. ``conversation``: all assistant messages as a whole.
        message: 0-based index of the chosen message, at scope ``reply``; the conversation's own choice by default.

    Raises:
        UsageError: there is no such assistant message.
    """
    indices = conversation.assistant_indices()
    if not indices:
        raise UsageError(f"conversation {conversation.id!r} has no assistant message to judge")
    if scope == "conversation":
        yield Subject(conversation, conversation.messages, indices, None)
        return
    if scope == "reply":
        chosen = conversation.judged_message if message is None else message
        if chosen is None:
            chosen = indices[-1]
        if chosen not in indices:
            raise UsageError(
                f"conversation {conversation.id!r}: message {chosen} is not one of the assistant's; those are "
                f"{', '.join(map(str, indices))}"
            )
        indices = (chosen,)
    for index in indices:
        yield Subject(conversation, conversation.messages[: index + 1], (index,), index)


@lru_cache(maxsize=1024)
def _prompt_hash(dimension: Dimension, mechanism: Mechanism) -> str:
    return prompt_hash(dimension, mechanism_identity(mechanism))


async def judge(
    conversation: Conversation,
    dimension: Dimension,
    model: Judge,
    mechanism: Mechanism | None = None,
    seed: int = 0,
    *,
    message: int | None = None,
    scope: Scope = "reply",
) -> Judgment:
    """Judge one conversation on one dimension.

    Args:
        model: a chat model, a classifier (``load_judge("screen")``) or an ensemble of judges.
        mechanism: ``single()`` by default. A classifier takes no other; the judges of an ensemble each use it.
        seed: of the run, from 0; votes and speaking orders follow from it and from the unit's key.
        message, scope: see ``subjects``; ``turn`` yields several judgments, so ask for each message instead.

    Raises:
        UsageError: nothing to judge, scope ``turn``, or a judge that cannot judge this dimension or in this way.
        ModelError: the model cannot be used at all (wrong key, unknown model). Every other failure is an
            outcome of the judgment.
    """
    if scope == "turn":
        raise UsageError("judge() gives one judgment; for scope 'turn' call it with message=... for each reply")
    mechanism = mechanism or Single()
    mechanism.check(dimension)
    check(model, mechanism, dimension)
    subject = next(subjects(conversation, scope, message))
    return await judge_subject(subject, dimension, model, mechanism, seed, price=price_of(model))


async def judge_subject(
    subject: Subject,
    dimension: Dimension,
    model: Judge,
    mechanism: Mechanism,
    seed: int,
    *,
    key: str | None = None,
    price: Price | None = None,
    meter: Meter | None = None,
    account: Account | None = None,
    cut: Cut | None = None,
) -> Judgment:
    """As ``judge``, for a subject; what the runs call.

    Args:
        key: of the unit, where the caller has it already.
        price: of the model, for the cost. meter: a run's budget. account: keeps what was spent, even if the unit is
            not finished.
        cut: a fitted one, instead of the default.
    """
    started = time.monotonic()
    key = key or unit_key(subject, dimension, mechanism, model.name, seed, cut=cut.cut if cut else None)
    account = account or Account()
    flags = subject_flags(subject)
    failure = reply_failure(subject)
    if failure is not None:
        decision = Decision("reply_failed", failure[0], failure[1])
    else:
        unit = Unit(model, key, seed, price, meter, account, subject=subject, dimension=dimension)
        decision = await decide(unit, mechanism)
        if cut is not None:
            decision = calibrated(decision, cut)
    for vote in decision.votes:
        flags.update(vote.flags)
    flags |= decision.flags
    score = decision.score
    return Judgment(
        key=key,
        conversation=subject.conversation.id,
        message=subject.message,
        scope="conversation" if subject.message is None else "reply",
        dimension=dimension.id,
        model=model.name,
        mechanism=describe(model, mechanism),
        outcome=decision.outcome,
        reason=decision.reason,
        detail=decision.detail,
        score=score,
        label=None if score is None else dimension.scale.label(score),
        harmful=decision.harmful,
        probability=decision.probability,
        rationale=decision.stands.rationale if decision.stands else "",
        evidence=decision.stands.evidence if decision.stands else (),
        votes=decision.votes,
        arguments=decision.arguments,
        members=decision.members,
        consensus=decision.consensus,
        flags=tuple(sorted(flags)),
        calls=account.calls,
        attempts=account.attempts,
        usage=account.usage,
        cost=account.cost,
        seconds=time.monotonic() - started,
        seed=seed,
        prompt_hash=_prompt_hash(dimension, mechanism),
    )


def reply_failure(subject: Subject) -> tuple[Reason, str] | None:
    """Why there is no reply to judge: the target's failure, which no judge is asked about."""
    failures = [_failure(subject.messages[index]) for index in subject.judged]
    if any(failure is None for failure in failures):
        return None
    return failures[-1]


def _failure(message: Message) -> tuple[Reason, str] | None:
    if message.finish in ("error", "content_filter"):
        return "reply_error", f"the reply ended with {message.finish}"
    if not is_visible(message.content):
        return "reply_empty", "the reply is empty"
    if message.finish == "length":
        return "reply_truncated", "the reply was cut short"
    return None


def is_visible(text: str) -> bool:
    """Whether a text holds anything that a person would see."""
    return any(unicodedata.category(c)[0] in "LMNPS" and c not in _BLANK for c in text)


# Letters and signs that are drawn as nothing.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159")


def subject_flags(subject: Subject) -> set[Flag]:
    """What is worth knowing of the judged text, whatever the judge says of it."""
    flags: set[Flag] = set()
    if any(_addresses_judge(subject.messages[index].content) for index in subject.judged):
        flags.add("injection_suspected")
    for index, message in enumerate(subject.messages):
        if message.role != "assistant" or (index,) == subject.judged:
            continue
        if message.finish == "length":
            flags.add("truncated_reply")
        if not is_visible(message.content):
            flags.add("empty_reply")
    return flags
