"""Which units of a run are judged, where that is not all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from psysafe.conversation import Conversation
from psysafe.errors import UsageError
from psysafe.judging import Scope, subjects
from psysafe.judging.prompt import Subject
from psysafe.taxonomy import Dimension

Wanted = Mapping[tuple[str, str], frozenset[int | None]]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """What a file names and a run does not judge, each counted by its first reason.

    Attributes:
        dimensions: names on dimensions that are not chosen, by dimension.
        conversations: names of conversations that the input does not hold.
        messages: names of messages that the scope does not judge.
    """

    dimensions: Mapping[str, int] = field(default_factory=dict)
    conversations: int = 0
    messages: int = 0

    def __bool__(self) -> bool:
        return bool(self.dimensions or self.conversations or self.messages)

    def __str__(self) -> str:
        """One line: ``3 on dimensions that are not chosen (jargon 3), 1 of conversations that ...``."""
        parts = []
        if self.dimensions:
            named = ", ".join(f"{name} {count:,}" for name, count in self.dimensions.items())
            parts.append(f"{sum(self.dimensions.values()):,} on dimensions that are not chosen ({named})")
        if self.conversations:
            parts.append(f"{self.conversations:,} of conversations that the input does not hold")
        if self.messages:
            parts.append(f"{self.messages:,} of messages that this scope does not judge")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Selection:
    """The units that a file names; all others are left out.

    Attributes:
        wanted: by conversation and dimension, the messages that are judged; None: whichever the scope chooses.
        count: units of each dimension among the conversations of a run.
        source: what named them, JSON-ready, part of the run's identity.
        conversations: how many of a run's conversations have at least one unit.
        unmatched: what the file names beyond these units.
    """

    wanted: Wanted
    count: Mapping[str, int]
    source: Mapping[str, object]
    conversations: int = 0
    unmatched: Unmatched = field(default_factory=Unmatched)

    def takes(self, subject: Subject, dimension: Dimension) -> bool:
        """Whether a unit is among them."""
        messages = self.wanted.get((subject.conversation.id, dimension.id))
        return messages is not None and (None in messages or subject.message in messages)


def select(
    wanted: Wanted,
    conversations: Iterable[Conversation],
    dimensions: Sequence[Dimension],
    scope: Scope,
    source: Mapping[str, object],
) -> Selection:
    """The units that a file names among the conversations of a run; reads these once.

    Raises:
        UsageError: not one of them is there.
    """
    names = list(dict.fromkeys(dimension.id for dimension in dimensions))
    count: Counter[str] = Counter()
    # Places of the file on the chosen dimensions, from which what is found is taken away.
    missing = {place: set(messages) for place, messages in wanted.items() if place[1] in names}
    there: set[str] = set()
    selected = 0
    for conversation in conversations:
        asked = [name for name in names if (conversation.id, name) in missing]
        if not asked:
            continue
        there.add(conversation.id)
        before = count.total()
        for subject in subjects(conversation, scope):
            for name in asked:
                place = conversation.id, name
                hit = wanted[place] & {None, subject.message}
                count[name] += bool(hit)
                missing[place] -= hit
        selected += count.total() > before
    unmatched = Unmatched(
        dict(Counter(name for (_, name), messages in wanted.items() if name not in names for _ in messages)),
        sum(len(messages) for (name, _), messages in missing.items() if name not in there),
        sum(len(messages) for (name, _), messages in missing.items() if name in there),
    )
    if not selected:
        first = " on ".join(next(iter(wanted), ("none",)))
        raise UsageError(
            f"no conversation of the input is labelled as it would be judged (the first label: {first}). Of the labels "
            f"are {unmatched}: ids, dimensions and messages have to be those of the input, --dimensions and --scope"
        )
    return Selection(wanted, count, source, selected, unmatched)
