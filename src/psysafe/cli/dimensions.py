"""psysafe dimensions"""

from __future__ import annotations

from typing import Annotated

import typer

from psysafe.cli import options as o


def dimensions(
    name: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this one's whole rubric.")] = None,
    taxonomy: o.Taxonomy = None,
    json: o.Json = False,
) -> int:
    """List the dimensions, or show one as its judge reads it."""
    from rich.table import Table

    from psysafe.cli.console import out, print_json, printable
    from psysafe.judging.prompt import render
    from psysafe.taxonomy import choose_dimensions, load_dimensions

    known = load_dimensions(taxonomy)
    if name is not None:
        for dimension in choose_dimensions([name], known):
            if json:
                print_json(dimension.model_dump(mode="json"))
            else:
                out().print("CONTENT WARNING: rubrics show examples of harm.\n", style="bold")
                out().print(printable(render(dimension)), soft_wrap=not out().is_terminal)
        return 0
    if json:
        print_json([d.model_dump(mode="json", include={"id", "name", "group", "question"}) for d in known.values()])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "group", "scale", "question"):
        table.add_column(heading, no_wrap=heading in ("id", "group"))
    for dimension in known.values():
        scale = f"{dimension.scale.low}-{dimension.scale.high}" + (", n/a" if dimension.not_applicable else "")
        table.add_row(dimension.id, dimension.group, scale, printable(dimension.question))
    out().print(table)
    return 0
