"""The text of a message: strings, lists of parts, refusals and tool calls become one string.

Nothing that a model said is dropped. What has no text leaves a placeholder, so that a judge knows it was
there.
"""

from __future__ import annotations

from typing import Any

import orjson

from psysafe.conversation.problems import Problem, shown

# type of a part -> the key that holds its text
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_PLACEHOLDERS = {
    **dict.fromkeys(("image", "image_url", "image_file", "input_image", "output_image"), "[image]"),
    **dict.fromkeys(("audio", "audio_url", "input_audio", "output_audio"), "[audio]"),
    **dict.fromkeys(("file", "input_file", "output_file"), "[file]"),
}
_MAX_TYPE_CHARS = 64


def check_characters(text: str, field: str) -> str:
    """``text`` itself, or a ``Problem`` if it holds what cannot be stored and sent everywhere."""
    if "\0" in text:
        where = text.index("\0") + 1
        raise Problem(field, f"found a NUL character at position {where:,}; expected text, so remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Problem(
                field,
                f"found a lone surrogate U+{ord(text[error.start]):04X} at position {error.start + 1:,}; "
                "expected Unicode text (it is half of a character that was cut in two)",
            ) from None
    return text


def check_text(text: str, field: str, limit: int) -> str:
    """``text`` itself, or a ``Problem`` if it is longer than ``limit`` characters or holds unusable ones."""
    if len(text) > limit:
        raise Problem(field, f"found {len(text):,} characters; expected at most {limit:,} (max_message_chars)")
    return check_characters(text, field)


def message_text(message: dict[str, Any]) -> str:
    """The text of an OpenAI-style message; its characters are checked, its length is not.

    Raises:
        Problem: the content is neither a string, null nor a list of parts, or a part or tool call is
            malformed.
    """
    content = message.get("content")
    refusal = message.get("refusal")
    calls = _tool_calls(message)
    if isinstance(refusal, str):
        check_characters(refusal, "refusal")
    elif refusal is not None:
        raise Problem("refusal", f"found {shown(refusal)}; expected text or null")
    if isinstance(content, str):
        text = check_characters(content, "content")
    elif isinstance(content, list):
        text = "\n".join([_part_text(part, f"content[{i}]") for i, part in enumerate(content)])
    elif content is not None:
        raise Problem("content", f"found {shown(content)}; expected text, null or a list of parts")
    elif "content" not in message and refusal is None and not calls:
        # absent is not null: it is more likely a misspelt key than an empty reply
        raise Problem("content", "missing; expected text, null or a list of parts")
    else:
        text = ""
    return "\n".join([text for text in (text, refusal, *calls) if text])


def _part_text(part: object, path: str) -> str:
    if not isinstance(part, dict):
        raise Problem(path, f"found {shown(part)}; expected an object with a type, such as a text part")
    kind = part.get("type")
    if not isinstance(kind, str) or not 0 < len(kind) <= _MAX_TYPE_CHARS or not kind.isprintable():
        found = shown(kind) if "type" in part else "nothing"
        raise Problem(f"{path}.type", f"found {found}; expected a short name such as text or image_url")
    if kind not in _TEXT_PARTS:
        return _PLACEHOLDERS.get(kind, f"[{kind}]")
    key = _TEXT_PARTS[kind]
    text = part.get(key)
    if not isinstance(text, str):
        found = shown(text) if key in part else "nothing"
        raise Problem(f"{path}.{key}", f"found {found}; expected text")
    return check_characters(text, f"{path}.{key}")


def _tool_calls(message: dict[str, Any]) -> list[str]:
    """One line per tool call, in order. ``function_call`` is the older form of a single call."""
    lines = []
    calls = message.get("tool_calls")
    if calls is not None:
        if not isinstance(calls, list):
            raise Problem("tool_calls", f"found {shown(calls)}; expected a list or null")
        for i, call in enumerate(calls):
            path = f"tool_calls[{i}]"
            if not isinstance(call, dict):
                raise Problem(path, f"found {shown(call)}; expected an object with a function")
            if "function" not in call and "name" in call:
                lines.append(call_line(call, path))  # some servers leave the wrapper out
            else:
                kind = "custom" if "custom" in call else "function"
                lines.append(call_line(call.get(kind), f"{path}.{kind}"))
    if message.get("function_call") is not None:
        lines.append(call_line(message["function_call"], "function_call"))
    return lines


def call_line(call: object, path: str) -> str:
    """``[tool call: name(arguments)]``."""
    if not isinstance(call, dict):
        raise Problem(path, f"found {shown(call)}; expected an object with a name and arguments")
    name = call.get("name")
    if not isinstance(name, str):
        raise Problem(f"{path}.name", f"found {shown(name)}; expected text")
    arguments = call.get("arguments", call.get("input"))
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):
        # OpenAI sends JSON as text, Ollama and Hugging Face send the object
        try:
            arguments = orjson.dumps(arguments).decode()
        except TypeError:
            raise Problem(f"{path}.arguments", f"found {shown(arguments)}; expected text or JSON") from None
    return check_characters(f"[tool call: {name}({arguments})]", path)
