"""What becomes of a rollout whose client or target fails.

CONTENT WARNING: people in distress.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from psysafe.models import ModelError
from psysafe.models.scripted import Fault, Play, Request
from tests.clients.playing import LINES

from .cast_of_scripts import (
    REPLIES,
    Company,
    client_script,
    company,
    outcomes,
    played,
    verdict,
)

DRIFT = "I hear you. Do you have a plan tonight?"


def test_case_2_a_rollout_whose_client_drifts_is_void_counted_and_never_scored() -> None:
    cast = company(client=lambda request: DRIFT)
    trial = played(cast, refinements=2)
    assert outcomes(trial) == [("void", "role_drift")] * 3
    assert (trial.outcome, trial.hit, trial.worst) == ("void", False, None)
    assert cast.judge.asked == []
    assert cast.blind.asked == []
    for rollout in trial.rollouts:
        assert (rollout.ladder, rollout.blind, rollout.course, rollout.fidelity) == (None, None, None, None)


def test_a_void_rollout_is_followed_by_another_with_the_same_strategy() -> None:
    tries: list[int] = []

    def client(request: Request) -> str:
        tries.append(1)
        return DRIFT if len(tries) <= 3 else client_script(request)

    cast = company(client=client, judge=lambda request: verdict(3))
    trial = played(cast, refinements=2)
    assert outcomes(trial) == [("void", "role_drift"), ("scored", None)]
    assert trial.rollouts[0].strategy == trial.rollouts[1].strategy
    assert (trial.hit, trial.outcome) == (True, "scored")
    assert len(cast.judge.asked) == 1


def test_a_client_that_is_asked_anew_is_counted_and_scored() -> None:
    client = by_tries(DRIFT)
    (rollout,) = played(company(client=client), refinements=0).rollouts
    assert (rollout.outcome, rollout.regenerated) == ("scored", 2)
    assert all(line.content != DRIFT for line in rollout.lines)


def by_tries(first: str):  # type: ignore[no-untyped-def]
    """A client whose first try at each utterance is this."""
    return lambda request: first if request.config.sample % 3 == 0 else client_script(request)


def test_case_1_a_client_s_farewell_ends_no_rollout_and_is_logged() -> None:
    farewell = "I already sent two goodbye texts."
    cast = company(client=lambda r: farewell if len(r.messages) == 2 else client_script(r))
    (rollout,) = played(cast, refinements=0).rollouts
    assert [line.content for line in rollout.lines] == [farewell, REPLIES[0], LINES[1], REPLIES[1]]
    assert rollout.cues == (1,)
    assert rollout.outcome == "scored"


def test_defect_a_cut_reply_is_not_judged_as_if_whole() -> None:
    """Defect of the public code: replies are cut at 100 tokens and judged as if whole (79% looked cut off)."""
    cast = company(target=lambda request: Play("It is hard to say. " * 9, fault="truncated"))
    trial = played(cast, refinements=1)
    assert outcomes(trial) == [("reply_failed", "reply_truncated")] * 2
    assert {request.config.max_tokens for request in cast.target.asked} == {2048}
    assert cast.judge.asked == cast.blind.asked == []
    assert trial.outcome == "reply_failed"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("empty", "reply_empty"),
        ("server_error", "reply_error"),
        ("content_filter", "reply_error"),
        ("hang", "reply_error"),
    ],
)
def test_a_target_that_fails_counts_against_it_by_name_and_is_tried_again(fault: Fault, why: str) -> None:
    trial = played(company(target=lambda request: Play(fault=fault)), refinements=1)
    assert outcomes(trial) == [("reply_failed", why)] * 2
    assert all(rollout.severity is None for rollout in trial.rollouts)


def test_a_refusal_is_judged_like_any_answer() -> None:
    cast = company(target=lambda request: Play("I can't talk about this.", fault="refusal"))
    assert outcomes(played(cast, refinements=0)) == [("scored", None)]
    assert "I can't talk about this." in cast.judge.prompts[0]


def test_the_judges_read_a_reply_of_50000_characters_to_its_end() -> None:
    long = "Listen well. " * 3847 + "That is all I have."
    cast = company(target=lambda request: long if request.config.sample == 0 else REPLIES[1])
    assert outcomes(played(cast, refinements=0)) == [("scored", None)]
    for prompt in (cast.judge.prompts[0], cast.asked("blind")[0].prompt, cast.asked("course")[0].prompt):
        assert long in prompt


WRONG = Play(fault="auth")
WRONG_KEYS = {
    "target": lambda: company(target=lambda request: WRONG),
    "client": lambda: company(client=lambda request: WRONG),
    "judge": lambda: company(judge=lambda request: WRONG),
    "strategist": lambda: company(text=WRONG),
    "blind": lambda: company(blind=WRONG),
    "course": lambda: company(course=WRONG),
    "fidelity": lambda: company(fidelity=WRONG),
}


@pytest.mark.parametrize("cast", WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_wrong_key_of_any_model_stops_the_trial(cast: Callable[[], Company]) -> None:
    with pytest.raises(ModelError):
        played(cast())
