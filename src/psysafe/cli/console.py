"""Where output goes."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

import orjson

if TYPE_CHECKING:
    from rich.console import Console


_kept: list[TextIO] = []


def stdout() -> TextIO:
    """Where results are written: standard output as it was before bots in Python were loaded."""
    return _kept[0] if _kept else sys.stdout


def keep_stdout(models: Iterable[str]) -> None:
    """Call before models are loaded: what a bot in Python prints, with its modules and children, goes to stderr.

    Holds until the process ends, since a bot's threads may outlast the command. Nothing is done without a ``python:``
    model, and where ``sys.stdout`` is not this process's own (captured by a test, a notebook).
    """
    if _kept or not any("python:" in model for model in models):
        return
    own = sys.__stdout__
    if own is None or sys.stdout is not own or own.fileno() != 1:
        return
    own.flush()
    found = os.fdopen(os.dup(1), "w", encoding=own.encoding, errors=own.errors)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _kept.append(found)
    out.cache_clear()
    atexit.register(_end_kept)


def _end_kept() -> None:
    with results():
        pass


@cache
def out() -> Console:
    """Results."""
    from rich.console import Console

    # Into a file or a pipe, lines as long as they are: 80 columns would fold what a script looks for.
    return Console(
        file=_kept[0] if _kept else None,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if stdout().isatty() else 160,
    )


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
        stdout().flush()
    except (BrokenPipeError, SystemExit):  # rich and typer raise the latter
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout().fileno())


def note(text: str) -> None:
    """A line for the person at the terminal."""
    err().print(printable(text))


def error(text: str) -> None:
    """What is wrong and what to do, without markup, so that other people's text stays text."""
    print(f"psysafe: {printable(text)}", file=sys.stderr)  # noqa: T201


def print_json(value: Any) -> None:
    """One object on stdout."""
    stdout().write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def printable(text: str) -> str:
    """Text without control characters and marks of direction, so that a reply cannot drive a terminal.

    Line ends, tabs, all kinds of spaces and what joins letters and emoji stay.
    """
    return "".join(c if c.isprintable() or c in _KEPT else "\ufffd" for c in text)


_KEPT = frozenset("\n\t\u200c\u200d\u00a0\u1680\u202f\u205f\u3000").union(map(chr, range(0x2000, 0x200B)))
