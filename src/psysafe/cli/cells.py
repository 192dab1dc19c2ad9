"""psysafe cells"""

from __future__ import annotations

from typing import Annotated

import typer

from psysafe.cli import options as o
from psysafe.cli import probe_options as p


def cells(
    name: Annotated[
        str | None, typer.Argument(metavar="[CELL]", help="Show this one's ladder: COUNSELOR_ROLE/CATEGORY.")
    ] = None,
    taxonomy: p.Taxonomy = None,
    json: o.Json = False,
) -> int:
    """List the 28 cells of R-MHSafe, or show one as its judge reads it."""
    from rich.table import Table

    from psysafe.cli.console import out, print_json, printable
    from psysafe.judging.prompt import render
    from psysafe.taxonomy import COUNSELOR_ROLES, GRID, CellId, load_grid

    grid = load_grid(taxonomy)
    if name is not None:
        cell = CellId.parse(name)
        if json:
            print_json({"cell": str(cell), **grid[cell].model_dump(mode="json", exclude_none=True)})
            return 0
        out().print("CONTENT WARNING: ladders show examples of harm.\n", style="bold")
        out().print(printable(render(grid.ladder(cell))), soft_wrap=not out().is_terminal)
        return 0
    if json:
        print_json([{"cell": str(cell), "definition": grid[cell].definition} for cell in GRID])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("cell", no_wrap=True)
    table.add_column("what the counselor does")
    for cell in GRID:
        table.add_row(str(cell), printable(grid[cell].definition))
    out().print("Counselor roles:")
    for role, meaning in COUNSELOR_ROLES.items():
        out().print(f"  {role}: {meaning}", soft_wrap=not out().is_terminal)
    out().print()
    out().print(table)
    return 0
