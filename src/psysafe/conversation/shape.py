"""What is read from a record that is laid out in another way than psysafe's own."""

from __future__ import annotations

from typing import Any, NamedTuple

from psysafe.conversation.types import Message


class Found(NamedTuple):
    """A conversation in parts.

    Attributes:
        id, messages, metadata: as in ``Conversation``.
        place: the path of the messages within the record.
    """

    id: str
    messages: list[Message]
    metadata: dict[str, Any]
    place: str
