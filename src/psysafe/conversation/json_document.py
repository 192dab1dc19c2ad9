"""A JSON document: one record, a list of records, a list of messages, or an object with conversations."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import orjson

from psysafe.conversation.inspect_log import HEAD_BYTES, looks_like_log, read_inspect
from psysafe.conversation.json_error import json_problem
from psysafe.conversation.problems import Problem
from psysafe.conversation.reading import BLOCK_BYTES, UTF8_BOM, Item, Job, Read, wide_encoding
from psysafe.conversation.record import convert, has_prompt, is_record
from psysafe.errors import InputError

MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
_EXPECTED = "a record, a list of records or messages, or an object with conversations (a list of records)"


def read_json(read: Read, job: Job) -> Iterator[Item]:
    """The records of a document in order: their path (empty for a single one) and conversation or error.

    Beside ``conversations`` (or the ``data`` of an ``"object": "list"``), other keys of such an object describe
    the document and are not read. A log of Inspect is read as such. A defect of the whole document is its only item.
    """
    data = _load(read, job)
    if isinstance(data, InputError):
        yield "", data
        return
    if looks_like_log(bytes(data[:HEAD_BYTES])):
        yield from read_inspect(io.BytesIO(data), job)
        return
    document = _decoded(data, job)
    del data
    if isinstance(document, InputError):
        yield "", document
        return
    records, parent = _records(document, job.need_reply)
    if not records:
        yield "", InputError(job.file, None, parent or None, f"found an empty list; expected {_EXPECTED}")
    for index, record in enumerate(records):
        path = "" if parent is None else f"{parent}[{index}]"
        try:
            yield path, convert(record, f"{job.label}:{index + 1}", job.max_message_chars, need_reply=job.need_reply)
        except Problem as problem:
            yield path, problem.at(job.file, None, path)


def _load(read: Read, job: Job) -> bytearray | InputError:
    """The document's bytes without a mark, or an ``InputError``, which is not raised."""
    data = bytearray()
    while block := read(BLOCK_BYTES):
        if len(data) + len(block) > MAX_DOCUMENT_BYTES:
            found = f"found more than {MAX_DOCUMENT_BYTES // 2**20} MB, which would have to be held in memory"
            return job.error(
                None,
                f"{found}; expected JSONL (one record a line), which is read as a stream "
                "(from a list: jq -c '.[]' OLD > NEW)",
            )
        data += block
    if problem := wide_encoding(bytes(data[:4])):
        return job.error(None, problem)
    if data.startswith(UTF8_BOM):
        del data[: len(UTF8_BOM)]
    if not data or data.isspace():
        return job.nothing(_EXPECTED)
    return data


def _decoded(data: bytearray, job: Job) -> Any:
    """The decoded document, or an ``InputError``, which is not raised."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return job.error(*json_problem(data, error))


def _records(document: Any, need_reply: bool) -> tuple[list[Any], str | None]:
    """The records and the path of the list that holds them, or None where the document is the only record."""
    if isinstance(document, dict) and not is_record(document):
        # the latter as the API of OpenAI lists what it has stored
        key = "data" if document.get("object") == "list" else "conversations"
        if isinstance(records := document.get(key), list):
            return records, key
    if isinstance(document, list) and not (document and _is_message(document[0], need_reply)):
        return document, ""
    return [document], None


def _is_message(obj: Any, need_reply: bool) -> bool:
    if not isinstance(obj, dict) or "role" not in obj or is_record(obj):
        return False
    return need_reply or "content" in obj or not has_prompt(obj)  # beside a prompt, a role is metadata
