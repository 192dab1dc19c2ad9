"""Other people's client profiles: a file, or a folder with all that stands in it.

Read are our own format (YAML, ``ProfileFile``) and the JSON of other systems (``foreign.py``): one object a file, a
list of them, or an object of them by id.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from psysafe.clients.foreign import Record, plain, read_record
from psysafe.clients.foreign_file import objects, read_json
from psysafe.clients.profile import Profile, check_profile
from psysafe.taxonomy.problem import Problem, TaxonomyError, short

# Of ours: the names of folders that are known to name a group.
GROUPS = (
    "adolescence", "anxiety", "carers", "delusion", "depression", "eating_disorder", "grief", "loneliness", "mania",
    "ocd", "old_age", "partner_violence", "postpartum", "psychosis", "self_harm_risk", "substance_use", "trauma",
)  # fmt: skip

_YAML, _JSON = (".yaml", ".yml"), (".json",)
_EXPECTED = (
    "profiles: YAML files in psysafe's format, or JSON files with 'life_history' (or 'history') and 'core_beliefs' "
    "(or 'helpless_belief', 'unlovable_belief', 'worthless_belief')"
)
_NOT_KEPT = {
    "name": "'name' is not kept, since a client has no name here",
    "id": "'id' is not used, since ids are made from the names of files",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read.

    Attributes:
        profiles: by id, in the order of the files' names.
        benign: benign variants by the id of their person; profiles in our own format have one, others have none.
        notes: for the user, one line each: what was not read, not used, or looks wrong and was kept.
    """

    profiles: dict[str, Profile]
    benign: dict[str, Profile]
    notes: tuple[str, ...]


def load_profiles(path: Path) -> Loaded:
    """The profiles of a file, or of a folder and the folders in it.

    A profile's id is its file's name without the ending; in a list with its number after it (``clients-1``), in an
    object of several its key; the folder stands before it where two would be the same. The group of a JSON profile is
    the nearest folder that has a group's name, else the folder that it stands in, else the disorder that its beliefs
    are said to belong to, else ``unknown``. The name of ``path`` itself counts as a folder's only if it is a group's.

    Raises:
        TaxonomyError: lists every problem of every file; or there is no profile.
    """
    notes: list[str] = []
    problems: list[str] = []
    drafts: list[_Draft] = []
    root = path if path.is_dir() else path.parent
    for file in _files(path, notes, problems):
        try:
            drafts += _own(file, root) if file.suffix.lower() in _YAML else _foreign(file, root)
        except TaxonomyError as error:
            problems += error.problems
    if not drafts and not problems:
        problems.append("; ".join([f"{path}: found no profile", *notes, f"expected {_EXPECTED}"]))
    if problems:
        raise TaxonomyError(problems)
    loaded = Loaded({}, {}, (*notes, *_remarks(drafts)))
    for draft, name in zip(drafts, _ids([draft.names for draft in drafts]), strict=True):
        loaded.profiles[name] = draft.profile.model_copy(update={"id": name, "person": name})
        if draft.benign:
            loaded.benign[name] = draft.benign.model_copy(update={"id": f"{name}.benign", "person": name})
    return loaded


@dataclass(frozen=True, slots=True)
class _Draft:
    """A profile before its id is settled: ``names`` are those that it may take, the shortest first."""

    where: str
    names: tuple[str, ...]
    profile: Profile
    benign: Profile | None = None
    record: Record | None = None


