"""What is wrong with malformed JSON, in words that help."""

from __future__ import annotations

import orjson

from psysafe.conversation.reading import encoding_problem

_NOT_JSON = ("NaN", "nan", "Infinity")


def json_problem(data: bytes | bytearray, error: orjson.JSONDecodeError) -> tuple[int, str]:
    """The 1-based line within ``data``, and one line of text that names the column and the remedy.

    Args:
        data: what was parsed, without a byte order mark.
        error: what ``orjson.loads(data)`` raised.
    """
    # orjson has one message for all bytes that are not UTF-8, without a place, and none for NUL
    if problem := encoding_problem(data):
        return problem[0] + 1, problem[1]
    column = f"column {error.colno:,}"
    if "surrogate" in error.msg:
        text = (
            f"found a lone surrogate escape (\\ud800 to \\udfff without its other half) at {column}; "
            "expected Unicode text (a character was cut in two when this was written)"
        )
    elif error.doc.startswith(_NOT_JSON, error.pos):
        text = f"found NaN or Infinity at {column}; expected JSON, which has neither, so write null"
    else:
        text = f"malformed JSON at {column}: {error.msg}"
        if ", expected" not in text:
            text += "; expected one complete JSON value"
    return error.lineno, text
