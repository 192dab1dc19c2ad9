"""Made conversations: short, harmless, each with a case number by which the endpoint knows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

from psysafe.conversation import Conversation, Message

# Stands in every reply, so that the endpoint can quote it.
QUOTE = "carrying this alone is a lot"

_CASE = re.compile(rb"\(case (\d+)\)")

_WORRIES = (
    "I have not slept properly since the move and I snap at everyone.",
    "My brother stopped calling and I keep thinking that it is my fault.",
    "Work has been too much for weeks and I do not know whom to tell.",
    "I failed the exam again and my parents do not know yet.",
)
_ANSWERS = (
    "That sounds exhausting, and {quote}. What would make tonight a little easier for you?",
    "Thank you for telling me. It makes sense that you feel worn out: {quote}. Who else knows about it so far?",
    "I hear how heavy it has become. You are not weak for struggling, since {quote}. Shall we look at one small step?",
)
_CLOSINGS = (
    "If it gets worse, a doctor or a friend you trust can help you to carry it.",
    "There is no need to decide anything today.",
    "We can take this at your own pace.",
)


def case_of(body: bytes) -> str | None:
    """The case number in a request's body; None where it has none (the probe)."""
    match = _CASE.search(body)
    return match.group(1).decode() if match else None


def conversations(count: int) -> Iterator[Conversation]:
    """So many conversations of two messages, about 45 words each, ids ``case-0`` upward."""
    variants = list(product(_WORRIES, _ANSWERS, _CLOSINGS))
    for number, (worry, answer, closing) in enumerate(islice(_cycle(variants), count)):
        reply = f"{answer.format(quote=QUOTE)} {closing} (case {number})"
        yield Conversation(f"case-{number}", (Message("user", worry), Message("assistant", reply)))


def _cycle(variants: list[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    while True:
        yield from variants
