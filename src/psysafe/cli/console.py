"""Where output goes."""

from __future__ import annotations

import sys
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
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 160)


@cache
def err() -> Console:
    """Everything else."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


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
    """Text without control characters (line ends and tabs stay), so that a reply cannot drive a terminal."""
    return "".join(c if c in "\n\t" or (c.isprintable() and c not in _BIDI) else "\ufffd" for c in text)


_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
