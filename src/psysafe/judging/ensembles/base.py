"""What a panel and a cascade have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from psysafe.errors import UsageError
from psysafe.judging.calling import together
from psysafe.judging.judgment import Decision, Member, Vote
from psysafe.models import ModelInfo
from psysafe.taxonomy import Scale

if TYPE_CHECKING:
    from psysafe.judging.judges import ManagedJudge

Ask = Callable[["ManagedJudge"], Coroutine[Any, Any, Decision]]


class Ensemble(ABC):
    """Several judges that give one verdict. It is used like a model, but answers no messages.

    Args:
        members: at least two judges, each with its own name.

    Raises:
        UsageError: fewer, or two of one name.
    """

    kind: ClassVar[str]
    members: tuple[ManagedJudge, ...]
    name: str

    def __init__(self, members: Sequence[ManagedJudge]) -> None:
        names = [member.name for member in members]
        if len(set(names)) < 2 or len(set(names)) < len(names):
            raise UsageError(
                f"a {self.kind} needs at least two different judges, such as {self.kind}:screen+openai/gpt-4o-mini; "
                f"it was given {', '.join(names) or 'none'} (several samples of one judge are a vote)"
            )
        self.members = tuple(members)

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Its name as a mechanism and all parameters, JSON-ready."""

    @abstractmethod
    async def decide(self, ask: Ask, scale: Scale) -> Decision:
        """The verdict. ``ask`` gives what a member decides."""

    @property
    def info(self) -> ModelInfo:
        """Of all members; ``host`` and ``price`` are those of each member and None here."""
        infos = [member.info for member in self.members]
        identity = " + ".join(f"{info.name} ({info.identity})" for info in infos)
        return ModelInfo(
            name=self.name,
            identity=f"{self.parameters()} of {identity}",
            host=None,
            loopback=all(info.loopback for info in infos),
            price=None,
            details={**self.parameters(), "judges": [{"name": i.name, "host": i.host, **i.details} for i in infos]},
        )

    async def open(self) -> None:
        """Open every member; the first that cannot be opened closes the others.

        Raises:
            UsageError: two members turn out to be one model. ModelError: one cannot be opened.
        """
        try:
            await together(member.open() for member in self.members)
            self._refuse_one_twice()
        except BaseException:
            await self.close()
            raise

    def _refuse_one_twice(self) -> None:
        """Under two names one model would agree with itself; which model an address serves is known once it is open."""
        served: dict[tuple[str, str], str] = {}
        for member in self.members:
            info = member.info
            if (model := info.details.get("model")) is None:
                continue
            first = served.setdefault((info.identity, str(model)), member.name)
            if first != member.name:
                raise UsageError(f"{self.name}: {first} and {member.name} are one model; expected different judges")

    async def close(self) -> None:
        """Close every member."""
        for member in self.members:
            await member.close()

    def stop(self) -> None:
        """Send nothing more."""
        for member in self.members:
            member.stop()


def member_of(judge: str, decision: Decision) -> Member:
    """How a member's decision is kept."""
    stands = decision.stands
    flags = {*decision.flags, *(flag for vote in decision.votes for flag in vote.flags)}
    return Member(
        judge=judge,
        outcome=decision.outcome,
        reason=decision.reason,
        detail=decision.detail,
        score=decision.score,
        harmful=decision.harmful,
        probability=decision.probability,
        rationale=stands.rationale if stands else "",
        evidence=stands.evidence if stands else (),
        flags=tuple(sorted(flags)),
    )


def votes_of(judge: str, decision: Decision) -> tuple[Vote, ...]:
    """A member's votes, each step under the judge's name."""
    return tuple(replace(vote, step=f"{judge}: {vote.step}") for vote in decision.votes)
