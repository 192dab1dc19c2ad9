"""From answers to a probability: a fitted head per dimension."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from psysafe.errors import UsageError

DATA = files("psysafe.judging") / "data" / "local.json"
SCREEN = "screen"  # the feature that is not a question: the logit of the screen's probability


@dataclass(frozen=True, slots=True)
class Head:
    """Logistic: ``probability = 1 / (1 + exp(-(bias + sum of weight x feature)))``.

    Attributes:
        weights: by feature: the name of a question, or ``screen``; features are log odds.
        cut: the probability from which a reply is flagged. fitted: whether the cut was chosen on labels.
        fitted_on: counts, for people.
    """

    weights: dict[str, float]
    bias: float
    cut: float
    fitted: bool
    fitted_on: dict[str, Any]

    def probability(self, logits: Mapping[str, float]) -> float:
        """Of harm. ``logits``: one for each of ``weights``."""
        total = self.bias + sum(weight * logits[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))


@dataclass(frozen=True, slots=True)
class Heads:
    """All fitted heads.

    Attributes:
        digest: 16 hex digits over model and heads. model: SHA-256 of the weights they were fitted with.
        of: by dimension id. notice: how good they were measured to be.
    """

    digest: str
    model: str
    of: dict[str, Head]
    notice: str


@lru_cache(maxsize=1)
def load_heads() -> Heads:
    """The heads that ship with psysafe.

    Raises:
        UsageError: their file is damaged.
    """
    try:
        data = orjson.loads(DATA.read_bytes())
        heads = {
            str(name): Head(
                {str(feature): float(weight) for feature, weight in head["weights"].items()},
                float(head["bias"]),
                float(head["cut"]),
                head["cut_rule"] == "youden",
                dict(head["fitted_on"]),
            )
            for name, head in data["heads"].items()
        }
        digest = hashlib.sha256(orjson.dumps([data["model"], data["heads"]])).hexdigest()[:16]
        return Heads(digest, str(data["model"]), heads, str(data["notice"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{DATA}: {error!r}; the file came with psysafe, reinstall it (docs/local.md)") from None


def logit(probability: float) -> float:
    """Log odds, bounded at 1e-4 from 0 and 1."""
    bounded = min(max(probability, 1e-4), 1 - 1e-4)
    return math.log(bounded / (1 - bounded))
