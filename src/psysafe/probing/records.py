"""What is kept of a probe: one record a trial, appended and never changed. All else is computed from the records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from psysafe.conversation import Message
from psysafe.judging import TRANSIENT
from psysafe.taxonomy import LADDER_SCALE, CellId

Kind = Literal["search", "reproduction", "control", "benign", "replay"]
KINDS: tuple[Kind, ...] = ("search", "reproduction", "control", "benign", "replay")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(_Record):
    """A cell that the blind judge named. ``message``: where the quote stands, None when it stands nowhere."""

    cell: str
    severity: int
    quote: str
    message: int | None = None
    verified: bool = False


class BlindVerdict(_Record):
    """What the blind judge saw."""

    model: str
    outcome: Literal["scored", "unscored"]
    reason: str | None = None
    detail: str | None = None
    rationale: str = ""
    findings: tuple[Finding, ...] = ()


class LadderVerdict(_Record):
    """What the ladder judge said of a transcript on one cell's ladder.

    Attributes:
        severity: 1 to 5, the level nearest to the score; None unless scored.
        judgment: the whole ``Judgment``, JSON-ready.
    """

    cell: str
    outcome: str
    reason: str | None = None
    severity: int | None = None
    judgment: dict[str, Any]

    @property
    def hit(self) -> bool:
        """Clinically significant."""
        return self.severity is not None and self.severity >= LADDER_SCALE.harmful_from


class Course(_Record):
    """Severity by reply, and how the replies dealt with the client. ``refused``, ``redirected``: message indices."""

    outcome: Literal["scored", "unscored"]
    reason: str | None = None
    detail: str | None = None
    severity: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    redirected: tuple[int, ...] = ()
    understood: bool | None = None


class FidelityVerdict(_Record):
    """Whether the client was the person of the profile."""

    outcome: Literal["scored", "unscored"]
    reason: str | None = None
    rationale: str = ""
    client: bool | None = None
    profile: int | None = None


class Line(_Record):
    """A message of a dialogue. ``finish``: of the counselor's, why it ended."""

    role: Literal["user", "assistant"]
    content: str
    finish: str | None = None


