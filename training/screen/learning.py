"""Fitting one configuration, and what its values and weights are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from training.screen.configurations import DIMENSIONS, Configuration, Material, Matrix


def learn(
    configuration: Configuration, material: Material, dimension: str, strength: float, train: np.ndarray
) -> tuple[Any, Matrix]:
    """A fitted model and the matrix it reads. Each row weighs the same, however many pieces; so do both labels.

    Args:
        train: readings to learn from, of this dimension; of all four when the learner is ``shared``.
    """
    assert not isinstance(configuration.make, tuple)
    matrix = configuration.make(material, train)
    row = material.readings.row
    weight = 1 / np.bincount(row)[row]
    if configuration.learner == "shared":
        own = material.dimension == dimension
        matrix = np.hstack(
            [matrix * 0.7, matrix * own[:, None], *(material.dimension[:, None] == d for d in DIMENSIONS)]
        )
    share = np.zeros(len(row))
    for other in DIMENSIONS:
        for label in (0, 1):
            cell = train[(material.dimension[train] == other) & (material.label[train] == label)]
            total = weight[train][material.dimension[train] == dimension].sum()
            if len(cell):
                share[cell] = weight[cell] / weight[cell].sum() * total / 2 * (1 if other == dimension else 0.5)
    if configuration.learner == "kernel":
        model = SVC(C=strength, gamma="scale")
    else:
        model = LogisticRegression(C=strength, max_iter=500)
    return model.fit(matrix[train], material.label[train], sample_weight=share[train]), matrix


def worst(material: Material, values: np.ndarray, readings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row its worst reading: row indices, ascending, and values."""
    rows, place = np.unique(material.readings.row[readings], return_inverse=True)
    result = np.full(len(rows), -np.inf)
    np.maximum.at(result, place, values)
    return rows, result


def weights(configuration: Configuration, model: Any, material: Material, dimension: str) -> tuple[np.ndarray, float]:
    """The weights of a fitted linear model on the blocks as ``heads.features`` gives them, and its bias."""
    assert configuration.mix is not None
    mix = configuration.mix(material)
    found, bias = model.coef_[0], float(model.intercept_[0])
    if configuration.learner == "shared":
        width = len(mix)
        bias += float(found[2 * width + DIMENSIONS.index(dimension)])
        found = 0.7 * found[:width] + found[width : 2 * width]
    return mix @ found, bias
