"""How large the share of harmful units is, corrected for the judge's errors by labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from psysafe.agreement.figures import Array
from psysafe.agreement.joining import Joined, Row
from psysafe.agreement.labels import NOT_APPLICABLE, RANDOM, Labels
from psysafe.agreement.scales import LabelScale
from psysafe.stats.classification import confusion
from psysafe.stats.rates import Rate, prediction_powered, weighted_rate
from psysafe.stats.rogan_gladen import label_worth, rogan_gladen, rogan_gladen_within
from psysafe.stats.undefined import Undefined

NOT_RANDOM = Undefined("the labels are not a random sample (their queue is not random, or no sampling_probability)")


def corrected(joined: Joined, scale: LabelScale, labels: Labels) -> dict[str, Any]:
    """Rates of harm among the units that a run judged, by name, JSON-ready; undefined where labels allow none.

    The share is of all units with a verdict; where people or the judge say not applicable, there is no harm.

    Labels of the queue ``random`` that all had one chance to be drawn are a random sample, and the others of their
    dimension are left out of these rates. Otherwise every label needs its sampling probability.
    """
    answered = joined.labelled
    drawn = [row for row in answered if row.label is not None and row.label.queue == RANDOM]
    alike = len({_probability(row) for row in drawn}) == 1
    weighted = not alike and all(row.label is not None and row.label.probability is not None for row in answered)
    if not answered or not (alike or weighted):
        return {name: _told(NOT_RANDOM) for name in ("labels", "prediction_powered", "rogan_gladen")}
    used = drawn if alike else answered
    if alike and (problem := _other_draw(drawn, joined, labels)) is not None:
        return {name: _told(problem) for name in ("labels", "prediction_powered", "rogan_gladen")}
    both = [row for row in used if _has_verdict(row)]
    taken = {id(row) for row in used}
    # Whoever was labelled otherwise than by chance counts as not labelled.
    rest = [row for row in joined.rows if _has_verdict(row) and id(row) not in taken]
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
    left = sum(not _has_verdict(row) for row in joined.rows)
    notes = [f"by {len(used)} random labels of {len(answered)}" if len(used) < len(answered) else ""]
    missing = f"among units with a verdict; {left} of {len(joined.rows)} have none" if left else ""
    return {
        name: _told(rate, "; ".join(part for part in (*notes, missing if name != "labels" else "") if part))
        for name, rate in found.items()
    }


def transported(
    joined: Joined, scale: LabelScale, elsewhere: Sequence[Row], differing: Sequence[str] = ()
) -> dict[str, Any]:
    """The rate of harm in another run, by the sensitivity and specificity measured here, JSON-ready.

    Args:
        differing: what was not the same in the other run, such as the rubric; then nothing is known of it.
    """
    judged = [row for row in elsewhere if _has_verdict(row)]
    if not judged:
        return _told(Undefined("the other run holds no verdict of this judge, mechanism and dimension"))
    if differing:
        return _told(Undefined(f"the other run was judged with another {' and another '.join(differing)}"))
    both = [row for row in joined.labelled if _has_verdict(row)]
    if len({row.label.probability for row in both if row.label is not None}) > 1:
        return _told(Undefined("these labels were drawn with unequal probabilities; it takes a random sample, or all"))
    human, judge, clusters = _human(both, scale), _judge(both), _clusters(both)
    counts = confusion(human, judge)
    rate = rogan_gladen(
        _judge(judged), tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp),
        transported=True, clusters=_clusters(judged), worth=label_worth(human, judge, clusters),
    )  # fmt: skip
    if isinstance(rate, Rate) and rate.low == rate.high:
        return _told(
            Undefined(
                "the share that the judge flags there lies outside what its sensitivity and specificity here allow, so "
                "that these cannot hold there"
            )
        )
    return _told(rate, "ASSUMED: sensitivity and specificity there are as measured on these labels")


def _has_verdict(row: Row) -> bool:
    """Whether the judge said something, be it that the dimension does not apply."""
    return bool(row.judgment["outcome"] in ("scored", NOT_APPLICABLE))


def _other_draw(drawn: Sequence[Row], joined: Joined, labels: Labels) -> Undefined | None:
    """Labels drawn from other units than the run holds now, such as the first half of it, are no sample of it.

    Told where all rows of the file are filled in, so that it is known how many were drawn.
    """
    chance = drawn[0].label.probability if drawn[0].label is not None else None
    if chance is None or labels.blank or abs(len(drawn) - chance * len(joined.rows)) <= max(1.0, 0.05 * len(drawn)):
        return None
    return Undefined(
        f"the labels were drawn from other units than the run holds: {len(drawn)} of {len(joined.rows)} units are no "
        f"share of {chance:.3g} (sampling_probability)"
    )


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
    """Whether people call them harmful; what does not apply is not."""
    return np.array(
        [
            row.label is not None and row.label.reference != NOT_APPLICABLE and scale.is_harmful(row.number)
            for row in rows
        ],
        int,
    )


def _judge(rows: Sequence[Row]) -> Array:
    return np.array([bool(row.judgment["harmful"]) for row in rows], int)


def _clusters(rows: Sequence[Row]) -> Array:
    return np.array([row.cluster for row in rows], int)


def _probability(row: Row) -> float:
    assert row.label is not None
    return row.label.probability or 1.0
