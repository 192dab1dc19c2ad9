"""Where output goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from rich.console import Console


@cache
def out() -> Console:
    """Results."""
    from rich.console import Console

    # Into a file or a pipe, lines as long as they are: 80 columns would fold what a script looks for.
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 160)


@cache
def err() -> Console:
    """Everything else."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def results() -> Iterator[None]:
    """Printing results must not change how a command ends: when their reader has gone (``| head``), they go nowhere."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich and typer raise the latter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str) -> None:
    """A line for the person at the terminal."""
    err().print(printable(text))


def error(text: str) -> None:
    """What is wrong and what to do, without markup, so that other people's text stays text."""
    print(f"psysafe: {printable(text)}", file=sys.stderr)  # noqa: T201


def print_json(value: Any) -> None:
    """One object on stdout."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def printable(text: str) -> str:
    """Text without control characters and marks of direction, so that a reply cannot drive a terminal.

    Line ends, tabs, all kinds of spaces and what joins letters and emoji stay.
    """
    return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in text)


_KEPT = frozenset("\n\t\u200c\u200d\u00a0\u1680\u202f\u205f\u3000").union(map(chr, range(0x2000, 0x200B)))
