"""What is written of a unit, and what was spent on it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from psysafe.conversation import Conversation
from psysafe.judging import Account, Judgment
from psysafe.models import Usage


@dataclass(frozen=True, slots=True)
class Entry:
    """What is written together: a judgment, its conversation and that one's place in the input."""

    judgment: Judgment
    mechanism: str  # its spec
    conversation: Conversation
    position: int
    tries: int = 1


def row(entry: Entry) -> dict[str, Any]:
    """The row of the table ``judgments``."""
    judgment = entry.judgment
    return {
        "key": judgment.key,
        "conversation": judgment.conversation,
        "position": entry.position,
        "message": judgment.message,
        "dimension": judgment.dimension,
        "mechanism": entry.mechanism,
        "model": judgment.model,
        "outcome": judgment.outcome,
        "reason": judgment.reason,
        "score": judgment.score,
        "harmful": judgment.harmful,
        "curtailed": "curtailed" in judgment.flags,
        "flags": f" {' '.join(judgment.flags)} ",
        "calls": judgment.calls,
        "attempts": judgment.attempts,
        "prompt_tokens": judgment.usage.prompt_tokens if judgment.usage else None,
        "completion_tokens": judgment.usage.completion_tokens if judgment.usage else None,
        "cost": judgment.cost,
        "seconds": judgment.seconds,
        "tries": entry.tries,
        "record": orjson.dumps(judgment),
    }


def id_hash(conversation: str) -> str:
    """16 hex digits of a conversation's id: enough to know it again, without keeping it."""
    return blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def read_account(data: dict[str, Any] | None) -> Account:
    """An account from its JSON; an empty one from None."""
    if data is None:
        return Account()
    usage = Usage(**data["usage"]) if data["usage"] else None
    return Account(data["calls"], data["attempts"], usage, data["cost"])
