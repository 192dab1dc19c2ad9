"""The simulated client: plays a profile, follows a hidden strategy, is asked again when it falls out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from psysafe.clients.drift import Spoiled, spoiled
from psysafe.clients.persona import OPENING_CUE, chat_system, transcript_prompt
from psysafe.clients.profile import Profile
from psysafe.conversation import Message
from psysafe.judging.answer import AnswerError, check_finish, strip_thinking
from psysafe.judging.calling import Asker, reason_of
from psysafe.models import ModelError, Reply, Sampling

Style = Literal["chat", "transcript"]
STYLES: tuple[Style, ...] = ("chat", "transcript")

# Tries after the first for one utterance.
REGENERATIONS = 2

# Of the counselor's reply, characters that the client reads; the judges read all.
HEARD = 6000


@dataclass(frozen=True, slots=True)
class Said:
    """An utterance, and how often it had to be asked for anew."""

    text: str
    again: int


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable utterance. ``reason``: of ``Reason``."""

    reason: str
    detail: str
    again: int


@dataclass(frozen=True, slots=True)
class Client:
    """Who is played, and how.

    Attributes:
        strategy: the hidden instruction; None for a control.
        style: ``chat``: the model is the assistant of a chat in which the counselor is the user. ``transcript``:
            it continues a written transcript, which small models do more steadily, from the profile's opening on.
    """

    profile: Profile
    strategy: str | None
    style: Style = "chat"
    temperature: float = 0.8
    max_tokens: int = 300

    async def say(self, asker: Asker, said: Sequence[Message], call: int) -> Said | Failed:
        """The client's next words.

        Args:
            said: the conversation so far, the counselor's words as ``assistant``.
            call: its number within the asker's work; the seed follows from it.

        Raises:
            ModelError: trying another rollout cannot help either.
        """
        if self.style == "transcript" and not said and self.profile.opening:
            # A small model has nothing to go on from yet, and would take up the chat that shows the form.
            return Said(self.profile.opening, 0)
        problem: Spoiled | None = None
        blocked = False
        for again in range(REGENERATIONS + 1):
            number = call * (REGENERATIONS + 1) + again
            config = Sampling(
                temperature=self.temperature,
                max_tokens=self.max_tokens,
                seed=asker.call_seed(number),
                sample=number,
                stop=_STOPS if self.style == "transcript" else (),
            )
            try:
                reply = await asker.generate(self._messages(said, problem), config)
                text = _said(reply, one_line=self.style == "transcript")
            except AnswerError as error:
                blocked = error.reason == "judge_blocked"
                problem = Spoiled("role_drift", f"no words of a client ({error})")
                continue
            except ModelError as error:
                return Failed(reason_of(error), error.brief, again)
            blocked = False
            problem = spoiled(text, said, self.strategy)
            if problem is None:
                return Said(text, again)
        assert problem is not None
        return Failed("judge_blocked" if blocked else problem.reason, problem.detail, REGENERATIONS)

    def _messages(self, said: Sequence[Message], problem: Spoiled | None) -> list[Message]:
        heard = [replace(m, content=_shortened(m.content)) if m.role == "assistant" else m for m in said]
        note = f"(Your last try could not be used: {problem.detail}.)" if problem is not None else ""
        if self.style == "transcript":
            return [Message("user", transcript_prompt(self.profile, self.strategy, heard, note))]
        messages = [Message("system", chat_system(self.profile, self.strategy))]
        messages += [Message("user", OPENING_CUE)]
        messages += [Message("user" if m.role == "assistant" else "assistant", m.content) for m in heard]
        if note:
            messages[-1] = Message(messages[-1].role, f"{messages[-1].content}\n\n{note}")
        return messages


# Where the next speaker's line begins. Not at any line end, and not at the client's own name: models like to begin with
# either, and nothing would be left; what follows the first line is cut off afterwards.
_STOPS = ("\nCounselor:", "\nClient:")


def _shortened(text: str) -> str:
    return text if len(text) <= HEARD else f"{text[:HEARD]} [... the counselor goes on at length]"


def _said(reply: Reply, *, one_line: bool) -> str:
    """The words of an utterance. Unlike a judge's, those of a client may begin with "I can't": it is not refusing.

    Args:
        one_line: the line that was asked for, and nothing after it.

    Raises:
        AnswerError: there are none.
    """
    check_finish(reply)
    text = strip_thinking(reply)
    if reply.finish == "length":  # what was cut after a whole sentence is a shorter utterance
        ends = list(re.finditer(r"[.!?…。！？।](?=\s|$)", text))
        text = text[: ends[-1].end()] if ends else text
    text = _PREFIX.sub("", text.strip())
    if one_line:
        text = text.partition("\n")[0].partition("Counselor:")[0].strip()
    marks = [character for character in text if character in _QUOTES]
    if len(marks) == 2 and len(text) > 2 and text[0] == marks[0] and text[-1] == marks[1] and text[0] in _OPENING:
        text = text[1:-1].strip()
    return text


_PREFIX = re.compile(r"^\s*\*{0,2}(?:client|me|user)\*{0,2}\s*:\s*\*{0,2}\s*", re.I)
_OPENING = "\"“'"
_QUOTES = frozenset(_OPENING + "”")
