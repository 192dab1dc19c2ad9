"""One record of an input becomes a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from psysafe.conversation.content import check_text
from psysafe.conversation.export_shapes import read_export
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.messages import check_assistant, read_finish, read_messages
from psysafe.conversation.problems import Problem, shown
from psysafe.conversation.types import METADATA_KEY, RESERVED_KEYS, Conversation, Message, Role

MAX_MESSAGE_CHARS = 1_000_000
# far below the 254 levels that orjson writes, so that what was read can be exported inside other objects
_MAX_METADATA_DEPTH = 100

_PROMPT_KEYS = ("prompt", "user")
_REPLY_KEYS = ("response", "reply", "completion")
_ABOUT_REPLY = ("finish_reason", "judged_message")
_EXPECTED = "an object with messages (a list), or with prompt and response (reply, completion)"


def parse_record(
    obj: object,
    *,
    file: str,
    line: int | None,
    default_id: str,
    max_message_chars: int = MAX_MESSAGE_CHARS,
    path: str = "",
) -> Conversation:
    """Reads one decoded JSON record.

    Args:
        obj: one of

            - ``{"messages": [...]}`` in OpenAI's style, or the bare list. Of a message, role, content,
              finish_reason, refusal and tool calls are read; other keys (name, timestamps) are not kept;
            - ``{"prompt" or "user": text, "response", "reply" or "completion": text, "system": text}``, where
              all but the reply may be absent;
            - a conversation of ChatGPT's account export, or a logged call of an OpenAI-style API.

            ``id``, ``judged_message`` and ``finish_reason`` (of the last assistant message) are read in all
            objects; all other keys become metadata, untouched and in order.
        file: name of the input, for errors.
        line: 1-based line, for errors; None where the format has none.
        default_id: the id of a record that has none.
        max_message_chars: a longer message is an error.
        path: where the record stands in its document, such as ``conversations[2]``; errors start with it.

    Returns:
        A conversation with at least one assistant message. An empty or blank reply is accepted: it is a
        failed reply, and judging says so.

    Raises:
        InputError: with file, line, the field's path, what was found and what was expected.
    """
    try:
        return convert(obj, default_id, max_message_chars)
    except Problem as problem:
        raise problem.at(file, line, path) from None


def convert(obj: object, default_id: str, limit: int) -> Conversation:
    """``parse_record`` for the readers: defects are ``Problem``s with paths relative to the record."""
    if isinstance(obj, list):
        return Conversation(default_id, tuple(read_messages(obj, "", limit)))
    if not isinstance(obj, dict):
        raise Problem("", f"found {shown(obj)}; expected {_EXPECTED}")
    if "messages" in obj:
        messages, used = read_messages(obj["messages"], "messages", limit), RESERVED_KEYS
    elif (found := read_export(obj, default_id, limit)) is not None:
        metadata = {key: value for key, value in found.metadata.items() if key not in _ABOUT_REPLY}
        if obj.get("finish_reason") is not None:
            _set_last_finish(found.messages, obj)
        return assemble(found.id, found.messages, metadata, obj.get("judged_message"))
    else:
        messages, used = _pair(obj, limit)
    if obj.get("finish_reason") is not None:
        _set_last_finish(messages, obj)
    name = identifier(obj["id"]) if "id" in obj else default_id
    metadata = {key: value for key, value in obj.items() if key not in used}
    if METADATA_KEY in obj:
        _unpack_metadata(obj[METADATA_KEY], metadata)
    return assemble(name, messages, metadata, obj.get("judged_message"))


def assemble(name: str, messages: Sequence[Message], metadata: dict[str, Any], judged: Any) -> Conversation:
    """A conversation whose messages and id have been read.

    Raises:
        Problem: there is nothing to judge, ``judged`` is no assistant message, or the metadata is too deep.
    """
    check_assistant(messages, "messages")
    if judged is not None:
        _check_judged(judged, messages)
    _check_depth(metadata)
    return Conversation(name, tuple(messages), metadata, judged)


def is_record(obj: object) -> bool:
    """Whether an object was meant as a record, as opposed to a message or a document that holds records."""
    return isinstance(obj, dict) and ("messages" in obj or any(key in obj for key in _REPLY_KEYS))


def _pair(obj: dict[str, Any], limit: int) -> tuple[list[Message], frozenset[str]]:
    reply_key = _only_key(obj, _REPLY_KEYS)
    if reply_key is None:
        names = shown(", ".join([key for key in islice(obj, 10) if isinstance(key, str)]))
        raise Problem("", f"found an object with the keys {names}; expected {_EXPECTED}")
    keys: list[tuple[str | None, Role]] = [
        ("system", "system"),
        (_only_key(obj, _PROMPT_KEYS), "user"),
        (reply_key, "assistant"),
    ]
    messages = []
    for key, role in keys:
        text = obj.get(key) if key else None
        if text is None and role == "assistant":
            text = ""  # null, as in a message: the reply failed
        if text is None or key is None:
            continue
        if not isinstance(text, str):
            raise Problem(key, f"found {shown(text)}; expected text")
        messages.append(Message(role, check_text(text, key, limit)))
    return messages, (RESERVED_KEYS - {"messages"}) | {key for key, _ in keys if key}


def _only_key(obj: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    present = [key for key in keys if key in obj]
    if len(present) > 1:
        raise Problem(present[1], f"found beside {present[0]}; expected one of them, so rename the other")
    return present[0] if present else None


def _set_last_finish(messages: list[Message], obj: dict[str, Any]) -> None:
    finish = read_finish(obj["finish_reason"])
    index = max(i for i, message in enumerate(messages) if message.role == "assistant")
    last = messages[index]
    if last.finish not in (None, finish):
        found = f"found {finish}, but messages[{index}] says {last.finish}"
        raise Problem("finish_reason", f"{found}; expected it once, or the same")
    messages[index] = Message(last.role, last.content, finish)


def _check_judged(judged: object, messages: Sequence[Message]) -> None:
    expected = "expected the 0-based index of an assistant message"
    if not isinstance(judged, int) or isinstance(judged, bool):
        raise Problem("judged_message", f"found {shown(judged)}; {expected}")
    if not 0 <= judged < len(messages):
        raise Problem("judged_message", f"found {shown(judged)} with {len(messages)} messages; {expected}")
    if messages[judged].role != "assistant":
        found = f"found {judged}, where the role is {messages[judged].role}"
        raise Problem("judged_message", f"{found}; {expected}")


def _unpack_metadata(packed: object, metadata: dict[str, Any]) -> None:
    if not isinstance(packed, dict):
        raise Problem(METADATA_KEY, f"found {shown(packed)}; expected an object (as psysafe writes it)")
    for key, value in packed.items():
        if key in metadata:
            raise Problem(METADATA_KEY, f"holds {shown(key)}, which the record has as well; expected it once")
        metadata[key] = value


def _check_depth(metadata: dict[str, Any]) -> None:
    level: list[Any] = [value for value in metadata.values() if isinstance(value, (dict, list))]
    for _ in range(_MAX_METADATA_DEPTH + 1):
        if not level:
            return
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, (dict, list))
        ]
    raise Problem("", f"found metadata of more than {_MAX_METADATA_DEPTH} levels; expected a flatter record")
