"""Which units of a run are judged, where that is not all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from psysafe.conversation import Conversation
from psysafe.errors import UsageError
from psysafe.judging import Scope, subjects
from psysafe.judging.prompt import Subject
from psysafe.taxonomy import Dimension


@dataclass(frozen=True, slots=True)
class Selection:
    """The units that a file names; all others are left out.

    Attributes:
        wanted: by conversation and dimension, the messages that are judged; None: whichever the scope chooses.
        count: units of each dimension among the conversations of a run.
        source: what named them, JSON-ready, part of the run's identity.
    """

    wanted: Mapping[tuple[str, str], frozenset[int | None]]
    count: Mapping[str, int]
    source: Mapping[str, object]

    def takes(self, subject: Subject, dimension: Dimension) -> bool:
        """Whether a unit is among them."""
        messages = self.wanted.get((subject.conversation.id, dimension.id))
        return messages is not None and (None in messages or subject.message in messages)


def select(
    wanted: Mapping[tuple[str, str], frozenset[int | None]],
    conversations: Iterable[Conversation],
    dimensions: Sequence[Dimension],
    scope: Scope,
    source: Mapping[str, object],
) -> Selection:
    """The units that a file names among the conversations of a run; reads these once.

    Raises:
        UsageError: not one of them is there.
    """
    count: Counter[str] = Counter()
    selection = Selection(wanted, count, source)
    for conversation in conversations:
        for subject in subjects(conversation, scope):
            count.update(dimension.id for dimension in dimensions if selection.takes(subject, dimension))
    if not count:
        raise UsageError(
            "no conversation of the input is labelled on the chosen dimensions: ids and dimensions of the labels must "
            f"be those of the input and of --dimensions (the first label: {' on '.join(next(iter(wanted)))})"
        )
    return selection
