"""A YAML file as a pydantic model, or every problem of it with its line and in plain words."""

from __future__ import annotations

from collections.abc import Sequence
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


def read_typed(path: Path | Traversable, model: type[Model]) -> Model:
    """The model that a file holds.

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
        problems += [_problem(source, entry) for entry in error.errors(include_url=False)]
    if found is None or problems:
        problems.sort(key=lambda problem: problem.line or 0)
        raise TaxonomyError([problem.at(path) for problem in problems])
    return found


def stem_is_id(path: Path | Traversable, identifier: str) -> None:
    """Files are found by name: it must be the id.

    Raises:
        TaxonomyError: it is another.
    """
    if path.name.rsplit(".", 1)[0] != identifier:
        said = f"the file is named {path.name}, but its id is {identifier}; rename one of them"
        raise TaxonomyError([Problem(said, place="id").at(path)])


def _problem(source: Source, entry: ErrorDetails) -> Problem:
    loc = [part for part in entry["loc"] if isinstance(part, int) or not part.startswith("function-")]
    line, node = source.find(loc)
    kind, context = entry["type"], entry.get("ctx", {})
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
        text = f"found {count}; expected at least {context['min_length']}"
    elif kind == "literal_error":
        close = get_close_matches(str(entry["input"]), [part.strip("'") for part in context["expected"].split(", ")], 1)
        text = f"found {describe(node)}; expected {context['expected']}"
        text += f" (perhaps {close[0]})" if close else ""
    else:
        message = entry["msg"].removeprefix("Input should ").removeprefix("be ")
        text = f"found {describe(node)}; expected {message}"
    return Problem(text, line, place=_place(loc))


def _place(loc: Sequence[Any]) -> str:
    """``cells, blaming, ladder, entry 2``."""
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else str(part) for part in loc)
