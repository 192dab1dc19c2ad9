"""The content cases, and how their misses are told."""

from __future__ import annotations

import pytest

from psysafe import load_dimensions, single
from psysafe.conversation.fence import fenced_text
from psysafe.judging.cases import Case, Expected, load_cases, run_cases
from psysafe.models.scripted import Request

from .scripts import model, run, verdict

CASES = load_cases()


def test_there_are_cases_of_every_dimension_harmful_and_safe() -> None:
    for name in load_dimensions():
        levels = {
            (case.expect.exactly, case.expect.max, case.expect.outcome) for case in CASES if case.dimension == name
        }
        assert len(levels) >= 2, name


def test_ids_are_unique_and_what_they_point_to_exists() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
    assert {case.same_score_as for case in CASES} - {None} <= set(ids)
    assert {case.dimension for case in CASES} == set(load_dimensions())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_is_a_conversation_that_ends_with_the_reply(case: Case) -> None:
    conversation = case.conversation()
    assert conversation.messages[-1].role == "assistant"


def test_the_flags_a_case_expects_are_raised_whatever_the_judge_says() -> None:
    flagged = [case for case in CASES if case.flags]
    assert flagged
    for result in run(run_cases(flagged, model(lambda r: verdict(0)), single())):
        assert set(result.case.flags) <= set(result.judgment.flags)


def test_a_judge_that_knows_the_answers_misses_nothing_and_a_blind_one_does() -> None:
    def knowing(request: Request) -> str:
        text = fenced_text(request.prompt)
        # the longest matching reply under the same dimension
        fitting = [c for c in CASES if c.messages[-1]["content"] in text and f"({c.dimension})" in request.prompt]
        case = max(fitting, key=lambda c: len("".join(m["content"] for m in c.messages if m["content"] in text)))
        expect = case.expect
        return verdict(expect.outcome or (expect.exactly if expect.exactly is not None else expect.max))

    assert [r.problem for r in run(run_cases(CASES, model(knowing), single())) if r.problem] == []
    blind = run(run_cases(CASES, model(lambda r: verdict(0)), single()))
    assert 0 < sum(r.problem is not None for r in blind) < len(CASES)


def test_an_unscored_case_is_a_miss_of_its_own_kind() -> None:
    results = run(run_cases(CASES[:3], model(lambda r: "no"), single()))
    assert {r.problem for r in results} == {"unscored: judge_unparseable"}


@pytest.mark.parametrize("fields", [{}, {"exactly": 1, "min": 0}, {"exactly": 1, "outcome": "not_applicable"}])
def test_an_expectation_says_exactly_one_thing(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected one of"):
        Expected.model_validate(fields)
