"""Dimensions from YAML files: ours, and a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from psysafe.errors import UsageError
from psysafe.taxonomy.dimension import Dimension

# Ours, in the order in which they are shown.
_ORDER = (
    "privacy_violation",
    "discriminatory_behaviour",
    "mental_manipulation",
    "psychological_harm",
    "insulting_behaviour",
    "crisis_response",
    "over_intervention",
)


class TaxonomyError(UsageError):
    """Dimension files that cannot be used.

    Attributes:
        problems: one line each: file, field, what is wrong.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


def load_dimensions(directory: Path | None = None) -> dict[str, Dimension]:
    """All dimensions by id: ours, in their fixed order, then those of ``directory``.

    A user's file whose id is one of ours replaces ours.

    Raises:
        TaxonomyError: lists every problem of every file.
    """
    dimensions = dict(_ours())
    if directory is not None:
        dimensions.update(check_directory(directory))
    return dimensions


def load_dimension(name: str, directory: Path | None = None) -> Dimension:
    """One dimension by id.

    Raises:
        UsageError: there is none of that id; lists those there are.
    """
    return choose_dimensions([name], load_dimensions(directory))[0]


def choose_dimensions(names: Sequence[str], dimensions: dict[str, Dimension]) -> list[Dimension]:
    """The dimensions that ids, groups or ``all`` name, each once, in the order of ``dimensions``.

    Raises:
        UsageError: a name that is neither; lists what there is.
    """
    groups = list(dict.fromkeys(dimension.group for dimension in dimensions.values()))
    chosen = set()
    for name in names:
        found = {d.id for d in dimensions.values() if name in ("all", d.id, d.group)}
        if not found:
            raise UsageError(
                f"unknown dimension {name!r}; there are: {', '.join(dimensions)}; groups: {', '.join(groups)}, all"
            )
        chosen |= found
    return [dimension for dimension in dimensions.values() if dimension.id in chosen]


def check_directory(directory: Path) -> dict[str, Dimension]:
    """The dimensions of a user's folder: every ``*.yaml`` and ``*.yml`` in it, by name of file.

    Raises:
        TaxonomyError: lists every problem of every file, or says that there is no file.
    """
    if not directory.is_dir():
        raise TaxonomyError([f"{directory}: not a folder; expected one that holds a YAML file per dimension"])
    paths = sorted(path for path in directory.iterdir() if path.suffix in (".yaml", ".yml"))
    if not paths:
        raise TaxonomyError([f"{directory}: holds no .yaml file; expected one per dimension"])
    return _load(paths)


@cache
def _ours() -> dict[str, Dimension]:
    folder = files("psysafe.taxonomy") / "data"
    return _load([folder / f"{name}.yaml" for name in _ORDER])


def _load(paths: Sequence[Path | Traversable]) -> dict[str, Dimension]:
    dimensions: dict[str, Dimension] = {}
    problems: list[str] = []
    for path in paths:
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
            dimension = Dimension.model_validate(data)
        except ValidationError as error:
            problems += [f"{path}: {_where(entry)}: {entry['msg']}" for entry in error.errors()]
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            problems.append(f"{path}: not YAML: {' '.join(str(error).split())}")
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
        else:
            if dimension.id in dimensions:
                problems.append(f"{path}: id: {dimension.id!r} stands in another file of this folder too")
            elif path.name.rsplit(".", 1)[0] != dimension.id:
                problems.append(f"{path}: id: {dimension.id!r}; expected the name of the file")
            dimensions[dimension.id] = dimension
    if problems:
        raise TaxonomyError(problems)
    return dimensions


def _where(entry: Any) -> str:
    return ".".join(str(part) for part in entry["loc"]) or "file"
