"""psysafe agree"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.agreement.agreeing import Agreement


def agree(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RUN... LABELS", help="Directories of runs, and at last a file of human labels."),
    ],
    card: Annotated[
        list[Path],
        typer.Option("--card", metavar="FILE", help="Write a judge card, .md or .html; may be repeated."),
    ] = [],  # noqa: B006
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="The judge of the card, if the runs hold several."),
    ] = None,
    dimension: o.LabelDimension = None,
    label_scale: o.LabelScale = None,
    assume_transport: Annotated[
        Path | None,
        typer.Option(
            "--assume-transport",
            metavar="RUN",
            help="Correct the shares of another run by sensitivity and specificity as measured here.",
        ),
    ] = None,
    taxonomy: o.Taxonomy = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> int:
    """Measure how far judges agree with people, beside how far people agree with each other."""
    from psysafe.cli.agree_table import print_agreement
    from psysafe.cli.console import note, print_json, results
    from psysafe.cli.people import check_output

    for path in card:
        check_output(path, lambda data: b"Judge card: " in data)
    with ExitStack() as stack:
        found = _measured(stack, files, dimension, label_scale, assume_transport, taxonomy, quiet)
    for path in card:
        _write_card(found, path, model)
        note(f"judge card written to {path}")
    with results():
        if json:
            print_json(found.as_dict())
        else:
            print_agreement(found)
    return 0


def _measured(
    stack: ExitStack,
    files: list[Path],
    dimension: str | None,
    label_scale: str | None,
    elsewhere: Path | None,
    taxonomy: Path | None,
    quiet: bool,
) -> Agreement:
    from psysafe.agreement.agreeing import agree as measure
    from psysafe.agreement.labels import read_labels
    from psysafe.cli.console import note
    from psysafe.cli.people import need_statistics, open_runs, split_labels, to_kind
    from psysafe.taxonomy import load_dimensions

    need_statistics()
    directories, path = split_labels(files)
    kind = to_kind(label_scale)
    labels = read_labels(path, dimension)
    if labels.blank:
        note(f"{path.name}: {labels.blank:,} rows have no label yet and are left out")
    if labels.unread:
        note(f"{path.name}: columns that are not read: {', '.join(labels.unread)}")
    stores = open_runs(stack, directories)
    other = open_runs(stack, [elsewhere])[0] if elsewhere is not None else None
    return measure(
        stores, labels, load_dimensions(taxonomy), kind=kind, elsewhere=other,
        watch=(lambda _: None) if quiet else (lambda what: note(f"measuring: {what}")),
    )  # fmt: skip


def _write_card(found: Agreement, path: Path, model: str | None) -> None:
    from psysafe.agreement.card import Kind, render_card
    from psysafe.errors import UsageError

    kinds: dict[str, Kind] = {".md": "markdown", ".html": "html", ".htm": "html"}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"--card {path}: expected a name that ends in .md or .html")
    text = render_card(found, kind, model)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
