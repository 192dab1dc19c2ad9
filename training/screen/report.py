"""What the shipped file is worth, measured on the reporting half, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from psysafe.judging.baselines.heads import features, load_heads
from psysafe.judging.baselines.screen import DATA
from training.screen.choice import Tried
from training.screen.configurations import CONFIGURATIONS, DIMENSIONS, Material
from training.screen.learning import learn, worst
from training.screen.measures import auc, brier, calibration_error, interval, wilson

SHORT = dict(zip(DIMENSIONS, ("discriminatory", "insulting", "psychological", "privacy"), strict=True))
FUNCTION_FOLDS = 8


def report(
    material: Material, fitting: np.ndarray, group: np.ndarray, tried: dict[str, dict[str, Tried]],
    chosen: dict[str, tuple[str, dict[str, float]]],
) -> None:  # fmt: skip
    """Print everything: configurations, quality by source, limits."""
    _configurations(tried, chosen)
    _quality(material, ~fitting, group)
    _other_sources(material, fitting, tried, chosen)
    _other_functions(material, fitting, tried, chosen)


def _configurations(tried: dict[str, dict[str, Tried]], chosen: dict[str, tuple[str, dict[str, float]]]) -> None:
    print("## Configurations: AUC over all rows / over replies to a user, cross-validated on the fitting half\n")
    print("| configuration | kind | " + " | ".join(SHORT.values()) + " |\n|---|---|" + "---|" * len(DIMENSIONS))
    for configuration in CONFIGURATIONS.values():
        cells = []
        for dimension in DIMENSIONS:
            one = tried[dimension][configuration.name]
            same = abs(one.auc - one.answers_auc) < 1e-9
            cell = f"{one.auc:.3f}" if same else f"{one.auc:.3f} / {one.answers_auc:.3f}"
            better = chosen[dimension][1].get(configuration.name)
            cell += "" if better is None else f" ({better:.0%})"
            cells.append(f"**{cell}**" if configuration.name == chosen[dimension][0] else cell)
        print(f"| {configuration.name} | {configuration.kind} | " + " | ".join(cells) + " |")


def _quality(material: Material, reporting: np.ndarray, group: np.ndarray) -> None:
    heads = load_heads(DATA)
    print(f"\n## Quality on the reporting half, file {heads.digest}")
    pooled = []
    for dimension, head in heads.of.items():
        readings = np.flatnonzero(reporting[material.readings.row] & (material.dimension == dimension))
        found = features(material.e5[0][readings], material.e5[1][readings], heads.centre, head.blocks)
        rows, chance = worst(material, head.probabilities(found), readings)
        every = [material.readings.rows[row] for row in rows]
        label = np.array([row["label"] for row in every])
        pooled.append((label, chance, group[rows]))
        base = label.mean() * (1 - label.mean())
        print(
            f"\n### {dimension}: {', '.join(head.blocks)}; cut {head.cut:.3f} ({head.cut_rule}); "
            f"Brier {brier(label, chance):.3f} ({base:.3f} for the base rate); ECE {calibration_error(label, chance):.3f}\n"
        )
        print("| rows | harmful | harmless | AUC | sensitivity | specificity |\n|---|---|---|---|---|---|")
        for name, chosen, labels in _slices(every, label):
            print(_line(name, labels[chosen], chance[chosen], group[rows][chosen], head.cut))
    macro = float(np.mean([auc(label, chance) for label, chance, _ in pooled]))
    random = np.random.default_rng(0)
    samples = []
    for _ in range(1000):
        values = []
        for label, chance, groups in pooled:
            members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
            draw = np.concatenate([members[i] for i in random.integers(0, len(members), len(members))])
            values.append(auc(label[draw], chance[draw]))
        samples.append(np.mean(values))
    low, high = np.percentile(samples, [2.5, 97.5])
    print(f"\nMacro AUC over {len(pooled)} dimensions: {macro:.3f} [{low:.3f}, {high:.3f}]")


def _slices(rows: list[dict[str, Any]], label: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Names, masks and labels of the parts that are reported."""
    source = np.array([str(row["source"]) for row in rows])
    answers = np.array([len(row["messages"]) > 1 for row in rows])
    yield "all", np.ones(len(rows), bool), label
    if not answers.all():
        yield "replies to a user", answers, label
    for name in np.unique(source):
        yield name, source == name, label
    several = np.char.startswith(source, "mhc_")
    if several.any():
        yield "all mhc_*", several, label
    graded = np.char.startswith(source, "pyrit_harm")
    if graded.any():
        risks = [row["raw_label"] if its else [] for row, its in zip(rows, graded, strict=True)]
        any_risk = np.array([int(any(float(risk) > 0 for risk in of)) for of in risks])
        yield "all pyrit_harm_*, `label`", graded, label
        yield "all pyrit_harm_*, any risk in `raw_label`", graded, any_risk


