"""Does a reply address its judge? A small linear classifier over the reply's words; it flags, and never changes a score.

People discuss scores, judges and systems with those who confide in them, so single words decide nothing: every word and
pair of neighbouring words has a weight, fitted by ``training/injection/train.py``: attacks and hard innocent texts
of our own in some twenty languages, and ordinary replies from openly licensed sets (NOTICE names them). What it catches and misses on texts that had no part in it: docs/injection.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
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
        return max(self.passage_value(passage) for passage in passages(text))

    def passage_value(self, passage: set[str]) -> float:
        """The value of one passage."""
        weights = self.weights
        known = [weights[feature] for feature in passage if feature in weights]
        return self.bias + math.fsum(known) / math.sqrt(max(FEWEST, len(known)))


def sentence_features(sentence: str) -> set[str]:
    """The words of a sentence, shortened, and its pairs of neighbours."""
    tokens = []
    for match in _TOKEN.finditer(sentence.lower()):
        token = match.group()
        if token.isdecimal():
            token = "0" if int(token) == 0 else "9"
        tokens.append(token[:_STEM])
    return {*tokens, *map(" ".join, pairwise(tokens))}


def passages(text: str) -> Iterator[set[str]]:
    """The features of every run of one to three sentences; of an empty text, one empty set."""
    sentences = [sentence_features(part) for part in _SENTENCE.split(text) if part.strip()] or [set()]
    for start in range(len(sentences)):
        passage: set[str] = set()
        for sentence in sentences[start : start + _WINDOW]:
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
