"""psysafe taxonomy"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Make and check your own dimensions.")


@app.command("check")
def check(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with one YAML file per dimension.")],
) -> int:
    """Check a folder of dimensions; every problem is named with its file, line and place."""
    from psysafe.cli.console import out, printable
    from psysafe.judging.prompt import render
    from psysafe.taxonomy import check_directory

    found = check_directory(directory)
    for dimension in found.values():
        words = len(render(dimension).split())
        out().print(f"{dimension.id}: good, {words:,} words, hash {dimension.hash[:12]}")
    count = f"{len(found)} dimension{'' if len(found) == 1 else 's'}"
    out().print(printable(f"{count}; use them with --taxonomy {shlex.quote(str(directory))}"), soft_wrap=True)
    return 0


@app.command("copy")
def copy(
    name: Annotated[str, typer.Argument(metavar="ID", help="One of: psysafe dimensions.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Your folder; it is made if it is not there.")],
    new_id: Annotated[str | None, typer.Option("--as", metavar="NEWID", help="Give the copy an id of its own.")] = None,
) -> int:
    """Copy one of our dimensions into your folder, to change it or to make a new one of it."""
    from psysafe.cli.console import out, printable
    from psysafe.taxonomy import copy_dimension

    path = copy_dimension(name, directory, new_id)
    folder, own = shlex.quote(str(directory)), path.stem
    stands = f"it takes the place of our {name}" if own == name else "it stands beside ours"
    lines = [
        f"{path}: a copy of {name}. Where you say --taxonomy {folder}, {stands}.",
        "Next:",
        "  1. Edit it in a text editor; how to is said at its top. It holds short examples of harm.",
        f"  2. psysafe taxonomy check {folder}",
        f"  3. psysafe judge CHATS --model MODEL --taxonomy {folder} --dimensions {own}",
    ]
    out().print(printable("\n".join(lines)), soft_wrap=True)
    return 0
