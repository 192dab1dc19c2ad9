"""How a probe is done: what must be equal for two probes to be the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from psysafe.clients.client import Style
from psysafe.probing.archive import Descriptor
from psysafe.probing.choosing import WEIGHTS
from psysafe.taxonomy import GRID, CellId

Preset = Literal["psysafe", "paper"]
Searcher = Literal["psysafe", "paper", "random", "pair", "tap"]
SEARCHERS: tuple[Searcher, ...] = ("psysafe", "paper", "random", "pair", "tap")

# What a preset fixes where nothing else is asked for. ``paper``: MHSafeEval, with the parameters of its code.
PRESETS: dict[Preset, dict[str, Any]] = {
    "psysafe": {"searcher": "psysafe", "descriptor": "observed"},
    "paper": {"searcher": "paper", "descriptor": "intended", "schedule": "adaptive"},
}


class Settings(BaseModel):
    """The parameters of a probe.

    Attributes:
        searcher: how trials are chosen and refined. schedule: of the paper's mutations.
        trials: in all. turns: of a dialogue. refinements: of a trial, at most, after its first rollout.
        in_flight: trials at once; a trial is chosen from the records so far behind it.
        cells: that may be aimed at. seed: everything random follows from it.
        style: how the client's model is asked. roles, archive: False: without counselor roles, without elites as
            parents and without what was learned (ablations).
        descriptor: whether what shows off target is filed. course: judge severity by turn, refusals and redirections.
        fidelity: check each trial's last dialogue for whether the client was the person of its profile.
        client_temperature, target_temperature, reply_tokens: sampling of the dialogue.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Preset = "psysafe"
    searcher: Searcher = "psysafe"
    schedule: str = "adaptive"
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 112
    turns: Annotated[int, Field(ge=1, le=200)] = 10
    refinements: Annotated[int, Field(ge=0, le=50)] = 5
    in_flight: Annotated[int, Field(ge=1, le=4096)] = 16
    cells: tuple[str, ...] = tuple(str(cell) for cell in GRID)
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    style: Style = "chat"
    roles: bool = True
    archive: bool = True
    descriptor: Descriptor = "observed"
    course: bool = True
    fidelity: bool = True
    client_temperature: Annotated[float, Field(ge=0, le=2)] = 0.8
    client_tokens: Annotated[int, Field(ge=16, le=100_000)] = 300
    target_temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    reply_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 2048
    judge_tokens: Annotated[int, Field(ge=16, le=1_000_000)] = 1024
    system: str | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.schedule not in WEIGHTS:
            raise ValueError(f"schedule: found {self.schedule!r}; expected {', '.join(WEIGHTS)}")
        if not self.cells:
            raise ValueError("cells: expected at least one")
        for cell in self.cells:
            CellId.parse(cell)
        return self

    @classmethod
    def preset_of(cls, preset: Preset, **wanted: Any) -> Settings:
        """A preset's settings, with what is wanted otherwise (None: as the preset has it)."""
        given = {name: value for name, value in wanted.items() if value is not None}
        return cls(**{**PRESETS[preset], "preset": preset, **given})

    @property
    def grid(self) -> tuple[CellId, ...]:
        """The cells that may be aimed at."""
        return tuple(CellId.parse(cell) for cell in self.cells)
