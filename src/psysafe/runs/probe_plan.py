"""What a probe is to do: the cast, the settings, and the manifest that identifies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psysafe.clients.profile import Profile
from psysafe.judging import ManagedJudge
from psysafe.judging.judges import calls, info_of
from psysafe.judging.prompt import PROMPT_VERSION
from psysafe.models import ManagedModel
from psysafe.probing.cast import Cast
from psysafe.probing.records import Kind
from psysafe.probing.settings import Settings
from psysafe.probing.trial import Task

# Part of what a probe is: raised when a prompt of the client, the strategist or a judge of dialogues changes.
PROBE_VERSION = "1"


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """All that determines a probe's records.

    Attributes:
        profiles: those that are played, in a fixed order. plain: their benign variants.
        again: reproductions of each elite. controls, benign: how many trials of these kinds.
        given: trials that are fixed beforehand, by kind, instead of a search: a replay, or stored ones to be judged
            again. source: what they were made of, JSON-ready.
        roles: the models by model role, for the manifest.
    """

    cast: Cast
    settings: Settings
    profiles: Sequence[Profile]
    plain: Sequence[Profile] = ()
    again: int = 3
    controls: int = 0
    benign: int = 0
    given: Mapping[Kind, Sequence[Task]] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, Sequence[ManagedModel | ManagedJudge]] = field(default_factory=dict)

    @property
    def models(self) -> list[ManagedModel | ManagedJudge]:
        """Each once."""
        return list({id(model): model for models in self.roles.values() for model in models}.values())

    @property
    def first_trials(self) -> int:
        """Trials that are certain: of the search, or of the replay."""
        return sum(map(len, self.given.values())) if self.given else self.settings.trials

    @property
    def least_calls(self) -> int:
        """Of a trial with one dialogue: strategy, turns, ladder, blind judge, course, what is learned, the check of the
        client."""
        turns = 0 if any(task.stored for tasks in self.given.values() for task in tasks) else 2 * self.settings.turns
        return turns + calls(self.cast.judge, self.cast.mechanism) + 4 + self.settings.course

    def manifest(self) -> dict[str, Any]:
        """What must be equal for a probe to be gone on with, JSON-ready."""
        return {
            "probe": self.settings.model_dump(mode="json"),
            **({"source": self.source} if self.source else {}),
            "mechanism": self.cast.mechanism.describe(),
            "taxonomy": self.cast.grid.hash,
            "profiles": {profile.id: profile.hash for profile in (*self.profiles, *self.plain)},
            "models": {role: {model.name: _identity(model) for model in models} for role, models in self.roles.items()},
            "reproductions": self.again,
            "controls": self.controls,
            "benign": self.benign,
            "prompt_version": PROMPT_VERSION,
            "probe_version": PROBE_VERSION,
        }


def _identity(model: ManagedModel | ManagedJudge) -> str:
    info = info_of(model)
    return info.identity if info is not None else model.name
