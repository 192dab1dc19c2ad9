"""What an endpoint takes: found out once, before the fan-out, and corrected whenever it says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Structure = Literal["json_schema", "json_object", "text"]

_OPTIONAL = ("temperature", "top_p", "seed", "stop", "logprobs")


@dataclass(slots=True)
class Capabilities:
    """What may be sent.

    Attributes:
        structure: the strongest answer format that the endpoint takes.
        max_tokens_name: ``max_tokens``, or ``max_completion_tokens`` where only that is taken.
        dropped: optional parameters that the endpoint refuses; they are left out from then on.
        downgrades: one line for each of these findings, for the record.
    """

    structure: Structure = "json_schema"
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    dropped: set[str] = field(default_factory=set)
    downgrades: list[str] = field(default_factory=list)

    def downgrade(self, parameter: str) -> bool:
        """Give up what ``parameter`` names. Returns whether that changes what is sent."""
        if parameter in ("json_schema", "response_format"):
            if self.structure == "text":
                return False
            self.structure = "json_object" if self.structure == "json_schema" else "text"
            self.downgrades.append(f"{parameter} refused: answers are asked for as {self.structure}")
            return True
        if parameter in ("max_tokens", "max_completion_tokens"):
            other: Literal["max_tokens", "max_completion_tokens"] = (
                "max_completion_tokens" if self.max_tokens_name == "max_tokens" else "max_tokens"
            )
            if any("max_" in line for line in self.downgrades):
                return False
            self.max_tokens_name = other
            self.downgrades.append(f"{parameter} refused: {other} is sent instead")
            return True
        if parameter in _OPTIONAL and parameter not in self.dropped:
            self.dropped.add(parameter)
            self.downgrades.append(f"{parameter} refused: not sent any more")
            return True
        return False

    def as_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "structure": self.structure,
            "max_tokens_name": self.max_tokens_name,
            "dropped": sorted(self.dropped),
            "downgrades": list(self.downgrades),
        }


# The most telling first: a message about max_completion_tokens names max_tokens too. top_p stands before
# temperature, since endpoints that take only one of them name both, and the temperature matters more.
_NAMED = (
    ("json_schema", "json_schema"),
    ("response_format", "response_format"),
    ("max_completion_tokens", "max_tokens"),
    ("max_tokens", "max_tokens"),
    ("top_p", "top_p"),
    ("temperature", "temperature"),
    ("top_logprobs", "logprobs"),
    ("logprobs", "logprobs"),
    ("seed", "seed"),
    ("stop", "stop"),
)


_TELLING = 300


def named_parameter(message: str, param: object) -> str | None:
    """Which parameter the body of a 400 complains about, from its ``param`` field or its text."""
    if isinstance(param, str) and param:
        root = param.split(".")[0].split("[")[0]
        for needle, parameter in _NAMED:
            if root == needle:
                return "json_schema" if parameter == "response_format" and "json_schema" in message else parameter
    # Further on, an endpoint may quote what was sent, and that may name anything.
    text = message[:_TELLING].lower()
    for needle, parameter in _NAMED:
        if (
            f"'{needle}'" in text
            or f'"{needle}"' in text
            or f"`{needle}`" in text
            or ("_" in needle and needle in text)
        ):
            return parameter
    for needle, parameter in _NAMED:
        if needle in ("temperature", "seed", "logprobs") and needle in text:
            return parameter
    return None
