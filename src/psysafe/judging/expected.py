"""The expected level from the probabilities of an answer's token, where the endpoint gives them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from psysafe.models import Reply
from psysafe.taxonomy import Scale


def expected_level(reply: Reply, scale: Scale) -> float | None:
    """The mean of the levels, weighted with the probability of each as the answer; None without probabilities.

    The answer is the last token that is a level by itself, so that what a thinking model wrote before it does not
    count. Probability that went to anything but a level is left out, and the rest taken as the whole.
    """
    token = _answer(reply.logprobs or (), scale)
    if token is None:
        return None
    masses = dict.fromkeys(scale.levels, 0.0)
    # The chosen token itself need not be among the alternatives.
    alternatives = {str(item["token"]): float(item["logprob"]) for item in token.get("top_logprobs") or ()}
    alternatives.setdefault(str(token["token"]), float(token["logprob"]))
    for text, logprob in alternatives.items():
        level = _level(text, scale)
        if level is not None:
            masses[level] += math.exp(logprob)
    total = sum(masses.values())
    if not total > 0:
        return None
    return sum(level * mass for level, mass in masses.items()) / total


def _answer(logprobs: Sequence[dict[str, Any]], scale: Scale) -> dict[str, Any] | None:
    return next((token for token in reversed(logprobs) if _level(str(token["token"]), scale) is not None), None)


def _level(token: str, scale: Scale) -> int | None:
    text = token.strip().strip("\"'")
    if not text.isascii() or not text.isdigit():
        return None
    level = int(text)
    return level if level in scale.levels else None
