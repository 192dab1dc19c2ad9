"""Plain transcripts: lines that begin with a speaker's label."""

from __future__ import annotations

import re
from collections.abc import Iterator

from psysafe.conversation.problems import Problem
from psysafe.conversation.reading import (
    MAX_LINE_BYTES,
    Item,
    Job,
    Read,
    encoding_problem,
    read_lines,
    wide_encoding,
    without_marks,
)
from psysafe.conversation.record import convert

_USER = ("user", "client", "patient", "human", "caller")
_ASSISTANT = ("assistant", "counselor", "counsellor", "therapist", "ai", "bot", "chatbot")
_LABELS = dict.fromkeys(_USER, "user") | dict.fromkeys(_ASSISTANT, "assistant") | {"system": "system"}
# At most one space before it: a line indented further, or quoted with >, never opens a message, so that
# labels in pasted text can be kept inside one.
_OPENING = re.compile(rf" ?({'|'.join(_LABELS)})[ \t]*:[ \t]*(.*)", re.IGNORECASE | re.DOTALL | re.ASCII)
_SEPARATOR = re.compile(r"(-{3,}|={3,})[ \t]*")
_KNOWN = ", ".join(label.title() if label != "ai" else "AI" for label in _LABELS)


class _Part:
    """The lines between two separators."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._messages: list[tuple[str, list[str]]] = []
        self._size = 0
        self._item: Item | None = None  # the first error
        self.start = 0  # 1-based line where it begins; 0 while it is blank

    def fail(self, number: int, problem: str) -> None:
        """Names the defect of this conversation; it is over, the next one can still be read."""
        self.start = self.start or number
        if self._item is None:
            self._item = (number, self._job.error(number, problem))
            self._messages.clear()

    def add(self, number: int, line: str) -> None:
        """One more line."""
        if self._item is not None:
            return
        self._size += len(line) + 1
        if self._size > MAX_LINE_BYTES:
            found = f"found a conversation longer than {MAX_LINE_BYTES // 2**20} MB"
            self.fail(number, f"{found}; expected --- on a line of its own between conversations")
        elif opening := _OPENING.fullmatch(line):
            self.start = self.start or number
            self._messages.append((_LABELS[opening[1].lower()], [opening[2]]))
        elif self._messages:
            self._messages[-1][1].append(line)
        elif line and not line.isspace():
            expected = f"expected a line that begins with one of these and a colon: {_KNOWN}"
            self.fail(number, f"found text before the first label; {expected}")

    def item(self, ordinal: int) -> Item:
        """The conversation or its error."""
        if self._item is not None:
            return self._item
        messages = [{"role": role, "content": _text(lines)} for role, lines in self._messages]
        try:
            default_id = f"{self._job.label}:{ordinal}"
            return self.start, convert(messages, default_id, self._job.max_message_chars)
        except Problem as problem:
            return self.start, problem.under("messages").at(self._job.file, self.start)


def read_transcript(read: Read, job: Job) -> Iterator[Item]:
    """The conversations of a transcript in order: the line where each begins and it or its error."""
    part, ordinal = _Part(job), 0
    for number, raw in enumerate(read_lines(read), 1):
        if raw is None:
            part.fail(number, f"found a line longer than {MAX_LINE_BYTES // 2**20} MB; expected a transcript")
            continue
        if number == 1 and (problem := wide_encoding(raw)):
            yield number, job.error(number, problem)
            return
        if fault := encoding_problem(raw):
            part.fail(number, fault[1])
            continue
        line = without_marks(raw).removesuffix(b"\r").decode()
        if not _SEPARATOR.fullmatch(line):
            part.add(number, line)
        elif part.start:
            ordinal += 1
            yield part.item(ordinal)
            part = _Part(job)
    if part.start:
        ordinal += 1
        yield part.item(ordinal)
    if not ordinal:
        yield "", job.nothing(f"lines that begin with one of {_KNOWN}")


def _text(lines: list[str]) -> str:
    """A message without the blank lines around it; indentation inside is the author's."""
    start = 0
    while start < len(lines) and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:]).rstrip()
