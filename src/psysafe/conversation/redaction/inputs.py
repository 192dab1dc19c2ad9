"""Inputs whose conversations pass through a redactor before anybody sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from psysafe.conversation.redaction.redactor import KINDS, Redactor
from psysafe.conversation.types import Conversation


class RedactedInputs:
    """The conversations of ``inputs`` with stand-ins; the same ones at every pass.

    Attributes:
        counts: things replaced in the pass that was begun last, by kind; one that occurs in two conversations
            counts twice.
        read: conversations of that pass so far.
        conversations: how many of that pass's conversations were changed.
    """

    def __init__(self, inputs: Iterable[Conversation], redactor: Redactor) -> None:
        self._inputs, self._redactor = inputs, redactor
        self.counts: Counter[str] = Counter()
        self.read = self.conversations = 0

    def __iter__(self) -> Iterator[Conversation]:
        self.counts, self.read, self.conversations = Counter(), 0, 0
        for conversation in self._inputs:
            copy, counts = self._redactor.conversation(conversation)
            self.counts += counts
            self.read += 1
            self.conversations += bool(counts)
            yield copy

    def sentence(self) -> str:
        """One line: ``redacted: 12 names, 3 phone numbers in 5 conversations``."""
        if not self.counts:
            return "redacted: nothing was found; names and numbers may still be there"
        parts = [f"{self.counts[kind]:,} {KINDS[kind][self.counts[kind] != 1]}" for kind in KINDS if self.counts[kind]]
        where = "1 conversation" if self.conversations == 1 else f"{self.conversations:,} conversations"
        return f"redacted: {', '.join(parts)} in {where}"
