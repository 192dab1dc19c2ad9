"""psysafe export"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


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
        # Written beside and moved, so that a broken export never passes for a whole one.
        temporary = output.with_name(f".{output.name}.part")
        try:
            with open(temporary, "wb", opener=_private) as out:
                count = write(store, out)
            temporary.replace(output)
        except OSError as error:
            raise UsageError(f"cannot write {output}: {error.strerror or error}") from error
        finally:
            temporary.unlink(missing_ok=True)
        note(f"{count:,} judgments written to {output}")
        return 0
    finally:
        store.close()


def _private(path: str, flags: int) -> int:
    import os

    return os.open(path, flags, 0o600)
