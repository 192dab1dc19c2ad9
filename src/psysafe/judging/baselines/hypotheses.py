"""What ``nli`` asks its model; the sentences are data, in ``data/hypotheses.yaml``."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Hypotheses(BaseModel):
    """What the model is asked; ``data/hypotheses.yaml`` says what each field means."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    premise: str
    premise_without_user: str
    premise_user: str
    applies: dict[str, str]
    hypotheses: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]]

    def text(self, user: str, reply: str) -> str:
        """The premise for a reply."""
        return fill(self.premise if user else self.premise_without_user, user=user, reply=reply)


def fill(template: str, **texts: str) -> str:
    """A premise with its texts."""
    # in one pass, since a text may itself hold "{reply}"
    return re.sub(r"\{(user|reply)\}", lambda match: texts[match[1]], template)


@cache
def hypotheses() -> tuple[Hypotheses, str]:
    """Ours, and the digest of their file."""
    import yaml

    content = (files("psysafe.judging") / "data" / "hypotheses.yaml").read_bytes()
    return Hypotheses.model_validate(yaml.safe_load(content)), hashlib.sha256(content).hexdigest()
