"""Cuts fitted on human labels, for the judges of some runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from psysafe.agreement.agreeing import label_scales
from psysafe.agreement.joining import Joined, join
from psysafe.agreement.labels import Labels
from psysafe.agreement.measuring import sample_of
from psysafe.agreement.scales import Kind, LabelScale
from psysafe.errors import UsageError
from psysafe.judging.calibration import FORMAT, Cut
from psysafe.runs.store import Store
from psysafe.stats.calibration import best_cut, brier, debiased_ece, platt
from psysafe.stats.classification import balanced_accuracy
from psysafe.stats.undefined import Figure, Undefined
from psysafe.taxonomy import Dimension


@dataclass(frozen=True, slots=True)
class Fitted:
    """What came of one judge, mechanism and dimension.

    Attributes:
        cut: None where none was fitted; ``why`` then says why not.
        before: balanced accuracy with the default cut. after: with the fitted one, cross-validated over clusters.
        brier, ece: of the fitted probability on the labels it was fitted on, so they flatter it.
    """

    model: str
    mechanism: str
    dimension: str
    units: int
    cut: Cut | None
    why: str | None
    before: Figure
    after: Figure
    brier: Figure
    ece: Figure


def fit(
    stores: Sequence[Store], labels: Labels, dimensions: Mapping[str, Dimension], *, kind: Kind | None = None
) -> list[Fitted]:
    """Fit a cut for every judge, mechanism and dimension of some runs that people labelled.

    Scores of votes that were cut short are left out; verdicts by an earlier calibration do not matter, since scores
    are what is fitted.

    Raises:
        UsageError: see ``join``, ``label_scale``.
    """
    manifests = {store.id: store.get("manifest") or {} for store in stores}
    found = {key: one for key, one in join(stores, labels).items() if one.labelled}
    scales = label_scales(labels, dimensions, found, kind)
    return [
        _fit(found[key], scales[key[2]], _manifest(manifests, key), dimensions[key[2]])
        for key in sorted(found, key=lambda key: (key[2], key[0], key[1]))
    ]


def write(fitted: Sequence[Fitted], labels: Labels, stores: Sequence[Store], path: Path) -> None:
    """Write a calibration file.

    Raises:
        UsageError: it cannot be written.
    """
    content: dict[str, Any] = {
        "psysafe": "calibration", "format": FORMAT, "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "labels": {"name": labels.name, "sha256": labels.digest},
        "runs": [store.id for store in stores],
        "cuts": [one.cut.model_dump() for one in fitted if one.cut is not None],
        "not_fitted": [
            {"model": one.model, "mechanism": one.mechanism, "dimension": one.dimension, "why": one.why}
            for one in fitted if one.cut is None
        ],
    }  # fmt: skip
    try:
        path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def _fit(joined: Joined, scale: LabelScale, manifest: Mapping[str, Any], dimension: Dimension) -> Fitted:
    model, mechanism, name = joined.key
    rows = [row for row in joined.labelled if row.both and not row.curtailed]
    sample = sample_of(rows, scale)
    default = np.array([dimension.scale.is_harmful(score) for score in sample.score], int)
    before = balanced_accuracy(sample.truth, default)
    if sample.weighted:
        none = Undefined("no cut")
        why = "the labels were drawn with unequal probabilities; it takes a random draw, or all units labelled"
        return Fitted(model, mechanism, name, len(rows), None, why, before, none, none, none)
    found = best_cut(sample.truth, sample.score, sample.cluster)
    if isinstance(found, Undefined):
        none = Undefined(found.why)
        return Fitted(model, mechanism, name, len(rows), None, found.why, before, none, none, none)
    after = found.cross_validated
    if isinstance(after, Undefined):
        none = Undefined("no cut")
        why = f"how it does on rows left out of the fit cannot be told: {after.why}"
        return Fitted(model, mechanism, name, len(rows), None, why, before, after, none, none)
    if not isinstance(before, Undefined) and after <= before:
        none = Undefined("no cut")
        why = f"on rows left out of the fit it does no better than the default ({after:.2f}, default {before:.2f})"
        return Fitted(model, mechanism, name, len(rows), None, why, before, after, none, none)
    curve = platt(sample.truth, sample.score)
    cut = Cut(
        model=model, identity=manifest["models"][model], mechanism=mechanism, dimension=name, rubric=dimension.hash,
        prompt_version=manifest["prompt_version"], cut=found.cut,
        slope=None if isinstance(curve, Undefined) else curve.slope,
        offset=None if isinstance(curve, Undefined) else curve.intercept,
        positives=found.positives, negatives=found.negatives,
        balanced_accuracy=after,
        default_balanced_accuracy=None if isinstance(before, Undefined) else before,
    )  # fmt: skip
    if isinstance(curve, Undefined):
        return Fitted(model, mechanism, name, len(rows), cut, None, before, after, curve, curve)
    chances = np.array([cut.probability(score) for score in sample.score], float)
    return Fitted(
        model, mechanism, name, len(rows), cut, None, before, after,
        brier(sample.truth, chances), debiased_ece(sample.truth, chances),
    )  # fmt: skip


def _manifest(manifests: Mapping[str, Mapping[str, Any]], key: tuple[str, str, str]) -> Mapping[str, Any]:
    """Of the run that holds a judge's verdicts on a dimension."""
    return next(one for one in manifests.values() if key[0] in one["models"] and key[2] in one["dimensions"])
