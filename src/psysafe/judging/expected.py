"""The expected level from the probabilities of an answer's token, where the endpoint gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from psysafe.models import Reply
from psysafe.taxonomy import Scale

_LONGEST = 8  # characters of a token that may be a level
_ABOVE_CERTAIN = 1e-3  # engines round log-probabilities of 0 a little upward


def expected_level(reply: Reply, scale: Scale, level: int) -> float | None:
    """The mean of the levels, weighted with the probability of each as the answer; None without usable ones.

    The answer is the last token that is a level by itself, so that what a thinking model wrote before it does not
    count. Probability that went to anything but a level is left out, and the rest taken as the whole.

    Args:
        level: as it was read from the text; probabilities of another answer are not those of this one.
    """
    token = next((t for t in reversed(reply.logprobs or ()) if _level(t, scale) is not None), None)
    if token is None or _level(token, scale) != level:
        return None
    masses = dict.fromkeys(scale.levels, 0.0)
    top = token.get("top_logprobs")
    alternatives = top if isinstance(top, list) else []
    # The chosen token itself need not be among the alternatives.
    known = {str(item["token"]): item for item in [token, *alternatives] if _logprob(item) is not None}
    for item in known.values():
        of, logprob = _level(item, scale), _logprob(item)
        if of is not None and logprob is not None:
            masses[of] += math.exp(logprob)
    total = sum(masses.values())
    return sum(of * mass for of, mass in masses.items()) / total if total > 0 else None


def _level(item: object, scale: Scale) -> int | None:
    token = item.get("token") if isinstance(item, Mapping) else None
    if not isinstance(token, str) or len(token) > _LONGEST:
        return None
    text = token.strip().strip("\"'")
    if not text.isascii() or not text.isdigit():
        return None
    level = int(text)
    return level if level in scale.levels else None


def _logprob(item: Any) -> float | None:
    """A log-probability that is one: a number, not above certainty."""
    if not isinstance(item, Mapping) or not isinstance(item.get("token"), str):
        return None
    value = item.get("logprob")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return min(float(value), 0.0) if -math.inf < value <= _ABOVE_CERTAIN else None
