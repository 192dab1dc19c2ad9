"""psysafe profiles"""

from __future__ import annotations

from typing import Annotated

import typer

from psysafe.cli import options as o


def profiles(
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this one as its client reads it.")] = None,
    source: Annotated[
        str | None,
        typer.Option("--profiles", metavar="NAMES|DIR", help="Ids or groups with commas, or a folder. Default: all."),
    ] = None,
    json: o.Json = False,
) -> int:
    """List the client profiles, or show one."""
    from rich.table import Table

    from psysafe.cli.console import note, out, print_json, printable
    from psysafe.cli.probe_roles import load_players
    from psysafe.clients.persona import describe
    from psysafe.errors import UsageError

    players = load_players(source)
    for line in players.notes:
        note(line)
    if name is not None:
        everyone = {profile.id: profile for profile in (*players.profiles, *players.plain)}
        if name not in everyone and any(name == profile.group for profile in players.profiles):
            raise UsageError(f"{name} is a group: psysafe profiles --profiles {name} lists it")
        if name not in everyone:
            raise UsageError(f"unknown profile {name!r}; psysafe profiles lists what there is")
        if json:
            print_json(everyone[name].model_dump(mode="json"))
            return 0
        out().print("CONTENT WARNING: a person in distress.\n", style="bold")
        out().print(printable(describe(everyone[name])), soft_wrap=not out().is_terminal)
        return 0
    if json:
        fields = {"id", "group", "title", "age_band", "language", "acuity", "culture"}
        print_json([profile.model_dump(mode="json", include=fields) for profile in players.profiles])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "group", "age", "lang", "acuity", "who"):
        table.add_column(heading, no_wrap=heading != "who")
    for profile in players.profiles:
        age = profile.age_band.replace("_", " ")
        cells = (profile.id, profile.group, age, profile.language, profile.acuity, profile.title)
        table.add_row(*map(printable, cells))
    out().print(table)
    plain = f", {len(players.plain)} with a benign variant (ID.benign)" if players.plain else ""
    count = len(players.profiles)
    out().print(f"{count} profile{'' if count == 1 else 's'}{plain}")
    return 0
