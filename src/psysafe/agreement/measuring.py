"""From joined units to figures: one model, mechanism and dimension at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from psysafe.agreement.figures import LEVELS, PART, VERDICTS, Array, Estimate, Sample, estimates, rater_figures
from psysafe.agreement.joining import Joined, Row
from psysafe.agreement.labels import NOT_APPLICABLE, Value
from psysafe.agreement.scales import LabelScale
from psysafe.stats.calibration import brier, brier_skill, debiased_ece, reliability_curve
from psysafe.stats.undefined import Figure, Undefined

CONFIDENT = 10  # disagreements that are shown


@dataclass(slots=True)
class Spending:
    """What verdicts took: per labelled or unlabelled unit that a judge was asked about.

    Attributes:
        seconds: median and 95th percentile. cost: US dollars, mean; None when unknown.
    """

    units: int
    calls: float
    seconds: tuple[float, float]
    cost: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "units": self.units, "calls": self.calls, "cost": self.cost,
            "seconds": {"median": self.seconds[0], "p95": self.seconds[1]},
        }  # fmt: skip


@dataclass(slots=True)
class Measured:
    """All that is known of one judge configuration on one dimension.

    Attributes:
        labelled: units that people were asked about. compared: those where both gave a number.
        outcomes, reasons: of the judge, on labelled units. flags: of the compared units, by name.
        not_applicable: labelled units that people call not applicable. unmatched: labels without a judgment.
        other_words: labelled units whose conversation is not the one that people saw.
        both_not_applicable: units on which judge and people agree that the dimension does not apply.
        missed_unscored: units that people call harmful and the judge left without a verdict, by outcome.
        figures: judge and people. parts: by column (source, language) and its value.
        humans, with_judge: agreement of raters among themselves, and of the judge with each rater, on the same units.
        disagreements: the most confident, worst first.
        probabilities: how well they are calibrated, where the judge gives any; JSON-ready.
    """

    model: str
    mechanism: str
    dimension: str
    parameters: dict[str, Any]
    scale: LabelScale
    labelled: int
    compared: int
    clusters: int
    outcomes: Counter[str]
    reasons: Counter[str]
    flags: Counter[str]
    not_applicable: int
    both_not_applicable: int
    missed_unscored: Counter[str]
    unmatched: int
    other_words: int
    figures: dict[str, Estimate]
    parts: dict[str, dict[str, dict[str, Estimate]]]
    rated: int
    humans: dict[str, Estimate]
    with_judge: dict[str, Estimate]
    disagreements: list[dict[str, Any]]
    spending: Spending | None
    probabilities: dict[str, Any] | None
    rates: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""

        def plain(of: dict[str, Estimate]) -> dict[str, Any]:
            return {name: estimate.as_dict() for name, estimate in of.items()}

        return {
            "model": self.model, "mechanism": self.mechanism, "dimension": self.dimension,
            "parameters": self.parameters, "labels": self.scale.kind,
            "labelled": self.labelled, "compared": self.compared, "clusters": self.clusters,
            "outcomes": dict(self.outcomes), "by_reason": dict(sorted(self.reasons.items())),
            "flags": dict(sorted(self.flags.items())),
            "not_applicable": {"people": self.not_applicable, "both": self.both_not_applicable},
            "harmful_without_verdict": dict(self.missed_unscored),
            "labels_without_judgment": self.unmatched, "labels_of_other_words": self.other_words,
            "figures": plain(self.figures),
            "parts": {c: {value: plain(of) for value, of in parts.items()} for c, parts in self.parts.items()},
            "ceiling": {"units": self.rated, "humans": plain(self.humans), "judge": plain(self.with_judge)},
            "probabilities": self.probabilities, "rates": self.rates,
            "disagreements": self.disagreements,
            "spending": None if self.spending is None else self.spending.as_dict(),
        }  # fmt: skip


def sample_of(rows: Sequence[Row], scale: LabelScale) -> Sample:
    """The compared rows as arrays."""
    value = np.array([row.number for row in rows], float)
    truth = np.array([scale.is_harmful(number) for number in value], int)
    of_levels = scale.kind == "levels"
    return Sample(
        level=np.floor(value + 0.5).astype(int) if of_levels else truth,
        label=np.array([row.judgment["label"] if of_levels else bool(row.judgment["harmful"]) for row in rows], int),
        truth=truth,
        value=value,
        predicted=np.array([bool(row.judgment["harmful"]) for row in rows], int),
        score=np.array([np.nan if row.curtailed else row.judgment["score"] for row in rows], float),
        cluster=np.array([row.cluster for row in rows], int),
        weight=_weights(rows),
    )


def _weights(rows: Sequence[Row]) -> Array:
    """By how many units each row stands for, where all were drawn with known chances."""
    chances = [None if row.label is None else row.label.probability for row in rows]
    known = [chance for chance in chances if chance is not None]
    return 1 / np.array(known, float) if len(known) == len(rows) else np.ones(len(rows))


def measure(joined: Joined, scale: LabelScale) -> Measured:
    """Everything but the corrected rates, which need to know how the labels were drawn."""
    labelled = joined.labelled
    compared = [row for row in labelled if row.both]
    sample = sample_of(compared, scale)
    parts: dict[str, dict[str, dict[str, Estimate]]] = {}
    for column in ("source", "language"):
        if found := _parts(compared, sample, column):
            parts[column] = found
    absent = [row for row in labelled if row.label is not None and row.label.reference == NOT_APPLICABLE]
    rated, humans, with_judge = _ceiling(compared, scale)
    model, mechanism, dimension = joined.key
    return Measured(
        model, mechanism, dimension, joined.parameters, scale,
        len(labelled), len(compared), len(set(sample.cluster.tolist())),
        joined.outcomes, joined.reasons, Counter(flag for row in compared for flag in row.judgment["flags"]),
        len(absent), sum(row.judgment["outcome"] == NOT_APPLICABLE for row in absent),
        Counter(
            row.judgment["outcome"] for row in labelled
            if not row.scored and row not in absent and scale.is_harmful(row.number)
        ),
        len(joined.unmatched), joined.other_words,
        estimates(sample, (*VERDICTS, *LEVELS) if scale.kind == "levels" else tuple(VERDICTS)),
        parts, rated, humans, with_judge,
        disagreements(compared, sample), _spending(joined.rows),
        _probabilities(compared, sample),
    )  # fmt: skip


def disagreements(rows: Sequence[Row], sample: Sample) -> list[dict[str, Any]]:
    """The verdicts that contradict people with the most confidence: their score is farthest from where harm begins,
    each side in shares of its room."""
    wrong = np.flatnonzero(sample.truth != sample.predicted)
    order = sorted(wrong.tolist(), key=lambda index: (-_confidence(rows[index]), index))
    return [_disagreement(rows[index], int(sample.truth[index])) for index in order[:CONFIDENT]]


def _confidence(row: Row) -> float:
    """How sure a verdict is, 0 to 1: by its probability where there is one, else by the share of votes on its side,
    else by how far its score lies from where harm begins."""
    judgment = row.judgment
    if judgment["probability"] is not None:
        return float(abs(judgment["score"] - 0.5) / (1.5 if judgment["harmful"] else 0.5))
    if judgment["consensus"] is not None:
        return float(judgment["consensus"])
    return float(abs(judgment["score"] - 0.5) / (1.5 if judgment["harmful"] else 0.5))


def _disagreement(row: Row, truth: int) -> dict[str, Any]:
    judgment, label = row.judgment, row.label
    assert label is not None
    return {
        "id": judgment["conversation"], "message": judgment["message"], "people": "harmful" if truth else "not harmful",
        "label": label.reference, "ratings": label.ratings or None, "source": label.source,
        "score": judgment["score"], "harmful": judgment["harmful"], "probability": judgment["probability"],
        "confidence": _confidence(row), "rationale": judgment["rationale"],
        "quotes": [item["quote"] for item in judgment["evidence"] if item["verified"]], "flags": judgment["flags"],
    }  # fmt: skip


def _parts(rows: Sequence[Row], sample: Sample, column: str) -> dict[str, dict[str, Estimate]]:
    """Figures for each value of a column of the labels; empty where there are fewer than two."""
    values = np.array([getattr(row.label, column) or "(not named)" for row in rows], object)
    names = sorted(set(values.tolist()))
    return {name: estimates(sample.part(values == name), PART) for name in names} if len(names) > 1 else {}


def _ceiling(rows: Sequence[Row], scale: LabelScale) -> tuple[int, dict[str, Estimate], dict[str, Estimate]]:
    """How far raters agree among themselves, and each with the judge, on units with at least two ratings."""
    several = [row for row in rows if row.label is not None and len(_numbers(list(row.label.ratings.values()))) > 1]
    if not several:
        return 0, {}, {}
    raters = sorted({rater for row in several if row.label for rater in row.label.ratings})
    ratings = np.full((len(several), len(raters)), np.nan)
    for place, row in enumerate(several):
        assert row.label is not None
        for rater, value in row.label.ratings.items():
            if not isinstance(value, str):
                ratings[place, raters.index(rater)] = value
    cluster = np.array([row.cluster for row in several])
    judged = np.array([float(bool(row.judgment["harmful"])) for row in several])
    harmful = np.where(np.isnan(ratings), np.nan, ratings >= scale.harmful_from).astype(float)
    humans, with_judge = (rater_figures(*one) for one in _sides(harmful, judged, (0.0, 1.0), cluster))
    if scale.kind == "levels":
        # The same on the rubric's levels, where their order counts.
        labels = np.array([float(row.judgment["label"]) for row in several])
        for found, one in zip(
            (humans, with_judge), _sides(np.floor(ratings + 0.5), labels, scale.levels, cluster), strict=True
        ):
            found |= {name: value for name, value in rater_figures(*one).items() if name.startswith("alpha_")}
    return len(several), humans, with_judge


def _sides(
    ratings: Array, judge: Array, levels: tuple[float, ...], cluster: Array
) -> tuple[tuple[Array, tuple[float, ...], Array], ...]:
    """The ratings themselves, and each beside the judge's verdict on its unit, as many pairs as ratings."""
    unit, rater = np.nonzero(~np.isnan(ratings))
    pairs = np.column_stack([ratings[unit, rater], judge[unit]])
    return (ratings, levels, cluster), (pairs, levels, cluster[unit])


