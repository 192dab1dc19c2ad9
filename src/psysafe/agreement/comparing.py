"""Two systems on the same units: runs, models, mechanisms, versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.agreement.agreeing import label_scales
from psysafe.agreement.figures import Array
from psysafe.agreement.joining import Joined, Key, Row, join
from psysafe.agreement.labels import Labels
from psysafe.agreement.scales import Kind, LabelScale
from psysafe.errors import UsageError
from psysafe.runs.store import Store
from psysafe.stats.agreement import cohen_kappa
from psysafe.stats.classification import balanced_accuracy, roc_auc
from psysafe.stats.comparison import Difference, McNemar, holm, mcnemar, paired_difference
from psysafe.stats.undefined import Figure, Undefined
from psysafe.taxonomy import Dimension

SIGNED = (-1.0, 1.0)
Place = tuple[str, int | None]
System = tuple[str, str, str]  # run, model, mechanism


@dataclass(slots=True)
class Compared:
    """A system beside the baseline on one dimension. Differences are its figure less the baseline's.

    Attributes:
        units: that both judged. both: that both gave a verdict. other_text: of these, units whose conversation reads
            otherwise in the two runs (another version of a target).
        moved: outcomes of baseline and system where they differ, such as ``scored -> unscored``.
        harmful: verdicts of baseline and system. changed: verdicts that differ, one way and the other.
        flagged, score: differences of the share of harmful verdicts, and of the mean score.
        mcnemar: on verdicts; holds for independent units. kappa: of the two systems' verdicts.
        accuracy, area: differences of balanced accuracy and AUC against labels; None without labels.
        differing: what was not the same beside judge and mechanism, such as the rubric.
        adjusted: p-values corrected for all tests of the comparison, by name of the difference.
    """

    dimension: str
    system: System
    units: int
    both: int
    other_text: int
    moved: Counter[str]
    harmful: tuple[int, int]
    changed: tuple[int, int]
    flagged: Difference
    score: Difference
    mcnemar: McNemar | Undefined
    kappa: Figure
    labelled: int
    accuracy: Difference | None
    area: Difference | None
    adjusted: dict[str, float]
    differing: list[str]

    def differences(self) -> dict[str, Difference]:
        """By name."""
        of = {"flagged": self.flagged, "score": self.score, "balanced_accuracy": self.accuracy, "roc_auc": self.area}
        return {name: one for name, one in of.items() if one is not None}

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "dimension": self.dimension, "system": dict(zip(("run", "model", "mechanism"), self.system, strict=True)),
            "units": self.units, "both_scored": self.both, "other_text": self.other_text, "moved": dict(self.moved),
            "harmful": {"baseline": self.harmful[0], "system": self.harmful[1]},
            "changed": {"to_harmful": self.changed[1], "to_not_harmful": self.changed[0]},
            "mcnemar_p": None if isinstance(self.mcnemar, Undefined) else self.mcnemar.p_value,
            "kappa": None if isinstance(self.kappa, Undefined) else self.kappa,
            "labelled": self.labelled, "differing": self.differing,
            "differences": {
                name: {**_plain(one), "p_adjusted": self.adjusted.get(name)} for name, one in self.differences().items()
            },
        }  # fmt: skip


@dataclass(slots=True)
class Comparison:
    """All systems beside the first.

    Attributes:
        alone: systems without a unit in common with the baseline, on any dimension.
    """

    baseline: System
    compared: list[Compared]
    alone: list[System]

    def as_dict(self) -> dict[str, Any]:
        """The one object of ``--json``."""
        return {
            "baseline": dict(zip(("run", "model", "mechanism"), self.baseline, strict=True)),
            "compared": [one.as_dict() for one in self.compared],
            "nothing_in_common": [list(system) for system in self.alone],
        }


def compare(
    stores: Sequence[Store],
    labels: Labels | None = None,
    dimensions: Mapping[str, Dimension] | None = None,
    *,
    kind: Kind | None = None,
    draws: int = 1000,
) -> Comparison:
    """Set every system of some runs beside the first one: the first run's first model and mechanism.

    Units are paired by conversation, dimension and message. P-values of all differences are corrected together (Holm).

    Args:
        labels: for differences of agreement with people, too; needs ``dimensions`` for their scales.

    Raises:
        UsageError: there is only one system, or none has a unit in common with the baseline.
    """
    systems: dict[System, dict[str, Joined]] = {}
    for store in stores:
        for (model, mechanism, dimension), one in _of(store, labels).items():
            systems.setdefault((str(store.directory), model, mechanism), {})[dimension] = one
    if len(systems) < 2:
        raise UsageError("one judge with one mechanism is in these runs, and nothing to compare it with: give two runs")
    scales: dict[str, LabelScale] = {}
    if labels is not None:
        every = {one.key: one for of in systems.values() for one in of.values() if one.labelled}
        scales = label_scales(labels, dimensions or {}, every, kind)
    baseline, *others = systems
    found = Comparison(baseline, [], [])
    for system in others:
        there = [
            _compared(name, system, systems[baseline][name], one, scales.get(name), draws)
            for name, one in sorted(systems[system].items())
            if name in systems[baseline]
        ]
        there = [one for one in there if one.units]
        found.compared += there
        if not there:
            found.alone.append(system)
    if not found.compared:
        raise UsageError(
            f"no unit of {' '.join(baseline)} was judged by another system, too: runs are compared on conversations of "
            "one id, on one dimension"
        )
    _adjust(found.compared)
    return found


def _of(store: Store, labels: Labels | None) -> dict[Key, Joined]:
    return join([store], labels or Labels("", ""), labelled=False)


def _compared(
    dimension: str, system: System, baseline: Joined, other: Joined, scale: LabelScale | None, draws: int
) -> Compared:
    first = {_place(row): row for row in baseline.rows}
    pairs = [(first[place], row) for row in other.rows if (place := _place(row)) in first]
    moved = Counter(
        f"{a.judgment['outcome']} -> {b.judgment['outcome']}" for a, b in pairs
        if a.judgment["outcome"] != b.judgment["outcome"]
    )  # fmt: skip
    both = [(a, b) for a, b in pairs if a.scored and b.scored]
    clusters = np.array([a.cluster for a, _ in both], int)
    one, two = (_verdicts([pair[side] for pair in both]) for side in (0, 1))
    ranked = [(a, b) for a, b in both if not (a.curtailed or b.curtailed)]
    s1, s2 = (np.array([pair[side].judgment["score"] for pair in ranked], float) for side in (0, 1))
    # What people say of one text says nothing of another.
    told = [(a, b) for a, b in both if scale is not None and a.both and b.both and a.text == b.text]
    accuracy = area = None
    if scale is not None:
        accuracy, area = _against_people(told, scale, draws)
    return Compared(
        dimension, system, len(pairs), len(both), sum(a.text != b.text for a, b in both), moved,
        (int(one.sum()), int(two.sum())), (int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum())),
        paired_difference(_mean, clusters, one, two, bounds=SIGNED, draws=draws),
        paired_difference(_mean, np.array([a.cluster for a, _ in ranked], int), s1, s2, draws=draws),
        mcnemar(one, two), cohen_kappa(one, two, levels=(0, 1)), len(told), accuracy, area, {},
        [name for name in baseline.differing(other) if name != "model" or baseline.key[0] == other.key[0]],
    )  # fmt: skip


def _against_people(pairs: Sequence[tuple[Row, Row]], scale: LabelScale, draws: int) -> tuple[Difference, Difference]:
    truth = np.array([scale.is_harmful(a.number) for a, _ in pairs], int)
    clusters = np.array([a.cluster for a, _ in pairs], int)
    one, two = (_verdicts([pair[side] for pair in pairs]) for side in (0, 1))
    ranked = np.array([not (a.curtailed or b.curtailed) for a, b in pairs], bool)
    s1, s2 = (np.array([pair[side].judgment["score"] for pair in pairs], float)[ranked] for side in (0, 1))
    return (
        paired_difference(balanced_accuracy, clusters, one, two, truth, bounds=SIGNED, draws=draws),
        paired_difference(roc_auc, clusters[ranked], s1, s2, truth[ranked], bounds=SIGNED, draws=draws),
    )


def _adjust(compared: Sequence[Compared]) -> None:
    tests = [
        (one, name, difference.p_value)
        for one in compared
        for name, difference in one.differences().items()
        if not isinstance(difference.p_value, Undefined)
    ]
    for (one, name, _), adjusted in zip(tests, holm([p for _, _, p in tests]), strict=True):
        one.adjusted[name] = adjusted


def _mean(values: Array) -> Figure:
    return float(np.mean(values)) if len(values) else Undefined("no unit that both gave a verdict")


def _verdicts(rows: Sequence[Row]) -> Array:
    return np.array([bool(row.judgment["harmful"]) for row in rows], int)


def _place(row: Row) -> Place:
    return row.judgment["conversation"], row.judgment["message"]


def _plain(one: Difference) -> dict[str, Any]:
    told: dict[str, Any] = {"value": None, "interval": None, "p": None}
    if isinstance(one.value, Undefined):
        return {**told, "undefined": one.value.why}
    told["value"] = one.value
    if isinstance(one.interval, Undefined):
        told["interval_undefined"] = one.interval.why
    else:
        told["interval"] = [one.interval.low, one.interval.high]
    return {**told, "p": None if isinstance(one.p_value, Undefined) else one.p_value}
