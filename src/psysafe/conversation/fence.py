"""The fence around judged text: data between markers that the text itself cannot imitate."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from psysafe.conversation.types import Message

_OPEN = "[[psysafe"

# Anything that could pass for a marker: other brackets, spaces or invisible characters in between, any case.
_INVISIBLE = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]{0,32}"
_LOOKALIKE = re.compile(
    rf"([\[\uff3b\u27e6\u3010]){_INVISIBLE}([\[\uff3b\u27e6\u3010])?(?={_INVISIBLE}" + _INVISIBLE.join("psysafe") + ")",
    re.I,
)


def escape(text: str) -> str:
    """``text`` with a backslash inside whatever looks like a marker; all else unchanged."""
    if "p" not in text and "P" not in text:
        return text
    return _LOOKALIKE.sub(lambda match: match.group().rstrip() + "\\", text)


def fence(messages: Sequence[Message], nonce: str, judged: Collection[int]) -> str:
    """The messages as data.

    Args:
        nonce: hex digits that the text cannot foresee.
        judged: 0-based indices of the messages under judgement; each is named so in its marker.

    Returns:
        lines ``[[psysafe NONCE begin]]``, for each message ``[[psysafe NONCE message I ROLE]]`` (``... judged``)
        and its escaped text, ``[[psysafe NONCE end]]``.
    """
    lines = [f"{_OPEN} {nonce} begin]]"]
    for index, message in enumerate(messages):
        mark = " judged" if index in judged else ""
        lines.append(f"{_OPEN} {nonce} message {index} {message.role}{mark}]]")
        lines.append(escape(message.content))
    lines.append(f"{_OPEN} {nonce} end]]")
    return "\n".join(lines)


def fenced_text(prompt: str) -> str:
    """What stands between the first and the last marker of a prompt; the whole prompt where there is none."""
    start = prompt.find(f"\n{_OPEN} ")
    start = 0 if prompt.startswith(f"{_OPEN} ") else start
    end = prompt.rfind(f"\n{_OPEN} ")
    return prompt[start:end] if 0 <= start < end else prompt
