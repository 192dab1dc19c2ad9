"""The id of a conversation as a source gives it."""

from __future__ import annotations

from psysafe.conversation.content import check_text
from psysafe.conversation.problems import Problem, shown

_MAX_ID_CHARS = 512


def identifier(value: object) -> str:
    """An id as it was given, an integer as text; a ``Problem`` at ``id`` if it is no usable one."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 1024:
        return str(value)
    if not isinstance(value, str):
        raise Problem("id", f"found {shown(value)}; expected text or an integer (or leave the key out)")
    if not value.strip():
        raise Problem("id", f"found {shown(value)}; expected text that is not blank (or leave the key out)")
    if len(value) > _MAX_ID_CHARS:
        raise Problem("id", f"found {len(value):,} characters; expected at most {_MAX_ID_CHARS}")
    return check_text(value, "id", _MAX_ID_CHARS)