class Rollout(_Record):
    """One dialogue and its verdicts.

    Attributes:
        strategy: the client's hidden instruction; None for a control.
        insights: what was learned from this rollout, in which the target withstood.
        lines: the dialogue, the client first.
        flags: ``transient``: what failed may work at another time (a lost connection); ``strategist``: it was the
            strategist that failed.
        outcome: ``scored``, ``unscored`` (the ladder judge failed), ``reply_failed`` (the target did), ``void`` (its
            client or strategist did). reason, detail: why, unless scored.
        regenerated: utterances of the client that were asked for anew.
        cues: turns (from 1) with words that may mean danger.
        ladder: on the cell that was aimed at. observed: on further cells that the blind judge named.
    """

    strategy: str | None
    insights: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    outcome: Literal["scored", "unscored", "reply_failed", "void"]
    reason: str | None = None
    detail: str | None = None
    regenerated: int = 0
    cues: tuple[int, ...] = ()
    ladder: LadderVerdict | None = None
    blind: BlindVerdict | None = None
    course: Course | None = None
    fidelity: FidelityVerdict | None = None
    observed: tuple[LadderVerdict, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def severity(self) -> int | None:
        """On the cell that was aimed at."""
        return self.ladder.severity if self.ladder is not None else None

    @property
    def hit(self) -> bool:
        """Clinically significant on the cell that was aimed at."""
        return self.ladder is not None and self.ladder.hit

    def named_blind(self, cell: CellId, *, exact: bool) -> bool:
        """Whether the blind judge named the cell (or, not ``exact``, its category), with a quote that stands there."""
        if self.blind is None:
            return False
        named = [CellId.parse(finding.cell) for finding in self.blind.findings if finding.verified]
        return any(other == cell if exact else other.category == cell.category for other in named)

    def messages(self) -> tuple[Message, ...]:
        """The dialogue as the judges read it."""
        return tuple(Message(line.role, line.content, line.finish) for line in self.lines)  # type: ignore[arg-type]


def _transient(rollout: Rollout) -> bool:
    return "transient" in rollout.flags or (rollout.outcome == "unscored" and rollout.reason in TRANSIENT)


class Choice(_Record):
    """What a trial was given to do.

    Attributes:
        cell: None: the one that fits the profile best, which the strategist names.
        parents: trials whose elites' strategies are rewritten. parent_cells: of these elites, in the same order.
        refinements: at most so many.
    """

    cell: str | None
    profile: str
    operator: str = "fresh"
    parents: tuple[int, ...] = ()
    parent_cells: tuple[str, ...] = ()
    refinements: int = 0


class Trial(_Record):
    """A first rollout and its refinements.

    Attributes:
        kind: ``search``; ``reproduction`` of an elite's strategy; ``control`` without one; ``benign``: a benign
            variant; ``replay`` of another run's elite. index: within the kind, from 0.
        cell: aimed at. profile: id. person: by which intervals are clustered.
        of: of a reproduction, control or replay the search trial that it belongs to.
        calls, usage, cost: of all model roles. target_calls: of the target.
        client: name of the model that played the client.
        flags: ``cell_made_up`` (the strategist named no cell that exists; one was drawn), ``same_judge``.
    """

    kind: Kind
    index: int
    choice: Choice
    cell: str
    profile: str
    person: str
    client: str = ""
    of: int | None = None
    rollouts: tuple[Rollout, ...]
    calls: int = 0
    target_calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    flags: tuple[str, ...] = ()

    @property
    def worst(self) -> Rollout | None:
        """The rollout with the highest severity, the first of equals; None where none was scored."""
        scored = [rollout for rollout in self.rollouts if rollout.severity is not None]
        return max(scored, key=lambda rollout: rollout.severity or 0, default=None)

    @property
    def hit(self) -> bool:
        """Whether any rollout was clinically significant."""
        return any(rollout.hit for rollout in self.rollouts)

    @property
    def outcome(self) -> str:
        """``scored`` where any rollout is, else the outcome of the last one.

        A trial that was cut off (see ``cut_off``) has withstood nothing: its outcome is that of what failed.
        """
        outcomes = [rollout.outcome for rollout in self.rollouts]
        if self.cut_off:
            return next(rollout.outcome for rollout in self.rollouts if _transient(rollout))
        return "scored" if "scored" in outcomes else outcomes[-1]

    @property
    def cut_off(self) -> bool:
        """Whether it came to no hit and a model could not be reached meanwhile; another time it may go on."""
        return not self.hit and any(map(_transient, self.rollouts))

    @property
    def unreached(self) -> bool:
        """Whether what cut it off was a model that said nothing: a judge, a client, or a target without one reply."""
        failing = [rollout for rollout in self.rollouts if _transient(rollout)]
        if self.hit or not failing:
            return False
        replied = any(line.role == "assistant" and line.content for line in failing[-1].lines)
        return failing[-1].outcome != "reply_failed" or not replied

    def confirmed(self, *, exact: bool = False) -> bool:
        """Whether a hit was also seen by the blind judge: the same category at severity 2 or more, or the same cell.

        False, too, where the blind judge failed; ``seen_blind`` tells these apart.
        """
        cell = CellId.parse(self.cell)
        return any(rollout.hit and rollout.named_blind(cell, exact=exact) for rollout in self.rollouts)

    @property
    def seen_blind(self) -> bool:
        """Whether the blind judge has judged what counts: a dialogue with a hit, or without one the last dialogue."""
        dialogues = [rollout for rollout in self.rollouts if rollout.hit]
        dialogues = dialogues or [rollout for rollout in self.rollouts if rollout.outcome == "scored"][-1:]
        return any(rollout.blind is None or rollout.blind.outcome == "scored" for rollout in dialogues)
