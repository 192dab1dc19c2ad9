"""Lines of a transcript that look like the label of an unknown speaker.

Taken for text they would put the words of one side into the mouth of the other, so they are an error where a
speaker is likely: see ``Strangers``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from psysafe.conversation.problems import shown
from psysafe.conversation.speakers import COLON, KNOWN, START

_MAX_CHARS = 30
_HEAD_CHARS = 64  # a label of 30 characters, what decorates it, and the beginning of its text
# What begins a remark, a heading or a line of a list, never the name of a speaker.
_REMARKS = """
    about after all also although and as ask at because before bonus both but caution cc chapter conclusion cons
    date day disclaimer do don't each edit email exercise example examples fact finally for from given goal goals
    he her here his how however i if important in instead is it it's its key let's level link meanwhile method
    most name next no note notes now on option or p.s part phase phone please pros ps reason reference references
    regarding remember reminder resources result results round section she since so some something source sources
    stage step subject summary that that's then there these they this those tip tips title tldr to today tomorrow
    topic tonight try update url version warning we week what when where which while who why with yes yet
"""
_NO_SPEAKER = frozenset(_REMARKS.split())
# A colon between digits is a time. Neither http:// nor C:\ nor a smiley follows a label.
_WORD = r'(?:[^\s:\uff1a,;!?"*`\u201c\u201d]|(?<=\d):(?=\d))+'
_LOOK = re.compile(
    rf"{START}(?=[^\W\d_])(?P<label>{_WORD}(?: {_WORD}){{0,3}})[*`]{{0,3}}"
    rf"(?:{COLON}(?![\d/\\()|:])|[ \t]+{COLON}(?!\S))[*_`]{{0,3}}(?P<text>.*)",
    re.DOTALL,
)


class Label(NamedTuple):
    """What looks like a label, and whether text follows on its line."""

    name: str
    has_text: bool


class Stranger(NamedTuple):
    """An unknown speaker and the 1-based line."""

    number: int
    name: str

    def problem(self) -> str:
        """What is wrong, what is known, what can be done."""
        return (
            f"found what looks like a speaker, {shown(self.name)}, but that label is unknown; expected one of {KNOWN}. "
            "Rename it; or, if the line belongs to the message above, indent it by two spaces"
        )


def look(line: str) -> Label | None:
    """The label that a line seems to begin with: one to four words, at most 30 characters, and a colon.

    It begins with an upper-case letter (or one of a script without case), or is decorated.
    """
    match = _LOOK.fullmatch(line[:_HEAD_CHARS])
    if match is None:
        return None
    name = match["label"].rstrip("_")
    decorated = line[: match.start("label")].strip()
    if len(name) > _MAX_CHARS or (name[0].islower() and not decorated):
        return None
    first = name.split()[0].rstrip(".").replace("\u2019", "'").lower()
    if first in _NO_SPEAKER and name != "I":
        return None
    return Label(name, bool(match["text"].strip()))


class Strangers:
    """Watches the lines of one conversation, and names a stranger

    - who comes twice;
    - who stands where a turn is missing: the next message has the same role as the one it is in;
    - who stands in the last message, on its second line of text or on its last, unless the line before ends with
      a colon. A label without text on its line counts here only below a known label without, and the line after
      it is its text.

    These are the places where speakers are; a remark such as ``Grounding: name five things.`` is elsewhere.
    """

    def __init__(self) -> None:
        self._first: dict[str, Stranger] = {}
        # of the current message
        self._role = ""
        self._bare = False  # nothing follows its label on the same line
        self._texts = 0  # lines of text, so far
        self._before = ""  # the last of them
        self._inside: Stranger | None = None  # the first one in it
        self._second: Stranger | None = None
        self._last: Stranger | None = None
        self._last_texts = 0  # lines of text up to the end of what the last one says

    def open(self, role: str, text: str) -> Stranger | None:
        """A known label begins a message."""
        missing = self._inside if role == self._role else None
        self._role, self._bare, self._texts = role, not text.strip(), 0
        self._inside = self._second = self._last = None
        self._count(text)
        return missing

    def add(self, number: int, line: str) -> Stranger | None:
        """The message goes on."""
        label = look(line)
        if label is None:
            self._count(line)
            return None
        stranger = Stranger(number, label.name)
        first = self._first.setdefault(label.name.casefold(), stranger)
        self._inside = self._inside or stranger
        if (label.has_text or self._bare) and not self._before.endswith((":", "\uff1a")):
            if self._texts == 1:
                self._second = stranger
            self._last, self._last_texts = stranger, self._texts + (1 if label.has_text else 2)
        self._count(line)
        return None if first is stranger else first

    def end(self) -> Stranger | None:
        """The conversation is over."""
        return self._second or (self._last if self._texts <= self._last_texts else None)

    def _count(self, line: str) -> None:
        if text := line.strip():
            self._texts += 1
            self._before = text
