"""What the default ids of each source begin with."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

from psysafe.conversation.source import printable
from psysafe.errors import UsageError

_MAX_LABEL_CHARS = 400  # leaves room for the position within the 512 characters of an id


def labels(paths: Sequence[Path | None]) -> list[str]:
    """One label per source: its file's name, with as many folders before it as tell it from the others.

    A label depends neither on the order of the sources nor on the working directory, so that the ids, and
    with them the results that a resumed run finds again, stay the same while the same files are given.

    Args:
        paths: of the sources in order; None is standard input.

    Raises:
        UsageError: a file or standard input is given twice.
    """
    real = Counter("-" if path is None else os.path.realpath(path) for path in paths)
    for name, count in real.items():
        if count > 1:
            raise UsageError(f"{printable(name)} is given {count} times; expected every input once")
    whole = [("stdin",) if path is None else Path(os.path.abspath(path)).parts for path in paths]
    found = [""] * len(whole)
    unresolved, length = list(range(len(whole))), 0
    while unresolved:
        length += 1
        ends = {i: whole[i][-length:] for i in unresolved}
        shared = Counter(ends.values())
        for i, end in ends.items():
            found[i] = "/".join(end)
        # one that is used up (standard input) is distinct from all that are longer
        unresolved = [i for i, end in ends.items() if shared[end] > 1 and length < len(whole[i])]
    return [_short(label) for label in found]


def _short(label: str) -> str:
    label = printable(label)
    if len(label) <= _MAX_LABEL_CHARS:
        return label
    return blake2b(label.encode(), digest_size=8).hexdigest() + "/" + label[-(_MAX_LABEL_CHARS - 17) :]
