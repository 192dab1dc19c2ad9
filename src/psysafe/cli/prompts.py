"""Conversations that wait for a reply: as ``psysafe judge`` reads them, but an assistant message is not needed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import orjson

from psysafe.conversation import Conversation, Format, Inputs, parse_record
from psysafe.errors import InputError, UsageError

_BY_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
_REPLY_KEYS = ("response", "reply", "completion")
_BOM = b"\xef\xbb\xbf"
_SHOWN = 10


def read_prompts(files: Sequence[str], format: str | None) -> list[Conversation]:
    """All of them, in order.

    Raises:
        InputError, UsageError: what cannot be read, with file, line and field; an id that is used twice.
    """
    found: list[Conversation] = []
    bad: list[InputError] = []
    seen: set[str] = set()
    if twice := next((name for name in files if files.count(name) > 1), None):
        raise UsageError(f"{twice} is given {files.count(twice)} times; expected every input once")
    for name in files:
        for item in _read(name, format):
            if isinstance(item, InputError):
                bad.append(item)
            elif item.id in seen:
                bad.append(InputError(name, None, "id", f"{item.id[:60]!r} was already used; expected every id once"))
            else:
                seen.add(item.id)
                found.append(item)
    if bad:
        more = [f"  ... and {len(bad) - _SHOWN:,} more"] if len(bad) > _SHOWN else []
        lines = [f"{len(bad):,} of the records cannot be used:", *(f"  {error}" for error in bad[:_SHOWN]), *more]
        raise UsageError("\n".join(lines))
    return found


def _read(name: str, format: str | None) -> Iterator[Conversation | InputError]:
    kind = format or _BY_SUFFIX.get(Path(name).suffix.lower())
    if name == "-" and kind is None:
        kind = "sniff"
    if kind not in ("jsonl", "json", "sniff"):
        with Inputs([name], format=cast("Format | None", format)) as inputs:
            yield from inputs
        return
    data = _bytes(name).removeprefix(_BOM)
    if kind == "sniff":
        kind = _sniff(data)
    label = "stdin" if name == "-" else Path(name).name
    records = _lines(data, name) if kind == "jsonl" else _document(data, name)
    empty = True
    for number, line, path, record in records:
        empty = False
        yield record if isinstance(record, InputError) else _parse(record, name, line, path, f"{label}:{number}")
    if empty:
        yield InputError(name, None, None, "is empty; expected conversations")


def _bytes(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise InputError(name, None, None, "there is no such file; expected a path, or - for standard input") from None
    except OSError as error:
        raise InputError(name, None, None, f"cannot be read: {error.strerror}") from None


def _sniff(data: bytes) -> str:
    if not data.lstrip().startswith((b"{", b"[")):
        raise InputError("-", None, None, "is not JSON; name its format (--format), or give a transcript as a file")
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return "jsonl"
    return "json"


def _lines(data: bytes, name: str) -> Iterator[tuple[int, int | None, str, Any]]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, number, "", orjson.loads(line)
            except orjson.JSONDecodeError as error:
                yield number, number, "", InputError(name, number, None, f"is not JSON: {error.msg}")


def _document(data: bytes, name: str) -> Iterator[tuple[int, int | None, str, Any]]:
    try:
        document = orjson.loads(data) if data.strip() else []
    except orjson.JSONDecodeError as error:
        yield 1, error.lineno, "", InputError(name, error.lineno, None, f"is not JSON: {error.msg}")
        return
    parent = ""
    if isinstance(document, dict) and isinstance(document.get("conversations"), list) and "messages" not in document:
        document, parent = document["conversations"], "conversations"
    elif not isinstance(document, list) or (document and isinstance(document[0], dict) and "role" in document[0]):
        yield 1, None, "", document
        return
    for index, record in enumerate(document):
        yield index + 1, None, f"{parent}[{index}]", record


def _parse(record: Any, name: str, line: int | None, path: str, default_id: str) -> Conversation | InputError:
    """The conversation. One without an assistant message is read with an empty one, which is taken away again."""
    filled = _with_reply(record)
    try:
        if filled is not record and isinstance(record, dict):
            for key in ("finish_reason", "judged_message"):
                if record.get(key) is not None:
                    return InputError(name, line, key, "found without an assistant message; leave it out")
        found = parse_record(filled, file=name, line=line, default_id=default_id, path=path)
    except InputError as error:
        return error
    return found if filled is record else replace(found, messages=found.messages[:-1])


def _with_reply(record: Any) -> Any:
    messages = record.get("messages") if isinstance(record, dict) else record
    if isinstance(messages, list) and messages:
        if any(isinstance(message, dict) and message.get("role") == "assistant" for message in messages):
            return record
        filled = [*messages, {"role": "assistant", "content": ""}]
        return {**record, "messages": filled} if isinstance(record, dict) else filled
    if isinstance(record, dict) and "messages" not in record and ("prompt" in record or "user" in record):
        return record if any(key in record for key in _REPLY_KEYS) else {**record, "response": ""}
    return record
