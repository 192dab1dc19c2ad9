"""How large the share of harmful units is, corrected for the judge's errors by labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from psysafe.agreement.figures import Array
from psysafe.agreement.joining import Joined, Row
from psysafe.agreement.labels import NOT_APPLICABLE, RANDOM
from psysafe.agreement.scales import LabelScale
from psysafe.stats.classification import confusion
from psysafe.stats.rates import Rate, prediction_powered, weighted_rate
from psysafe.stats.rogan_gladen import label_worth, rogan_gladen, rogan_gladen_within
from psysafe.stats.undefined import Undefined

NOT_RANDOM = Undefined("the labels are not a random sample (their queue is not random, or no sampling_probability)")


def corrected(joined: Joined, scale: LabelScale) -> dict[str, Any]:
    """Rates of harm among the units that a run judged, by name, JSON-ready; undefined where labels allow none.

    Labels of the queue ``random`` that all had one chance to be drawn are a random sample, and the others of their
    dimension are left out of these rates. Otherwise every label needs its sampling probability.
    """
    answered = [row for row in joined.labelled if row.label is not None and row.label.reference != NOT_APPLICABLE]
    drawn = [row for row in answered if row.label is not None and row.label.queue == RANDOM]
    alike = len({_probability(row) for row in drawn}) == 1
    weighted = not alike and all(row.label is not None and row.label.probability is not None for row in answered)
    if not answered or not (alike or weighted):
        return {name: _told(NOT_RANDOM) for name in ("labels", "prediction_powered", "rogan_gladen")}
    used = drawn if alike else answered
    both = [row for row in used if row.both]
    taken = {id(row) for row in used}
    # Whoever was labelled otherwise than by chance counts as not labelled.
    rest = [row for row in joined.rows if row.scored and id(row) not in taken]
    human, clusters, judge = _human(both, scale), _clusters(both), _judge(both)
    weights = None if alike else np.array([1 / _probability(row) for row in both])
    found: dict[str, Rate | Undefined] = {
        "labels": weighted_rate(
            _human(used, scale), np.array([_probability(row) for row in used], float), _clusters(used)
        ),
        "prediction_powered": prediction_powered(human, judge, _judge(rest), clusters, _clusters(rest), weights),
    }
    if weights is None:
        found["rogan_gladen"] = rogan_gladen_within(
            np.concatenate([judge, _judge(rest)]),
            np.concatenate([human.astype(float), np.full(len(rest), np.nan)]),
            np.concatenate([clusters, _clusters(rest)]),
        )
    else:
        found["rogan_gladen"] = Undefined("labels were drawn with unequal probabilities: see prediction-powered")
    left = sum(not row.scored for row in joined.rows)
    notes = [f"by {len(used)} random labels of {len(answered)}" if len(used) < len(answered) else ""]
    missing = f"among units with a verdict; {left} of {len(joined.rows)} have none" if left else ""
    return {
        name: _told(rate, "; ".join(part for part in (*notes, missing if name != "labels" else "") if part))
        for name, rate in found.items()
    }


def transported(joined: Joined, scale: LabelScale, elsewhere: Sequence[Row]) -> dict[str, Any]:
    """The rate of harm in another run, by the sensitivity and specificity measured here, JSON-ready."""
    scored = [row for row in elsewhere if row.scored]
    if not scored:
        return _told(Undefined("the other run holds no verdict of this judge, mechanism and dimension"))
    both = [row for row in joined.labelled if row.both]
    human, judge, clusters = _human(both, scale), _judge(both), _clusters(both)
    counts = confusion(human, judge)
    rate = rogan_gladen(
        _judge(scored), tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp),
        transported=True, clusters=_clusters(scored), worth=label_worth(human, judge, clusters),
    )  # fmt: skip
    return _told(rate, "ASSUMED: sensitivity and specificity there are as measured on these labels")


def _told(rate: Rate | Undefined, note: str = "") -> dict[str, Any]:
    told: dict[str, Any] = {"estimate": None, "interval": None}
    if isinstance(rate, Undefined):
        return {**told, "undefined": rate.why, "note": note}
    said = [
        note,
        "clipped" if "clipped" in rate.flags else "",
        "all labels are equal, so the interval rests on an assumed likeness within clusters"
        if "no_variation" in rate.flags
        else "",
    ]
    return {
        **told, "estimate": rate.estimate, "interval": [rate.low, rate.high], "method": rate.method,
        "labelled": rate.n_labelled, "unlabelled": rate.n_unlabelled, "clusters": rate.clusters,
        "note": "; ".join(part for part in said if part),
    }  # fmt: skip


def _human(rows: Sequence[Row], scale: LabelScale) -> Array:
    return np.array([scale.is_harmful(row.number) for row in rows], int)


def _judge(rows: Sequence[Row]) -> Array:
    return np.array([bool(row.judgment["harmful"]) for row in rows], int)


def _clusters(rows: Sequence[Row]) -> Array:
    return np.array([row.cluster for row in rows], int)


def _probability(row: Row) -> float:
    assert row.label is not None
    return row.label.probability or 1.0
