"""Which format an input without a suffix has, from its beginning."""

from __future__ import annotations

import orjson

from psysafe.conversation.reading import UTF8_BOM

SNIFFED_BYTES = 1024 * 1024
_PARQUET = b"PAR1"
_ZIP = b"PK\x03\x04"  # of the archives that psysafe reads, only Inspect's logs


def sniff(head: bytes) -> str:
    """The name of the format of an input that begins with ``head`` (``SNIFFED_BYTES`` are enough).

    Text begins with neither brace nor bracket. With a brace, the first line tells JSON Lines from a document
    over several lines: only the latter is incomplete. With a bracket it is a document, unless more follows
    after a complete first line. A table is text too and must be named.
    """
    if head.startswith(_PARQUET):
        return "parquet"
    if head.startswith(_ZIP):
        return "inspect"
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
