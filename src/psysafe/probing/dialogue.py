"""A dialogue of client and target: so many turns, whatever is said in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from psysafe.clients.client import Client, Failed
from psysafe.clients.cues import crisis_cues
from psysafe.conversation import MAX_MESSAGE_CHARS, Message
from psysafe.judging import TRANSIENT
from psysafe.judging.calling import Asker
from psysafe.judging.units import is_visible
from psysafe.models import FATAL_KINDS, ModelError, Sampling
from psysafe.models.base import storable
from psysafe.probing.records import Line


@dataclass(frozen=True, slots=True)
class Counselor:
    """How the target is asked.

    Attributes:
        system: its system prompt; None: it brings its own.
        max_tokens: of a reply. A reply that needs more counts as truncated, against the target.
    """

    system: str | None = None
    temperature: float = 0.7
    max_tokens: int = 2048


@dataclass(slots=True)
class Dialogue:
    """What was said, and how it ended.

    Attributes:
        transient: what failed may work at another time.
        outcome: ``complete``; ``reply_failed``: the target gave no whole reply; ``void``: the client failed.
    """

    lines: list[Line] = field(default_factory=list)
    outcome: Literal["complete", "reply_failed", "void"] = "complete"
    reason: str | None = None
    detail: str | None = None
    transient: bool = False
    regenerated: int = 0
    cues: list[int] = field(default_factory=list)

    @property
    def messages(self) -> list[Message]:
        """The lines as messages."""
        return [Message(line.role, line.content) for line in self.lines]


async def converse(
    client: Client,
    speaker: Asker,
    counselor: Counselor,
    target: Asker,
    turns: int,
    *,
    tell: Callable[[int], None] = lambda turn: None,
) -> Dialogue:
    """Let a client talk with a target for so many turns.

    Nothing that is said ends the dialogue. It ends early only where one side has nothing usable to say: a reply that is
    empty, cut or an error, an utterance that is no client's after its retries.

    Args:
        speaker: asks the client's model. target: asks the target. tell: told each turn that is over.

    Raises:
        ModelError: trying another dialogue cannot help either (a wrong key, an unknown model).
    """
    dialogue = Dialogue()
    for turn in range(turns):
        said = await client.say(speaker, dialogue.messages, turn)
        dialogue.regenerated += said.again
        if isinstance(said, Failed):
            dialogue.outcome, dialogue.reason, dialogue.detail = "void", said.reason, said.detail
            dialogue.transient = said.reason in TRANSIENT
            break
        if crisis_cues(said.text):
            dialogue.cues.append(turn + 1)
        dialogue.lines.append(Line(role="user", content=said.text))
        failure = await _reply(dialogue, counselor, target, turn)
        if failure is not None:
            dialogue.outcome, (dialogue.reason, dialogue.detail) = "reply_failed", failure
            break
        tell(turn + 1)
    await _end(target, counselor, dialogue)
    return dialogue


async def _reply(dialogue: Dialogue, counselor: Counselor, target: Asker, turn: int) -> tuple[str, str] | None:
    """The target's reply is added; why it is none, where it is none."""
    config = Sampling(
        temperature=counselor.temperature,
        max_tokens=counselor.max_tokens,
        seed=target.call_seed(turn),
        sample=turn,
    )
    try:
        reply = await target.generate(_asked(counselor, dialogue.messages), config)
    except ModelError as error:
        if error.kind in FATAL_KINDS:
            raise
        dialogue.transient = error.kind in TRANSIENT
        return "reply_error", f"turn {turn + 1}: {error.kind}: {error.brief}"
    text = storable(reply.text)
    finish = "stop" if reply.finish == "refusal" else reply.finish  # a refusal is an answer, and judged as one
    dialogue.lines.append(Line(role="assistant", content=text[:MAX_MESSAGE_CHARS], finish=finish))
    if finish == "content_filter":
        return "reply_error", f"turn {turn + 1}: a content filter withheld the reply"
    if finish == "length":
        return "reply_truncated", f"turn {turn + 1}: the reply was cut at {counselor.max_tokens:,} tokens"
    if not is_visible(text):
        return "reply_empty", f"turn {turn + 1}: the reply is empty"
    if len(text) > MAX_MESSAGE_CHARS:
        return "reply_truncated", f"turn {turn + 1}: a reply of {len(text):,} characters"
    return None


def _asked(counselor: Counselor, messages: Sequence[Message]) -> list[Message]:
    return [*([Message("system", counselor.system)] if counselor.system else []), *messages]


async def _end(target: Asker, counselor: Counselor, dialogue: Dialogue) -> None:
    """A bot with sessions can let go of this one."""
    end = getattr(target.model, "end", None)
    if end is not None and dialogue.lines:
        await end(_asked(counselor, dialogue.messages))
