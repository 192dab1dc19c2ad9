"""Checking a judge's quotes against the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from psysafe.conversation import Message
from psysafe.judging.judgment import Evidence

_SAME = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}  # fmt: skip
_SHORTEST = 2  # characters; one alone is found in nearly any text
_LONGEST = 1500  # characters of a quote that is looked for in other spellings
_ALTERNATIVES = {"'": "['’‘]", '"': '["“”]', "-": "[-–—]"}


def verify(quotes: Sequence[tuple[str, int | None]], messages: Sequence[Message]) -> tuple[Evidence, ...]:
    """Find each quote in the conversation.

    A quote is verified when its words stand in one message, apart from white space, the shape of quotation
    marks and dashes, and an ellipsis at either end. It is then replaced by the exact text and the index of
    the message: the one that the judge named if it stands there, else the last one that holds it.

    Args:
        quotes: text and claimed 0-based message index, or None.
    """
    return tuple(_find(text, claimed, messages) for text, claimed in quotes)


def _find(text: str, claimed: int | None, messages: Sequence[Message]) -> Evidence:
    order = list(range(len(messages) - 1, -1, -1))
    if claimed is not None and 0 <= claimed < len(messages):
        order.remove(claimed)
        order.insert(0, claimed)
    if len(text.strip()) < _SHORTEST and not any(text.strip() == message.content.strip() for message in messages):
        return Evidence(text, None, False)
    for index in order:
        if text in messages[index].content:
            return Evidence(text, index, True)
    pattern = _pattern(text)
    if pattern is not None:
        for index in order:
            if match := pattern.search(messages[index].content):
                return Evidence(match.group(), index, True)
    return Evidence(text, None, False)


def _pattern(text: str) -> re.Pattern[str] | None:
    for odd, plain in _SAME.items():
        text = text.replace(odd, plain)
    text = text.strip().removeprefix("...").removesuffix("...").strip(" \t\n\"'")
    if len(text) < 2 or len(text) > _LONGEST:
        return None
    words = []
    for word in text.split():
        words.append("".join(_ALTERNATIVES.get(character, re.escape(character)) for character in word))
    return re.compile(r"\s+".join(words).replace(r"\.\.\.", r"(?:…|\.\.\.)"))
