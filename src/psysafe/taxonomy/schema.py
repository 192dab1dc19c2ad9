"""A dimension from the values of a file, or every problem of them in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from psysafe.taxonomy.dimension import Anchor, Dimension, Example, NearMiss, Scale, misfits
from psysafe.taxonomy.places import place
from psysafe.taxonomy.problem import Problem, short
from psysafe.taxonomy.source import Loc, Source
from psysafe.taxonomy.values import describe, wrong_text

_Model = TypeVar("_Model", bound=BaseModel)

# The fields at a place, by the names on the way to it.
_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): Dimension,
    ("scale",): Scale,
    ("anchors",): Anchor,
    ("anchors", "examples"): Example,
    ("near_misses",): NearMiss,
}


def dimension_of(source: Source) -> Dimension | list[Problem]:
    """The dimension that a file holds, or its problems in the order of its lines."""
    if source.root is None or source.data is None:
        return [Problem("the file is empty; expected a dimension")]
    found = list(source.losses)
    try:
        dimension = Dimension.model_validate(source.data)
    except ValidationError as error:
        found += _problems(source, error.errors(include_url=False))
    else:
        if not found:
            return dimension
    return sorted(found, key=lambda problem: problem.line or 0)


def _problems(source: Source, errors: list[ErrorDetails]) -> Iterator[Problem]:
    said: dict[Loc, str] = {}
    missing: dict[Loc, list[str]] = {}
    unknown: dict[Loc, list[str]] = {}
    for entry in errors:
        loc, kind = entry["loc"], entry["type"]
        if kind == "missing":
            missing.setdefault(loc[:-1], []).append(str(loc[-1]))
        elif kind == "extra_forbidden":
            unknown.setdefault(loc[:-1], []).append(str(loc[-1]))
        elif loc or kind != "value_error":
            # a near miss's level has an error for each of the two kinds that it may be
            loc = loc[:3] if loc[:1] == ("near_misses",) else loc
            text = _wrong(source, entry, loc)
            if text:
                said.setdefault(loc, text)
    said.update(_misfits(source.data))
    for loc, names in unknown.items():
        for name in names:
            text = _unknown(name, _names(loc), missing.get(loc, []))
            yield Problem(text, source.find((*loc, name))[0], place=place(loc, source.data))
    for loc, absent in missing.items():
        for name in absent:
            yield Problem("this field is missing", source.find(loc)[0], place=place((*loc, name), source.data))
    for loc, text in said.items():
        yield Problem(text, source.find(loc)[0], place=place(loc, source.data))


def _wrong(source: Source, entry: ErrorDetails, loc: Loc) -> str | None:
    """What was found and what is expected, for a field that is there; None where that is good after all."""
    kind, context = entry["type"], entry.get("ctx", {})
    node = source.find(loc)[1]
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        # pydantic counts the good entries only
        count = len(node.value) if isinstance(node, yaml.SequenceNode) else 0
        return f"found {count}; expected at least {context['min_length']}" if count < context["min_length"] else None
    if loc[-1:] in (("id",), ("group",)):
        expected = "small letters a-z, digits and _, 2 to 64 of them, a letter first, such as my_harm"
    elif kind in ("string_type", "string_too_short"):
        return wrong_text(node)
    elif kind == "tuple_type":
        expected = "a list, with a dash and a space before each entry"
    elif kind in ("model_type", "model_attributes_type"):
        expected = f"the fields {', '.join(_names(loc))}"
    elif loc == ("version",):
        expected = "a whole number from 1"
    elif loc[-1:] == ("level",):
        scale = _part(Scale, source.data.get("scale"))
        may_not_apply = loc[0] == "near_misses" and _may_not_apply(source.data)
        expected = scale.in_words(may_not_apply=may_not_apply) if scale else "a level of the scale"
    elif kind.startswith(("int_", "finite_")):
        expected = "a whole number, such as 2"
    else:
        expected = "a text"
    return f"found {describe(node)}; expected {expected}"


def _unknown(name: str, known: list[str], missing: list[str]) -> str:
    """An unknown field and what it may have been meant to be; a missing one is struck off the list."""
    text = f"unknown field '{short(name)}'"
    plain = name.strip().casefold().replace(" ", "_").replace("-", "_")
    for close in get_close_matches(plain, missing, 1):
        missing.remove(close)
        return f"{text}; rename it to '{close}', which is missing"
    for close in get_close_matches(plain, known, 1):
        return f"{text}; the closest known field is '{close}'"
    return f"{text}; the fields here are {', '.join(known)}"


def _names(loc: Loc) -> list[str]:
    model = _MODELS.get(tuple(part for part in loc if isinstance(part, str)))
    return list(model.model_fields) if model else []


def _misfits(data: Any) -> dict[Loc, str]:
    """What does not fit together in those parts that are good by themselves."""
    scale = _part(Scale, data.get("scale")) if isinstance(data, dict) else None
    if scale is None:
        return {}
    anchors, near_misses = data.get("anchors"), data.get("near_misses")
    return dict(
        misfits(
            scale,
            [_part(Anchor, anchor) for anchor in anchors] if isinstance(anchors, list) else [None],
            [_part(NearMiss, miss) for miss in near_misses] if isinstance(near_misses, list) else [],
            _may_not_apply(data),
        )
    )


def _may_not_apply(data: Any) -> bool:
    return isinstance(data, dict) and data.get("not_applicable") is not None


def _part(model: type[_Model], value: Any) -> _Model | None:
    try:
        return model.model_validate(value)
    except ValidationError:
        return None
