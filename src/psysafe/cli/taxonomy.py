"""psysafe taxonomy"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Check your own dimensions.")


@app.callback()
def _group() -> None:
    pass


@app.command("check")
def check(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with one YAML file per dimension.")],
) -> int:
    """Check a folder of dimensions; every problem is named with its file and field."""
    from psysafe.cli.console import out
    from psysafe.judging.prompt import render
    from psysafe.taxonomy import check_directory

    found = check_directory(directory)
    for dimension in found.values():
        words = len(render(dimension).split())
        out().print(f"{dimension.id}: good, {words:,} words, hash {dimension.hash[:12]}")
    out().print(f"{len(found)} dimension{'' if len(found) == 1 else 's'}; use them with --taxonomy {directory}")
    return 0
