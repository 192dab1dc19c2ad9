"""The texts that a small judge reads of a conversation, cut so that each fits its encoder.

Training and use go through the same functions, so that a head sees what it was fitted on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from psysafe.conversation import Message

Fits = Callable[[str], bool]
"""Whether an encoder reads the whole of a text."""

Span = tuple[int, int]

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？।؟]+[\"'”’»」』）)\]]*\s*|\s*\n\s*")


def user_text(messages: Sequence[Message], index: int) -> str:
    """What the user said last before message ``index``: the last run of user messages before it, one a line.

    Messages of the system and of tools in between neither count nor end the run. "" where the user said nothing.
    """
    said: list[str] = []
    for message in reversed(messages[:index]):
        if message.role == "user":
            said.append(message.content)
        elif message.role == "assistant" and said:
            break
    return "\n".join(reversed(said))


def sentences(text: str, most: int | None = None) -> list[str]:
    """The sentences of a text: exact parts of it, in order, without white space around them.

    Args:
        most: with more sentences than that, neighbours are kept together so that there are at most so many parts.
    """
    spans = _sentences(text)
    if most is not None and len(spans) > most:
        size = -(-len(spans) // most)
        spans = [(run[0][0], run[-1][1]) for run in (spans[i : i + size] for i in range(0, len(spans), size))]
    return [text[start:end] for start, end in spans]


def pieces(text: str, fits: Fits) -> list[str]:
    """A text in as few parts as fit: itself, or runs of whole sentences; a longer sentence is cut at a space."""
    if fits(text):
        return [text]
    parts: list[Span] = []
    for start, end in _sentences(text):
        if parts and fits(text[parts[-1][0] : end]):
            parts[-1] = (parts[-1][0], end)
        else:
            parts += _cut(text, start, end, fits)
    return [text[start:end] for start, end in parts]


def ending(text: str, fits: Fits) -> str:
    """The end of a text: itself where it fits, else as many of its last sentences as fit, or part of the last."""
    if fits(text):
        return text
    spans = _sentences(text)
    end = spans[-1][1]
    begin = _cut(text, *spans[-1], fits)[-1][0]
    if begin == spans[-1][0]:
        for start, _ in reversed(spans[:-1]):
            if not fits(text[start:end]):
                break
            begin = start
    return text[begin:end]


def _sentences(text: str) -> list[Span]:
    spans: list[Span] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        part = text[start:end]
        if stripped := part.strip():
            begin = start + part.index(stripped)
            spans.append((begin, begin + len(stripped)))
        start = end
    return spans


def _cut(text: str, start: int, end: int, fits: Fits) -> list[Span]:
    """A part in halves, halves of halves and so on, until each fits; cut at the space nearest to the middle."""
    if end - start <= 1 or fits(text[start:end]):
        return [(start, end)]
    middle = (start + end) // 2
    before, after = text.rfind(" ", start + 1, middle), text.find(" ", middle, end - 1)
    spaces = [place for place in (before, after) if place > start]
    if spaces:
        middle = min(spaces, key=lambda place: abs(place - middle))
    return _cut(text, start, middle, fits) + _cut(text, middle, end, fits)
