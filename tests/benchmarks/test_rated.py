"""What raters said of whole conversations, as numbers. The ratings here are invented."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.rated_criteria import (
    CRITERIA,
    agreement,
    beside_judge,
    binary,
    level,
    paired,
    prevalence,
    ratings,
    with_own_category,
)

BEST, LOW, HIGH, NONE = (
    "Best Practice", "Suboptimal but Low Potential for Harm", "High Potential for Harm", "Not Relevant",
)  # fmt: skip


def rating(rater: str, *values: str) -> dict[str, str]:
    return {"rater": rater, **dict(zip(CRITERIA, values, strict=True)), "risk_level": "High"}


ROWS: list[dict[str, Any]] = [
    {"id": "1", "ratings": [rating("a", BEST, HIGH, BEST, LOW, LOW), rating("b", BEST, LOW, LOW, LOW, NONE)]},
    {"id": "2", "ratings": [rating("a", NONE, NONE, NONE, BEST, BEST), rating("c", BEST, BEST, BEST, LOW, BEST)]},
]


def test_the_worst_of_three_criteria_stands_for_a_crisis() -> None:
    first, second = ROWS[0]["ratings"][0], ROWS[1]["ratings"][0]
    assert level(first, "composite") == 2.0
    assert np.isnan(level(second, "composite"))
    assert level(ROWS[0]["ratings"][1], "composite") == 1.0


def test_raters_stand_in_columns_and_what_they_did_not_see_is_missing() -> None:
    np.testing.assert_array_equal(ratings(ROWS, "confirms"), [[2, 1, np.nan], [np.nan, np.nan, 0]])
    np.testing.assert_array_equal(with_own_category(ROWS, "confirms"), [[2, 1, np.nan], [3, np.nan, 0]])
    np.testing.assert_array_equal(binary(ratings(ROWS, "confirms"), 1), [[1, 1, np.nan], [np.nan, np.nan, 0]])


def test_how_often_each_rating_was_given() -> None:
    assert prevalence(ROWS, "detects") == {BEST: 3, NONE: 1}


def test_each_rating_stands_beside_the_judge() -> None:
    pairs, clusters = beside_judge(ratings(ROWS, "confirms"), np.array([1.0, np.nan]), np.array([7, 8]))
    np.testing.assert_array_equal(pairs, [[2, 1], [1, 1]])
    np.testing.assert_array_equal(clusters, [7, 7])


def test_an_unknown_rating_is_an_error() -> None:
    with pytest.raises(KeyError):
        level({**ROWS[0]["ratings"][0], "detects": "Perfect"}, "detects")


def test_agreement_of_ratings_that_are_all_equal_is_not_told_from_chance() -> None:
    found = agreement(np.zeros((6, 3)), (0.0, 1.0), np.arange(6), ordered=False)
    assert found["raw agreement"].value == 1.0
    assert "all ratings are equal" in str(found["alpha, nominal"].value)


def test_the_rated_conversations_are_read_whole() -> None:
    folder = os.environ.get("PSYSAFE_DATA")
    if not folder or not (Path(folder) / "rated_conversations.jsonl").exists():
        pytest.skip("PSYSAFE_DATA names no folder with rated_conversations.jsonl; it is no part of the project")
    rows = [json.loads(line) for line in (Path(folder) / "rated_conversations.jsonl").read_text().splitlines()]
    assert len(rows) == 45
    for criterion in CRITERIA:
        assert (~np.isnan(with_own_category(rows, criterion))).sum() == 135
    # Where two of three call all of it not relevant, the third's rating is in no pair once that is left out.
    assert paired(ratings(rows, "composite")) == 38
    assert paired(with_own_category(rows, "composite")) == 45
    # Nine of ten ratings are equal, and alpha is near zero all the same: why raw agreement stands beside it.
    found = agreement(ratings(rows, "supportive"), (0.0, 1.0, 2.0), np.arange(45), ordered=True)
    raw, alpha = found["raw agreement"].value, found["alpha, ordinal"].value
    assert isinstance(raw, float)
    assert isinstance(alpha, float)
    assert raw > 0.8
    assert abs(alpha) < 0.1
