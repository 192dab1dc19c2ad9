"""Fits ``local``, the embedded model weighed together with the screen, on open human labels.

    python -m training.local.fit --data FOLDER       ask, cross-validate, choose and write judging/data/local.json

FOLDER holds labelled_replies.jsonl, which is no part of this project. Only rows of the fitting half (of
training/screen/split.py) are asked about; the screen enters with out-of-fold values, since it was fitted on these
rows itself. Run training.screen.fit first. Answers are kept in ``--cache``; asking takes about an hour on two cores.

Needs: pip install 'psysafe[screen,local,local-weights,stats]' and what training.screen.fit needs.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from psysafe.judging.local.heads import DATA, SCREEN, logit
from psysafe.judging.local.questions import GENERAL, SPECIFIC
from psysafe.models.local import LocalModel
from training.local.answers import ask, sample
from training.screen.choice import choose, cross_validate
from training.screen.fit import FEWEST, prepare
from training.screen.measures import auc, platt, youden_cut

# Which answers are weighed, beside the screen or alone, and how long their columns are beside that of the screen: the
# shorter, the harder for them to move the verdict. The first five were listed before any was looked at, the last two
# added when the answers were seen to add noise.
CONFIGURATIONS: dict[str, tuple[bool, bool, bool, float]] = {  # screen, general questions, the dimension's own, length
    "screen alone": (True, False, False, 1.0),
    "own questions": (False, False, True, 1.0),
    "all questions": (False, True, True, 1.0),
    "screen and own questions": (True, False, True, 1.0),
    "screen and all questions": (True, True, True, 1.0),
    "screen and own questions, held": (True, False, True, 0.25),
    "screen and all questions, held": (True, True, True, 0.25),
}
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS, REPEATS = 5, 10


def features(name: str, dimension: str) -> list[str]:
    """What a configuration weighs, in order."""
    screen, general, own, _ = CONFIGURATIONS[name]
    return [*([SCREEN] if screen else []), *(GENERAL if general else {}), *(SPECIFIC[dimension] if own else {})]


def lengths(name: str, dimension: str) -> np.ndarray:
    """The length of each column after standardising."""
    return np.array([1.0 if feature == SCREEN else CONFIGURATIONS[name][3] for feature in features(name, dimension)])


def out_of_fold(
    matrix: np.ndarray, label: np.ndarray, group: np.ndarray, length: np.ndarray, strength: float, repeat: int
) -> np.ndarray:
    """[rows] log odds, each from a fit that saw no row of its group."""
    groups = np.unique(group)
    order = np.random.default_rng(repeat).permutation(groups)
    fold = dict(zip(order, np.arange(len(groups)) % FOLDS, strict=True))
    place = np.array([fold[g] for g in group])
    values = np.zeros(len(label))
    for k in range(FOLDS):
        weights, bias = fit(matrix[place != k], label[place != k], length, strength)
        values[place == k] = matrix[place == k] @ weights + bias
    return values


def fit(matrix: np.ndarray, label: np.ndarray, length: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    """Logistic regression on standardised features, told in terms of the features as they are."""
    scaler = StandardScaler().fit(matrix)
    model = LogisticRegression(C=strength, max_iter=1000).fit(scaler.transform(matrix) * length, label)
    weights = model.coef_[0] * length / scaler.scale_
    return weights, float(model.intercept_[0] - weights @ scaler.mean_)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "psysafe-training", metavar="FOLDER")
    parser.add_argument("--asked-only", action="store_true", help="fit on the answers that are there; ask nothing")
    arguments = parser.parse_args()
    material, fitting, group, halves = prepare(arguments.data, arguments.cache)
    rows = material.readings.rows
    tried = cross_validate(material, fitting, group, halves, arguments.cache / "screen_tried.json")
    wanted = [] if arguments.asked_only else sample(rows, np.flatnonzero(fitting).tolist())
    answers = asyncio.run(ask(rows, wanted, arguments.cache / "local_answers.jsonl"))
    heads: dict[str, Any] = {}
    for dimension, half in halves.items():
        chosen, _ = choose(tried[dimension], half)
        of_screen = np.mean(tried[dimension][chosen].values, axis=0)
        slope, offset = platt(half.label, of_screen)
        screened = {
            row: logit(1 / (1 + np.exp(-slope * v - offset))) for row, v in zip(half.row, of_screen, strict=True)
        }
        needed = features("screen and all questions", dimension)
        complete = [
            (place, row)
            for place, row in enumerate(half.row)
            if {*needed} <= {SCREEN, *answers.get(rows[row]["id"], {})}
        ]
        place = np.array([place for place, _ in complete])
        label, of = half.label[place], half.group[place]

        def column(name: str, complete: Any = complete, screened: Any = screened) -> list[float]:
            return [screened[row] if name == SCREEN else answers[rows[row]["id"]][name] for _, row in complete]

        options = []
        for name in CONFIGURATIONS:
            matrix = np.array([column(feature) for feature in features(name, dimension)]).T
            for strength in STRENGTHS:
                length = lengths(name, dimension)
                values = [out_of_fold(matrix, label, of, length, strength, repeat) for repeat in range(REPEATS)]
                options.append((float(np.mean([auc(label, v) for v in values])), name, strength, matrix, values))
        for name in CONFIGURATIONS:
            found = max(option[:3] for option in options if option[1] == name)
            print(f"{dimension:26} {name:32} AUC {found[0]:.3f} at C {found[2]:g}, {len(label)} rows", flush=True)
        single = {f: auc(label, np.array(column(f))) for f in needed}
        print(f"{dimension:26} single: " + ", ".join(f"{f} {max(a, 1 - a):.2f}" for f, a in single.items()))
        # The model is to have a say, and with so few rows a small one: among those that hold it, the best.
        _, name, strength, matrix, values = max(
            (option for option in options if option[1].endswith("held")), key=lambda option: option[0]
        )
        weights, bias = fit(matrix, label, lengths(name, dimension), strength)
        everything = np.concatenate(values)
        labels = np.tile(label, REPEATS)
        slope, offset = platt(labels, everything)
        harmful, harmless = int(label.sum()), int((1 - label).sum())
        enough = min(harmful, harmless) >= FEWEST
        cut = youden_cut(labels, 1 / (1 + np.exp(-slope * everything - offset))) if enough else 0.5
        heads[dimension] = {
            "weights": {f: round(float(slope * w), 4) for f, w in zip(features(name, dimension), weights, strict=True)},
            "bias": round(float(slope * bias + offset), 4),
            "cut": round(float(cut), 4),
            "chosen": f"{name}, C {strength:g}",
            "cut_rule": "youden" if enough else "default",
            "fitted_on": {
                "harmful": harmful,
                "harmless": harmless,
                "sources": dict(sorted(Counter(rows[row]["source"] for _, row in complete).items())),
            },
        }
    path = Path(str(DATA))
    kept = orjson.loads(path.read_bytes()) if path.exists() else {}
    data = {"model": LocalModel("local").weights.sha256, "notice": kept.get("notice", ""), "heads": heads}
    path.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
