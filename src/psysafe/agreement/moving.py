"""What tells a judge that has moved from one that changes by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from psysafe.runs.anchors import Verdict

_DRAWS = 9999
_ALL_SIGNS = 13  # up to so many conversations, all changes of sign are tried instead of drawn ones


def differ(a: Verdict, b: Verdict) -> bool:
    """Whether a judge says something else: another verdict, or another outcome (a refusal instead of a verdict)."""
    return bool(a["outcome"] != b["outcome"] or a["harmful"] != b["harmful"])


def tail(changed: int, chances: Sequence[float]) -> float:
    """That at least so many change, each with its own chance (Poisson's binomial distribution).

    With one repeat of each unit this is McNemar's exact test, one-sided.
    """
    mass = np.ones(1)
    for chance in chances:
        if chance:
            mass = np.convolve(mass, (1 - chance, chance))
    return min(1.0, float(mass[changed:].sum()))


def sums(pairs: Sequence[tuple[Verdict, Verdict]]) -> tuple[np.ndarray, int]:
    """By how much scores have risen in each conversation, and how many scores these are.

    Means of votes that stopped early are no scores to compare.
    """
    by: dict[str, float] = defaultdict(float)
    count = 0
    for a, b in pairs:
        if a["score"] is None or b["score"] is None or "curtailed" in (*a["flags"], *b["flags"]):
            continue
        by[a["conversation"]] += b["score"] - a["score"]
        count += 1
    return np.array(list(by.values())), count


def shift_of(pairs: Sequence[tuple[Verdict, Verdict]]) -> tuple[float | None, float | None]:
    """The mean shift of scores and the share of random changes of sign, a conversation at a time, that reach it."""
    by_conversation, count = sums(pairs)
    if not count:
        return None, None
    mean = float(by_conversation.sum() / count)
    moving = by_conversation[np.abs(by_conversation) > 1e-9]
    if not len(moving):
        return mean, 1.0
    if len(moving) <= _ALL_SIGNS:  # all changes of sign
        bits = (np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving))) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, (_DRAWS, len(moving)), dtype=np.int8)
    reached = int((np.abs((1.0 - 2 * bits) @ moving) >= abs(moving.sum()) - 1e-9).sum())
    # Of drawn ones, the change of no sign is one more.
    return mean, reached / len(bits) if len(moving) <= _ALL_SIGNS else (reached + 1) / (_DRAWS + 1)
