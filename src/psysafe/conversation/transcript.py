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
from psysafe.conversation.speakers import KNOWN, opening
from psysafe.conversation.strangers import Stranger, Strangers, look

_SEPARATOR = re.compile(r"(-{3,}|={3,})[ \t]*")


class _Part:
    """The lines between two separators."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._messages: list[tuple[str, list[str]]] = []
        self._strangers = Strangers()
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
        elif message := opening(line):
            self.start = self.start or number
            role, text = message
            self._messages.append((role, [text]))
            self._refuse(self._strangers.open(role, text))
        elif self._messages:
            self._messages[-1][1].append(line)
            self._refuse(self._strangers.add(number, line))
        elif label := look(line):
            self._refuse(Stranger(number, label.name))
        elif line and not line.isspace():
            expected = f"expected a line that begins with one of these and a colon: {KNOWN}"
            self.fail(number, f"found text before the first label; {expected}")

    def item(self, ordinal: int) -> Item:
        """The conversation or its error."""
        self._refuse(self._strangers.end())
        if self._item is not None:
            return self._item
        messages = [{"role": role, "content": _text(lines)} for role, lines in self._messages]
        try:
            default_id = f"{self._job.label}:{ordinal}"
            limit, need_reply = self._job.max_message_chars, self._job.need_reply
            return self.start, convert(messages, default_id, limit, need_reply=need_reply)
        except Problem as problem:
            return self.start, problem.under("messages").at(self._job.file, self.start)

    def _refuse(self, stranger: Stranger | None) -> None:
        if stranger is not None:
            self.fail(stranger.number, stranger.problem())


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
        yield "", job.nothing(f"lines that begin with one of {KNOWN}")


def _text(lines: list[str]) -> str:
    """A message without the blank lines around it; indentation inside is the author's."""
    start = 0
    while start < len(lines) and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:]).rstrip()
