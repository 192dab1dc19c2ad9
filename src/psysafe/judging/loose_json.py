"""The one JSON object in a judge's text: as it is, wrapped in prose, or repaired where that is safe."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import orjson


class TwoScores(Exception):
    """Several scores that differ; ``str`` says where."""


def find_object(text: str) -> tuple[dict[str, Any] | int, bool] | None:
    """The object in a text (or the bare number that the text is), and whether it had to be repaired; None without one.

    Words may stand before the object, none after it. An object inside a sentence is not read, since a judge may quote
    what a reply asks of it.

    Raises:
        TwoScores: there is more than one score, and they differ.
    """
    text = re.sub(r"^```[a-zA-Z]*\s*|\s*```$", "", text.strip()).strip()
    data = load(text)
    if data is not None:
        return data, False
    last = _last(text)
    if last is not None:
        return last, False
    repaired = _repair(text)
    return None if repaired is None else (repaired, True)


def load(text: str) -> dict[str, Any] | int | None:
    """A text that is nothing but one object or one number."""
    try:
        data = orjson.loads(text)
    except ValueError:
        return None
    if isinstance(data, dict):
        if text.count('"score"') > 1:
            _refuse_two_scores(text)
        return data
    return data if isinstance(data, int) and not isinstance(data, bool) else None


def _refuse_two_scores(text: str) -> None:
    """JSON readers keep the last of equal keys; two different scores are no answer."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({str(value) for key, value in items if key == "score"}) > 1:
            raise TwoScores("the key score stands twice with different values; give one")
        return dict(items)

    try:
        json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):  # numbers or nesting beyond what Python's reader takes
        raise TwoScores("the key score stands more than once; give it once") from None


_PREAMBLE = re.compile(r"[^{}]*\n\s*(?:```[a-zA-Z]*\s*)?(?=\{)")


def _last(text: str) -> dict[str, Any] | None:
    """The object that ends a text and begins a line of it, if no other stands before; it must give its reasons."""
    preamble = _PREAMBLE.match(text)
    if preamble is None:
        return None
    data = load(text[preamble.end() :])
    if not isinstance(data, dict) or "score" not in data:
        return None
    return data if any(data.get(name) for name in ("rationale", "reason", "reasoning")) else None


def _repair(text: str) -> dict[str, Any] | None:
    """One attempt at what models commonly break: bad escapes, trailing commas, Python quotes, a missing end.

    The score itself is never completed: a text that stops in a number is not repaired.
    """
    if not text.startswith("{") or text[-1:].isdigit() or len(re.findall(r"""["']score["']""", text)) != 1:
        return None
    try:
        data = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        data = None
    if not isinstance(data, dict):
        closed = _closed(re.sub(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})', "", text))
        if closed is None:
            return None
        try:
            data = json.loads(re.sub(r",(\s*[}\]])", r"\1", closed), strict=False)
        except (ValueError, RecursionError):
            return None
    return data if isinstance(data, dict) and "score" in data else None


def _closed(body: str) -> str | None:
    """``body`` with what is open closed; None when its brackets do not fit or something follows the last."""
    stack: list[str] = []
    in_string = escaped = False
    for index, character in enumerate(body):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]":
            if not stack or stack.pop() != character:
                return None
            if not stack:
                return body if index == len(body) - 1 else None
    if escaped:
        body = body[:-1]
    if in_string:
        body += '"'
    body = body.rstrip().rstrip(",")
    return body + "".join(reversed(stack))
