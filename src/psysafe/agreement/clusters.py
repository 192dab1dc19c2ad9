"""Which conversations belong together, so that they are no independent evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable

from psysafe.conversation import Conversation


class Clusters:
    """Groups of things that share something, and whatever shares something with one of them.

    Things are added with what they have; ``of`` then numbers the groups, in the order of their first thing.
    """

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}

    def add(self, thing: Hashable, *shared: Hashable) -> None:
        """A thing, and what it has in common with every other that is added with it."""
        for key in ((0, thing), *((1, one) for one in shared)):
            self._parent.setdefault(key, key)
            self._parent[self._root(key)] = self._root((0, thing))

    def of(self, things: Iterable[Hashable]) -> list[int]:
        """The number of each thing's group, from 0."""
        numbers: dict[Hashable, int] = {}
        return [numbers.setdefault(self._root((0, thing)), len(numbers)) for thing in things]

    def _root(self, key: Hashable) -> Hashable:
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key


def shared_texts(conversation: Conversation, message: int | None) -> list[str]:
    """What makes conversations one cluster: equal words of the user up to the judged message, or an equal reply.

    Sets of labelled replies hold the same prompt with several replies, and the same reply twice. A single message that
    many conversations begin with ("hi") does not join them.
    """
    until = len(conversation.messages) if message is None else message + 1
    said = [m for m in conversation.messages[:until] if m.role != "system"]
    user = _normal(" ".join(m.content for m in said if m.role == "user"))
    judged = _normal(
        " ".join(m.content for m in said if m.role == "assistant") if message is None else said[-1].content
    )
    return [f"{kind} {text}" for kind, text in (("user", user), ("reply", judged)) if text]


def _normal(text: str) -> str:
    """A text as it counts for sameness: its letters and digits in lower case, everything else one space."""
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).lower()).strip()
