"""A YAML file as a pydantic model, or every problem of it with its line and in plain words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from psysafe.taxonomy.problem import Problem, TaxonomyError, short
from psysafe.taxonomy.source import Source, Unreadable, parse
from psysafe.taxonomy.values import describe, wrong_text

Model = TypeVar("Model", bound=BaseModel)


class Misplaced(ValueError):
    """What a validator of a model finds wrong at another place than its own."""

    def __init__(self, loc: Sequence[str | int], text: str) -> None:
        super().__init__(text)
        self.loc = tuple(loc)


def read_typed(path: Path | Traversable, model: type[Model], ids: Collection[str] | None = None) -> Model:
    """The model that a file holds; its field ``id`` must be the name of the file, since files are found by name.

    Args:
        ids: those that there may be; None for any.

    Raises:
        TaxonomyError: lists every problem of the file.
    """
    try:
        source = parse(path.read_bytes())
    except Unreadable as error:
        raise TaxonomyError([error.problem.at(path)]) from None
    except OSError as error:
        raise TaxonomyError([Problem(f"cannot be read: {error.strerror or error}").at(path)]) from None
    if source.root is None or source.data is None:
        raise TaxonomyError([Problem("the file is empty").at(path)])
    problems = list(source.losses)
    found: Model | None = None
    try:
        found = model.model_validate(source.data)
    except ValidationError as error:
        found_wrong = (_problem(source, entry) for entry in error.errors(include_url=False))
        problems += [problem for problem in found_wrong if problem is not None]
    identifier = getattr(found, "id", None)
    if identifier is not None and (said := _wrong_id(path.name, identifier, ids)):
        problems.append(Problem(said, source.find(["id"])[0], place="id"))
    if found is None or problems:
        problems.sort(key=lambda problem: problem.line or 0)
        raise TaxonomyError([problem.at(path) for problem in problems])
    return found


def _wrong_id(name: str, identifier: str, ids: Collection[str] | None) -> str | None:
    if ids is not None and identifier not in ids:
        return f"unknown id '{short(identifier)}'; expected one of {', '.join(ids)}"
    if name.rsplit(".", 1)[0] != identifier:
        return f"the file is named {name}, but its id is {identifier}; rename one of them"
    return None


_EXPECTED = {
    "dict_type": "fields, a name and a colon each",
    "model_type": "fields, a name and a colon each",
    "tuple_type": "a list, with a dash and a space before each entry",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "greater_than_equal": "a number from {ge} up",
    "less_than_equal": "at most {le}",
    "too_long": "at most {max_length}",
    "string_pattern_mismatch": "small letters a-z, digits and _, a letter first",
}


def _problem(source: Source, entry: ErrorDetails) -> Problem | None:
    """What is wrong at a place; None where another problem is the cause."""
    kind, context = entry["type"], entry.get("ctx", {})
    loc = [part for part in entry["loc"] if isinstance(part, int) or not part.startswith("function-")]
    if isinstance(context.get("error"), Misplaced):
        loc += context["error"].loc
    if loc[-1:] == ["[key]"]:
        line, key = source.find(loc[:-1])[0], str(loc[-2])
        return Problem(f"found '{short(key)}'; expected {context['expected']}", line, place=_place(loc[:-2]))
    line, node = source.find(loc)
    if kind == "missing":
        return Problem("this field is missing", source.find(loc[:-1])[0], place=_place(loc))
    if kind == "extra_forbidden":
        return Problem(f"unknown field '{short(str(loc[-1]))}'; delete or rename it", line, place=_place(loc[:-1]))
    if kind == "value_error":
        text = str(context["error"])
    elif kind in ("string_type", "string_too_short"):
        text = wrong_text(node)
    elif kind == "too_short":
        count = len(node.value) if isinstance(node, yaml.SequenceNode) else 0
        if count >= context["min_length"]:  # pydantic counts the good entries only
            return None
        text = f"found {count}; expected at least {context['min_length']}"
    elif kind == "literal_error":
        close = get_close_matches(str(entry["input"]), [part.strip("'") for part in context["expected"].split(", ")], 1)
        text = f"found {describe(node)}; expected {context['expected']}"
        text += f" (perhaps {close[0]})" if close else ""
    else:
        text = f"found {describe(node)}; expected {_EXPECTED.get(kind, '').format(**context) or entry['msg']}"
    return Problem(text, line, place=_place(loc))


def _place(loc: Sequence[Any]) -> str:
    """``cells, blaming, ladder, entry 2``."""
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else str(part) for part in loc)
