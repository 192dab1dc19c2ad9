"""From options to the cast of a probe: target, clients, strategist, judges, profiles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psysafe.errors import UsageError

if TYPE_CHECKING:
    from psysafe.clients.profile import Profile
    from psysafe.judging import ManagedJudge, Mechanism
    from psysafe.models import Limits, ManagedModel, Price
    from psysafe.probing.cast import Cast
    from psysafe.taxonomy import Grid


@dataclass(frozen=True, slots=True)
class Roles:
    """The models of a probe by model role."""

    target: ManagedModel
    clients: tuple[ManagedModel, ...]
    strategist: ManagedModel
    judge: ManagedJudge
    blind: ManagedModel

    def as_dict(self) -> dict[str, Sequence[Any]]:
        """For the manifest."""
        return {
            "target": [self.target],
            "client": list(self.clients),
            "strategist": [self.strategist],
            "judge": [self.judge],
            "blind_judge": [self.blind],
        }

    @property
    def models(self) -> list[Any]:
        """Each once."""
        return list({id(model): model for models in self.as_dict().values() for model in models}.values())


@dataclass(frozen=True, slots=True)
class Players:
    """Who is played: profiles in a fixed order, and benign variants; ``notes`` tell what was read otherwise."""

    profiles: tuple[Profile, ...]
    plain: tuple[Profile, ...]
    notes: tuple[str, ...] = ()


def load_roles(
    target: str,
    clients: Sequence[str],
    strategist: str | None,
    judge: str | None,
    blind: str | None,
    limits: Limits,
    price: Price | None,
    cache: bool,
    need_key: bool,
) -> Roles:
    """The models. A string that names several roles is one model; roles that are not named fall to the judge.

    Raises:
        UsageError: a model cannot be used, or the judge cannot read a ladder.
    """
    from psysafe.cli.console import keep_stdout
    from psysafe.cli.setup import MODEL_NAME, cache_path, model_names
    from psysafe.judging.classifier import Classifier
    from psysafe.judging.judges import ENSEMBLES, leaves, load_judge
    from psysafe.models import check_key_hosts, load_model

    if judge is None and not os.environ.get(MODEL_NAME, "").strip():
        raise UsageError(
            "no judge: name a language model with --judge (it also plays the clients unless --client names another), "
            f"or set {MODEL_NAME}. local plays every role without a key, slowly and badly: --judge local"
        )
    judge_name = judge or model_names([])[0]
    client_names = list(dict.fromkeys(clients)) or [_chat_part(judge_name)]
    names = [target, *client_names, strategist or client_names[0], judge_name, blind or _chat_part(judge_name)]
    keep_stdout(names)
    loaded: dict[str, ManagedModel] = {}

    def model(name: str) -> ManagedModel:
        if name not in loaded:
            found = load_model(name, limits, need_key=need_key)
            if price is not None and found.info.price is None:
                found = load_model(name, limits, price=price, need_key=need_key)
            if cache:
                from psysafe.models.cache import CachedModel

                found = CachedModel(found, cache_path())
            loaded[name] = found
        return loaded[name]

    read: ManagedJudge
    if judge_name.partition(":")[0] in ENSEMBLES:
        read = load_judge(judge_name, limits, price=price, need_key=need_key)
    else:
        read = model(judge_name)
    unfit = [leaf.name for leaf in leaves(read) if isinstance(leaf, Classifier) and leaf.chat is None]
    if unfit:
        raise UsageError(f"--judge {judge_name}: {unfit[0]} reads no ladder; name a language model, such as local")
    roles = Roles(model(target), tuple(map(model, client_names)), model(names[-3]), read, model(names[-1]))
    check_key_hosts(list(loaded.values()))
    return roles


def _chat_part(judge: str) -> str:
    """The first judge of a panel or cascade, which is asked where one chat model is wanted."""
    kind, _, rest = judge.partition(":")
    return rest.split("+")[0].split(",")[0].strip() if kind in ("panel", "cascade") else judge


def load_cells(names: str | None) -> tuple[str, ...] | None:
    """The cells of ``--cells``: cells, counselor roles or categories, with commas; None for all.

    Raises:
        UsageError: a name that is none of these.
    """
    if names is None:
        return None
    from psysafe.taxonomy import CATEGORIES, COUNSELOR_ROLES, GRID, CellId

    chosen = set()
    for name in (part.strip() for part in names.split(",") if part.strip()):
        if name in COUNSELOR_ROLES or name in CATEGORIES:
            chosen |= {cell for cell in GRID if name in (cell.role, cell.category)}
        else:
            try:
                chosen.add(CellId.parse(name))
            except UsageError as error:
                raise UsageError(f"--cells: {error}. Roles and categories may stand alone") from None
    if not chosen:
        raise UsageError("--cells is empty; expected cells (facilitator/blaming), counselor roles or categories")
    return tuple(str(cell) for cell in GRID if cell in chosen)


def load_players(names: str | None) -> Players:
    """The profiles of ``--profiles``: ids, groups or ``all`` with commas, or a folder or file of one's own.

    Raises:
        UsageError: a name that is neither; lists what there is.
    """
    from psysafe.clients.loading import benign_profiles, shipped_profiles

    if names is not None and (Path(names).exists() or names.endswith((".json", ".yaml", ".yml", "/"))):
        from psysafe.clients.importing import load_profiles

        found = load_profiles(Path(names))
        return Players(tuple(found.profiles.values()), tuple(found.benign.values()), tuple(found.notes))
    ours, plain = shipped_profiles(), benign_profiles()
    if names is None or names.strip() == "all":
        return Players(tuple(ours.values()), tuple(plain.values()))
    groups = sorted({profile.group for profile in ours.values()})
    chosen: list[str] = []
    for name in (part.strip() for part in names.split(",") if part.strip()):
        fitting = [profile.id for profile in ours.values() if name in (profile.id, profile.group)]
        if not fitting:
            from difflib import get_close_matches

            close = get_close_matches(name, [*ours, *groups], 1)
            hint = f", perhaps {close[0]}" if close else ""
            raise UsageError(
                f"unknown profile {name!r}{hint}. There are the groups {', '.join(groups)}; psysafe profiles lists "
                "all; a folder of your own is named by its path"
            )
        chosen += fitting
    if not chosen:
        raise UsageError("--profiles is empty; expected ids or groups with commas, or a folder")
    ids = [name for name in ours if name in set(chosen)]
    return Players(tuple(ours[name] for name in ids), tuple(plain[name] for name in ids))


def cast_of(roles: Roles, players: Players, grid: Grid, mechanism: Mechanism) -> Cast:
    """The cast of these."""
    from psysafe.judging.judges import check
    from psysafe.probing.cast import Cast
    from psysafe.taxonomy import GRID

    mechanism.check(grid.ladder(GRID[0]))
    check(roles.judge, mechanism)
    everyone = {profile.id: profile for profile in (*players.profiles, *players.plain)}
    return Cast(roles.target, roles.clients, roles.strategist, roles.judge, roles.blind, grid, everyone, mechanism)
