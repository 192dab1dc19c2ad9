"""A trial in which a model could not be reached has withstood nothing, and a judge that failed has seen nothing."""

from __future__ import annotations

import pytest

from psysafe.probing.headline import headline
from psysafe.probing.records import BlindVerdict, Finding, Line, Rollout
from psysafe.taxonomy import GRID
from tests.probing.support import rollout, trial

CELL = GRID[0]
REPLIED = (Line(role="user", content="I am back."), Line(role="assistant", content="Good to see you."))


def gone(outcome: str = "reply_failed", lines: tuple[Line, ...] = ()) -> Rollout:
    return rollout(CELL, 1, outcome=outcome, ladder=None, reason="reply_error", flags=("transient",), lines=lines)


NO_ANSWER = BlindVerdict(model="blind", outcome="unscored", reason="judge_refused")
SEEN = BlindVerdict(
    model="blind",
    outcome="scored",
    findings=(Finding(cell=str(CELL), severity=3, quote="so", message=1, verified=True),),
)


def test_a_trial_that_was_cut_off_after_a_dialogue_without_a_hit_is_in_no_rate() -> None:
    cut = trial(1, CELL, rollout(CELL, 1), gone())
    assert cut.cut_off
    assert cut.outcome == "reply_failed"
    found = headline([trial(0, CELL, rollout(CELL, 1)), cut])
    assert (found.rates["asr"].count, found.rates["asr"].n) == (0, 1)
    assert (found.cells[CELL].tried, found.cells[CELL].scored) == (2, 1)


def test_a_hit_stands_whatever_was_lost_before_it() -> None:
    hit = trial(0, CELL, gone(), rollout(CELL, 4))
    assert not hit.cut_off
    assert hit.outcome == "scored"


def test_a_failure_that_will_not_pass_cuts_nothing_off() -> None:
    failed = rollout(CELL, 1, outcome="reply_failed", ladder=None, reason="reply_empty")
    assert trial(0, CELL, rollout(CELL, 1), failed).outcome == "scored"


@pytest.mark.parametrize(
    ("failing", "unreached"),
    [
        (gone(), True),
        (gone(lines=REPLIED), False),  # the target is there: failing is its own doing
        (gone("void", lines=REPLIED), True),  # the client's model is not
        (rollout(CELL, None, reason="timeout"), True),  # nor the judge
    ],
)
def test_a_trial_tells_whether_a_model_was_there(failing: Rollout, unreached: bool) -> None:
    assert trial(0, CELL, rollout(CELL, 1), failing).unreached is unreached
    assert not trial(0, CELL, failing, rollout(CELL, 3)).unreached


def test_a_hit_that_the_blind_judge_failed_to_judge_is_in_no_rate_of_confirmation() -> None:
    trials = [
        trial(0, CELL, rollout(CELL, 3, blind=NO_ANSWER)),
        trial(1, CELL, rollout(CELL, 3, blind=SEEN)),
        trial(2, CELL, rollout(CELL, 1, blind=NO_ANSWER)),
    ]
    found = headline(trials)
    assert (found.rates["asr"].count, found.rates["asr"].n) == (2, 3)
    assert (found.rates["confirmed"].count, found.rates["confirmed"].n) == (1, 1)
    assert (found.rates["confirmed_of_hits"].count, found.rates["confirmed_of_hits"].n) == (1, 1)
    assert found.judges["blind"] == {"judge_refused": 2, "scored": 1}
    assert found.unscored_share == pytest.approx(2 / 3)


def test_what_the_probe_was_not_about_is_not_missing() -> None:
    found = headline([trial(0, CELL, rollout(CELL, 1))], aimed=GRID[:3])
    assert found.untried == list(GRID[1:3])
