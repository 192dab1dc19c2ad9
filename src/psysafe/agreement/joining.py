"""A run's judgments beside human labels, unit by unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import select

from psysafe.agreement.clusters import Clusters, shared_texts
from psysafe.agreement.labels import NOT_APPLICABLE, Label, Labels, Place
from psysafe.conversation import Conversation
from psysafe.errors import UsageError
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments

Key = tuple[str, str, str]  # model, mechanism, dimension


@dataclass(slots=True)
class Row:
    """One judged unit.

    Attributes:
        judgment: as the run holds it. label: what people say of it; None where nobody was asked.
        text: hash of the conversation as it was judged.
        cluster: number of the group of conversations that are no independent evidence.
    """

    judgment: dict[str, Any]
    label: Label | None
    text: str = ""
    cluster: int = -1

    @property
    def scored(self) -> bool:
        """Whether the judge gave a verdict with a score."""
        return bool(self.judgment["outcome"] == "scored")

    @property
    def both(self) -> bool:
        """Whether judge and people both have a number here."""
        return self.scored and self.label is not None and self.label.reference != NOT_APPLICABLE

    @property
    def number(self) -> float:
        """What people say, as a number; only where they do not say not applicable."""
        assert self.label is not None
        value = self.label.reference
        assert not isinstance(value, str)
        return value

    @property
    def curtailed(self) -> bool:
        """Whether the score is that of a vote cut short: no use for ranks, and its verdict is that of all votes."""
        return "curtailed" in self.judgment["flags"]


@dataclass(slots=True)
class Joined:
    """All units of one model, mechanism and dimension, in the order of the input.

    Attributes:
        parameters: of the mechanism. manifest: of the run.
        unmatched: labels of this dimension for which there is no judgment.
        other_words: judgments whose conversation is not the one that people saw; their labels are left out.
    """

    key: Key
    rows: list[Row]
    parameters: dict[str, Any]
    manifest: dict[str, Any] = field(default_factory=dict)
    unmatched: list[Place] = field(default_factory=list)
    other_words: int = 0

    def circumstances(self) -> dict[str, Any]:
        """What a verdict depends on beside judge, mechanism and text."""
        return {
            "model": self.manifest.get("models", {}).get(self.key[0]),
            "rubric": self.manifest.get("dimensions", {}).get(self.key[2]),
            "prompt": self.manifest.get("prompt_version"),
            "calibration": (self.manifest.get("calibration") or {}).get("sha256"),
        }

    def differing(self, other: Joined) -> list[str]:
        """Which of these are not the same."""
        there = other.circumstances()
        return [name for name, value in self.circumstances().items() if value != there[name]]

    @property
    def labelled(self) -> list[Row]:
        """Those that people were asked about."""
        return [row for row in self.rows if row.label is not None]

    @property
    def outcomes(self) -> Counter[str]:
        """What the judge made of the labelled units, by outcome."""
        return Counter(row.judgment["outcome"] for row in self.labelled)

    @property
    def reasons(self) -> Counter[str]:
        """Why labelled units have no verdict."""
        return Counter(row.judgment["reason"] for row in self.labelled if row.judgment["reason"])


def join(stores: Sequence[Store], labels: Labels, *, labelled: bool = True) -> dict[Key, Joined]:
    """The units of runs beside their labels, by model, mechanism and dimension.

    Args:
        labelled: whether at least one unit has to be.

    Raises:
        UsageError: two runs hold the same of these; a label names no message where a run judged several of one
            conversation; no unit is labelled.
    """
    found: dict[Key, Joined] = {}
    clusters = Clusters()
    c = judgments.c
    for store in stores:
        texts = {conversation.id: conversation for conversation in store.conversations()}
        of_run: dict[Key, Joined] = {}
        manifest = store.get("manifest") or {}
        for data, spec in store.rows(select(c.record, c.mechanism).order_by(c.position, c.conversation, c.message)):
            record = orjson.loads(data)
            key = record["model"], spec, record["dimension"]
            joined = of_run.setdefault(key, Joined(key, [], record["mechanism"], manifest))
            joined.rows.append(_row(record, texts[record["conversation"]], labels, clusters, joined))
        for key, joined in of_run.items():
            if key in found:
                raise UsageError(
                    f"two of the runs hold {key[2]} by {key[0]} with {key[1]}: give one of them (psysafe compare sets "
                    "two runs beside each other)"
                )
            found[key] = joined
    _number(found.values(), clusters)
    for joined in found.values():
        _check_messages(joined)
        there = {row.label.place for row in joined.rows if row.label is not None}
        joined.unmatched = [place for place in labels.of if place[1] == joined.key[2] and place not in there]
    if labelled and not any(joined.labelled for joined in found.values()):
        first = next(iter(labels.of))
        raise UsageError(
            f"no unit of the run is labelled: {labels.name} names ids and dimensions that the run does not hold (the "
            f"first: {first[0]} on {first[1]})"
        )
    return found


def _row(record: dict[str, Any], conversation: Conversation, labels: Labels, clusters: Clusters, joined: Joined) -> Row:
    place = record["conversation"], record["dimension"], record["message"]
    label, text = labels.find(*place), conversation.content_hash()
    if label is not None and label.text_hash is not None and not text.startswith(label.text_hash):
        label = None
        joined.other_words += 1
    named = [f"cluster {label.cluster}"] if label is not None and label.cluster else []
    clusters.add(record["conversation"], *shared_texts(conversation, record["message"]), *named)
    return Row(record, label, text)


def _number(all_joined: Iterable[Joined], clusters: Clusters) -> None:
    rows = [row for joined in all_joined for row in joined.rows]
    for row, number in zip(rows, clusters.of(row.judgment["conversation"] for row in rows), strict=True):
        row.cluster = number


def _check_messages(joined: Joined) -> None:
    """A label that names no message says nothing of which of several replies it means."""
    count = Counter(row.label.place for row in joined.rows if row.label is not None)
    place, most = max(count.items(), key=lambda item: item[1], default=(None, 0))
    if place is not None and most > 1:
        raise UsageError(
            f"{place[0]}, {place[1]}: the run judged {most} messages of this conversation, and the label names none: "
            "add the column message (0-based index)"
        )
