"""The open sessions of a bot that keeps its own memory, found by what was said in them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from psysafe.conversation import Message


@dataclass(slots=True)
class Session:
    """A conversation that the bot remembers. ``id`` is None until the bot has named it."""

    id: str | None


def digest(messages: Sequence[Message]) -> bytes:
    """What tells one history from another: roles and texts."""
    found = blake2b(digest_size=16)
    for message in messages:
        for part in (message.role, message.content):
            # NUL is replaced where replies are stored, and must not lose the session
            data = part.replace("\0", "\ufffd").encode("utf-8", "surrogatepass")
            found.update(len(data).to_bytes(8, "little"))
            found.update(data)
    return found.digest()


class Sessions:
    """Those that nobody is talking in now, the longest unused first. At most ``limit``."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.evicted = 0
        self._open: OrderedDict[int, tuple[bytes, Session]] = OrderedDict()
        self._by_history: dict[bytes, list[int]] = {}
        self._number = 0
        self._claimed: set[str] = set()

    def __len__(self) -> int:
        return len(self._open)

    def take(self, history: bytes) -> Session | None:
        """One with this history, which is the caller's alone until it is put back."""
        numbers = self._by_history.get(history)
        if not numbers:
            return None
        return self._remove(numbers[-1])

    def put(self, history: bytes, session: Session) -> list[Session]:
        """Keep one under what has been said in it. Returns those that had to go for it."""
        self._number += 1
        self._open[self._number] = (history, session)
        self._by_history.setdefault(history, []).append(self._number)
        gone = []
        while len(self._open) > self.limit:
            gone.append(self._remove(next(iter(self._open))))
            self.evicted += 1
        return gone

    def claim(self, id: str) -> bool:
        """Take an id that the bot has given for one conversation; False if another one has it.

        An id stays taken until it is released: under it the bot remembers what was said, also when nobody asks on.
        """
        if id in self._claimed:
            return False
        self._claimed.add(id)
        return True

    def release(self, id: str) -> None:
        """The bot has forgotten what was said under an id, so it may give it again."""
        self._claimed.discard(id)

    def clear(self) -> list[Session]:
        """Give all of them up."""
        return [self._remove(number) for number in list(self._open)]

    def _remove(self, number: int) -> Session:
        history, session = self._open.pop(number)
        numbers = self._by_history[history]
        numbers.remove(number)
        if not numbers:
            del self._by_history[history]
        return session
