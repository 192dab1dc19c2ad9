"""psysafe anchors"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.agreement.drift import Drift


def anchors(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that --anchors named.")],
    json: o.Json = False,
) -> int:
    """Show how the verdicts on a file of anchors have moved over time."""
    from rich.table import Table

    from psysafe.agreement.drift import history, served_text
    from psysafe.cli.console import out, print_json, printable, results
    from psysafe.errors import UsageError
    from psysafe.runs.anchors import anchor_folder, read_passes

    folder = anchor_folder(file)
    passes = read_passes(folder)
    if not passes:
        raise UsageError(f"{folder} holds no complete pass: judge with --anchors {file} first")
    told = history(passes)
    with results():
        if json:
            print_json([
                {"made": one.made, "run": str(one.directory), "judges": [drift.as_dict() for drift in of]}
                for one, of in told
            ])  # fmt: skip
            return 0
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("made", "judge", "served", "units", "new", "changed", "by itself", "mean score", ""):
            table.add_column(name, overflow="fold")
        for one, of in told:
            for drift in of:
                table.add_row(
                    one.made[:16], printable(f"{drift.model} {drift.mechanism}"),
                    printable(served_text(served)) if (served := one.served.get(drift.model)) else "-",
                    str(drift.units), str(drift.new), str(drift.changed) if drift.units else "-", _noise(drift),
                    "-" if drift.shift is None else f"{drift.shift:+.2f}", "MOVED" if drift.moved else "",
                )  # fmt: skip
        out().print(table)
    return 0


def _noise(drift: Drift) -> str:
    """What is known at a pass of what changes by itself: of repeats before it, and of what is new and was repeated."""
    tries = drift.repeats + drift.twice
    return f"{drift.noise + drift.unsteady} of {tries}" if tries else "-"
