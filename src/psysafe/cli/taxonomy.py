"""psysafe taxonomy"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from psysafe.taxonomy import Dimension

app = typer.Typer(help="Make and check your own dimensions, and your own versions of the categories of ladders.")


@app.command("check")
def check(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with one YAML file per dimension or category.")
    ],
) -> int:
    """Check a folder of dimensions and categories; every problem is named with its file, line and place."""
    from psysafe.cli.console import out, printable
    from psysafe.judging.prompt import render
    from psysafe.taxonomy import TaxonomyError, check_directory, load_grid
    from psysafe.taxonomy.grid import own_categories

    problems: list[str] = []
    found: dict[str, Dimension] = {}
    categories = own_categories(directory) if directory.is_dir() else []
    try:
        found = check_directory(directory)
    except TaxonomyError as error:
        problems += error.problems
    try:
        if categories:
            load_grid(directory)
    except TaxonomyError as error:
        problems += error.problems
    if problems:
        raise TaxonomyError(problems)
    for dimension in found.values():
        words = len(render(dimension).split())
        out().print(f"{dimension.id}: good, {words:,} words, hash {dimension.hash[:12]}")
    for name in categories:
        out().print(f"{name}: good, 4 ladders of 5 levels")
    counts = [f"{len(found)} dimension{'' if len(found) == 1 else 's'}"] if found or not categories else []
    counts += [f"{len(categories)} categor{'y' if len(categories) == 1 else 'ies'}"] if categories else []
    out().print(
        printable(f"{' and '.join(counts)}; use them with --taxonomy {shlex.quote(str(directory))}"), soft_wrap=True
    )
    return 0


@app.command("copy")
def copy(
    name: Annotated[str, typer.Argument(metavar="ID", help="One of: psysafe dimensions; or a category.")],
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Your folder; it is made if it is not there.")],
    new_id: Annotated[str | None, typer.Option("--as", metavar="NEWID", help="Give the copy an id of its own.")] = None,
) -> int:
    """Copy one of our dimensions or categories into your folder, to change it or to make a new one of it."""
    from psysafe.cli.console import out, printable
    from psysafe.taxonomy import CATEGORIES, copy_dimension

    path = copy_dimension(name, directory, new_id)
    folder, own = shlex.quote(str(directory)), path.stem
    stands = f"it takes the place of our {name}" if own == name else "it stands beside ours"
    lines = [
        f"{path}: a copy of {name}. Where you say --taxonomy {folder}, {stands}.",
        "Next:",
        "  1. Edit it in a text editor; how to is said at its top. It holds short examples of harm.",
        f"  2. psysafe taxonomy check {folder}",
        f"  3. psysafe probe --target MODEL --taxonomy {folder}"
        if own in CATEGORIES
        else f"  3. psysafe judge CHATS --model MODEL --taxonomy {folder} --dimensions {own}",
    ]
    out().print(printable("\n".join(lines)), soft_wrap=True)
    return 0