def _files(path: Path, notes: list[str], problems: list[str]) -> list[Path]:
    """In alphabetical order; what is passed over is noted."""
    if not path.exists():
        raise TaxonomyError([f"{path}: there is no such file or folder; expected {_EXPECTED}"])
    if not path.is_dir():
        if path.suffix.lower() not in _YAML + _JSON:
            raise TaxonomyError([f"{path}: its name ends in none of .yaml, .yml and .json; expected {_EXPECTED}"])
        return [path]
    found: list[Path] = []
    others: list[Path] = []

    def unreadable(error: OSError) -> None:
        problems.append(f"{error.filename}: cannot be read: {error.strerror or error}")

    for folder, inner, names in os.walk(path, onerror=unreadable):
        here = Path(folder)
        hidden = [name for name in inner if name.startswith(".")]
        linked = [name for name in inner if name not in hidden and (here / name).is_symlink()]
        inner[:] = [name for name in inner if name not in hidden]
        others += [here / name for name in (*hidden, *linked)]
        for name in names:
            readable = Path(name).suffix.lower() in _YAML + _JSON and not name.startswith(".")
            (found if readable else others).append(here / name)
    if others:
        listed = _listed(sorted(other.relative_to(path).as_posix() for other in others))
        notes.append(f"not read, being neither .yaml, .yml nor .json, or hidden, or a link to a folder: {listed}")
    return sorted(found)


def _names(file: Path, root: Path, stem: str, entry: str = "") -> tuple[str, ...]:
    """The ids that a profile may take; the last is no other's."""
    inside = file.relative_to(root)
    folder = file.parent.resolve().name
    return tuple(
        f"{name}{entry}" for name in (stem, f"{folder}/{stem}", inside.with_suffix("").as_posix(), inside.as_posix())
    )


def _own(file: Path, root: Path) -> list[_Draft]:
    found = check_profile(file)
    where = file.relative_to(root).as_posix()
    profile, benign = (each.model_copy(update={"source": where}) for each in (found.profile(), found.benign_profile()))
    return [_Draft(where, _names(file, root, found.id), profile, benign)]


def _foreign(file: Path, root: Path) -> list[_Draft]:
    where = file.relative_to(root).as_posix()
    problems: list[Problem] = []
    drafts = []
    if file.stem.endswith(".benign"):
        said = "the name of a file must not end in .benign, which marks the benign variants; rename it"
        problems.append(Problem(said))
    for place, entry, value in objects(read_json(file), problems):
        record = read_record(value, place)
        problems += record.problems
        if record.problems:
            continue
        names = _names(file, root, file.stem, entry)
        if entry.startswith("/"):
            names = (entry[1:], *names)
        profile = Profile(id="", group=_group(file, root, record), **record.fields, source=where)
        drafts.append(_Draft(f"{where} ({place})" if place else where, names, profile, record=record))
    if problems:
        raise TaxonomyError([problem.at(file) for problem in problems])
    return drafts


def _group(file: Path, root: Path, record: Record) -> str:
    below = [plain(name) for name in file.relative_to(root).parent.parts]
    known = [name for name in (plain(root.resolve().name), *below) if name in GROUPS]
    said = next(iter(record.disorders.values()), "unknown")
    return (known or below or [said])[-1]


def _ids(names: Sequence[Sequence[str]]) -> list[str]:
    """One id for each: the first of its names that no other has."""
    taken = [0] * len(names)
    while True:
        ids = [own[at] for own, at in zip(names, taken, strict=True)]
        twice = {name for name, count in Counter(ids).items() if count > 1}
        if not twice:
            return ids
        for index, name in enumerate(ids):
            if name in twice:
                taken[index] = min(taken[index] + 1, len(names[index]) - 1)


def _remarks(drafts: Sequence[_Draft]) -> Iterator[str]:
    """What the records hold beside the profiles: each remark once, with the places that it is about."""
    places: dict[str, list[str]] = {}
    for draft in drafts:
        record = draft.record
        if record is None:
            continue
        if "language" not in record.fields:
            places.setdefault("no 'language', so the client writes in English", []).append(draft.where)
        for key in record.not_kept:
            places.setdefault(_NOT_KEPT[plain(key)], []).append(draft.where)
        for key in dict.fromkeys(record.unknown):
            places.setdefault(f"unknown key '{short(key)}', not used", []).append(draft.where)
        for key, disorder in record.disorders.items():
            if disorder != draft.profile.group:
                said = f"'{short(key)}' in the group {draft.profile.group}, kept as beliefs in the bad phase"
                places.setdefault(said, []).append(draft.where)
    return (f"{said}: {_listed(where)}" for said, where in places.items())


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
