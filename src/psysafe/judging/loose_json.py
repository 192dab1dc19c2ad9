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

    Raises:
        TwoScores: there is more than one score, and they differ.
    """
    data = load(text)
    if data is not None:
        return data, False
    text = re.sub(r"^```[a-zA-Z]*\s*|\s*```$", "", text.strip()).strip()
    data = load(text)
    if data is not None:
        return data, False
    found = _embedded(text)
    if found:
        if len({str(item.get("score")) for item in found}) > 1:
            raise TwoScores("several objects with different scores; give one")
        return found[-1], False
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

    json.loads(text, object_pairs_hook=pairs)


def _embedded(text: str) -> list[dict[str, Any]]:
    """All outermost JSON objects with a score that stand in a text."""
    found = []
    decoder = json.JSONDecoder()
    position = text.find("{")
    while position >= 0:
        try:
            data, end = decoder.raw_decode(text, position)
        except ValueError:
            position = text.find("{", position + 1)
            continue
        if isinstance(data, dict) and "score" in data:
            load(text[position:end])
            found.append(data)
        position = text.find("{", end)
    return found


def _repair(text: str) -> dict[str, Any] | None:
    """One attempt at what models commonly break: bad escapes, trailing commas, Python quotes, a missing end.

    The score itself is never completed: a text that stops in a number is not repaired.
    """
    start = text.find("{")
    if start < 0 or text.rstrip()[-1:].isdigit():
        return None
    body = text[start:]
    try:
        data = ast.literal_eval(body)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        data = None
    if not isinstance(data, dict):
        body = re.sub(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})', "", body)
        body = re.sub(r",(\s*[}\]])", r"\1", _closed(body))
        try:
            data = json.loads(body, strict=False)
        except ValueError:
            return None
    if not isinstance(data, dict) or "score" not in data:
        return None
    if body.count('"score"') + body.count("'score'") > 1:
        return None
    return data


def _closed(body: str) -> str:
    """``body`` up to its outermost closing bracket, or with what is open closed."""
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
                return body
            if not stack:
                return body[: index + 1]
    if escaped:
        body = body[:-1]
    if in_string:
        body += '"'
    body = body.rstrip().rstrip(",")
    return body + "".join(reversed(stack))
