"""Fits the classifier that flags replies which address their judge.

    python training/injection/train.py            fit, choose the threshold, write the weights
    python training/injection/train.py --report   cross-validated quality only

Features that speak for one side are scaled by their log-count ratio (Wang and Manning 2012, Baselines and Bigrams),
then a logistic regression is fitted. The threshold is the one at which few innocent replies of the folds left out
are flagged. Every text is our own: corpus_*.yaml, validation_*.yaml, and the replies in the rubrics and content cases.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import orjson
import yaml

from psysafe.judging.cases import load_cases
from psysafe.judging.injection import Classifier, passages
from psysafe.taxonomy import load_dimensions

HERE = Path(__file__).parent
OUT = HERE.parents[1] / "src" / "psysafe" / "judging" / "data" / "injection.json"
RIDGE = 0.1
ROUNDS = 400
RATE = 0.05
MOST_INNOCENT_FLAGGED = 0.02
KEPT = 12_000


def load() -> tuple[list[str], list[str]]:
    """Attacks and innocent texts."""
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
    return attacks, innocent


def _text(entry: object) -> str:
    return entry["text"] if isinstance(entry, dict) else str(entry)


def whole(text: str) -> set[str]:
    """The features of a text read as one passage."""
    return set().union(*passages(text))


def fit(attacks: Iterable[str], innocent: Iterable[str]) -> Classifier:
    """Weights for attacks, read whole, against every passage of the innocent texts. The threshold stays 0."""
    positive = [whole(text) for text in attacks]
    negative = [passage for text in innocent for passage in passages(text)]
    examples = positive + negative
    target = np.array([1.0] * len(positive) + [0.0] * len(negative))
    weight = np.where(target == 1, 0.5 / len(positive), 0.5 / len(negative))
    counts = Counter(feature for example in examples for feature in example)
    vocabulary = {feature: i for i, feature in enumerate(sorted(f for f, n in counts.items() if n > 1))}
    indices = [np.array([vocabulary[f] for f in sorted(example) if f in vocabulary], int) for example in examples]
    rows = np.repeat(np.arange(len(examples)), [len(i) for i in indices])
    columns = np.concatenate(indices)
    scale = 1 / np.sqrt(np.maximum(1, [len(i) for i in indices]))
    size = len(vocabulary)
    for_it = np.bincount(columns, target[rows], minlength=size) + 1
    against = np.bincount(columns, 1 - target[rows], minlength=size) + 1
    ratio = np.log((for_it / for_it.sum()) / (against / against.sum()))
    values = scale[rows] * ratio[columns]

    def gradient(parameters: np.ndarray) -> np.ndarray:
        margin = np.bincount(rows, values * parameters[columns], minlength=len(examples)) + parameters[-1]
        error = weight * (1 / (1 + np.exp(-margin)) - target)
        inner = np.bincount(columns, values * error[rows], minlength=size) + RIDGE / len(examples) * parameters[:-1]
        return np.append(inner, error.sum())

    parameters = np.zeros(size + 1)
    first, second = np.zeros(size + 1), np.zeros(size + 1)
    for step in range(1, ROUNDS + 1):  # Adam
        slope = gradient(parameters)
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        parameters -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    weights = parameters[:-1] * ratio
    return Classifier(float(parameters[-1]), 0.0, {f: float(weights[i]) for f, i in vocabulary.items()})


def cross_validate(attacks: Sequence[str], innocent: Sequence[str], folds: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Values of all texts, each from a classifier that was fitted without it."""
    generator = np.random.default_rng(0)
    left_out = [generator.permutation(len(texts)) % folds for texts in (attacks, innocent)]
    values = [np.zeros(len(attacks)), np.zeros(len(innocent))]
    for fold in range(folds):
        model = fit(
            [text for text, of in zip(attacks, left_out[0], strict=True) if of != fold],
            [text for text, of in zip(innocent, left_out[1], strict=True) if of != fold],
        )
        for result, texts, of in zip(values, (attacks, innocent), left_out, strict=True):
            for index in np.flatnonzero(of == fold):
                result[index] = model.value(texts[index])
    return values[0], values[1]


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    attacks, innocent = load()
    caught, flagged = cross_validate(attacks, innocent)
    threshold = float(np.quantile(flagged, 1 - MOST_INNOCENT_FLAGGED))
    area = float(np.mean(caught[:, None] > flagged[None, :]))
    print(f"{len(attacks)} attacks, {len(innocent)} innocent texts; 10-fold: AUC {area:.3f},")
    for value in (threshold - 0.5, threshold, threshold + 0.5):
        print(f"  at {value:+.2f}: {np.mean(caught > value):.1%} caught, {np.mean(flagged > value):.1%} of innocent flagged")
    if arguments.report:
        return
    model = fit(attacks, innocent)
    strongest = sorted(model.weights, key=lambda f: (-abs(model.weights[f]), f))[:KEPT]
    OUT.write_bytes(
        orjson.dumps(
            {
                "bias": round(model.bias, 4),
                "threshold": round(threshold, 4),
                "weights": {feature: round(model.weights[feature], 3) for feature in sorted(strongest)},
            },
            option=orjson.OPT_INDENT_2,
        )
        + b"\n"
    )
    print(f"wrote {OUT.name}, {OUT.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
