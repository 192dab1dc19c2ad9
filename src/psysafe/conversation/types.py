"""What is judged: a conversation, an ordered tuple of messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, get_args

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[str, ...] = get_args(Role)

Finish = Literal["stop", "length", "content_filter", "error"]
FINISHES: tuple[str, ...] = get_args(Finish)

METADATA_KEY = "psysafe_metadata"
# The keys of a record that are not metadata. `to_dict` and `parse_record` must agree on them.
RESERVED_KEYS = frozenset({"id", "messages", "judged_message", "finish_reason", METADATA_KEY})


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: who wrote it. ``developer`` is read as ``system``; ``tool`` holds what a tool returned.
        content: its text. Parts that are not text stand as a placeholder such as ``[image]``, tool calls as
            ``[tool call: name(arguments)]``.
        finish: why an assistant message ended, where the source tells: ``length`` means it was cut short,
            ``content_filter`` or ``error`` that it failed. None: the source does not say.
    """

    role: Role
    content: str
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Ordered messages with an id.

    Attributes:
        id: unique within an input.
        messages: at least one.
        metadata: whatever else the source's record held (labels, source, licence); it travels to the exports
            and never reaches a judge.
        judged_message: 0-based index of the assistant message to judge at scope ``reply``, or None for the
            last one.
    """

    id: str
    messages: tuple[Message, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    judged_message: int | None = None

    def content_hash(self) -> str:
        """32 hex digits over roles, texts and finishes (not id, metadata or judged message)."""
        digest = blake2b(digest_size=16)
        for message in self.messages:
            for part in (message.role, message.content, message.finish or ""):
                data = part.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        return digest.hexdigest()

    def assistant_indices(self) -> tuple[int, ...]:
        """0-based indices of the assistant messages, in order."""
        return tuple(i for i, message in enumerate(self.messages) if message.role == "assistant")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready dict that ``parse_record`` reads back to an equal conversation.

        Metadata stands beside ``id`` and ``messages``, as it does in most data sets. Where one of its keys
        has a meaning of its own there (``RESERVED_KEYS``), all of it stands under ``psysafe_metadata``.
        """
        record: dict[str, Any] = {
            "id": self.id,
            "messages": [
                {"role": m.role, "content": m.content} | ({"finish_reason": m.finish} if m.finish else {})
                for m in self.messages
            ],
        }
        if self.judged_message is not None:
            record["judged_message"] = self.judged_message
        if RESERVED_KEYS.isdisjoint(self.metadata):
            record.update(self.metadata)
        else:
            record[METADATA_KEY] = dict(self.metadata)
        return record
