"""Stand-ins in metadata: in its strings, its long whole numbers, and the keys that hold them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from psysafe.conversation.redaction.found import plain
from psysafe.conversation.types import RESERVED_KEYS

# Metadata under these keys is personal, whatever it looks like.
_KEYS = {
    "NAME": "name first_name last_name full_name surname given_name firstname lastname fullname display_name realname",
    "EMAIL": "email e_mail mail email_address",
    "PHONE": "phone phone_number telephone tel mobile cell",
    "ADDRESS": "address street postal_address zip zipcode zip_code postcode postal_code",
    "DATE": "dob birthday birthdate birth_date date_of_birth",
    "HANDLE": "user username user_name user_id userid handle login nickname screen_name",
    "IP": "ip ip_address",
    "NUMBER": "ssn iban passport",
}
_KIND_OF_KEY = {key: kind for kind, keys in _KEYS.items() for key in keys.split()}
# Metadata keys that mean something to the reader, and so stay even where somebody has that name.
_KEPT_KEYS = RESERVED_KEYS | {"system", "prompt", "user", "response", "reply", "completion"}


class StandIns(Protocol):
    """What replaces, with one stand-in for a thing wherever it occurs."""

    def text(self, text: str) -> str:
        """A text of ``strings`` with its stand-ins."""

    def stand_in(self, kind: str, key: str) -> str:
        """The stand-in of a thing."""


def strings(value: Any) -> Iterator[str]:
    """All strings of JSON-ready data, keys among them, and its whole numbers as strings."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)
    elif (text := _written(value)) is not None:
        yield text


def _written(value: Any) -> str | None:
    """A string or a number as a person writes it; None for all else."""
    if isinstance(value, float) and math.isfinite(value):
        # a column of telephone numbers with a gap in it is read as floats
        return str(int(value)) if value.is_integer() else str(value)
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def mapped(value: Any, key: str, pass_: StandIns) -> Any:
    """JSON-ready data with stand-ins in its keys and values; ``key`` is the nearest key above it."""
    if isinstance(value, Mapping):
        names, items = _keys(value, pass_), {}
        for name, item in value.items():
            items[names[name]] = mapped(item, name, pass_)
        return items
    if isinstance(value, (list, tuple)):
        return [mapped(item, key, pass_) for item in value]
    written = _written(value)
    if not written:
        return value
    if kind := _KIND_OF_KEY.get(re.sub(r"[\s\-]", "_", key.casefold())):
        return pass_.stand_in(kind, plain(written))
    if isinstance(value, float) and not value.is_integer():
        return value  # a measure
    text = pass_.text(written)
    return value if text == written else text


def _keys(mapping: Mapping[str, Any], pass_: StandIns) -> dict[str, str]:
    """What each key of a mapping becomes, all of them different."""
    names = {key: key if key in _KEPT_KEYS else pass_.text(key) for key in mapping}
    used = {key for key, name in names.items() if key == name}
    for key, name in names.items():
        if key != name:
            number, unique = 1, name
            while unique in used:
                number += 1
                unique = f"{name} ({number})"
            names[key] = unique
            used.add(unique)
    return names
