"""psysafe export"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

if TYPE_CHECKING:
    from psysafe.runs import Store

# what a terminal would show as noise
_BINARY = ("parquet",)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    to: Annotated[str, typer.Option("--to", help="jsonl, csv, parquet or inspect.")] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout; inspect needs a file.")
    ] = None,
) -> int:
    """Write a run's judgments to a file, one a line, or as a log of Inspect; a probe's trials or dialogues."""
    from functools import partial

    from psysafe.cli.console import note
    from psysafe.errors import UsageError
    from psysafe.runs import Store
    from psysafe.runs.export import EXPORTS, FILE_EXPORTS
    from psysafe.runs.export_trials import export_trials
    from psysafe.runs.trials import is_probe

    if to not in EXPORTS and to not in FILE_EXPORTS:
        raise UsageError(f"unknown export {to!r}; there are: {', '.join((*EXPORTS, *FILE_EXPORTS))}")
    if output is None and to in FILE_EXPORTS:
        raise UsageError(f"--to {to} writes files: name one with -o, such as -o run.eval")
    if output is None and to in _BINARY and sys.stdout.isatty():
        raise UsageError(f"--to {to} is not for a terminal: name a file with -o, such as -o run.{to}")
    store = Store.open(run)
    try:
        probe = is_probe(store)
        if probe and to not in EXPORTS:
            raise UsageError(f"{run} is a probe, which is not written as {to}; expected {', '.join(EXPORTS)}")
        write = partial(export_trials, to=to) if probe else EXPORTS.get(to)
        if output is None:
            assert write is not None
            write(store, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return 0
        files = [output]
        try:
            if write is None:
                count, files = FILE_EXPORTS[to](store, output)
            else:
                count = _write(store, output, write)
        except OSError as error:
            raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
        names = str(output) if len(files) == 1 else f"{files[0]} ... {files[-1]} ({len(files)} files)"
        what = "judgments" if not probe else "trials" if to == "jsonl" else "dialogues"
        note(f"{count:,} {what} written to {names}")
        return 0
    finally:
        store.close()


def _write(store: Store, output: Path, write: Callable[[Store, BinaryIO], int]) -> int:
    if output.exists() and not output.is_file():  # a pipe or a device, which must stay what it is
        with output.open("wb") as out:
            return write(store, out)
    # Written beside and moved, so that a broken export never passes for a whole one.
    target = output.resolve()  # a link leads there and stays a link
    temporary = target.with_name(f".{target.name}.part")
    try:
        with open(temporary, "wb", opener=private) as out:
            count = write(store, out)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def private(path: str, flags: int) -> int:
    """Opens a file that others cannot read."""
    import os

    return os.open(path, flags, 0o600)
