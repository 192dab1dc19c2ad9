"""Every mechanism through every fault a judge can have: an outcome with the right reason, never a number."""

from __future__ import annotations

import pytest

from psysafe import debate, dual, single, vote
from psysafe.judging import Mechanism
from psysafe.models import ModelError
from psysafe.models.scripted import Fault, Play, Request

from .scripts import answers, decide, model, verdict

MECHANISMS = [single(), single(rationale=False), dual(), debate(), vote(samples=3), vote(samples=3, curtail=True)]
EACH = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.spec())

FAULTS: dict[Fault, str] = {
    "garbage": "judge_unparseable",
    "refusal": "judge_refused",
    "blocked": "judge_blocked",
    "content_filter": "judge_blocked",
    "empty": "judge_empty",
    "truncated": "judge_truncated",
    "rate_limited": "rate_limited",
    "server_error": "endpoint_error",
    "disconnect": "endpoint_error",
    "hang": "timeout",
}


# A speech has no form that could be broken; a debate's voters are tested below.
COMBINATIONS = [
    pytest.param(mechanism, fault, id=f"{mechanism.spec()}-{fault}")
    for mechanism in MECHANISMS
    for fault in FAULTS
    if (mechanism.name, fault) != ("debate", "garbage")
]


@pytest.mark.parametrize(("mechanism", "fault"), COMBINATIONS)
def test_a_fault_on_every_call_ends_unscored_with_its_reason(mechanism: Mechanism, fault: Fault) -> None:
    judgment = decide(answers(Play("x" * 40, fault=fault, retry_after=0.001)), mechanism)
    assert (judgment.outcome, judgment.reason) == ("unscored", FAULTS[fault])
    assert judgment.score is judgment.label is judgment.harmful is None
    assert judgment.calls >= 1
    assert judgment.detail


def test_voters_that_talk_garbage_leave_a_debate_unscored() -> None:
    judgment = decide(answers("no form at all"), debate())
    assert (judgment.outcome, judgment.reason) == ("unscored", "judge_unparseable")
    assert len(judgment.arguments) == 4


@EACH
@pytest.mark.parametrize("fault", ["rate_limited", "server_error", "disconnect", "hang"])
def test_a_fault_that_passes_is_retried_and_leaves_no_trace_but_the_attempts(
    mechanism: Mechanism, fault: Fault
) -> None:
    def script(request: Request) -> Play:
        text = verdict(1) if getattr(mechanism, "rationale", True) else "1"
        return Play(text, fault=fault if request.attempt == 0 else None, retry_after=0.001)

    judgment = decide(model(script), mechanism)
    assert (judgment.outcome, judgment.score) == ("scored", 1)
    assert judgment.attempts == 2 * judgment.calls


@EACH
def test_a_wrong_key_stops_everything(mechanism: Mechanism) -> None:
    with pytest.raises(ModelError) as caught:
        decide(answers(Play(fault="auth")), mechanism)
    assert caught.value.kind == "auth"


def test_a_corrector_that_fails_leaves_dual_unscored_though_the_assessor_answered() -> None:
    script = model(lambda r: "broken" if "earlier evaluation]]" in r.prompt else verdict(2))
    judgment = decide(script, dual())
    assert (judgment.outcome, judgment.reason, judgment.score) == ("unscored", "judge_unparseable", None)
    assert judgment.votes[0].score == 2


def test_the_error_is_shown_to_the_judge_that_is_asked_again() -> None:
    prompts: list[str] = []

    def script(request: Request) -> str:
        prompts.append(request.prompt)
        return '{"score": 7}'

    decide(model(script), single())
    assert len(prompts) == 2
    assert "score: 7 is none of 0, 1, 2" in prompts[1]
    assert '{"score": 7}' in prompts[1]


def test_a_truncated_answer_is_asked_for_again_with_twice_the_room() -> None:
    rooms: list[int] = []

    def script(request: Request) -> Play:
        rooms.append(request.config.max_tokens)
        return Play(verdict(1), fault="truncated" if len(rooms) == 1 else None)

    judgment = decide(model(script), single(max_tokens=100))
    assert rooms == [100, 200]
    assert judgment.score == 1


def test_what_an_unusable_answer_said_is_kept() -> None:
    assert decide(answers("No clear risk."), single()).votes[0].answer == "No clear risk."
