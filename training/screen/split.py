"""The two halves of the human-labelled replies: one to fit the screen on, one to report on.

Rows that share a message, be it the user's or the reply, always fall into the same half. The order in which rows are
given makes no difference, and neither does the Python or numpy version: the draw is by SHA-256.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

SEED = "psysafe screen 2"
"""Names the draw. An earlier exploration drew other halves; docs/screen.md says what it looked at."""

Row = Mapping[str, Any]
"""One line of labelled_replies.jsonl: ``id, dimension, source, label, messages[{role, content}]`` are read."""


def normalised(text: str) -> str:
    """A text as it counts for sameness: its letters and digits in lower case, everything else one space."""
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", text).lower()).strip()


def groups(rows: Sequence[Row]) -> list[int]:
    """For each row the number of its group: the index of one row in it. Rows that share a message share a group."""
    parent = list(range(len(rows)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    first_with: dict[str, int] = {}
    for index, row in enumerate(rows):
        for message in row["messages"]:
            if text := normalised(message["content"]):
                parent[root(index)] = root(first_with.setdefault(text, index))
    return [root(index) for index in range(len(rows))]


def halves(rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Indices of the fitting half and of the reporting half, each in rising order.

    Groups are dealt in turn within each stratum of dimension, source and label; the turn is carried from one stratum
    to the next, so that small strata do not all begin with the same half. A group's stratum is that of its row with
    the smallest id.
    """
    members = defaultdict(list)
    for index, group in enumerate(groups(rows)):
        members[group].append(index)
    strata: defaultdict[tuple[str, str, int], list[tuple[str, list[int]]]] = defaultdict(list)
    for indices in members.values():
        first = rows[min(indices, key=lambda index: str(rows[index]["id"]))]
        place = hashlib.sha256(f"{SEED}\n{first['id']}".encode()).hexdigest()
        strata[first["dimension"], first["source"], int(first["label"])].append((place, indices))
    fitting: list[int] = []
    reporting: list[int] = []
    turn = 0
    for stratum in sorted(strata):
        for _, indices in sorted(strata[stratum]):
            (reporting if turn else fitting).extend(indices)
            turn = 1 - turn
    return sorted(fitting), sorted(reporting)
