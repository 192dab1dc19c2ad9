"""Which format an input has, by its suffix or by name, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import BinaryIO, Literal, Protocol, cast, get_args

from psysafe.conversation import sniffing
from psysafe.conversation.csv_table import read_csv
from psysafe.conversation.inspect_log import read_inspect
from psysafe.conversation.json_document import read_json
from psysafe.conversation.jsonl import read_jsonl
from psysafe.conversation.parquet_table import read_parquet
from psysafe.conversation.reading import Item, Job, Read
from psysafe.conversation.transcript import read_transcript
from psysafe.errors import UsageError

Format = Literal["jsonl", "json", "transcript", "csv", "parquet", "openai", "inspect"]
FORMATS: tuple[str, ...] = get_args(Format)
SNIFFED_BYTES = sniffing.SNIFFED_BYTES


class Bytes(Protocol):
    """What readers read from: the bytes in order, or a file in which they can seek."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""

    def seekable(self) -> BinaryIO:
        """A file over all bytes, at its beginning; its ``name`` is a path if there is one."""


def read_openai(read: Read, job: Job) -> Iterator[Item]:
    """What OpenAI exports or logs, whether it is a JSON document or JSON Lines."""
    head = read(SNIFFED_BYTES)
    while head and len(head) < SNIFFED_BYTES and (block := read(SNIFFED_BYTES - len(head))):
        head += block
    pending = [head]

    def again(size: int) -> bytes:
        if not pending:
            return read(size)
        block = pending.pop()
        if len(block) > size:
            pending.append(block[size:])
        return block[:size]

    return (read_json if sniff(head) == "json" else read_jsonl)(again, job)


# read from front to back, as a stream
READERS: dict[Format, Callable[[Read, Job], Iterator[Item]]] = {
    "jsonl": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "openai": read_openai,
    "transcript": read_transcript,
}
# read with seeking
FILE_READERS: dict[Format, Callable[[BinaryIO, Job], Iterator[Item]]] = {
    "parquet": read_parquet,
    "inspect": read_inspect,
}
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".txt": "transcript",
    ".md": "transcript",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".eval": "inspect",
}
SUFFIXES = ", ".join(_SUFFIXES)


def read_items(format: Format, source: Bytes, job: Job) -> Iterator[Item]:
    """Every conversation of a source, or why it cannot be read, in order."""
    if format in READERS:
        return READERS[format](source.read, job)
    return FILE_READERS[format](source.seekable(), job)


def check_format(name: str | None) -> None:
    """Raises ``UsageError`` if ``name`` is not a format (None is fine: the format is found out)."""
    if name is not None and name not in FORMATS:
        raise UsageError(f"unknown format {name!r}; expected one of {', '.join(FORMATS)}")


def format_of_suffix(name: str) -> Format | None:
    """The format that a file's suffix stands for, in any case."""
    return _SUFFIXES.get(PurePath(name).suffix.lower())


def sniff(head: bytes) -> Format:
    """The format of an input that has no suffix, from its beginning (``SNIFFED_BYTES`` are enough)."""
    return cast("Format", sniffing.sniff(head))
