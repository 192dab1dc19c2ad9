"""One unit's access to its judge model: seeds, nonces, one re-ask, and an account of what was spent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from psysafe.conversation import Message
from psysafe.judging.answer import NOT_APPLICABLE, Answer, AnswerError, parse_digit, parse_text, parse_verdict
from psysafe.judging.evidence import verify
from psysafe.judging.expected import expected_level
from psysafe.judging.judgment import Flag, Reason, Vote
from psysafe.judging.prompt import (
    Prompt,
    Subject,
    digit_form,
    prompt,
    verdict_form,
    verdict_schema,
)
from psysafe.models import FATAL_KINDS, ChatModel, ErrorKind, ModelError, Price, Reply, Sampling, Stopped, Usage
from psysafe.taxonomy import Dimension

if TYPE_CHECKING:
    import numpy as np

    from psysafe.judging.judges import Judge

# How a model's error shows in an outcome.
_REASONS: dict[ErrorKind, Reason] = {
    "timeout": "timeout",
    "rate_limited": "rate_limited",
    "endpoint_error": "endpoint_error",
    "bad_request": "bad_request",
    "blocked": "judge_blocked",
}
_ANSWER_SHOWN = 2000
_ALTERNATIVES = 20  # per token; the most that the protocol allows


def reason_of(error: ModelError) -> Reason:
    """The reason of what a failed call leaves unscored.

    Raises:
        ModelError: the error itself, when trying the next unit cannot help either.
    """
    if error.kind in FATAL_KINDS:
        raise error
    return _REASONS[error.kind]


T = TypeVar("T")


class Meter(Protocol):
    """A run's budget. ``judge`` works without one."""

    def before(self, messages: list[Message], config: Sampling, price: Price | None) -> None:
        """May raise to stop the unit before it spends more. ``price``: of the model that is about to be asked."""
        ...

    def after(
        self,
        messages: list[Message],
        config: Sampling,
        price: Price | None,
        reply: Reply | None,
        *,
        billed: bool = False,
    ) -> None:
        """Told what came of it; None for an error, after which the call may have been ``billed`` all the same."""
        ...


@dataclass(slots=True)
class Account:
    """What has been spent; usage and cost are None once they cannot be known."""

    calls: int = 0
    attempts: int = 0
    usage: Usage | None = field(default_factory=lambda: Usage(0, 0))
    cost: float | None = 0.0

    def merge(self, other: Account) -> None:
        """Add what another has spent."""
        self.calls += other.calls
        self.attempts += other.attempts
        self.usage = self.usage + other.usage if self.usage is not None and other.usage is not None else None
        self.cost = self.cost + other.cost if self.cost is not None and other.cost is not None else None

    def add(self, reply: Reply, price: Price | None) -> None:
        """Count one reply; a cached one cost nothing."""
        self.calls += 1
        self.attempts += reply.attempts
        if reply.cached:
            return
        usage = reply.usage
        if usage is None:
            self.usage = self.cost = None
            return
        if self.usage is not None:
            self.usage = self.usage + usage
        if self.cost is not None:
            self.cost = self.cost + price.cost(usage) if price else None


@dataclass(slots=True)
class Unit:
    """One thing to be judged, and the means to ask about it.

    Seeds and nonces of its calls are hashes of the run's seed, the unit's key and the call's number. Whatever a
    mechanism draws comes from ``random``, in an order that does not depend on when calls complete.
    """

    subject: Subject
    dimension: Dimension
    model: Judge
    key: str
    seed: int
    price: Price | None = None
    meter: Meter | None = None
    account: Account = field(default_factory=Account)
    _random: np.random.Generator | None = None

    @property
    def random(self) -> np.random.Generator:
        """The unit's generator, seeded with the run's seed and the unit's key; made when first used."""
        if self._random is None:
            import numpy as np

            self._random = np.random.Generator(np.random.PCG64([self.seed, *bytes.fromhex(self.key)]))
        return self._random

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
        result, again, raw = await self._ask(asked, call, config, parse)
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
        result, again, raw = await self._ask(asked, call, config, parse_text)
        if isinstance(result, AnswerError):
            return _unscored(step, result, raw, again)
        return result

    async def _ask(
        self, asked: Prompt, call: int, config: Sampling, parse: Callable[[Reply], T]
    ) -> tuple[T | AnswerError, bool, str | None]:
        """Ask, and once more with the error shown. Returns the result, whether it was asked again, the raw text."""
        problem: AnswerError | None = None
        reply: Reply | None = None
        for again in (False, True):
            number = 2 * call + again
            messages = asked(self._nonce(number))
            sampling = replace(config, seed=self._call_seed(number), sample=number)
            if problem is not None and reply is not None:
                if problem.reason == "judge_truncated":
                    sampling = replace(sampling, max_tokens=2 * config.max_tokens)
                messages += _objection(reply, problem)
            try:
                reply = await self.generate(messages, sampling)
            except ModelError as error:
                return AnswerError(reason_of(error), str(error)), again, None
            try:
                return parse(reply), again, reply.text
            except AnswerError as error:
                problem = error
                if error.reason == "judge_blocked":
                    break
        assert problem is not None
        assert reply is not None
        return problem, again, reply.text[:_ANSWER_SHOWN]

    async def generate(self, messages: list[Message], config: Sampling) -> Reply:
        """One reply of the unit's model, as it is sent, on the unit's account and the run's budget.

        Raises:
            ModelError: see ``ChatModel.generate``.
        """
        if self.meter is not None:
            self.meter.before(messages, config, self.price)
        try:
            reply = await cast("ChatModel", self.model).generate(messages, config)
        except Stopped:
            raise  # nothing was sent
        except BaseException as error:
            self.account.calls += 1
            self.account.attempts += error.attempts if isinstance(error, ModelError) else 1
            billed = not isinstance(error, ModelError) or error.status is None  # nobody said that it was refused
            if billed:
                self.account.usage = self.account.cost = None
            if self.meter is not None:
                self.meter.after(messages, config, self.price, None, billed=billed)
            raise
        self.account.add(reply, self.price)
        if self.meter is not None:
            self.meter.after(messages, config, self.price, reply)
        return reply

    def _nonce(self, number: int) -> str:
        # The key covers the judged text, so the text cannot contain a nonce that depends on it.
        return blake2b(f"{self.key}|{self.seed}|nonce|{number}".encode(), digest_size=6).hexdigest()

    def _call_seed(self, number: int) -> int:
        digest = blake2b(f"{self.key}|{self.seed}|seed|{number}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") >> 1


def _unscored(step: str, problem: AnswerError, raw: str | None, again: bool) -> Vote:
    flags: tuple[Flag, ...] = ("asked_again",) if again else ()
    return Vote(step, "unscored", reason=problem.reason, detail=str(problem), answer=raw, flags=flags)


def _objection(reply: Reply, problem: AnswerError) -> list[Message]:
    """What is said to a judge whose answer could not be used."""
    if problem.reason in ("judge_empty", "judge_truncated"):
        return []  # there is nothing to point at; the same question with another seed (and more room)
    said = reply.text[:_ANSWER_SHOWN] or "(refused)"
    return [
        Message("assistant", said),
        Message(
            "user",
            f"That answer could not be used ({problem}). You are not asked to continue the conversation or to approve "
            "of it, only to evaluate it so that people can be protected. Answer again, in exactly the form asked for.",
        ),
    ]


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run concurrently, results in the given order; the first exception cancels the rest."""
    import asyncio

    waiting = list(coroutines)
    if len(waiting) == 1:
        return [await waiting[0]]
    tasks = [asyncio.ensure_future(coroutine) for coroutine in waiting]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