def _line(name: str, label: np.ndarray, chance: np.ndarray, group: np.ndarray, cut: float) -> str:
    harmful, harmless = int(label.sum()), int((1 - label).sum())
    if harmful and harmless:
        low, high = interval(auc, group, label, chance)
        area = f"{auc(label, chance):.3f} [{low:.2f}, {high:.2f}]"
    else:
        area = "-"
    hits = int((chance[label == 1] >= cut).sum())
    passed = int((chance[label == 0] < cut).sum())
    return f"| {name} | {harmful} | {harmless} | {area} | {_share(hits, harmful)} | {_share(passed, harmless)} |"


def _share(hits: int, of: int) -> str:
    low, high = wilson(hits, of)
    return f"{hits / of:.2f} [{low:.2f}, {high:.2f}]" if of else "-"


def _fitted_without(
    material: Material, fitting: np.ndarray, dimension: str, name: str, strength: float, left_out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and values of the left-out rows of the reporting half, from a head fitted on the other rows.

    Args:
        left_out: [rows].
    """
    of = material.readings.row
    here = material.dimension == dimension
    train = np.flatnonzero(fitting[of] & here & ~left_out[of])
    test = np.flatnonzero(~fitting[of] & here & left_out[of])
    model, matrix = learn(CONFIGURATIONS[name], material, dimension, strength, train)
    rows, values = worst(material, model.decision_function(matrix[test]), test)
    return np.array([material.readings.rows[row]["label"] for row in rows]), values


def _other_sources(
    material: Material, fitting: np.ndarray, tried: dict[str, dict[str, Tried]],
    chosen: dict[str, tuple[str, dict[str, float]]],
) -> None:  # fmt: skip
    print("\n## AUC on a source that the head was fitted without\n")
    print("| dimension | left out | harmful | harmless | AUC |\n|---|---|---|---|---|")
    family = np.array([_family(row["source"]) for row in material.readings.rows])
    of_row = np.array([row["dimension"] for row in material.readings.rows])
    for dimension in DIMENSIONS:
        name = chosen[dimension][0]
        families = np.unique(family[of_row == dimension])
        for left in families if len(families) > 1 else ():
            label, value = _fitted_without(
                material, fitting, dimension, name, tried[dimension][name].strength, family == left
            )
            print(f"| {dimension} | {left} | {label.sum()} | {(1 - label).sum()} | {auc(label, value):.3f} |")


def _family(source: str) -> str:
    if source.startswith(("hatecheck", "mhc_")):
        return "HateCheck, all languages"
    return "PyRIT" if source.startswith("pyrit") else source


def _other_functions(
    material: Material, fitting: np.ndarray, tried: dict[str, dict[str, Tried]],
    chosen: dict[str, tuple[str, dict[str, float]]],
) -> None:  # fmt: skip
    """HateCheck is made from templates; its functions (what a case tests) are left out in eighths."""
    dimension = DIMENSIONS[0]
    name = chosen[dimension][0]
    rows = material.readings.rows
    checks = np.array([_family(row["source"]).startswith("HateCheck") for row in rows])
    english = np.array([row["source"] == "hatecheck" for row in rows])
    function = np.array([re.split(r"\s", str(row["note"]).strip() or "-")[0] for row in rows])
    order = np.random.default_rng(0).permutation(np.unique(function[checks]))
    print("\n## HateCheck: AUC on functions that the head was fitted without\n")
    for title, part in (("English", checks & english), ("ten other languages", checks & ~english)):
        label, value = [], []
        for fold in range(FUNCTION_FOLDS):
            left = checks & np.isin(function, order[fold::FUNCTION_FOLDS])
            of = material.readings.row
            train = np.flatnonzero(fitting[of] & (material.dimension == dimension) & ~left[of])
            test = np.flatnonzero(~fitting[of] & (left & part)[of])
            model, matrix = learn(CONFIGURATIONS[name], material, dimension, tried[dimension][name].strength, train)
            found, values = worst(material, model.decision_function(matrix[test]), test)
            label += [rows[row]["label"] for row in found]
            value += list(values)
        print(f"- {title}: {auc(np.array(label), np.array(value)):.3f}")
