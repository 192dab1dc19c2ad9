"""Bodies with placeholders, and paths into answers: the two small languages of ``http:`` files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

_PLACEHOLDER = re.compile(r"\{\{\s*(\w*)\s*\}\}")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_STEP = re.compile(r'\.?([A-Za-z_][\w-]*)|\[(-?\d+)\]|\["([^"]+)"\]')

# Those that are not text stand alone: "{{messages}}", never "so far: {{messages}}".
WHOLE = frozenset({"messages", "temperature", "max_tokens", "seed"})
NAMES = frozenset({"message", "system", "session"}) | WHOLE


class Absent(Exception):
    """A path leads to nothing. ``str(error)`` says where it ends and what stands there, without any value."""


def strings_in(template: object) -> Iterator[tuple[str, str]]:
    """Every text of a template with its path (``.messages[0].text``)."""
    if isinstance(template, str):
        yield "", template
    elif isinstance(template, Mapping):
        for key, value in template.items():
            for path, text in strings_in(value):
                yield f".{key}{path}", text
    elif isinstance(template, list):
        for index, value in enumerate(template):
            for path, text in strings_in(value):
                yield f"[{index}]{path}", text


def placeholders(text: str, allowed: frozenset[str] = NAMES) -> set[str]:
    """The placeholders of a text.

    Raises:
        ValueError: one that is not known here, or one that must be the entire text and is not.
    """
    names = set(_PLACEHOLDER.findall(text))
    for name in sorted(names):
        if name not in allowed:
            known = ", ".join(f"{{{{{known}}}}}" for known in sorted(allowed)) or "no placeholder"
            raise ValueError(f"{{{{{name}}}}} is not known here; expected {known}")
        if name in WHOLE and not is_whole(text):
            raise ValueError(f"{{{{{name}}}}} is not text, so it must stand alone; expected only {{{{{name}}}}} there")
    return names


def is_whole(text: str) -> bool:
    """Whether a text is one placeholder and nothing else."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None


def variables(text: str) -> list[str]:
    """The names of the environment variables in a text."""
    return _VARIABLE.findall(text)


def with_variables(template: Any, value: Callable[[str], str]) -> Any:
    """The template with ``${NAME}`` replaced by ``value(NAME)``."""
    if isinstance(template, str):
        return _VARIABLE.sub(lambda match: value(match.group(1)), template)
    if isinstance(template, Mapping):
        return {key: with_variables(item, value) for key, item in template.items()}
    if isinstance(template, list):
        return [with_variables(item, value) for item in template]
    return template


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with its placeholders replaced; what they bring is never read as a template.

    A text that is one placeholder becomes its value, whatever type it has; if that is None, the key or list item
    that holds it is left out.
    """
    if isinstance(template, str):
        if whole := _PLACEHOLDER.fullmatch(template.strip()):
            return values[whole.group(1)]
        return _PLACEHOLDER.sub(lambda match: _text(values[match.group(1)]), template)
    if isinstance(template, Mapping):
        return {key: fill(item, values) for key, item in template.items() if not _left_out(item, values)}
    if isinstance(template, list):
        return [fill(item, values) for item in template if not _left_out(item, values)]
    return template


def fill_url(url: str, values: Mapping[str, Any]) -> str:
    """The URL with its placeholders replaced, percent-encoded."""
    return _PLACEHOLDER.sub(lambda match: quote(_text(values[match.group(1)]), safe=""), url)


def _left_out(item: object, values: Mapping[str, Any]) -> bool:
    whole = _PLACEHOLDER.fullmatch(item.strip()) if isinstance(item, str) else None
    return whole is not None and values[whole.group(1)] is None


def _text(value: object) -> str:
    return "" if value is None else str(value)


def parse_path(path: str) -> list[str | int]:
    """The steps of ``data.choices[0].text``; ``[-1]`` is the last item, ``["a.b"]`` any key, ``$`` the whole answer.

    Raises:
        ValueError: not such a path.
    """
    rest = path.strip()
    rest = rest[1:] if rest.startswith("$") else rest
    if not path.strip() or (rest.startswith(".") and path.strip() == rest):
        raise ValueError(f"{path!r} is not a path; expected something like data.choices[0].text")
    steps: list[str | int] = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise ValueError(f"{path!r} is not a path (at {rest[:20]!r}); expected something like data.choices[0].text")
        name, index, quoted = step.groups()
        steps.append(int(index) if index is not None else (name or quoted))
        rest = rest[step.end() :]
    return steps


def read_path(answer: Any, path: str) -> Any:
    """What stands at ``path`` of an answer.

    Raises:
        Absent: nothing does.
    """
    found, walked = answer, ""
    for step in parse_path(path):
        where = walked or "the answer"
        if isinstance(step, str):
            if not isinstance(found, dict):
                raise Absent(f"{where} is {_kind(found)}, so it has no {step}")
            if step not in found:
                keys = ", ".join(str(key)[:30] for key in list(found)[:10]) or "no keys"
                raise Absent(f"{where} has no {step} (it has {keys})")
            found, walked = found[step], f"{walked}.{step}" if walked else step
            continue
        if not isinstance(found, list):
            raise Absent(f"{where} is {_kind(found)}, so it has no [{step}]")
        if not -len(found) <= step < len(found):
            raise Absent(f"{where} has {len(found)} items, so no [{step}]")
        found, walked = found[step], f"{walked}[{step}]"
    return found


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            return "text"
        case bool():
            return "true or false"
        case _:
            return "a number"
