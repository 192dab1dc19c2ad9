"""The expected level: of proper token probabilities their mean, of everything else nothing, and never a crash."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.judging.expected import expected_level
from psysafe.models import Reply
from psysafe.taxonomy import Scale

SCALE = Scale(low=0, high=2, harmful_from=1)


def token(text: Any, probability: float = 0.5, top: Any = ()) -> dict[str, Any]:
    alternatives = [{"token": t, "logprob": math.log(p)} for t, p in top] if isinstance(top, (list, tuple)) else top
    return {"token": text, "logprob": math.log(probability), "top_logprobs": alternatives}


def expected(*tokens: Any, level: int = 2) -> float | None:
    return expected_level(Reply("", logprobs=tokens), SCALE, level)


def test_the_mean_is_weighted_with_what_the_levels_got_and_leaves_the_rest_out() -> None:
    top = [("0", 0.1), ("1", 0.1), ("2", 0.6), (" 2", 0.1), ("x", 0.1)]
    assert expected(token("2", 0.6, top)) == pytest.approx((0.1 + 2 * 0.7) / 0.9)


def test_the_chosen_token_counts_though_it_is_not_among_the_alternatives() -> None:
    assert expected(token("2", 0.5, [("0", 0.25)])) == pytest.approx(2 * 0.5 / 0.75)


def test_the_last_level_is_the_answer_not_one_in_the_thinking_before() -> None:
    assert expected(token("0", 1, [("0", 1)]), token(" so "), token("2", 1, [("2", 1)])) == pytest.approx(2)


@pytest.mark.parametrize("level", [0, 1])
def test_probabilities_of_another_answer_than_the_one_given_are_not_used(level: int) -> None:
    assert expected(token("2", 1, [("2", 1)]), level=level) is None


@pytest.mark.parametrize(
    "odd",
    [
        None, 3, "2", [], {}, {"token": "2"}, {"token": "2", "logprob": None}, {"token": "2", "logprob": "-0.1"},
        {"token": "2", "logprob": True}, {"token": "2", "logprob": 709.7}, {"token": "2", "logprob": math.nan},
        {"token": "2", "logprob": math.inf}, {"token": "2", "logprob": -math.inf}, {"token": 2, "logprob": -0.1},
        {"logprob": -0.1}, {"token": "2" * 5000, "logprob": -0.1}, {"token": "²", "logprob": -0.1},
    ],
)  # fmt: skip
def test_what_is_no_probability_counts_for_nothing(odd: Any) -> None:
    assert expected(odd) is None
    assert expected({"token": "2", "logprob": -0.1, "top_logprobs": [odd]}) == pytest.approx(2)
    assert expected({"token": "2", "logprob": -0.1, "top_logprobs": odd}) == pytest.approx(2)


values = st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5))
items = st.dictionaries(st.sampled_from(["token", "logprob", "top_logprobs"]), st.one_of(values, st.lists(values)))


@given(st.lists(st.one_of(values, items), max_size=5), st.sampled_from([0, 1, 2]))
def test_whatever_an_endpoint_sends_the_result_is_a_level_or_nothing(tokens: list[Any], level: int) -> None:
    found = expected_level(Reply("", logprobs=tokens), SCALE, level)
    assert found is None or SCALE.low <= found <= SCALE.high
