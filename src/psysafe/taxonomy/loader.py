"""Dimensions from YAML files: ours, and a user's own."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from psysafe.errors import UsageError
from psysafe.taxonomy.cell import CATEGORIES
from psysafe.taxonomy.dimension import Dimension, is_identifier
from psysafe.taxonomy.problem import Problem, TaxonomyError
from psysafe.taxonomy.schema import dimension_of
from psysafe.taxonomy.source import Source, Unreadable, parse

# Ours, in the order in which they are shown.
SHIPPED = (
    "privacy_violation",
    "discriminatory_behaviour",
    "mental_manipulation",
    "psychological_harm",
    "insulting_behaviour",
    "crisis_response",
    "over_intervention",
)


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
    """The dimensions of a user's folder: every ``*.yaml`` and ``*.yml`` in it, by name of file. Files that are named
    like one of the categories hold ladders, and are read by ``load_grid``.

    Raises:
        TaxonomyError: lists every problem of every file, or says that there is no file.
    """
    if not directory.is_dir():
        raise TaxonomyError([f"{directory}: not a folder; expected one that holds a YAML file per dimension"])
    # Names that begin with a dot are the system's or an editor's.
    paths = sorted(path for path in directory.iterdir() if _SUFFIX.search(path.name) and path.name[0] != ".")
    if not paths:
        raise TaxonomyError([f"{directory}: holds no .yaml file; expected one per dimension"])
    return _load([path for path in paths if path.stem not in CATEGORIES])


# Some editors add .txt to the name; such a file is complained of, for nobody would notice that it is not read.
_SUFFIX = re.compile(r"\.ya?ml(\.txt)?$", re.IGNORECASE)


@cache
def _ours() -> dict[str, Dimension]:
    return _load([shipped_file(name) for name in SHIPPED])


def shipped_file(name: str) -> Traversable:
    """The YAML file of one of our dimensions."""
    return files("psysafe.taxonomy") / "data" / f"{name}.yaml"


def _load(paths: Sequence[Path | Traversable]) -> dict[str, Dimension]:
    dimensions: dict[str, Dimension] = {}
    places: dict[str, str] = {}
    problems: list[str] = []
    names = {path.name for path in paths}
    for path in paths:
        found = _read(path, names)
        if isinstance(found, Dimension) and found.id in dimensions:
            said = f"{places[found.id]} has the id '{found.id}' too; delete one of the two files"
            found = [Problem(said, place="id")]
        if isinstance(found, Dimension):
            dimensions[found.id] = found
            places[found.id] = path.name
        else:
            problems += [problem.at(path) for problem in found]
    if problems:
        raise TaxonomyError(problems)
    return dimensions


def _read(path: Path | Traversable, names: Set[str]) -> Dimension | list[Problem]:
    if path.name.lower().endswith(".txt"):
        return [Problem(f"the name of the file ends in .txt; rename it to {path.name[:-4]}")]
    try:
        source = parse(path.read_bytes())
    except Unreadable as error:
        return [error.problem]
    except OSError as error:
        return [Problem(f"cannot be read: {error.strerror or error}")]
    found = dimension_of(source)
    misnamed = _misnamed(source, path.name, names)
    if not misnamed:
        return found
    return [misnamed, *(found if isinstance(found, list) else [])]


def _misnamed(source: Source, name: str, names: Set[str]) -> Problem | None:
    """The complaint about a good id that is not the name of its file; ``names`` are those of all files."""
    found = source.data.get("id") if isinstance(source.data, dict) else None
    stem, suffix = name.rsplit(".", 1)
    if not is_identifier(found) or stem == found:
        return None
    said = f"the file is named {name}, but its id is {found}; one of them must be renamed"
    ways = [f"the file to {found}.{suffix}"] if f"{found}.{suffix}" not in names else []
    ways += [f"the id to {stem}"] if is_identifier(stem) else []
    said += f": {', or '.join(ways)}" if ways else f" ({found}.{suffix} is another file of this folder)"
    return Problem(said, source.find(["id"])[0], place="id")
