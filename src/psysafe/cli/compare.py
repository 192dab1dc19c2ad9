"""psysafe compare"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.agreement.comparing import Compared, Comparison, System
    from psysafe.stats.comparison import Difference


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="The first model and mechanism is the baseline.")
    ],
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="Human labels: compare agreement with people, too.")
    ] = None,
    dimension: o.LabelDimension = None,
    label_scale: o.LabelScale = None,
    taxonomy: o.Taxonomy = None,
    draws: Annotated[int, typer.Option(min=100, max=1_000_000, help="Random exchanges of each test.")] = 1000,
    json: o.Json = False,
) -> int:
    """Set runs, models, mechanisms or versions beside each other, unit by unit."""
    from psysafe.agreement.comparing import compare as measure
    from psysafe.agreement.labels import read_labels
    from psysafe.cli.console import print_json, results
    from psysafe.cli.people import need_statistics, open_runs, to_kind
    from psysafe.errors import UsageError
    from psysafe.taxonomy import load_dimensions

    need_statistics()
    if len(set(runs)) < len(runs):
        raise UsageError("a run is given twice")
    kind = to_kind(label_scale)
    found = None if labels is None else read_labels(labels, dimension)
    with ExitStack() as stack:
        comparison = measure(open_runs(stack, runs), found, load_dimensions(taxonomy), kind=kind, draws=draws)
    with results():
        if json:
            print_json(comparison.as_dict())
        else:
            _print(comparison)
    return 0


def _print(found: Comparison) -> None:
    from rich.table import Table

    from psysafe.cli.console import out, printable

    out().print(printable(f"baseline: {_name(found.baseline)}"))
    for system in dict.fromkeys(one.system for one in found.compared):
        out().print(printable(f"\n{_name(system)}"), style="bold")
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in ("dimension", "units", "verdicts: harmful", "changed", "share of harmful", "mean score"):
            table.add_column(name, overflow="fold")
        of = [one for one in found.compared if one.system == system]
        labelled = any(one.accuracy is not None for one in of)
        for name in ("balanced accuracy", "AUC") if labelled else ():
            table.add_column(name, overflow="fold")
        for one in of:
            table.add_row(*_row(one, labelled))
        out().print(table)
        for one in of:
            for line in _lines(one):
                out().print(printable(f"  {one.dimension}: {line}"))
    for system in found.alone:
        out().print(printable(f"\n{_name(system)}: no unit in common with the baseline"))
    tests = sum(len(one.adjusted) for one in found.compared)
    out().print(
        "\nDifferences from the baseline, 95% intervals; p by exchanging the systems within clusters, corrected for "
        f"{tests} tests (Holm)."
    )


def _name(system: System) -> str:
    return f"{system[1]} {system[2]} ({system[0]})"


def _row(one: Compared, labelled: bool) -> list[str]:
    to_safe, to_harmful = one.changed
    cells = [
        one.dimension, f"{one.both}", f"{one.harmful[0]} -> {one.harmful[1]}", f"+{to_harmful} -{to_safe}",
        _shown(one.flagged, one.adjusted.get("flagged")), _shown(one.score, one.adjusted.get("score")),
    ]  # fmt: skip
    if not labelled:
        return cells
    return [
        *cells,
        *(
            "-" if difference is None else _shown(difference, one.adjusted.get(name))
            for name, difference in (("balanced_accuracy", one.accuracy), ("roc_auc", one.area))
        ),
    ]


def _lines(one: Compared) -> list[str]:
    """What the table has no room for."""
    lines = []
    if one.moved:
        moved = ", ".join(f"{what} {count}" for what, count in sorted(one.moved.items()))
        lines.append(f"of {one.units} units in both, other outcomes: {moved} (in no difference)")
    if one.differing:
        lines.append(f"judged with another {' and another '.join(one.differing)}: the differences may be due to that")
    if one.other_text:
        lines.append(f"{one.other_text} of {one.both} conversations read otherwise in the two runs")
    return lines


def _shown(one: Difference, adjusted: float | None) -> str:
    from psysafe.stats.undefined import Undefined

    if not isinstance(one.value, float):
        return str(one.value)
    if isinstance(one.interval, Undefined):
        bounds = f"no interval: {one.interval.why}"
    else:
        bounds = f"{one.interval.low:+.2f} to {one.interval.high:+.2f}"
    p = "" if adjusted is None else f", p {adjusted:.3f}" if adjusted >= 0.001 else ", p < .001"
    return f"{one.value:+.2f} [{bounds}]{p}"
