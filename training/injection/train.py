"""Fits the classifier that flags replies which address their judge.

    python training/injection/train.py --ordinary FOLDER            fit, choose the threshold, write the weights
    python training/injection/train.py --ordinary FOLDER --report   cross-validated quality only

Attacks and hard innocent texts are our own: corpus_*.yaml, validation_*.yaml, the replies in the rubrics and content
cases. Ordinary replies come from the human-labelled sets in FOLDER (labelled_replies.jsonl, rated_conversations.jsonl),
which are not part of this project; NOTICE names their sources. A logistic regression over words and pairs of words;
attacks, our innocent texts and the ordinary replies weigh 2 : 1 : 1. The threshold is the one at which the share of
innocent texts flagged, each by a classifier fitted without it, is as small as stated below for both kinds.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import yaml

from psysafe.judging.cases import load_cases
from psysafe.judging.injection import FEWEST, Classifier, runs, sentences
from psysafe.taxonomy import load_dimensions

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "src" / "psysafe" / "judging" / "data" / "injection.json"
RIDGE = 0.2
ROUNDS = 300
RATE = 0.05
FOLDS = 10
MOST_OF_OURS_FLAGGED = 0.04  # they are as close to attacks as we could write them
MOST_ORDINARY_FLAGGED = 0.01
PASSAGES_PER_FIT = 8_000  # of ordinary replies
LEAST = 0.4  # smaller weights are left out
SEEN = 3  # texts that a feature must occur in

Passages = list[set[str]]


def load_ours() -> tuple[list[Passages], list[Passages]]:
    """Attacks and innocent texts, as passages."""
    attacks: list[str] = []
    innocent: list[str] = []
    for path in sorted([*HERE.glob("corpus_*.yaml"), *HERE.glob("validation_*.yaml")]):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        attacks += [_text(entry) for entry in data["attacks"]]
        innocent += [_text(entry) for entry in data["innocent"]]
    for dimension in load_dimensions().values():
        innocent += [example.reply for anchor in dimension.anchors for example in anchor.examples]
        innocent += [miss.reply for miss in dimension.near_misses]
    innocent += [case.messages[-1]["content"] for case in load_cases() if not case.flags]
    return [passages(text) for text in attacks], [passages(text) for text in innocent]


def passages(text: str) -> Passages:
    """The features of every run of one to three sentences of a text."""
    return [set(run) for run in runs([dict.fromkeys(sentence, 0.0) for sentence in sentences(text)])]


def _text(entry: object) -> str:
    return entry["text"] if isinstance(entry, dict) else str(entry)


def load_ordinary(folder: Path) -> list[Passages]:
    """Assistant messages of the human-labelled sets, as passages."""
    texts = []
    for name in ("labelled_replies.jsonl", "rated_conversations.jsonl"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            texts += [m["content"] for m in json.loads(line)["messages"] if m["role"] == "assistant"]
    return [passages(text) for text in dict.fromkeys(texts)]


def fit(attacks: Sequence[Passages], ours: Sequence[Passages], ordinary: Sequence[Passages]) -> Classifier:
    """Weights for attacks, read whole, against every passage of the innocent texts. The threshold stays 0."""
    positive = [set[str]().union(*text) for text in attacks]
    near = [passage for text in ours for passage in text]
    far = [passage for text in ordinary for passage in text]
    far = [far[i] for i in np.random.default_rng(0).permutation(len(far))[:PASSAGES_PER_FIT]]
    examples = positive + near + far
    target = np.repeat([1.0, 0.0], [len(positive), len(near) + len(far)])
    weight = np.repeat([0.5 / len(positive), 0.25 / len(near), 0.25 / len(far)], [len(positive), len(near), len(far)])
    counts = Counter(feature for example in examples for feature in example)
    vocabulary = {feature: i for i, feature in enumerate(sorted(f for f, n in counts.items() if n >= SEEN))}
    indices = [np.array([vocabulary[f] for f in sorted(example) if f in vocabulary], int) for example in examples]
    rows = np.repeat(np.arange(len(examples)), [len(i) for i in indices])
    columns = np.concatenate(indices)
    values = (1 / np.sqrt(np.maximum(FEWEST, [len(i) for i in indices])))[rows]
    size = len(vocabulary)
    parameters, first, second = np.zeros((3, size + 1))
    for step in range(1, ROUNDS + 1):  # Adam
        margin = np.bincount(rows, values * parameters[columns], minlength=len(examples)) + parameters[-1]
        error = weight * (1 / (1 + np.exp(-margin)) - target)
        inner = np.bincount(columns, values * error[rows], minlength=size) + RIDGE / len(examples) * parameters[:-1]
        slope = np.append(inner, error.sum())
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        parameters -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    weights = {feature: round(float(parameters[i]), 2) for feature, i in vocabulary.items()}
    return Classifier(round(float(parameters[-1]), 4), 0.0, {f: w for f, w in weights.items() if abs(w) >= LEAST})


def value(model: Classifier, text: Passages) -> float:
    """As ``Classifier.value``, for a text that is in passages already."""
    weights = model.weights
    return max(model.passage_value({f: weights[f] for f in passage if f in weights}) for passage in text)


def cross_validate(kinds: Sequence[Sequence[Passages]]) -> list[np.ndarray]:
    """Values of all texts, kind by kind, each from a classifier that was fitted without it."""
    generator = np.random.default_rng(0)
    folds = [generator.permutation(len(texts)) % FOLDS for texts in kinds]
    values = [np.zeros(len(texts)) for texts in kinds]
    for fold in range(FOLDS):
        model = fit(
            *([text for text, of in zip(texts, place, strict=True) if of != fold]
              for texts, place in zip(kinds, folds, strict=True))
        )  # fmt: skip
        for result, texts, place in zip(values, kinds, folds, strict=True):
            for index in np.flatnonzero(place == fold):
                result[index] = value(model, texts[index])
    return values


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ordinary", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--report", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    kinds = (*load_ours(), load_ordinary(arguments.ordinary))
    attacks, ours, ordinary = cross_validate(kinds)
    threshold = max(
        float(np.quantile(ours, 1 - MOST_OF_OURS_FLAGGED)), float(np.quantile(ordinary, 1 - MOST_ORDINARY_FLAGGED))
    )
    print(
        f"{len(attacks)} attacks, {len(ours)} innocent texts of ours, {len(ordinary)} ordinary replies; {FOLDS}-fold:"
    )
    print(
        f"  AUC {np.mean(attacks[:, None] > ours):.3f} against ours, {np.mean(attacks[:, None] > ordinary):.3f} against ordinary"
    )
    for at in (threshold - 0.5, threshold, threshold + 0.5):
        shares = " ".join(f"{np.mean(values > at):.1%}" for values in (attacks, ours, ordinary))
        print(f"  threshold {at:+.2f}: flagged of attacks, ours, ordinary: {shares}")
    if arguments.report:
        return
    model = fit(*kinds)
    data = {"bias": model.bias, "threshold": round(threshold, 4), "weights": dict(sorted(model.weights.items()))}
    OUT.write_bytes(orjson.dumps(data) + b"\n")
    print(f"wrote {OUT.name}: {len(model.weights):,} weights, {OUT.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
