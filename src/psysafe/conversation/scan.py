"""What a validation pass over inputs finds."""

from __future__ import annotations

from dataclasses import dataclass

from psysafe.conversation.types import Conversation
from psysafe.errors import InputError

KEPT_ERRORS = 1_000


@dataclass(frozen=True, slots=True)
class Scan:
    """What a validation pass found.

    Attributes:
        conversations: how many can be read; iteration yields so many.
        messages: in these conversations.
        assistant_messages: in these conversations.
        characters: of all their messages together.
        digests: SHA-256 (64 hex digits) of each source's bytes, by its name as given.
        bad: what is wrong with the others, in input order; at most the first 1,000.
        bad_count: how many there are.
    """

    conversations: int
    messages: int
    assistant_messages: int
    characters: int
    digests: dict[str, str]
    bad: list[InputError]
    bad_count: int


class Tally:
    """The sums of a scan while it runs."""

    def __init__(self) -> None:
        self.conversations = self.messages = self.assistant_messages = self.characters = 0

    def add(self, conversation: Conversation, sign: int = 1) -> None:
        """One more conversation, or with ``sign`` -1 one less."""
        self.conversations += sign
        for message in conversation.messages:
            self.messages += sign
            self.characters += sign * len(message.content)
            if message.role == "assistant":
                self.assistant_messages += sign

    def scan(self, digests: dict[str, str], bad: list[InputError], bad_count: int) -> Scan:
        """The result."""
        return Scan(
            self.conversations,
            self.messages,
            self.assistant_messages,
            self.characters,
            digests,
            bad,
            bad_count,
        )
