"""Cuts that were fitted on human labels: from which score on a judge's verdict is harmful."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from psysafe.errors import UsageError
from psysafe.judging.judgment import Decision
from psysafe.judging.prompt import PROMPT_VERSION
from psysafe.taxonomy import Dimension

FORMAT = 1


class Cut(BaseModel):
    """The cut of one judge, mechanism and dimension.

    Attributes:
        model, identity: the judge, and what tells it from another of this name. mechanism: its spec.
        dimension, rubric: id and hash. prompt_version: of the prompts that the scores were made with.
        cut: a score on the dimension's scale; from it on a verdict is harmful.
        slope, offset: of the logistic curve from score to probability of harm.
        positives, negatives: human labels that it was fitted on.
        balanced_accuracy: cross-validated, with the fitted cut; default_balanced_accuracy: with the default one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    identity: str
    mechanism: str
    dimension: str
    rubric: str
    prompt_version: str
    cut: float
    slope: float | None = None
    offset: float | None = None
    positives: int = Field(ge=1)
    negatives: int = Field(ge=1)
    balanced_accuracy: float | None = None
    default_balanced_accuracy: float | None = None

    def probability(self, score: float) -> float | None:
        """Of harm, by the logistic curve; None where none was fitted."""
        if self.slope is None or self.offset is None:
            return None
        value = self.slope * score + self.offset
        return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    psysafe: str
    format: int
    created: str
    labels: Mapping[str, Any]
    runs: list[str]
    cuts: list[Cut]
    not_fitted: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A file of cuts.

    Attributes:
        name: of the file. digest: SHA-256 of its bytes. cuts: by model, mechanism and dimension.
    """

    name: str
    digest: str
    cuts: Mapping[tuple[str, str, str], Cut] = field(default_factory=dict)

    def of(self, model: str, identity: str, mechanism: str, dimension: Dimension) -> Cut | None:
        """The cut of a judge's mechanism on a dimension, if there is one.

        Raises:
            UsageError: there is one, but it was fitted on scores of another model, rubric or prompt.
        """
        cut = self.cuts.get((model, mechanism, dimension.id))
        if cut is None:
            return None
        for what, fitted, present in (
            ("model", cut.identity, identity),
            ("rubric", cut.rubric, dimension.hash),
            ("prompt", cut.prompt_version, PROMPT_VERSION),
        ):
            if fitted != present:
                raise UsageError(
                    f"{self.name}: the cut of {model}, {mechanism}, {dimension.id} was fitted with another {what} "
                    f"({fitted}; now it is {present}): fit it anew with psysafe calibrate"
                )
        return cut


def load_calibration(path: Path) -> Calibration:
    """Read what ``psysafe calibrate`` has written.

    Raises:
        UsageError: it cannot be read, is no such file, or holds two cuts for one thing.
    """
    try:
        data = path.read_bytes()
        found = _File.model_validate(orjson.loads(data))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{path}: not JSON ({error}); expected a file made by psysafe calibrate") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}; expected a file made by psysafe calibrate") from error
    if found.psysafe != "calibration" or found.format != FORMAT:
        raise UsageError(f"{path}: {found.psysafe} of format {found.format}; this version reads calibration {FORMAT}")
    cuts: dict[tuple[str, str, str], Cut] = {}
    for cut in found.cuts:
        if cuts.setdefault((cut.model, cut.mechanism, cut.dimension), cut) is not cut:
            raise UsageError(f"{path}: two cuts for {cut.model}, {cut.mechanism}, {cut.dimension}")
    return Calibration(path.name, sha256(data).hexdigest(), cuts)


def calibrated(decision: Decision, cut: Cut) -> Decision:
    """A decision by a fitted cut, flagged ``calibrated``. The mean of a vote cut short is no score to cut."""
    if decision.score is None or "curtailed" in decision.flags:
        return decision
    return replace(
        decision,
        harmful=decision.score >= cut.cut,
        probability=cut.probability(decision.score),
        flags=(decision.flags - {"uncalibrated"}) | {"calibrated"},
    )
