"""A conversation of the ``conversations.json`` that ChatGPT exports: a tree of messages."""

from __future__ import annotations

from typing import Any

from psysafe.conversation.content import call_line, check_text
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.messages import ROLES
from psysafe.conversation.problems import Problem, join, shown
from psysafe.conversation.shape import Found
from psysafe.conversation.types import Finish, Message

_ENDS: dict[str, Finish] = {"stop": "stop", "max_tokens": "length", "content_filter": "content_filter"}
_PLACEHOLDERS = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[audio]",
    "video_container_asset_pointer": "[video]",
}
# What a model thinks is not what it says; the context that a user set once is no message of his.
_NOT_SAID = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
_TURN = ("assistant", "tool")
_TEXT_KEYS = ("text", "result", "content")
_TREE_KEYS = ("mapping", "current_node", "id", "conversation_id")


def read_chatgpt(obj: dict[str, Any], default_id: str, limit: int) -> Found:
    """The branch that was shown last, from the root to ``current_node``.

    Hidden messages, empty system messages and what the model only thought are left out; so are the empty steps
    within a turn. Of the other keys all become metadata; ``other_branch_messages`` counts the messages of
    branches that are not read.

    Raises:
        Problem: the tree is broken, or a message in it is malformed.
    """
    mapping = obj["mapping"]
    path = _path(mapping, obj.get("current_node"))
    messages: list[Message] = []
    for key in path:
        where = f"mapping[{shown(key)}].message"
        message = _message(mapping[key].get("message"), where, limit)
        if message is None:
            continue
        # an empty step of a turn that went on; where it is the whole turn, the reply failed
        if message.role in _TURN and messages and messages[-1].role in _TURN and not messages[-1].content.strip():
            messages.pop()
        messages.append(message)
    on_path = set(path)
    others = sum(
        1
        for key, node in mapping.items()
        if key not in on_path and isinstance(node, dict) and isinstance(node.get("message"), dict)
    )
    metadata = {key: value for key, value in obj.items() if key not in _TREE_KEYS}
    if others:
        metadata["other_branch_messages"] = others
    given = next((obj[key] for key in ("conversation_id", "id") if obj.get(key) is not None), None)
    return Found(default_id if given is None else identifier(given), messages, metadata, "mapping")


def _path(mapping: dict[str, Any], current: Any) -> list[str]:
    """The keys of the nodes from the root to the current one; to the newest leaf where none is current."""
    if current is None:
        current = _newest_leaf(mapping)
    path: list[str] = []
    seen: set[str] = set()
    while current is not None:
        if not isinstance(current, str) or not isinstance(mapping.get(current), dict):
            place = f"mapping[{shown(path[-1])}].parent" if path else "current_node"
            raise Problem(place, f"found {shown(current)}, which is no node; expected the key of a node in mapping")
        if current in seen:
            raise Problem(f"mapping[{shown(current)}].parent", "leads back to this node; expected a tree")
        seen.add(current)
        path.append(current)
        current = mapping[current].get("parent")
    return path[::-1]


def _newest_leaf(mapping: dict[str, Any]) -> str:
    nodes = ((key, node) for key, node in mapping.items() if isinstance(node, dict))
    leaves = [(_time(node), key) for key, node in nodes if not node.get("children")]
    if not leaves:
        raise Problem("mapping", "found no node without children; expected the last message of the conversation")
    return max(leaves)[1]


def _time(node: dict[str, Any]) -> float:
    message = node.get("message")
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, (int, float)) else float("-inf")


def _message(message: Any, where: str, limit: int) -> Message | None:
    if message is None:
        return None  # the root
    if not isinstance(message, dict):
        raise Problem(where, f"found {shown(message)}; expected a message (an object) or null")
    author, metadata = message.get("author"), message.get("metadata")
    name = author.get("role") if isinstance(author, dict) else None
    role = ROLES.get(name) if isinstance(name, str) else None
    if role is None:
        raise Problem(f"{where}.author.role", f"found {shown(name)}; expected one of {', '.join(ROLES)}")
    metadata = metadata if isinstance(metadata, dict) else {}
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return None
    content = message.get("content")
    if isinstance(content, dict) and content.get("content_type") in _NOT_SAID:
        return None
    try:
        text = _text(content)
        recipient = message.get("recipient")
        if role == "assistant" and isinstance(recipient, str) and recipient != "all":
            text = call_line({"name": recipient, "arguments": text}, "recipient")
        check_text(text, "content", limit)
    except Problem as problem:
        raise Problem(join(where, problem.field), problem.problem) from None
    if role == "system" and not text.strip():
        return None
    end = metadata.get("finish_details")
    kind = end.get("type") if isinstance(end, dict) else None
    return Message(role, text, _ENDS.get(kind) if role == "assistant" and isinstance(kind, str) else None)


def _text(content: Any) -> str:
    if content is None:
        return ""
    if not isinstance(content, dict):
        raise Problem("content", f"found {shown(content)}; expected an object with parts or text")
    parts = content.get("parts")
    if parts is None:
        text = next((content[key] for key in _TEXT_KEYS if isinstance(content.get(key), str)), None)
        return _placeholder(content) if text is None else text
    if not isinstance(parts, list):
        raise Problem("content.parts", f"found {shown(parts)}; expected a list")
    texts = []
    for index, part in enumerate(parts):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            said = part.get("text")  # the words of a recording
            texts.append(said if isinstance(said, str) else _placeholder(part))
        else:
            raise Problem(f"content.parts[{index}]", f"found {shown(part)}; expected text or an object")
    return "\n".join(text for text in texts if text)


def _placeholder(part: dict[str, Any]) -> str:
    kind = part.get("content_type")
    if not isinstance(kind, str) or not kind.isprintable() or len(kind) > 64:
        raise Problem("content.content_type", f"found {shown(kind)}; expected a short name such as text")
    return _PLACEHOLDERS.get(kind, f"[{kind}]")
