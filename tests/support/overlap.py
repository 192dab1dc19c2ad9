"""How many runs of words two texts have in common."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import combinations

RUN = 5


def runs_of_words(text: str, without: Collection[str] = ()) -> set[tuple[str, ...]]:
    """Every five words in a row, in small letters and without punctuation; of a shorter text all its words as one.

    Args:
        without: words that are left out before, in small letters.
    """
    words = [word for word in re.findall(r"\w+", text.casefold()) if word not in without]
    if not words:
        return set()
    return {tuple(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}


def overlaps(texts: Mapping[str, str], limit: float, without: Collection[str] = ()) -> dict[tuple[str, str], float]:
    """The pairs of texts that share more than ``limit`` of the runs of words of that one which has fewer."""
    runs = {name: runs_of_words(text, without) for name, text in texts.items()}
    assert all(runs.values()), [name for name, own in runs.items() if not own]  # a text that no comparison would meet
    shares = {
        (one, other): len(runs[one] & runs[other]) / min(len(runs[one]), len(runs[other]))
        for one, other in combinations(runs, 2)
    }
    return {pair: share for pair, share in shares.items() if share > limit}
