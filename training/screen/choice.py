"""Cross-validation of every configuration on the fitting half, and the choice of one for each dimension."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from training.screen.configurations import CONFIGURATIONS, DIMENSIONS, Configuration, Material
from training.screen.learning import learn, worst
from training.screen.measures import auc, criterion, draws

FOLDS = 5
REPEATS = 2
CLEARLY = 0.95  # share of bootstrap samples in which another configuration must be better than the best plain one


@dataclass
class Half:
    """Rows of one dimension in the fitting half. All [rows], by ascending row index."""

    row: np.ndarray
    label: np.ndarray
    group: np.ndarray
    answers: np.ndarray


@dataclass
class Tried:
    """What cross-validation says of one configuration on one dimension.

    Attributes:
        auc, answers_auc: over all rows, over replies to a user; means over the repeats. criterion: their mean.
        values: [repeats][rows] out-of-fold values at the strength that did best.
    """

    strength: float
    auc: float
    answers_auc: float
    criterion: float
    values: list[list[float]]


def cross_validate(
    material: Material, fitting: np.ndarray, group: np.ndarray, halves: dict[str, Half], store: Path
) -> dict[str, dict[str, Tried]]:
    """By dimension and name. What ``store`` holds is not computed again.

    Args:
        fitting: [rows] which rows are of the fitting half. group: [rows].
    """
    known = json.loads(store.read_text()) if store.exists() else {}
    result = {d: {name: Tried(**tried) for name, tried in known.get(d, {}).items()} for d in DIMENSIONS}
    for dimension in DIMENSIONS:
        for configuration in CONFIGURATIONS.values():
            if configuration.name not in result[dimension]:
                tried = _try(configuration, material, dimension, fitting, group, halves[dimension], result[dimension])
                result[dimension][configuration.name] = tried
                print(
                    f"{dimension:26} {configuration.name:32} {tried.criterion:.3f} at C {tried.strength:g}", flush=True
                )
        store.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(json.dumps({d: {n: asdict(t) for n, t in tried.items()} for d, tried in result.items()}))
    return result


def _try(
    configuration: Configuration, material: Material, dimension: str, fitting: np.ndarray, group: np.ndarray,
    half: Half, tried: dict[str, Tried],
) -> Tried:  # fmt: skip
    if isinstance(configuration.make, tuple):
        parts = [tried[name].values for name in configuration.make]
        averages = [np.mean([_standard(np.array(part[i])) for part in parts], axis=0) for i in range(REPEATS)]
        return _summary(0, averages, half)
    options = []
    for strength in configuration.strengths:
        repeats = [
            out_of_fold(configuration, material, dimension, strength, fitting, group, repeat)
            for repeat in range(REPEATS)
        ]
        options.append(_summary(strength, repeats, half))
    return max(options, key=lambda option: option.criterion)


def out_of_fold(
    configuration: Configuration, material: Material, dimension: str, strength: float, fitting: np.ndarray,
    group: np.ndarray, repeat: int,
) -> np.ndarray:  # fmt: skip
    """[rows of the dimension in the fitting half] values, each from a model that saw no row of its group."""
    groups = np.unique(group[fitting])
    fold = dict(zip(np.random.default_rng(repeat).permutation(groups), np.arange(len(groups)) % FOLDS, strict=True))
    of_row = np.array([fold.get(g, -1) for g in group])
    place = of_row[material.readings.row]
    usable = fitting[material.readings.row]
    here = material.dimension == dimension
    taught = usable & (np.isin(material.dimension, DIMENSIONS) if configuration.learner == "shared" else here)
    values = np.full(len(fitting), np.nan)
    for k in range(FOLDS):
        test = np.flatnonzero(usable & here & (place == k))
        if len(test):
            model, matrix = learn(configuration, material, dimension, strength, np.flatnonzero(taught & (place != k)))
            rows, worsts = worst(material, model.decision_function(matrix[test]), test)
            values[rows] = worsts
    return values[np.isfinite(values)]


def _summary(strength: float, repeats: list[np.ndarray], half: Half) -> Tried:
    a = half.answers
    return Tried(
        strength,
        float(np.mean([auc(half.label, values) for values in repeats])),
        float(np.mean([auc(half.label[a], values[a]) for values in repeats])),
        float(np.mean([criterion(half.label, values, a) for values in repeats])),
        [[round(float(value), 5) for value in values] for values in repeats],
    )


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / (values.std() + 1e-9)


def choose(tried: dict[str, Tried], half: Half) -> tuple[str, dict[str, float]]:
    """The best plain configuration, unless one that could be shipped too is clearly better.

    Returns:
        Its name, and of each of the latter the share of bootstrap samples (by group) in which it is better.
    """

    def best(names: list[str]) -> str:
        return max(names, key=lambda name: tried[name].criterion)

    plain = best([c.name for c in CONFIGURATIONS.values() if c.kind == "plain"])
    samples = draws(half.group, 500, 0)

    def sampled(name: str) -> np.ndarray:
        value = np.mean([_standard(np.array(values)) for values in tried[name].values], axis=0)
        return np.array([criterion(half.label[s], value[s], half.answers[s]) for s in samples])

    base = sampled(plain)
    better = {c.name: float(np.mean(sampled(c.name) > base)) for c in CONFIGURATIONS.values() if c.kind == "more"}
    clearly = [name for name, share in better.items() if share >= CLEARLY]
    return (best(clearly) if clearly else plain), better
