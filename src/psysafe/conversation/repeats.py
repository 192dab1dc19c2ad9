"""Finds ids that occur twice, with 8 bytes of memory per id."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from itertools import pairwise


def id_hash(identifier: str) -> int:
    """64 bits of an id. Equal ids have equal hashes; unequal ones may, so a repeat is always checked."""
    return int.from_bytes(blake2b(identifier.encode(), digest_size=8).digest(), "big")


class IdHashes:
    """The hashes of all ids so far.

    They stand in 256 arrays by their first byte, so that looking for equal ones sorts a small part at a time:
    a list of Python integers takes five times the memory of an array.
    """

    def __init__(self) -> None:
        self._parts = [array("Q") for _ in range(256)]

    def add(self, identifier: str) -> None:
        """One more id."""
        value = id_hash(identifier)
        self._parts[value >> 56].append(value)

    def repeated(self) -> set[int]:
        """The hashes that were added more than once."""
        return {a for part in self._parts for a, b in pairwise(sorted(part)) if a == b}
