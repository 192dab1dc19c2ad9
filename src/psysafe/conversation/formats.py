"""Which format an input has: by its suffix, by name, or from its first line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Literal, get_args

import orjson

from psysafe.conversation.json_document import read_json
from psysafe.conversation.jsonl import read_jsonl
from psysafe.conversation.reading import UTF8_BOM, Item, Job, Read
from psysafe.conversation.transcript import read_transcript
from psysafe.errors import UsageError

Format = Literal["jsonl", "json", "transcript"]
FORMATS: tuple[str, ...] = get_args(Format)
SNIFFED_BYTES = 1024 * 1024

READERS: dict[Format, Callable[[Read, Job], Iterator[Item]]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "transcript": read_transcript,
}
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".txt": "transcript",
    ".md": "transcript",
}
SUFFIXES = ", ".join(_SUFFIXES)


def check_format(name: str | None) -> None:
    """Raises ``UsageError`` if ``name`` is not a format (None is fine: the format is found out)."""
    if name is not None and name not in FORMATS:
        raise UsageError(f"unknown format {name!r}; expected one of {', '.join(FORMATS)}")


def format_of_suffix(name: str) -> Format | None:
    """The format that a file's suffix stands for, in any case."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def sniff(head: bytes) -> Format:
    """The format of an input that has no suffix, from its beginning (``SNIFFED_BYTES`` are enough).

    Text begins with neither brace nor bracket. With a brace, the first line tells JSON Lines from a document
    over several lines: only the latter is incomplete. With a bracket it is a document, unless more follows
    after a complete first line.
    """
    text = head.removeprefix(UTF8_BOM).lstrip()
    if not text.startswith((b"{", b"[")):
        return "transcript"
    first, _, rest = text.partition(b"\n")
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError as error:
        # orjson gives no text and no place for bytes that are not UTF-8
        cut_short = 0 < len(error.doc.rstrip()) <= error.pos and bool(rest)
        return "json" if cut_short or text.startswith(b"[") else "jsonl"
    return "json" if text.startswith(b"[") and not rest.strip() else "jsonl"