def _probabilities(rows: Sequence[Row], sample: Sample) -> dict[str, Any] | None:
    known = [index for index, row in enumerate(rows) if row.judgment["probability"] is not None]
    if not known:
        return None
    chances = np.array([rows[index].judgment["probability"] for index in known], float)
    truth = sample.truth[known]
    curve = reliability_curve(truth, chances, bins=5)
    figures: dict[str, Figure] = {
        "brier": brier(truth, chances), "brier_skill": brier_skill(truth, chances),
        "debiased_ece": debiased_ece(truth, chances, bins=5),
    }  # fmt: skip
    return {
        "n": len(known),
        **{
            name: {"value": None, "undefined": f.why} if isinstance(f, Undefined) else {"value": f}
            for name, f in figures.items()
        },
        "curve": [] if isinstance(curve, Undefined) else [asdict(one) for one in curve],
    }


def _spending(rows: Sequence[Row]) -> Spending | None:
    asked = [row.judgment for row in rows if row.judgment["outcome"] not in ("reply_failed", "void")]
    if not asked:
        return None
    seconds = np.array([judgment["seconds"] for judgment in asked])
    costs = [judgment["cost"] for judgment in asked]
    return Spending(
        len(asked),
        sum(judgment["calls"] for judgment in asked) / len(asked),
        (float(np.median(seconds)), float(np.percentile(seconds, 95))),
        None if any(cost is None for cost in costs) else sum(costs) / len(costs),
    )


def _numbers(values: Sequence[Value]) -> list[float]:
    return [value for value in values if not isinstance(value, str)]
