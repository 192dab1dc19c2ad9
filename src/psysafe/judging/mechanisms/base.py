"""What a mechanism is: parameters, and a function from a unit to a decision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from psysafe.judging.asking import Unit
from psysafe.judging.judgment import Decision
from psysafe.taxonomy import Dimension


class Mechanism(BaseModel, ABC):
    """The parent of all mechanisms. Its fields are its parameters; all of them are part of a unit's key.

    Attributes:
        max_tokens: bound on one answer; a truncated one is asked for again with twice as much.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: ClassVar[str]

    max_tokens: Annotated[int, Field(ge=1)] = 1024

    @property
    @abstractmethod
    def calls(self) -> int:
        """Most judge calls for one unit, re-asks apart."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Most calls of one unit in flight at once."""

    def check(self, dimension: Dimension) -> None:
        """Whether the parameters fit a dimension.

        Raises:
            UsageError: they do not; says what was expected.
        """

    @abstractmethod
    async def run(self, unit: Unit) -> Decision:
        """Ask, and decide.

        Raises:
            ModelError: only of a kind that stops a run.
        """

    def describe(self) -> dict[str, Any]:
        """Name and all parameters, JSON-ready."""
        return {"name": self.name, **self.model_dump(mode="json")}

    def spec(self) -> str:
        """The shortest string that names it with its parameters, as the command line takes it."""
        changed = [
            f"{name}={_text(value)}"
            for name, value in self.model_dump(mode="json").items()
            if value != type(self).model_fields[name].default
            and value != list(_sequence(type(self).model_fields[name].default))
        ]
        return f"{self.name}:{','.join(changed)}" if changed else self.name


def _sequence(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
