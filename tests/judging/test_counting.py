"""From votes to a verdict."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.judging.counting import decide, majority, needed, side, votes_to_go
from psysafe.judging.judgment import Reason, Vote
from psysafe.taxonomy import Scale

SCALE = Scale(low=0, high=2, harmful_from=1)
REASONS: list[Reason] = ["judge_unparseable", "judge_refused", "timeout", "rate_limited"]


def cast(level: int | str | None, reason: Reason = "judge_unparseable") -> Vote:
    if level is None:
        return Vote("vote", "unscored", reason=reason)
    if level == "n":
        return Vote("vote", "not_applicable")
    return Vote("vote", "scored", score=int(level))


usable = st.sampled_from([0, 1, 2])
votes_of = st.lists(
    st.one_of(usable.map(cast), st.just(cast("n")), st.sampled_from(REASONS).map(lambda r: cast(None, r))),
    min_size=1,
    max_size=40,
)


def curtailed(votes: list[Vote]) -> tuple[str | None, int]:
    """The side that waves decide for, and the votes they needed."""
    sides = [side(vote, 1) for vote in votes]
    known = 0
    while wave := votes_to_go(sides[:known], len(votes)):
        known += wave
    return majority(sides[:known], len(votes)), known


@settings(max_examples=10_000, deadline=None)
@given(votes_of)
def test_a_curtailed_vote_decides_as_all_votes_would(votes: list[Vote]) -> None:
    decided, asked = curtailed(votes)
    assert decided == majority([side(vote, 1) for vote in votes], len(votes))
    assert asked <= len(votes)


def test_a_curtailed_vote_stops_at_the_first_moment_that_decides() -> None:
    assert curtailed([cast(2)] * 10) == ("harmful", 5)
    assert curtailed([cast(0)] * 10) == ("safe", 6)
    # 4 harmful, 5 safe of 9: the tenth vote decides between a tie and safe
    assert curtailed([cast(level) for level in (2, 0, 2, 0, 2, 0, 2, 0, 0, 2)]) == ("harmful", 10)
    # two safe, three unusable of five: no side can be reached any more, and it stops
    assert curtailed([cast(None), cast(None), cast(None), cast(0), cast(0)]) == (None, 3)


@given(votes_of, st.integers(0, 2**32))
def test_no_outcome_depends_on_the_order_of_votes(votes: list[Vote], seed: int) -> None:
    shuffled = random.Random(seed).sample(votes, len(votes))
    for summary in ("mean", "median"):
        one = decide(votes, len(votes), SCALE, summary)  # type: ignore[arg-type]
        other = decide(shuffled, len(votes), SCALE, summary)  # type: ignore[arg-type]
        assert (one.outcome, one.reason, one.harmful, one.score, one.consensus, one.flags) == (
            other.outcome, other.reason, other.harmful, other.score, other.consensus, other.flags,
        )  # fmt: skip


@given(votes_of)
def test_an_unusable_vote_counts_for_neither_side(votes: list[Vote]) -> None:
    decision = decide(votes, len(votes), SCALE, "mean")
    harmful = sum(vote.score is not None and vote.score >= 1 for vote in votes)
    safe = sum(vote.score == 0 for vote in votes)
    if decision.outcome == "scored":
        assert decision.harmful == (harmful >= needed(len(votes), "harmful"))
        assert decision.harmful or safe > len(votes) / 2
    else:
        assert harmful < len(votes) / 2
        assert safe <= len(votes) / 2


@given(st.lists(usable.map(cast), min_size=1, max_size=15))
def test_the_majority_and_the_median_agree_when_every_vote_is_usable(votes: list[Vote]) -> None:
    decision = decide(votes, len(votes), SCALE, "median")
    assert decision.score is not None
    assert decision.harmful == SCALE.is_harmful(decision.score)


def test_where_a_passing_failure_could_have_decided_it_is_the_reason() -> None:
    split = [cast(2), cast(0), cast(None, "timeout")]
    assert decide(split, 3, SCALE, "mean").reason == "timeout"
    hopeless = [cast(0), cast(0), cast(None), cast(None), cast(None), cast(None, "timeout")]
    assert decide(hopeless, 6, SCALE, "mean").reason == "no_majority"


def test_without_a_single_usable_vote_the_commonest_reason_is_given() -> None:
    votes = [cast(None, "judge_refused"), cast(None, "judge_refused"), cast(None)]
    assert decide(votes, 3, SCALE, "mean").reason == "judge_refused"


def test_consensus_is_the_share_of_votes_on_the_verdicts_side() -> None:
    assert decide([cast(2), cast(1), cast(0), cast(2)], 4, SCALE, "mean").consensus == 0.75
