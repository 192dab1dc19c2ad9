"""JSON Lines: one record a line, read as a stream."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from psysafe.conversation.json_error import json_problem
from psysafe.conversation.problems import Problem
from psysafe.conversation.reading import (
    MAX_LINE_BYTES,
    Item,
    Job,
    Read,
    read_lines,
    wide_encoding,
    without_marks,
)
from psysafe.conversation.record import convert
from psysafe.conversation.types import Conversation
from psysafe.errors import InputError


def read_jsonl(read: Read, job: Job) -> Iterator[Item]:
    """Every line that is not blank, in order: its 1-based number and its conversation or error."""
    empty = True
    for number, raw in enumerate(read_lines(read), 1):
        if raw is None:
            line = f"a line longer than {MAX_LINE_BYTES // 2**20} MB"
            item: Conversation | InputError = job.error(number, f"found {line}; expected one record a line")
        else:
            if number == 1 and (problem := wide_encoding(raw)):
                yield number, job.error(number, problem)
                return
            raw = without_marks(raw)
            if not raw or raw.isspace():
                continue
            item = _item(raw, number, job)
        empty = False
        yield number, item
    if empty:
        yield "", job.nothing("one JSON record a line")


def _item(raw: bytes, number: int, job: Job) -> Conversation | InputError:
    try:
        return convert(orjson.loads(raw), f"{job.label}:{number}", job.max_message_chars, need_reply=job.need_reply)
    except orjson.JSONDecodeError as error:
        return job.error(number, json_problem(raw, error)[1])
    except Problem as problem:
        return problem.at(job.file, number)
