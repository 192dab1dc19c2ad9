"""psysafe calibrate"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psysafe.agreement.fitting import Fitted
    from psysafe.stats.undefined import Figure


def calibrate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RUN... LABELS", help="Directories of runs, and at last a file of human labels."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the cuts are written, JSON.")],
    dimension: o.LabelDimension = None,
    label_scale: o.LabelScale = None,
    taxonomy: o.Taxonomy = None,
    json: o.Json = False,
) -> int:
    """Fit on human labels from which score on a verdict is harmful; later runs use it with --calibration FILE."""
    from psysafe.agreement.fitting import fit, write
    from psysafe.agreement.labels import read_labels
    from psysafe.cli.console import note, print_json, results
    from psysafe.cli.people import check_output, need_statistics, open_runs, split_labels, to_kind
    from psysafe.errors import UsageError
    from psysafe.taxonomy import load_dimensions

    need_statistics()
    check_output(output, lambda data: b'"psysafe": "calibration"' in data)
    directories, path = split_labels(files)
    kind = to_kind(label_scale)
    labels = read_labels(path, dimension)
    with ExitStack() as stack:
        stores = open_runs(stack, directories)
        fitted = fit(stores, labels, load_dimensions(taxonomy), kind=kind)
        if any(one.cut for one in fitted):
            write(fitted, labels, stores, output)
    with results():
        if json:
            print_json({"file": str(output), "fitted": [_plain(one) for one in fitted]})
        else:
            _print(fitted)
    if not any(one.cut for one in fitted):
        raise UsageError(f"no cut was fitted, {output} is not written: {fitted[0].why}")
    note(f"written to {output}: use it with psysafe judge --calibration {output}")
    return 0


def _print(fitted: Sequence[Fitted]) -> None:
    from rich.table import Table

    from psysafe.cli.console import out, printable

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in (
        "dimension", "model", "mechanism", "n", "cut", "balanced accuracy, default", "fitted, cross-validated",
        "Brier", "ECE (debiased)",
    ):  # fmt: skip
        table.add_column(name, overflow="fold")
    for one in fitted:
        cut = f"{one.cut.cut:.2f}" if one.cut else f"not fitted: {one.why}"
        figures = (_shown(one.before), _shown(one.after), _shown(one.brier), _shown(one.ece)) if one.cut else ()
        table.add_row(one.dimension, printable(one.model), one.mechanism, str(one.units), cut, *figures)
    out().print(table)


def _shown(value: Figure) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _plain(one: Fitted) -> dict[str, object]:
    def number(value: Figure) -> float | None:
        return value if isinstance(value, float) else None

    return {
        "model": one.model, "mechanism": one.mechanism, "dimension": one.dimension, "units": one.units,
        "cut": one.cut.model_dump() if one.cut else None, "not_fitted": one.why,
        "balanced_accuracy": {"default": number(one.before), "cross_validated": number(one.after)},
        "brier": number(one.brier), "debiased_ece": number(one.ece),
    }  # fmt: skip
