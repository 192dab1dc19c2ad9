"""What every export of a run is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from psysafe.conversation.types import METADATA_KEY, RESERVED_KEYS
from psysafe.judging.judgment import verdict_words
from psysafe.runs.store import Store


def records(store: Store) -> Iterator[dict[str, Any]]:
    """Each judgment as a dict, in the order of the input: ``id`` of the conversation, the fields of ``Judgment``
    and whatever else the store holds of it, the ``verdict`` in words, and the conversation's ``metadata``."""
    for judgment, conversation in store.judgments():
        verdict = verdict_words(judgment["harmful"], "screening" in judgment["flags"])
        yield {
            "id": judgment["conversation"],
            **judgment,
            "verdict": verdict,
            "metadata": metadata_of(conversation),
        }


def metadata_of(conversation: dict[str, Any]) -> dict[str, Any]:
    """The metadata in the record of a conversation."""
    packed: dict[str, Any] | None = conversation.get(METADATA_KEY)
    if packed is not None:
        return packed
    return {name: value for name, value in conversation.items() if name not in RESERVED_KEYS}


def parameters(mechanism: dict[str, Any]) -> str:
    """All but the name of a mechanism, as JSON."""
    return json_text({name: value for name, value in mechanism.items() if name != "name"})


def json_text(value: Any) -> str:
    """JSON on one line."""
    return orjson.dumps(value).decode()


# What spreadsheets take for the beginning of a formula, the wide forms of East Asian keyboards included.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def cell(value: Any) -> Any:
    """A value as a spreadsheet shows it: text that would run as a formula is quoted, NUL is made visible."""
    if value is None:
        return ""
    if isinstance(value, str):
        value = value.replace("\x00", "\\0")
        if value.startswith(_FORMULAS):
            return "'" + value
    return value
