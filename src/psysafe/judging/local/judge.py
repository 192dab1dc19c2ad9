"""``local``: the embedded model and the screen, weighed together."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from psysafe.judging.classifier import Classification, Classifier
from psysafe.judging.judgment import Flag
from psysafe.judging.local.heads import SCREEN, Head, load_heads, logit
from psysafe.judging.local.questions import GENERAL, SAMPLING, SPECIFIC, exchange, question_prompt, yes_logit
from psysafe.judging.local.reasons import REASONS_SAMPLING, read_reasons, reasons_prompt
from psysafe.judging.prompt import Subject
from psysafe.models import ManagedModel, ModelError, ModelInfo, Price
from psysafe.taxonomy import Dimension

if TYPE_CHECKING:
    from psysafe.judging.asking import Unit

_KEPT = 512  # answers of replies that are under way


class LocalJudge(Classifier):
    """Asks a few yes-or-no questions about each judged reply, and weighs their token probabilities with the screen.

    A rationale and a quote are asked for only when a reply is flagged; they come after the verdict and have no part
    in it (flag ``post_hoc``). With another mechanism than single the model is asked in words like any other; its
    scores are then worth little (flag ``uncalibrated``).

    Args:
        model: the embedded model. screen: the screen. reasons: whether to ask for rationales.
    """

    name = "local"

    def __init__(self, model: ManagedModel, screen: Classifier, *, reasons: bool = True) -> None:
        self.chat: ManagedModel = model
        self.screen = screen
        self.reasons = reasons
        self.calls = len(GENERAL) + max(len(questions) for questions in SPECIFIC.values()) + reasons
        self._answers: OrderedDict[tuple[str, str], float] = OrderedDict()
        # One reply at a time: the model answers one call after the other, and its questions share a beginning.
        self._turn = asyncio.Lock()

    @property
    def notice(self) -> str:  # type: ignore[override]
        return load_heads().notice

    @property
    def info(self) -> ModelInfo:
        """Of the model, with the identity of the heads and the screen."""
        heads, model, screen = load_heads(), self.chat.info, self.screen.info
        return ModelInfo(
            name=self.name,
            identity=f"local:{heads.digest}:{model.identity}:{screen.identity}",
            host=model.host,
            loopback=model.loopback,
            price=model.price or Price(0.0, 0.0),
            details={
                **model.details,
                "screening": True,
                "screen": screen.details,
                "dimensions": {name: {"cut": head.cut, "fitted_on": head.fitted_on} for name, head in heads.of.items()},
            },
        )

    def covers(self, dimension: Dimension) -> bool:
        """Whether there is a head for a dimension of this id."""
        return dimension.id in load_heads().of and self.screen.covers(dimension)

    async def open(self) -> None:
        """Load the screen, start the model."""
        await self.screen.open()
        await self.chat.open()

    async def close(self) -> None:
        """End the model, let go of the screen."""
        self._answers.clear()
        await self.chat.close()
        await self.screen.close()

    def stop(self) -> None:
        """Ask nothing more."""
        self.chat.stop()
        self.screen.stop()

    async def classify(self, unit: Unit) -> Classification:
        """The probability of the worst judged reply.

        Raises:
            ModelError: the model gave no usable answer.
        """
        head = load_heads().of[unit.dimension.id]
        asked = replace(unit, model=self.chat)
        worst: tuple[float, Classification, int] | None = None
        async with self._turn:
            for index in unit.subject.judged:
                if not unit.subject.messages[index].content.strip():
                    continue
                alone = Subject(unit.subject.conversation, unit.subject.messages[: index + 1], (index,), index)
                screened = await self.screen.classify(replace(unit, model=self.screen, subject=alone))
                chance = await self._probability(asked, head, index, screened)
                if worst is None or chance > worst[0]:
                    worst = chance, screened, index
            if worst is None:
                return Classification(None, head.cut)
            chance, screened, index = worst
            if chance < head.cut:
                return Classification(chance, head.cut, flags=_flags(head, screened))
            return await self._explained(asked, head, chance, index, screened)

    async def _probability(self, unit: Unit, head: Head, index: int, screened: Classification) -> float:
        logits = {SCREEN: logit(screened.probability or 0.0)}
        shown = exchange(unit.subject.messages, index)
        for name, question in {**GENERAL, **SPECIFIC[unit.dimension.id]}.items():
            if name in head.weights:
                messages = question_prompt(shown, question, unit.seed)
                # The text of the prompt holds a hash of what is shown, so it names reply and question.
                key = (messages[1].content, name)
                if key not in self._answers:
                    reply = await unit.generate(messages, SAMPLING)
                    found = yes_logit(reply)
                    if found is None:
                        raise ModelError("endpoint_error", f"{self.chat.name} gave no probabilities of yes and no")
                    self._answers[key] = found
                    if len(self._answers) > _KEPT:
                        self._answers.popitem(last=False)
                logits[name] = self._answers[key]
        return head.probability(logits)

    async def _explained(
        self, unit: Unit, head: Head, chance: float, index: int, screened: Classification
    ) -> Classification:
        """A flagged reply: what the model says of it afterwards, and the sentence that weighs most for the screen."""
        flags = set(_flags(head, screened))
        quotes, rationale = list(screened.quotes), ""
        if self.reasons:
            shown = exchange(unit.subject.messages, index)
            messages = reasons_prompt(shown, unit.dimension, unit.seed)
            try:
                said = read_reasons(await unit.generate(messages, REASONS_SAMPLING))
            except ModelError as error:
                if error.kind != "bad_request":
                    raise
                said = None
            if said is not None:
                rationale, quote = said
                flags.add("post_hoc")
                if quote and quote in unit.subject.messages[index].content and (quote, index) not in quotes:
                    quotes.append((quote, index))
        return Classification(chance, head.cut, tuple(quotes), rationale, frozenset(flags))


def _flags(head: Head, screened: Classification) -> frozenset[Flag]:
    """What the screen has to say of its reading, and whether this head's own cut was fitted."""
    kept = screened.flags - {"uncalibrated"}
    return kept if head.fitted else kept | {"uncalibrated"}
