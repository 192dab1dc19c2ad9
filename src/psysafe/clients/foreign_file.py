"""The objects of a JSON file that may be profiles of another system."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from psysafe.clients.foreign import is_record
from psysafe.conversation.json_error import json_problem
from psysafe.conversation.reading import UTF8_BOM, wide_encoding
from psysafe.taxonomy.problem import Problem, TaxonomyError, short


def read_json(file: Path) -> Any:
    """The value that a file holds.

    Raises:
        TaxonomyError: it cannot be read, is no JSON, or says a thing twice.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise TaxonomyError([Problem(f"cannot be read: {error.strerror or error}").at(file)]) from None
    if said := wide_encoding(data[:4]):
        raise TaxonomyError([Problem(said).at(file)])
    data = data.removeprefix(UTF8_BOM)
    if not data.strip():
        raise TaxonomyError([Problem("the file is empty").at(file)])
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        return dict(items)

    try:
        orjson.loads(data)  # strict, and its errors are explained; it is silent about keys that stand twice
        value = json.loads(data, object_pairs_hook=pairs)
    except orjson.JSONDecodeError as error:
        line, said = json_problem(data, error)
        raise TaxonomyError([Problem(said, line).at(file)]) from None
    except RecursionError:
        raise TaxonomyError([Problem("too many brackets inside each other").at(file)]) from None
    if twice:
        said = "the key '{}' stands twice in one object, so that one of the two would be lost; delete one"
        raise TaxonomyError([Problem(said.format(short(key))).at(file) for key in dict.fromkeys(twice)])
    return value


def objects(value: Any, problems: list[Problem]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The objects of a document: place in words, what it adds to an id (``-1``, ``/key``), and the object."""
    if isinstance(value, dict) and is_record(value):
        yield "", "", value
        return
    if isinstance(value, list) and value:
        entries = [(f"entry {number}", f"-{number}", item) for number, item in enumerate(value, 1)]
    elif isinstance(value, dict) and any(isinstance(item, dict) and is_record(item) for item in value.values()):
        entries = [(short(key) or f"entry {n}", f"/{key}", item) for n, (key, item) in enumerate(value.items(), 1)]
    else:
        found = "an empty list" if value == [] else _shape(value)
        problems.append(Problem(f"found {found}; expected a profile, a list of profiles, or profiles by id"))
        return
    for place, entry, item in entries:
        key = entry[1:]
        if not key.strip() or not key.isprintable() or key.endswith(".benign"):
            said = "this key cannot be an id; expected one line of text that does not end in .benign"
            problems.append(Problem(said, place=place))
        elif isinstance(item, dict) and item:
            yield place, entry, item
        else:
            problems.append(Problem(f"found {_shape(item)}; expected a profile", place=place))


def _shape(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(short(key)) for key in list(value)[:8]) + (", …" if len(value) > 8 else "")
        return f"an object with the keys {keys}" if value else "an empty object"
    return {list: "a list", str: "a text", type(None): "null", bool: "yes or no"}.get(type(value), "a number")
