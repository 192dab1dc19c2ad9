"""A list of messages in OpenAI's style becomes ``Message`` objects."""

from __future__ import annotations

from collections.abc import Sequence

from psysafe.conversation.content import check_text, message_text
from psysafe.conversation.problems import Problem, shown
from psysafe.conversation.types import Finish, Message, Role

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "error": "error",
    "max_tokens": "length",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
}


def read_messages(raw: object, path: str, limit: int, *, need_reply: bool) -> list[Message]:
    """At least one message; with ``need_reply`` at least one of them the assistant's.

    Raises:
        Problem: with a path that starts with ``path``, the place of the list in its record.
    """
    if not isinstance(raw, list):
        raise Problem(path, f"found {shown(raw)}; expected a list of messages")
    if not raw:
        raise Problem(path, "found an empty list; expected at least one message")
    messages: list[Message] = []  # as long as the index of the next one, for its error
    try:
        for message in raw:
            messages.append(read_message(message, limit))
    except Problem as problem:
        raise problem.under(f"{path}[{len(messages)}]") from None
    check_messages(messages, path, need_reply=need_reply)
    return messages


def has_reply(messages: Sequence[Message]) -> bool:
    """Whether one of them is the assistant's."""
    return any(message.role == "assistant" for message in messages)


def check_messages(messages: Sequence[Message], path: str, *, need_reply: bool) -> None:
    """Raises ``Problem`` if there is nothing to judge; without ``need_reply``, if there is nothing at all."""
    if need_reply and not has_reply(messages):
        raise Problem(path, "found no assistant message; expected at least one, since that is what is judged")
    if not messages:
        raise Problem(path, "found no message; expected at least one")


def read_message(raw: object, limit: int) -> Message:
    """One message; a ``Problem`` names its field."""
    if not isinstance(raw, dict):
        raise Problem("", f"found {shown(raw)}; expected a message: an object with role and content")
    name = raw.get("role")
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        found = f"unknown role {shown(name)}" if "role" in raw else "missing"
        raise Problem("role", f"{found}; expected one of {', '.join(ROLES)}")
    content = raw.get("content")
    if not isinstance(content, str) or len(raw) > 2:
        content = message_text(raw)
    check_text(content, "content", limit)
    return Message(role, content, read_finish(raw.get("finish_reason")))


def read_finish(value: object) -> Finish | None:
    """The finish that a source's word for it means; None for null."""
    if value is None:
        return None
    finish = _FINISHES.get(value) if isinstance(value, str) else None
    if finish is None:
        known = ", ".join(_FINISHES)
        raise Problem("finish_reason", f"found {shown(value)}; expected null or one of {known}")
    return finish
