"""One unit's access to its judge: votes and texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from psysafe.judging.answer import NOT_APPLICABLE, Answer, AnswerError, parse_digit, parse_text, parse_verdict
from psysafe.judging.calling import Asker
from psysafe.judging.evidence import verify
from psysafe.judging.expected import expected_level
from psysafe.judging.judgment import Flag, Vote
from psysafe.judging.prompt import (
    Prompt,
    Subject,
    digit_form,
    prompt,
    verdict_form,
    verdict_schema,
)
from psysafe.models import Reply, Sampling
from psysafe.taxonomy import Dimension

_ALTERNATIVES = 20  # per token; the most that the protocol allows


@dataclass(slots=True, kw_only=True)
class Unit(Asker):
    """One thing to be judged, and the means to ask about it."""

    subject: Subject
    dimension: Dimension

    async def vote(
        self,
        step: str,
        call: int,
        *,
        temperature: float,
        top_p: float | None = None,
        max_tokens: int,
        task: str = "",
        exhibits: list[tuple[str, str]] | None = None,
        rationale: bool = True,
        corrects: Vote | None = None,
        expected: bool = False,
    ) -> Vote:
        """Ask for a level.

        Args:
            step: name of the call, for people. call: its number within the unit; seed and nonce follow from it.
            task, exhibits: see ``prompt``.
            rationale: ask for reasons and quotes before the score, else for a bare digit.
            corrects: the vote that this one may correct.
            expected: ask for the probabilities of the digit, too; needs ``rationale`` off.
        """
        dimension, scale = self.dimension, self.dimension.scale
        may_not_apply = dimension.not_applicable is not None
        correcting = corrects is not None
        assessed = None if corrects is None else (NOT_APPLICABLE if corrects.score is None else corrects.score)

        def parse(reply: Reply) -> Answer:
            if not rationale:
                answer = parse_digit(reply, scale, may_not_apply=may_not_apply)
                if not expected or answer.score == NOT_APPLICABLE:
                    return answer
                return replace(answer, expected=expected_level(reply, scale, answer.score))
            return parse_verdict(reply, scale, may_not_apply=may_not_apply, assessed=assessed)

        form = verdict_form(dimension, corrector=correcting) if rationale else digit_form(dimension)
        config = Sampling(
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            schema=verdict_schema(dimension, corrector=correcting) if rationale else None,
            top_logprobs=_ALTERNATIVES if expected else None,
        )
        asked = prompt(self.subject, dimension, task, form, exhibits or ())
        result, again, raw = await self.ask(asked, call, config, parse)
        if isinstance(result, AnswerError):
            return _unscored(step, result, raw, again)
        evidence = verify(result.quotes, self.subject.messages)
        flags = set(result.flags)
        if any(not item.verified for item in evidence):
            flags.add("evidence_unverified")
        if not rationale:
            flags.discard("rationale_missing")
        if again:
            flags.add("asked_again")
        if expected and result.expected is None and result.score != NOT_APPLICABLE:
            flags.add("no_logprobs")
        applies = result.score != NOT_APPLICABLE
        return Vote(
            step,
            "scored" if applies else "not_applicable",
            score=int(result.score) if applies else None,
            rationale=result.rationale,
            evidence=evidence,
            agrees=result.agrees,
            flags=tuple(sorted(flags)),
            expected=result.expected if applies else None,
        )

    async def text(self, step: str, call: int, asked: Prompt, *, temperature: float, max_tokens: int) -> str | Vote:
        """Ask for free text; an unscored ``Vote`` says why there is none, after one re-ask."""
        config = Sampling(temperature=temperature, max_tokens=max_tokens)
        result, again, raw = await self.ask(asked, call, config, parse_text)
        if isinstance(result, AnswerError):
            return _unscored(step, result, raw, again)
        return result


def _unscored(step: str, problem: AnswerError, raw: str | None, again: bool) -> Vote:
    flags: tuple[Flag, ...] = ("asked_again",) if again else ()
    return Vote(step, "unscored", reason=problem.reason, detail=str(problem), answer=raw, flags=flags)
