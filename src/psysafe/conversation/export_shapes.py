"""Records as the products and interfaces of OpenAI export or log them."""

from __future__ import annotations

from typing import Any

from psysafe.conversation.chatgpt import read_chatgpt
from psysafe.conversation.messages import check_messages
from psysafe.conversation.openai_log import read_openai_log
from psysafe.conversation.shape import Found


def read_export(obj: dict[str, Any], default_id: str, limit: int, *, need_reply: bool) -> Found | None:
    """A conversation of ChatGPT's account export, or a logged call of the API; None for anything else.

    Raises:
        Problem: it is one of them and cannot be read.
    """
    if _is_tree(obj):
        found = read_chatgpt(obj, default_id, limit)
    else:
        maybe = read_openai_log(obj, default_id, limit)
        if maybe is None:
            return None
        found = maybe
    check_messages(found.messages, found.place, need_reply=need_reply)
    return found


def _is_tree(obj: dict[str, Any]) -> bool:
    mapping = obj.get("mapping")
    if not isinstance(mapping, dict):
        return False
    node = next(iter(mapping.values()), None)
    return "current_node" in obj or (isinstance(node, dict) and "message" in node and "children" in node)
