"""A finished or half-finished probe as the source of another command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psysafe.cli.probe_roles import Players, Roles, cast_of, load_players, load_roles
from psysafe.errors import UsageError
from psysafe.probing.archive import Archive
from psysafe.probing.records import Trial
from psysafe.probing.settings import Settings
from psysafe.runs import Store
from psysafe.runs.trials import read_trials
from psysafe.taxonomy import Grid, load_grid

if TYPE_CHECKING:
    from psysafe.judging import Mechanism
    from psysafe.models import Limits, Price
    from psysafe.probing.cast import Cast


@dataclass(frozen=True)
class Probe:
    """A stored probe."""

    directory: Path
    store: Store
    manifest: dict[str, Any]
    grid: Grid
    players: Players

    @cached_property
    def settings(self) -> Settings:
        """As it was done."""
        return Settings.model_validate(self.manifest["probe"])

    @cached_property
    def trials(self) -> list[Trial]:
        """All its records."""
        return list(read_trials(self.store))

    @cached_property
    def archive(self) -> Archive:
        """The fold of its search."""
        return Archive.of([trial for trial in self.trials if trial.kind == "search"], self.settings.descriptor)

    @property
    def mechanism(self) -> Mechanism:
        """By which its ladder judge worked."""
        from psysafe.judging.mechanisms.registry import described

        return described(self.manifest["mechanism"])

    def roles(
        self, target: str, clients: Sequence[str], strategist: str | None, judge: str | None, blind: str | None,
        limits: Limits, price: Price | None, cache: bool, need_key: bool,
    ) -> Roles:  # fmt: skip
        """The models that are named, and for model roles that are not, those of the stored probe."""
        stored = self.manifest["models"]
        return load_roles(
            target,
            clients or list(stored["client"]),
            strategist or next(iter(stored["strategist"])),
            judge or next(iter(stored["judge"])),
            blind or next(iter(stored["blind_judge"])),
            limits, price, cache, need_key,
        )  # fmt: skip

    def cast(self, roles: Roles, mechanism: Mechanism | None = None) -> Cast:
        """The cast with these models."""
        return cast_of(roles, self.players, self.grid, mechanism or self.mechanism)


@contextmanager
def open_probe(directory: Path, taxonomy: Path | None, profiles: str | None) -> Iterator[Probe]:
    """A stored probe, with the ladders and profiles that it was done with.

    Raises:
        UsageError: it is no probe, or was done with other ladders or profiles than those given.
    """
    store = Store.open(directory)
    try:
        manifest = store.get("manifest") or {}
        if "probe" not in manifest:
            raise UsageError(f"{directory} is no probe; psysafe probe makes one")
        grid = load_grid(taxonomy)
        if grid.hash != manifest["taxonomy"]:
            raise UsageError(
                f"{directory} was done with other ladders: give its --taxonomy DIR, or do it anew with the present ones"
            )
        players = load_players(profiles)
        present = {profile.id: profile.hash for profile in (*players.profiles, *players.plain)}
        changed = [name for name, digest in manifest["profiles"].items() if present.get(name) != digest]
        if changed:
            raise UsageError(
                f"{directory} was done with other profiles ({', '.join(changed[:5])}): give its --profiles, or do it "
                "anew"
            )
        yield Probe(directory, store, manifest, grid, players)
    finally:
        store.close()
