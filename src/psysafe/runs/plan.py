"""What a run is to do: the units, and the manifest that identifies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psysafe
from psysafe.conversation import Conversation
from psysafe.judging import Mechanism, Scope, subjects, unit_key
from psysafe.judging.prompt import PROMPT_VERSION, Subject
from psysafe.models import ManagedModel
from psysafe.taxonomy import Dimension


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of a run."""

    key: str
    subject: Subject
    dimension: Dimension
    mechanism: Mechanism
    spec: str
    model: ManagedModel
    position: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All that determines a run's judgments.

    Attributes:
        conversations: gives a fresh iterator over the input at each call.
        source: what the input was, JSON-ready, digests included.
        count: conversations. judged: messages (or whole conversations) to be judged at this scope.
    """

    conversations: Callable[[], Iterator[Conversation]]
    source: dict[str, Any]
    count: int
    judged: int
    dimensions: Sequence[Dimension]
    mechanisms: Sequence[Mechanism]
    models: Sequence[ManagedModel]
    scope: Scope = "reply"
    seed: int = 0

    def __post_init__(self) -> None:
        for mechanism in self.mechanisms:
            for dimension in self.dimensions:
                mechanism.check(dimension)

    @property
    def units(self) -> int:
        """Units in all."""
        return self.judged * len(self.dimensions) * len(self.mechanisms) * len(self.models)

    @property
    def calls(self) -> int:
        """Most judge calls in all, re-asks apart."""
        return self.judged * len(self.dimensions) * len(self.models) * sum(m.calls for m in self.mechanisms)

    def tasks(self) -> Iterator[Task]:
        """The units, in the order of the input."""
        specs = [(mechanism, mechanism.spec()) for mechanism in self.mechanisms]
        for position, conversation in enumerate(self.conversations()):
            content = conversation.content_hash()
            for subject in subjects(conversation, self.scope):
                for dimension in self.dimensions:
                    for mechanism, spec in specs:
                        for model in self.models:
                            key = unit_key(subject, dimension, mechanism, model.name, self.seed, content)
                            yield Task(key, subject, dimension, mechanism, spec, model, position)

    def manifest(self) -> dict[str, Any]:
        """What must be equal for a run to be resumed, JSON-ready."""
        return {
            "source": self.source,
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
