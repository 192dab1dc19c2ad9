"""What a run is to do: the units, and the manifest that identifies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psysafe
from psysafe.conversation import Conversation
from psysafe.errors import UsageError
from psysafe.judging import Classifier, Mechanism, Scope, subjects, unit_key
from psysafe.judging.calibration import Calibration, Cut
from psysafe.judging.judges import ManagedJudge, calls, check, covers, leaves, width
from psysafe.judging.prompt import PROMPT_VERSION, Subject
from psysafe.runs.selection import Selection
from psysafe.taxonomy import Dimension


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of a run."""

    key: str
    subject: Subject
    dimension: Dimension
    mechanism: Mechanism
    spec: str
    model: ManagedJudge
    position: int
    calls: int
    width: int
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a run's judgments.

    Attributes:
        conversations: gives a fresh iterator over the input at each call.
        source: what the input was, JSON-ready, digests included.
        count: conversations. judged: messages (or whole conversations) to be judged at this scope.
        selection: the units that are judged; None for all.
        calibration: fitted cuts; the default ones where it holds none.
    """

    conversations: Callable[[], Iterator[Conversation]]
    source: dict[str, Any]
    count: int
    judged: int
    dimensions: Sequence[Dimension]
    mechanisms: Sequence[Mechanism]
    models: Sequence[ManagedJudge]
    scope: Scope = "reply"
    seed: int = 0
    selection: Selection | None = None
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms:
            for dimension in self.dimensions:
                mechanism.check(dimension)
            for model in self.models:
                check(model, mechanism)
        if self.calibration is not None and not self.cuts:
            fitted = ", ".join(" ".join(key) for key in self.calibration.cuts) or "none"
            raise UsageError(
                f"{self.calibration.name} holds no cut for these models, mechanisms and dimensions (its cuts: {fitted})"
            )
        for model in self.models:
            if not self.covered(model):
                raise UsageError(
                    f"{model.name} judges none of {', '.join(d.id for d in self.dimensions)}: it was fitted on no "
                    f"labels for that; name an LLM judge, or lexicon as a floor{self._in_words(model)}"
                )
            if self.selection is not None and not self.judged_by(model):
                raise UsageError(
                    f"{model.name} judges none of the dimensions that are labelled here: name another judge"
                )

    def _in_words(self, model: ManagedJudge) -> str:
        asked = [leaf.chat for leaf in leaves(model) if isinstance(leaf, Classifier)]
        return ", or ask it in words (--mechanism dual, debate or vote)" if asked and all(asked) else ""

    def kinds(self, model: ManagedJudge) -> list[tuple[Mechanism, Dimension]]:
        """What a judge can be asked: mechanism and dimension, in the order of the units."""
        return [(m, d) for d in self.dimensions for m in self.mechanisms if covers(model, d, m)]

    def covered(self, model: ManagedJudge) -> list[Dimension]:
        """The dimensions of the plan that a judge can judge, by one mechanism at least."""
        there = {dimension.id for _, dimension in self.kinds(model)}
        return [dimension for dimension in self.dimensions if dimension.id in there]

    @property
    def not_covered(self) -> dict[str, list[str]]:
        """By judge, or judge and mechanism, the ids of dimensions of which no units are made."""
        gaps: dict[str, list[str]] = {}
        for model in self.models:
            there = {(mechanism, dimension.id) for mechanism, dimension in self.kinds(model)}
            for dimension in self.dimensions:
                missing = [mechanism for mechanism in self.mechanisms if (mechanism, dimension.id) not in there]
                if len(missing) == len(self.mechanisms):
                    gaps.setdefault(model.name, []).append(dimension.id)
                    continue
                for mechanism in missing:
                    gaps.setdefault(f"{model.name} with {mechanism.spec()}", []).append(dimension.id)
        return gaps

    @property
    def units(self) -> int:
        """Units in all."""
        return sum(self.units_of(model) for model in self.models)

    @property
    def calls(self) -> int:
        """Most model calls in all, re-asks apart."""
        return sum(self.calls_of(model) for model in self.models)

    @property
    def cuts(self) -> dict[tuple[str, str, str], Cut]:
        """The fitted cuts that apply, by model, mechanism and dimension."""
        if self.calibration is None:
            return {}
        found: dict[tuple[str, str, str], Cut] = {}
        for model in self.models:
            for mechanism, dimension in self.kinds(model):
                spec = mechanism.spec()
                cut = self.calibration.of(model.name, model.info.identity, spec, dimension)
                if cut is not None:
                    found[model.name, spec, dimension.id] = cut
        return found

    def judged_on(self, dimension: Dimension) -> int:
        """What is judged on a dimension by one judge and mechanism."""
        return self.judged if self.selection is None else self.selection.count.get(dimension.id, 0)

    def judged_by(self, model: ManagedJudge) -> int:
        """What is judged by one judge, counted for each dimension."""
        return sum(self.judged_on(dimension) for dimension in self.covered(model))

    def units_of(self, model: ManagedJudge) -> int:
        """Units of one judge."""
        return sum(self.judged_on(dimension) for _, dimension in self.kinds(model))

    def calls_of(self, model: ManagedJudge) -> int:
        """Most calls of one judge, re-asks apart."""
        return sum(self.judged_on(dimension) * calls(model, mechanism) for mechanism, dimension in self.kinds(model))

    def tasks(self) -> Iterator[Task]:
        """The units, in the order of the input."""
        cuts = self.cuts
        kinds = [
            (
                dimension,
                mechanism,
                mechanism.spec(),
                model,
                calls(model, mechanism),
                width(model, mechanism),
                cuts.get((model.name, mechanism.spec(), dimension.id)),
            )
            for dimension in self.dimensions
            for mechanism in self.mechanisms
            for model in self.models
            if covers(model, dimension, mechanism)
        ]
        for position, conversation in enumerate(self.conversations()):
            content = conversation.content_hash()
            for subject in subjects(conversation, self.scope):
                for dimension, mechanism, spec, model, most, wide, cut in kinds:
                    if self.selection is not None and not self.selection.takes(subject, dimension):
                        continue
                    key = unit_key(
                        subject, dimension, mechanism, model.name, self.seed, content, cut.cut if cut else None
                    )
                    yield Task(key, subject, dimension, mechanism, spec, model, position, most, wide, cut)

    def manifest(self) -> dict[str, Any]:
        """What must be equal for a run to be resumed, JSON-ready."""
        return {
            "source": self.source,
            **(
                {"calibration": {"name": self.calibration.name, "sha256": self.calibration.digest}}
                if self.calibration is not None
                else {}
            ),
            **({"labels": dict(self.selection.source)} if self.selection is not None else {}),
            "scope": self.scope,
            "dimensions": {dimension.id: dimension.hash for dimension in self.dimensions},
            "mechanisms": [mechanism.describe() for mechanism in self.mechanisms],
            "models": {model.name: model.info.identity for model in self.models},
            "seed": self.seed,
            "prompt_version": PROMPT_VERSION,
        }


def surroundings() -> dict[str, Any]:
    """What else is recorded of an execution, without being part of the run's identity."""
    import platform

    return {
        "psysafe": psysafe.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def manifest_difference(stored: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """One line for each part of two manifests that differs: ``seed: the run has 0, asked for 1``."""
    lines: list[str] = []
    _compare("", stored, wanted, lines)
    return lines


def _compare(path: str, stored: Any, wanted: Any, lines: list[str]) -> None:
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for name in dict.fromkeys([*stored, *wanted]):
            inner = f"{path}.{name}" if path else name
            if name not in stored:
                lines.append(f"{inner}: the run has none, asked for {_shown(wanted[name])}")
            elif name not in wanted:
                lines.append(f"{inner}: the run has {_shown(stored[name])}, asked for none")
            else:
                _compare(inner, stored[name], wanted[name], lines)
    elif stored != wanted:
        lines.append(f"{path}: the run has {_shown(stored)}, asked for {_shown(wanted)}")


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
