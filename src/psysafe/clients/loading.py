"""The profiles that come with psysafe."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from psysafe.clients.profile import Profile, ProfileFile
from psysafe.taxonomy.typed import read_typed


@cache
def _files() -> tuple[ProfileFile, ...]:
    folder = files("psysafe.clients") / "profiles"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".yaml"))
    return tuple(read_typed(folder / name, ProfileFile) for name in names)


@cache
def shipped_profiles() -> dict[str, Profile]:
    """Ours by id, in alphabetical order; the benign variants are not among them."""
    return {found.id: found.profile() for found in _files()}


@cache
def benign_profiles() -> dict[str, Profile]:
    """The benign variant of each of ours, by the id of its person."""
    return {found.id: found.benign_profile() for found in _files()}
