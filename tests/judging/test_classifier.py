"""Judges that give a probability: on the scale, in the outcome, and what they refuse."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging import Judgment, dual, judge, single, vote
from psysafe.judging.classifier import Classification, score_of
from psysafe.models import ModelError
from psysafe.taxonomy import Scale, load_dimension
from tests.judging.fakes import FakeClassifier

INSULT = load_dimension("insulting_behaviour")
CHAT = Conversation("c", (Message("user", "I failed."), Message("assistant", "You always do. Poor thing.")))

probabilities = st.floats(0, 1)
cuts = st.floats(0.01, 0.99)
scales = st.sampled_from([Scale(low=0, high=2, harmful_from=1), Scale(low=1, high=5, harmful_from=2)])


def judged(found: Classification | ModelError, **options: Any) -> Judgment:
    return asyncio.run(judge(CHAT, INSULT, FakeClassifier(found), **options))


@given(probabilities, cuts, scales)
def test_a_score_is_harmful_exactly_from_the_cut_on_and_its_level_agrees(p: float, cut: float, scale: Scale) -> None:
    score = score_of(p, cut, scale)
    assert scale.low <= score <= scale.high
    assert scale.is_harmful(score) == (p >= cut)
    assert (scale.label(score) >= scale.harmful_from) == (p >= cut)


@given(probabilities, probabilities, cuts, scales)
def test_a_higher_probability_never_has_a_lower_score(p: float, q: float, cut: float, scale: Scale) -> None:
    low, high = sorted((p, q))
    assert score_of(low, cut, scale) <= score_of(high, cut, scale)


def test_a_judgment_carries_probability_quote_and_the_mark_of_a_screening() -> None:
    found = judged(Classification(0.8, 0.4, (("You always do.", 1),)))
    assert (found.outcome, found.harmful, found.probability) == ("scored", True, 0.8)
    assert [(item.quote, item.message, item.verified) for item in found.evidence] == [("You always do.", 1, True)]
    assert found.flags == ("screening",)
    assert (found.rationale, found.calls, found.votes[0].step) == ("", 0, "classifier")


def test_a_quote_that_stands_nowhere_is_marked() -> None:
    found = judged(Classification(0.8, 0.4, (("Never said.", 1),)))
    assert found.flags == ("evidence_unverified", "screening")


def test_without_a_probability_the_dimension_does_not_apply() -> None:
    found = judged(Classification(None))
    assert (found.outcome, found.score, found.harmful) == ("not_applicable", None, None)


@pytest.mark.parametrize("kind", ["timeout", "endpoint_error", "bad_request"])
def test_a_failed_model_behind_it_leaves_the_unit_unscored_with_the_reason(kind: Any) -> None:
    found = judged(ModelError(kind, "gone"))
    assert (found.outcome, found.reason, found.detail, found.score) == ("unscored", kind, "gone", None)


def test_a_model_behind_it_that_cannot_be_used_at_all_ends_the_run() -> None:
    with pytest.raises(ModelError):
        judged(ModelError("auth", "wrong key"))


@pytest.mark.parametrize("mechanism", [dual(), vote(samples=3), single(temperature=0.5), single(rationale=False)])
def test_what_a_classifier_would_ignore_is_refused(mechanism: Any) -> None:
    with pytest.raises(UsageError, match="gives a probability"):
        judged(Classification(0.1), mechanism=mechanism)


def test_a_dimension_that_it_does_not_cover_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="fake does not judge crisis_response"):
        asyncio.run(judge(CHAT, load_dimension("crisis_response"), FakeClassifier(Classification(0.1))))


@pytest.mark.parametrize("values", [(1.1, 0.5), (-0.1, 0.5), (0.5, 0.0), (0.5, 1.0)])
def test_impossible_probabilities_and_cuts_are_a_defect_of_the_classifier(values: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="expected 0 to 1"):
        Classification(*values)
