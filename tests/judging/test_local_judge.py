"""``local``: what it asks, what it shares, when it explains, and what a failure costs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from psysafe.conversation import Conversation, Message
from psysafe.judging import Judgment, judge, vote
from psysafe.judging.classifier import Classification
from psysafe.judging.local import judge as local
from psysafe.judging.local.heads import Head, Heads, load_heads, logit
from psysafe.judging.local.judge import LocalJudge
from psysafe.judging.local.questions import GENERAL, SPECIFIC, exchange, question_prompt, yes_logit
from psysafe.models import ModelError, ModelInfo, Price, Reply, Sampling, Usage
from psysafe.taxonomy import load_dimension
from tests.judging.fakes import FakeClassifier

INSULT = load_dimension("insulting_behaviour")
CHAT = Conversation("c", (Message("user", "I failed."), Message("assistant", "You always do. Poor thing.")))


class Answers:
    """A chat model that says yes to questions about mocking with probability ``yes``, and explains."""

    name = "local"

    def __init__(
        self, yes: float = 0.9, reasons: str | ModelError = '{"quote": "You always do.", "reason": "It mocks."}'
    ) -> None:
        self.yes, self.reasons = yes, reasons
        self.asked: list[tuple[str, Sampling]] = []

    info = ModelInfo("local", "weights", None, True, Price(0, 0), {"file": "w.gguf"})

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def stop(self) -> None: ...

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        self.asked.append((messages[-1].content, config))
        if config.top_logprobs is None:
            if isinstance(self.reasons, ModelError):
                raise self.reasons
            return Reply(self.reasons, usage=Usage(10, 10))
        top = [{"token": " Yes", "logprob": math.log(self.yes)}, {"token": "no", "logprob": math.log(1 - self.yes)}]
        return Reply("Yes", usage=Usage(10, 1), logprobs=[{"token": " Yes", "logprob": 0.0, "top_logprobs": top}])


@pytest.fixture(autouse=True)
def heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """One head: what the answer about mocking says, plus the screen."""
    weights = {"screen": 1.0, "mocks": 1.0, "kind": 0.0}
    made = {name: Head(weights, 0.0, 0.5, True, {}) for name in ("insulting_behaviour",)}
    monkeypatch.setattr(local, "load_heads", lambda: Heads("d", "m", made, "how good it is"))


def judged(model: Answers, screen: float = 0.5, quotes: Any = (), **options: Any) -> Judgment:
    screened = FakeClassifier(Classification(screen, quotes=quotes), "screen")
    return asyncio.run(judge(CHAT, INSULT, LocalJudge(model, screened), **options))  # type: ignore[arg-type]


def test_the_answer_and_the_screen_are_weighed_together() -> None:
    found = judged(Answers(0.9), screen=0.5)
    assert found.probability == pytest.approx(0.9)
    assert judged(Answers(0.9), screen=0.1).probability == pytest.approx(0.5)
    assert judged(Answers(0.2), screen=0.5).harmful is False


def test_only_a_flagged_reply_is_explained_and_the_explanation_is_marked_as_later() -> None:
    model = Answers(0.9)
    found = judged(model, quotes=(("Poor thing.", 1),))
    assert found.rationale == "It mocks."
    assert {"post_hoc", "screening"} <= set(found.flags)
    assert [(item.quote, item.verified) for item in found.evidence] == [("Poor thing.", True), ("You always do.", True)]
    assert found.calls == len(model.asked) == 3
    quiet = Answers(0.1)
    found = judged(quiet)
    assert (found.rationale, found.flags, found.calls) == ("", ("screening",), 2)


@pytest.mark.parametrize(
    "said", ["no JSON", '{"quote": 1}', '{"quote": "x", "reason": " "}', ModelError("bad_request", "too long")]
)
def test_an_explanation_that_fails_costs_nothing_but_itself(said: Any) -> None:
    found = judged(Answers(0.9, said))
    assert (found.outcome, found.harmful, found.rationale) == ("scored", True, "")
    assert "post_hoc" not in found.flags


def test_a_quote_that_the_model_made_up_is_left_out() -> None:
    found = judged(Answers(0.9, '{"quote": "You are dumb.", "reason": "It mocks."}'))
    assert (found.rationale, found.evidence) == ("It mocks.", ())


def test_a_dead_model_leaves_the_unit_unscored_as_endpoint_error() -> None:
    class Dead(Answers):
        async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
            raise ModelError("endpoint_error", "the embedded model's process died (signal 9)")

    found = judged(Dead())
    assert (found.outcome, found.reason, found.score) == ("unscored", "endpoint_error", None)


def test_an_answer_without_probabilities_is_no_verdict() -> None:
    class Mute(Answers):
        async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
            return Reply("Yes")

    assert judged(Mute()).reason == "endpoint_error"


def test_the_worst_of_several_replies_counts_and_is_the_one_explained() -> None:
    chat = Conversation(
        "c",
        (
            Message("user", "a"),
            Message("assistant", "Fine."),
            Message("user", "b"),
            Message("assistant", "You always do."),
        ),
    )

    class Screen(FakeClassifier):
        async def classify(self, unit: Any) -> Classification:
            assert unit.subject.judged == (len(unit.subject.messages) - 1,)
            return Classification(0.2 if unit.subject.message == 1 else 0.7)

    model = Answers(0.9)
    screen = Screen(Classification(0.5), "screen")
    found = asyncio.run(judge(chat, INSULT, LocalJudge(model, screen), scope="conversation"))  # type: ignore[arg-type]
    assert found.probability == pytest.approx(1 / (1 + math.exp(-logit(0.9) - logit(0.7))))
    assert [item.message for item in found.evidence] == [3]


def test_answers_are_asked_once_for_all_dimensions_of_a_reply() -> None:
    model = Answers(0.1)
    judge_ = LocalJudge(model, FakeClassifier(Classification(0.5), "screen"))  # type: ignore[arg-type]

    async def twice() -> None:
        for _ in range(2):
            await judge(CHAT, INSULT, judge_)

    asyncio.run(twice())
    assert len(model.asked) == 2  # kind and mocks, once each


def test_with_another_mechanism_the_model_is_asked_in_words_and_marked_as_uncalibrated() -> None:
    class Words(Answers):
        async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
            return Reply(orjson.dumps({"rationale": "r", "evidence": [], "score": 1}).decode())

    found = judged(Words(), mechanism=vote(samples=2))
    assert (found.score, found.probability, found.calls) == (1.0, None, 2)
    assert "uncalibrated" in found.flags
    assert "screening" not in found.flags


# ---- questions


def test_all_questions_of_a_reply_share_the_beginning_of_the_prompt() -> None:
    shown = exchange(CHAT.messages, 1)
    prompts = [question_prompt(shown, question, 0)[-1].content for question in GENERAL.values()]
    head = prompts[0].split("\n\nQuestion about")[0]
    assert all(prompt.startswith(head) for prompt in prompts)
    assert "[[psysafe" in head
    assert head.endswith("end]]")


def test_the_judged_message_and_what_just_precedes_it_are_shown() -> None:
    messages = [Message("user" if i % 2 == 0 else "assistant", str(i)) for i in range(10)]
    assert [message.content for message in exchange(messages, 7)] == ["4", "5", "6", "7"]


def test_a_text_cannot_foresee_its_nonce() -> None:
    first, second = (question_prompt((Message("assistant", text),), "q", 0)[-1].content for text in ("a", "b"))
    assert first.split()[1] != second.split()[1]
    assert question_prompt((Message("assistant", "a"),), "q", 1)[-1].content.split()[1] != first.split()[1]


@pytest.mark.parametrize(
    "alternatives, expected",
    [
        ([("Yes", 0.6), ("No", 0.3)], math.log(2)),
        ([("yes", 0.3), (" YES", 0.3), ("no", 0.3)], math.log(2)),
        ([("Yes", 0.9)], math.log(0.9 / 1e-4)),
        ([("Maybe", 0.9), ("Yes", 0.04)], None),
        ([], None),
    ],
)
def test_log_odds_come_from_every_spelling_of_yes_and_no(alternatives: Any, expected: float | None) -> None:
    top = [{"token": token, "logprob": math.log(p)} for token, p in alternatives]
    found = yes_logit(Reply("", logprobs=[{"token": "x", "logprob": 0.0, "top_logprobs": top}]))
    assert found == (None if expected is None else pytest.approx(expected))


def test_what_ships_is_whole() -> None:
    for name, head in load_heads().of.items():
        assert set(head.weights) <= {"screen", *GENERAL, *SPECIFIC[name]}
        assert 0 < head.cut < 1
