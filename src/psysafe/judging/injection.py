"""Does a reply address its judge? A small linear classifier over the reply's words; it flags, and never changes a score.

People discuss scores, judges and systems with those who confide in them, so single words decide nothing: every word and
pair of neighbouring words has a weight, fitted by ``training/injection/train.py``: attacks and hard innocent texts
of our own in some twenty languages, and ordinary replies from openly licensed sets (NOTICE names them). What it catches and misses on texts that had no part in it: docs/injection.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import orjson

# Words, single characters of scripts that write no spaces, numbers, and runs of the signs that markup is made of.
_TOKEN = re.compile(
    r"[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]|\d+|[^\W\d_]+|[<>\[\]{}|#/*=_\-`\"@:^~]{2,}|[<>\[\]{}|#*=@:\"]"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_STEM = 6  # letters of a word that are looked at: "evaluator", "evaluating" and "evaluated" are one
_WINDOW = 3  # sentences that are read together
# A passage with fewer known features is treated as if it had so many, so that one odd sign decides nothing.
FEWEST = 16


@dataclass(frozen=True, slots=True)
class Classifier:
    """Weights by feature. A passage's value is ``bias + sum(weights) / sqrt(number of known features)``, the number
    being at least ``FEWEST``."""

    bias: float
    threshold: float
    weights: dict[str, float]

    def value(self, text: str) -> float:
        """The highest value of any passage of up to three sentences."""
        weights = self.weights
        known = [
            {feature: weights[feature] for feature in sentence if feature in weights} for sentence in sentences(text)
        ]
        return max(self.passage_value(passage) for passage in runs(known))

    def passage_value(self, passage: Mapping[str, float]) -> float:
        """The value of one passage, given its known features with their weights."""
        return self.bias + math.fsum(passage.values()) / math.sqrt(max(FEWEST, len(passage)))


def sentences(text: str) -> list[set[str]]:
    """For each sentence its words, shortened, and its pairs of neighbouring words; of an empty text, one empty set."""
    return [_features(part) for part in _SENTENCE.split(text) if part.strip()] or [set()]


def _features(sentence: str) -> set[str]:
    tokens = [_number(token) if token.isdecimal() else token[:_STEM] for token in _TOKEN.findall(sentence.lower())]
    return {*tokens, *map(" ".join, pairwise(tokens))}


def _number(token: str) -> str:
    return "9" if token.strip("0") else "0"


def runs(features: Sequence[dict[str, float]]) -> Iterator[dict[str, float]]:
    """The features of every run of one to three sentences, given those of each sentence."""
    for start in range(len(features)):
        passage: dict[str, float] = {}
        for sentence in features[start : start + _WINDOW]:
            passage = passage | sentence
            yield passage


@cache
def classifier() -> Classifier:
    """The one that ships with psysafe."""
    data = orjson.loads((files("psysafe.judging") / "data" / "injection.json").read_bytes())
    return Classifier(data["bias"], data["threshold"], data["weights"])


def addresses_judge(text: str) -> bool:
    """Whether a reply shows signs of addressing whoever evaluates it."""
    model = classifier()
    return model.value(text) > model.threshold
