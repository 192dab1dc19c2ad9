"""One record of an input becomes a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from psysafe.conversation.content import check_text
from psysafe.conversation.export_shapes import read_export
from psysafe.conversation.identifiers import identifier
from psysafe.conversation.messages import check_messages, has_reply, read_finish, read_messages
from psysafe.conversation.problems import Problem, shown
from psysafe.conversation.types import METADATA_KEY, RESERVED_KEYS, Conversation, Message, Role

MAX_MESSAGE_CHARS = 1_000_000
# far below the 254 levels that orjson writes, so that what was read can be exported inside other objects
_MAX_METADATA_DEPTH = 100

_PROMPT_KEYS = ("prompt", "user")
_REPLY_KEYS = ("response", "reply", "completion")
_ABOUT_REPLY = ("finish_reason", "judged_message")
_EXPECTED = "an object with messages (a list), or with prompt and response (reply, completion)"
_EXPECTED_PROMPT = (
    "an object with messages (a list), or with prompt (user) and, if there is one, response (reply, completion)"
)
_NO_REPLY = "found without an assistant message; expected one, or leave it out"


def parse_record(
    obj: object,
    *,
    file: str,
    line: int | None,
    default_id: str,
    max_message_chars: int = MAX_MESSAGE_CHARS,
    path: str = "",
    need_reply: bool = True,
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
        need_reply: False reads as well what waits for a reply: messages without one of the assistant, or a
            prompt alone.

    Returns:
        A conversation with at least one message, with ``need_reply`` at least one of the assistant. An empty or
        blank reply is accepted: it is a failed reply, and judging says so.

    Raises:
        InputError: with file, line, the field's path, what was found and what was expected.
    """
    try:
        return convert(obj, default_id, max_message_chars, need_reply=need_reply)
    except Problem as problem:
        raise problem.at(file, line, path) from None


def convert(obj: object, default_id: str, limit: int, *, need_reply: bool) -> Conversation:
    """``parse_record`` for the readers: defects are ``Problem``s with paths relative to the record."""
    if isinstance(obj, list):
        return Conversation(default_id, tuple(read_messages(obj, "", limit, need_reply=need_reply)))
    if not isinstance(obj, dict):
        raise Problem("", f"found {shown(obj)}; expected {_EXPECTED if need_reply else _EXPECTED_PROMPT}")
    if "messages" in obj:
        messages = read_messages(obj["messages"], "messages", limit, need_reply=need_reply)
        used = RESERVED_KEYS
    elif (found := read_export(obj, default_id, limit, need_reply=need_reply)) is not None:
        metadata = {key: value for key, value in found.metadata.items() if key not in _ABOUT_REPLY}
        if obj.get("finish_reason") is not None:
            _set_last_finish(found.messages, obj)
        return assemble(found.id, found.messages, metadata, obj.get("judged_message"), need_reply=need_reply)
    else:
        messages, used = _pair(obj, limit, need_reply)
    if obj.get("finish_reason") is not None:
        _set_last_finish(messages, obj)
    name = identifier(obj["id"]) if "id" in obj else default_id
    metadata = {key: value for key, value in obj.items() if key not in used}
    if METADATA_KEY in obj:
        _unpack_metadata(obj[METADATA_KEY], metadata)
    return assemble(name, messages, metadata, obj.get("judged_message"), need_reply=need_reply)


def assemble(
    name: str, messages: Sequence[Message], metadata: dict[str, Any], judged: Any, *, need_reply: bool
) -> Conversation:
    """A conversation whose messages and id have been read.

    Raises:
        Problem: there is nothing to judge (without ``need_reply``: no message), ``judged`` is no assistant
            message, or the metadata is too deep.
    """
    check_messages(messages, "messages", need_reply=need_reply)
    if judged is not None:
        _check_judged(judged, messages)
    _check_depth(metadata)
    return Conversation(name, tuple(messages), metadata, judged)


def is_record(obj: object) -> bool:
    """Whether an object was meant as a record, as opposed to a message or a document that holds records."""
    return isinstance(obj, dict) and ("messages" in obj or any(key in obj for key in _REPLY_KEYS))


def has_prompt(obj: dict[str, Any]) -> bool:
    """Whether an object holds what a pair of prompt and reply begins with."""
    return any(key in obj for key in _PROMPT_KEYS)


def _pair(obj: dict[str, Any], limit: int, need_reply: bool) -> tuple[list[Message], frozenset[str]]:
    reply_key = _only_key(obj, _REPLY_KEYS)
    if reply_key is None and (need_reply or not has_prompt(obj)):
        names = shown(", ".join([key for key in islice(obj, 10) if isinstance(key, str)]))
        expected = _EXPECTED if need_reply else _EXPECTED_PROMPT
        raise Problem("", f"found an object with the keys {names}; expected {expected}")
    keys: list[tuple[str | None, Role]] = [
        ("system", "system"),
        (_only_key(obj, _PROMPT_KEYS), "user"),
        (reply_key, "assistant"),
    ]
    messages = []
    for key, role in keys:
        if key is None:
            continue
        text = obj.get(key)
        if text is None and role == "assistant":
            text = ""  # null, as in a message: the reply failed
        if text is None and role == "user" and reply_key is None:
            raise Problem(key, "found nothing; expected text, since there is no reply either")
        if text is None:
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
    if not has_reply(messages):
        raise Problem("finish_reason", _NO_REPLY)
    index = max(i for i, message in enumerate(messages) if message.role == "assistant")
    last = messages[index]
    if last.finish not in (None, finish):
        found = f"found {finish}, but messages[{index}] says {last.finish}"
        raise Problem("finish_reason", f"{found}; expected it once, or the same")
    messages[index] = Message(last.role, last.content, finish)


def _check_judged(judged: object, messages: Sequence[Message]) -> None:
    if not has_reply(messages):
        raise Problem("judged_message", _NO_REPLY)
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
