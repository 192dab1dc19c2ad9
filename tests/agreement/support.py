"""Runs with given verdicts, and labels of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from psysafe.conversation import Conversation, Message
from psysafe.judging import Judgment, parse_mechanism
from psysafe.judging.prompt import PROMPT_VERSION
from psysafe.runs import Store
from psysafe.runs.entry import Entry
from psysafe.taxonomy import load_dimension

D = "insulting_behaviour"


@dataclass(frozen=True, slots=True)
class Said:
    """A verdict: 0 to 2 is a score, anything else an outcome."""

    id: str
    verdict: Any
    dimension: str = D
    model: str = "m"
    mechanism: str = "single"
    message: int | None = 1
    text: str | None = None  # of the reply; its own by default
    user: str | None = None
    more: dict[str, Any] = field(default_factory=dict)


def judgment(said: Said) -> Judgment:
    """As a run would hold it."""
    mechanism = parse_mechanism(said.mechanism)
    key = blake2b(repr((said.id, said.dimension, said.model, said.mechanism, said.message)).encode(), digest_size=16)
    scored = not isinstance(said.verdict, str)
    fields: dict[str, Any] = {
        "outcome": "scored" if scored else said.verdict,
        "reason": "judge_refused" if said.verdict == "unscored" else None,
        "score": float(said.verdict) if scored else None,
        "label": math.floor(said.verdict + 0.5) if scored else None,
        "harmful": said.verdict >= 0.5 if scored else None,
        "calls": mechanism.calls, "cost": 0.001 * mechanism.calls, "seconds": 0.5, **said.more,
    }  # fmt: skip
    return Judgment(
        key=key.hexdigest(), conversation=said.id, message=said.message, scope="reply", dimension=said.dimension,
        model=said.model, mechanism=mechanism.describe(), **fields,
    )  # fmt: skip


def conversation(said: Said) -> Conversation:
    """Two messages, or four where a later one is judged."""
    words = said.user or f"question {said.id}"
    reply = said.text or f"reply {said.id}"
    if said.message in (None, 1):
        return Conversation(said.id, (Message("user", words), Message("assistant", reply)))
    more = (Message("user", "and then"), Message("assistant", f"later {said.id}"))
    return Conversation(said.id, (Message("user", words), Message("assistant", reply), *more))


def make_run(directory: Path, verdicts: Iterable[Said], **manifest: Any) -> Path:
    """A complete run that holds these verdicts."""
    given = list(verdicts)
    values = {
        "created": "2026-11-01T10:00:00+00:00", "state": {"ended": "complete", "detail": None}, "concurrency": 1,
        "manifest": {
            "scope": "reply", "seed": 0, "prompt_version": PROMPT_VERSION,
            "dimensions": {one.dimension: load_dimension(one.dimension).hash for one in given},
            "models": {one.model: f"identity of {one.model}" for one in given}, **manifest,
        },
        "models": [{"name": one.model, "host": "example.org"} for one in {one.model: one for one in given}.values()],
        "surroundings": {"psysafe": "0.1.0"},
    }  # fmt: skip
    places = {name: place for place, name in enumerate(dict.fromkeys(one.id for one in given))}
    longest = {}
    for one in given:
        if one.id not in longest or (one.message or 0) > (longest[one.id].message or 0):
            longest[one.id] = one
    with closing(Store.create(directory, values=values)) as store:
        store.lock()
        store.write([
            Entry(judgment(one), one.mechanism, conversation(longest[one.id]), places[one.id]) for one in given
        ])  # fmt: skip
    return directory


def write_labels(path: Path, labels: Iterable[dict[str, Any]]) -> Path:
    """A file of labels on ``D``."""
    path.write_text("".join(json.dumps({"dimension": D, **label}) + "\n" for label in labels), encoding="utf-8")
    return path
