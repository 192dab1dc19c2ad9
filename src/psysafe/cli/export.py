"""psysafe export"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

if TYPE_CHECKING:
    from psysafe.runs import Store


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    to: Annotated[str, typer.Option("--to", help="jsonl or csv.")] = "jsonl",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout.")] = None,
) -> int:
    """Write a run's judgments to a file, one a line."""
    from psysafe.cli.console import note
    from psysafe.errors import UsageError
    from psysafe.runs import EXPORTS, Store

    write = EXPORTS.get(to)
    if write is None:
        raise UsageError(f"unknown export {to!r}; there are: {', '.join(EXPORTS)}")
    store = Store.open(run)
    try:
        if output is None:
            write(store, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return 0
        try:
            count = _write(store, output, write)
        except OSError as error:
            raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
        note(f"{count:,} judgments written to {output}")
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
        with open(temporary, "wb", opener=_private) as out:
            count = write(store, out)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _private(path: str, flags: int) -> int:
    import os

    return os.open(path, flags, 0o600)
