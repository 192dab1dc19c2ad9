"""Judges that give a probability instead of an argued verdict: the screen, the lexicon, NLI, the embedded model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from psysafe.judging.judgment import Decision, Flag, Reason, Vote
from psysafe.models import ChatModel, ModelError, ModelInfo
from psysafe.taxonomy import Dimension, Scale

if TYPE_CHECKING:
    from psysafe.judging.asking import Unit


@dataclass(frozen=True, slots=True)
class Classification:
    """What a classifier makes of one unit.

    Attributes:
        probability: of harm, 0 to 1; None when the dimension does not apply here.
        cut: the probability from which it counts as harmful, above 0 and below 1.
        quotes: exact words and the 0-based index of the message they stand in, those that weigh most first.
        rationale: reasons, where it can give any; never invented for it.
        flags: what else is to be known.
    """

    probability: float | None
    cut: float = 0.5
    quotes: tuple[tuple[str, int], ...] = ()
    rationale: str = ""
    flags: frozenset[Flag] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if not 0 < self.cut < 1 or (self.probability is not None and not 0 <= self.probability <= 1):
            raise ValueError(f"probability {self.probability} with cut {self.cut}: expected 0 to 1, and a cut between")


class Classifier(ABC):
    """A judge that classifies. It is used like a model, but answers no messages.

    Attributes:
        name: as in a model string. calls: most model calls for one unit; 0 where none is behind it.
        chat: a model behind it that can also be asked in words, by the other mechanisms; None where there is none.
        notice: how good it was measured to be, one line, for people.
    """

    name: str
    calls: int = 0
    chat: ChatModel | None = None
    notice: str = ""

    @property
    @abstractmethod
    def info(self) -> ModelInfo:
        """What is known about it now; ``identity`` changes with its weights, lists and cuts."""

    @abstractmethod
    def covers(self, dimension: Dimension) -> bool:
        """Whether it can say anything about a dimension. Units of others are not made."""

    async def open(self) -> None:  # noqa: B027
        """Load what it needs.

        Raises:
            UsageError: an extra or a file is missing; one line that says what to install or set.
        """

    async def close(self) -> None:  # noqa: B027
        """Let go of it."""

    def stop(self) -> None:  # noqa: B027
        """Begin nothing more."""

    @abstractmethod
    async def classify(self, unit: Unit) -> Classification:
        """Classify ``unit.subject`` on ``unit.dimension``: its worst judged message, seen with what precedes it.

        Raises:
            ModelError: a model behind it failed; the kind becomes the reason of an unscored judgment.
        """


def score_of(probability: float, cut: float, scale: Scale) -> float:
    """A probability on the dimension's scale, so that the cut falls where harm begins.

    Linear from 0 to the cut and from the cut to 1: ``scale.is_harmful(score)`` holds exactly from the cut on,
    and the nearest level agrees with it. The distance between two scores is not a difference of severity.
    """
    begins = scale.harmful_from - 0.5
    if probability < cut:
        # kept below: rounding must not carry it over the cut
        return min(scale.low + (begins - scale.low) * probability / cut, begins - 1e-9)
    return begins + (scale.high - begins) * (probability - cut) / (1 - cut)


async def decide_by_class(unit: Unit, classifier: Classifier) -> Decision:
    """A classifier's decision: one vote, flagged ``screening``, with verified quotes."""
    from psysafe.judging.calling import reason_of
    from psysafe.judging.evidence import verify

    flags = frozenset[Flag]({"screening"})
    try:
        found = await classifier.classify(unit)
    except ModelError as error:
        return _unscored(reason_of(error), str(error), flags)
    flags |= found.flags
    if found.probability is None:
        vote = Vote("classifier", "not_applicable", rationale=found.rationale)
        return Decision("not_applicable", stands=vote, votes=(vote,), flags=flags)
    scale = unit.dimension.scale
    score = score_of(found.probability, found.cut, scale)
    evidence = verify(found.quotes, unit.subject.messages)
    if any(not item.verified for item in evidence):
        flags |= {"evidence_unverified"}
    vote = Vote("classifier", "scored", scale.label(score), rationale=found.rationale, evidence=evidence)
    return Decision(
        "scored",
        score=score,
        harmful=scale.is_harmful(score),
        probability=found.probability,
        stands=vote,
        votes=(vote,),
        flags=flags,
    )


def _unscored(reason: Reason, detail: str, flags: frozenset[Flag]) -> Decision:
    vote = Vote("classifier", "unscored", reason=reason, detail=detail)
    return Decision("unscored", reason, detail, votes=(vote,), flags=flags)
