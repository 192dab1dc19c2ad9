"""A judge held against raters, and the program around it. Conversations and ratings are invented."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import rated
from benchmarks.rated_beside import by_rater, compare, compare_flags, most_common
from benchmarks.rated_criteria import CRITERIA, LEVELS, NOT_RELEVANT, OWN, median, verdict

NAMES = (*LEVELS, NOT_RELEVANT)
NAN = float("nan")


def conversation(number: int, *worst: int) -> dict[str, Any]:
    """Rated by as many raters as there are levels; 3 is not relevant. Every criterion alike."""
    return {
        "id": f"c{number}",
        "messages": [
            {"role": "user", "content": f"My day was of kind {number}."},
            {"role": "assistant", "content": f"Tell me about kind {number}."},
        ],
        "ratings": [
            {"rater": f"r{place}", **dict.fromkeys(CRITERIA, NAMES[level])} for place, level in enumerate(worst)
        ],
    }


ROWS = [
    conversation(number, *levels)
    for number, levels in enumerate(
        [(0, 0, 0), (0, 0, 1), (1, 1, 1), (1, 1, 2), (2, 2, 2), (2, 2, 2), (2, 1, 2), (3, 3, 0), (3, 3, 3), (0, 0, 0)]
    )
]
LIKE_THEM = np.array([0, 0, 1, 1, 2, 2, 2, OWN, OWN, 0])


def test_a_verdict_is_a_level_or_not_applicable_or_missing() -> None:
    assert verdict({"outcome": "scored", "label": 2}) == 2.0
    assert verdict({"outcome": "not_applicable", "label": None}) == OWN
    assert np.isnan(verdict({"outcome": "unscored", "label": None}))
    assert np.isnan(verdict(None))


def test_between_two_levels_the_median_is_the_worse() -> None:
    np.testing.assert_array_equal(
        median(np.array([[0, 1, 2], [0, 2, NAN], [NAN, 1, NAN], [NAN, NAN, NAN]])), [1, 2, 1, NAN]
    )


def test_where_no_value_has_more_than_half_there_is_no_most_common_one() -> None:
    np.testing.assert_array_equal(
        most_common(np.array([[3, 3, 0], [0, 1, 2], [1, 2, NAN], [NAN, NAN, NAN]])), [3, NAN, NAN, NAN]
    )


def test_a_judge_that_says_what_most_raters_say_agrees_better_than_they_do() -> None:
    levels, fourth, best, high = compare(ROWS, "composite", LIKE_THEM)
    assert levels.middle["raw agreement"].value == 1.0
    assert isinstance(levels.difference.value, float)
    assert levels.difference.value > 0
    # not applicable takes part only where it is a category; elsewhere it is no level
    assert (levels.conversations, fourth.conversations, best.conversations, high.conversations) == (8, 10, 8, 8)
    assert fourth.middle["raw agreement"].value == 1.0
    assert "better than chance" in levels.in_words()


def test_people_are_held_against_each_other_on_those_conversations_that_the_judge_has_judged() -> None:
    judge = LIKE_THEM.copy()
    judge[[1, 3, 6]] = NAN  # all on which the raters differ
    levels = next(compare(ROWS, "composite", judge))
    assert levels.conversations == 5
    assert levels.people["raw agreement"].value == 1.0


def test_a_judge_that_says_one_and_the_same_is_called_so() -> None:
    _, _, _, high = compare(ROWS, "composite", np.full(len(ROWS), 2.0))
    assert high.constant
    # of 25 ratings 9 are high: always saying the other would do better
    assert high.commonest == pytest.approx(16 / 25)
    told = high.in_words()
    assert "one and the same" in told
    assert "Always giving the commonest rating would agree with .64 of the ratings, the judge agrees with .36" in told


def test_a_judge_worse_than_people_is_called_so() -> None:
    opposite = np.array([2, 2, 1, 0, 0, 0, 0, NAN, NAN, 2])
    told = next(compare(ROWS, "composite", opposite)).in_words()
    assert "worse than chance" in told
    assert "less than people agree with each other" in told


def test_without_verdicts_nothing_is_claimed() -> None:
    for one in compare(ROWS, "composite", np.full(len(ROWS), NAN)):
        assert one.conversations == 0
        assert "undefined" in one.in_words()


def test_a_flag_is_held_against_either_cut() -> None:
    flagged = np.array([0, 0, 1, 1, 1, 1, 1, NAN, NAN, 0], float)
    best, high = compare_flags(ROWS, "boundaries", flagged)
    assert best.middle["raw agreement"].value == 1.0
    assert high.middle["raw agreement"].value == pytest.approx(6 / 8)


def test_each_rater_beside_the_judge_and_the_others() -> None:
    assert by_rater(ROWS, "composite", LIKE_THEM) == [
        ("r0", 8, 1.0, 13 / 16),
        ("r1", 8, 7 / 8, 12 / 16),
        ("r2", 8, 6 / 8, 11 / 16),
    ]


SCRIPT = """
name: rater
rules:
  - {when: {judged: kind 9}, reply: no answer that could be read}
  - {when: {judged: kind 8}, reply: {rationale: no sign of danger, evidence: [], score: not_applicable}}
  - {when: {judged: 'kind [45]'}, reply: {rationale: passed over, evidence: [], score: 2}}
  - {when: {judged: 'kind [01237]'}, reply: {rationale: met, evidence: [], score: 0}}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "rated_conversations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "script.yaml").write_text(SCRIPT)
    return tmp_path


def program(data: Path, *options: str) -> None:
    script = f"scripted:{data / 'script.yaml'}"
    rated.main(["--data", str(data), "--out", str(data / "runs"), "--only", "crisis", "--model", script, *options])


def test_what_was_judged_and_what_was_not_and_why(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(data)
    told = capsys.readouterr().out
    assert "crisis_response: 7 of 10 conversations have a verdict on the scale" in told
    assert "1: not applicable, says the judge" in told
    assert "1: unscored, judge_unparseable\n" in told
    assert "1: unscored, bad_request: " in told
    assert "levels given: 0: 5, 1: 0, 2: 2" in told
    assert "screen, as it judges by default: fitted on no labels for crisis_response" in told
    assert "kind 4" not in told  # no word of a conversation


def test_a_run_that_was_cut_short_goes_on(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(data, "--limit", "2")
    told = capsys.readouterr().out
    assert "2 of 10 conversations have a verdict on the scale" in told
    assert "8: not judged yet (--limit 2)" in told
    program(data)
    assert "7 of 10 conversations have a verdict on the scale" in capsys.readouterr().out


def test_what_is_stored_is_shown_without_asking_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(data, "--stored")
    assert "10: not judged yet" in capsys.readouterr().out
    assert not any((data / "runs").iterdir())


def test_people_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(data, "--humans-only")
    told = capsys.readouterr().out
    assert "the raters among themselves" in told
    assert "crisis_response" not in told


def test_without_the_data_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="this needs the human-rated data"):
        rated.main(["--data", str(tmp_path), "--humans-only"])
