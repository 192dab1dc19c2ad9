"""A bot answers conversations: several at once, handed on in order."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field

from psysafe.cli.console import err, note
from psysafe.conversation import MAX_MESSAGE_CHARS, Conversation, Finish, Message
from psysafe.errors import UsageError
from psysafe.models import FATAL_KINDS, ManagedModel, ModelError, Sampling
from psysafe.models.base import ReplyFinish, storable

_EVERY = 15.0
_SHOWN = 10
# A refusal is an answer, and judged as one.
_FINISHES: dict[ReplyFinish, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "refusal": "stop",
}


def check(conversations: Iterable[Conversation], count: int, *, every_turn: bool) -> None:
    """Whether each of the ``count`` conversations can be answered.

    Raises:
        UsageError: names those that cannot, with what to do.
    """
    bad, lines = 0, []
    for conversation in conversations:
        if (problem := _problem(conversation, every_turn)) is not None:
            bad += 1
            if bad <= _SHOWN:
                lines.append(f"  {conversation.id[:80]}: {problem}")
    if bad > _SHOWN:
        lines.append(f"  ... and {bad - _SHOWN:,} more")
    if bad:
        raise UsageError("\n".join([f"{bad:,} of {count:,} conversations cannot be answered:", *lines]))


def _problem(conversation: Conversation, every_turn: bool) -> str | None:
    roles = [message.role for message in conversation.messages]
    if every_turn:
        if "user" not in roles:
            return "has no user message; expected at least one"
        return "holds what a tool returned, which belongs to the old replies; remove it" if "tool" in roles else None
    if roles[-1] == "user":
        return None
    if roles[-1] == "assistant":
        return (
            "ends with an assistant message, so there is nothing to answer; remove that reply to have it given "
            "anew, or have every user message answered with --turns all"
        )
    return f"ends with a {roles[-1]} message; expected the user's"


@dataclass(slots=True)
class Tally:
    """What came of it so far. ``failures``: by kind; ``finishes``: replies that did not end by themselves."""

    conversations: int = 0
    replies: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    finishes: Counter[str] = field(default_factory=Counter)


class Answering:
    """Puts conversations to ``model``.

    Args:
        every_turn: put every user message in order, without the replies of the input; else the last one alone.
        window: conversations in hand at once; the model's own limits bound its calls.
    """

    def __init__(
        self, model: ManagedModel, config: Sampling, *, every_turn: bool, window: int, quiet: bool = False
    ) -> None:
        self.model = model
        self.config = config
        self.every_turn = every_turn
        self.window = window
        self.tally = Tally()
        self._quiet = quiet

    async def answer(self, conversations: Iterable[Conversation], count: int) -> AsyncGenerator[Conversation, None]:
        """The answered conversations, in the order of the input; those in hand are held, no others.

        Args:
            count: how many there are, for the display.

        Raises:
            ModelError: trying the next one cannot help; those before were handed on.
        """
        waiting = iter(conversations)
        tasks: deque[asyncio.Task[Conversation]] = deque()
        shown = time.monotonic()
        try:
            while True:
                while len(tasks) < self.window and (conversation := next(waiting, None)) is not None:
                    tasks.append(asyncio.create_task(self._answer(conversation)))
                if not tasks:
                    return
                yield await tasks[0]
                tasks.popleft()
                self.tally.conversations += 1
                if not self._quiet and time.monotonic() - shown > (1.0 if err().is_terminal else _EVERY):
                    shown = time.monotonic()
                    failed = f", {self.tally.failures.total():,} failed" if self.tally.failures else ""
                    note(f"answered: {self.tally.conversations:,} of {count:,} conversations{failed}")
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, conversation: Conversation) -> Conversation:
        said: list[Message] = []
        for index, message in enumerate(conversation.messages):
            if message.role == "assistant" and self.every_turn:
                continue
            said.append(message)
            last = index == len(conversation.messages) - 1
            if message.role == "user" and (last or self.every_turn):
                reply = await self._reply(conversation.id, said)
                said.append(reply)
                if reply.finish == "error":
                    break  # what comes next would be said into a gap
        if (end := getattr(self.model, "end", None)) is not None:
            await end(said)  # a bot with sessions can let go of this one
        metadata = {**conversation.metadata, "target": self.model.name}
        return Conversation(conversation.id, tuple(said), metadata)

    async def _reply(self, conversation: str, messages: Sequence[Message]) -> Message:
        try:
            reply = await self.model.generate(messages, self.config)
        except ModelError as error:
            if error.kind in FATAL_KINDS:
                raise
            return self._failed(conversation, error.kind, error.brief)
        text = storable(reply.text)
        if len(text) > MAX_MESSAGE_CHARS:
            return self._failed(conversation, "too_long", f"{self.model.name}: a reply of {len(text):,} characters")
        self.tally.replies += 1
        finish = _FINISHES[reply.finish]
        if finish != "stop":
            self.tally.finishes[finish] += 1
        return Message("assistant", text, finish)

    def _failed(self, conversation: str, kind: str, brief: str) -> Message:
        if not self.tally.failures[kind]:
            note(f"no reply to {conversation} ({kind}): {brief}")  # the first of each kind; the rest are counted
        self.tally.failures[kind] += 1
        return Message("assistant", "", "error")
