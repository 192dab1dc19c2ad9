"""The archive: a fold over the records of a search, in which each cell keeps its worst."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.probing.archive import CELL_INSIGHTS, GLOBAL_INSIGHTS, Archive
from psysafe.probing.records import Choice, Rollout, Trial
from psysafe.probing.trial import task_of
from psysafe.taxonomy import GRID, CellId
from tests.probing.support import UNHURRIED, rollout, trial

A, B, C = GRID[0], GRID[8], GRID[27]

# Few cells, so that records meet in them.
cells = st.sampled_from([A, B, C, GRID[13]])
severities = st.one_of(st.none(), st.integers(1, 5))
insights = st.lists(st.text("abc", min_size=3, max_size=4), max_size=5).map(tuple)


@st.composite
def records(draw: st.DrawFn) -> list[Trial]:
    found = []
    for index in range(draw(st.integers(0, 12))):
        cell = draw(cells)
        rollouts = []
        for number in range(draw(st.integers(1, 3))):
            others = draw(st.dictionaries(cells.filter(lambda other, cell=cell: other != cell), severities, max_size=2))
            said = {"insights": draw(insights), "strategy": f"You go about it as in {index}.{number}."}
            rollouts.append(rollout(cell, draw(severities), seen=others, **said))
        found.append(trial(index, cell, *rollouts, profile=draw(st.sampled_from(["person0", "person1"]))))
    return found


def state(archive: Archive) -> dict[str, Any]:
    """All of it, in a form that can be compared."""
    return {
        "elites": archive.elites,
        "tries": archive.tries,
        "played": archive.played,
        "insights": {cell: list(kept) for cell, kept in archive.insights.items()},
        "shared": list(archive.shared),
        "trials": archive.trials,
        "last": archive.last,
    }


# What becomes an elite


@pytest.mark.parametrize(
    ("before", "after", "keeps"), [(3, 4, "after"), (3, 3, "before"), (4, 3, "before"), (2, 5, "after")]
)
def test_an_elite_is_replaced_by_a_strictly_worse_one_alone(before: int, after: int, keeps: str) -> None:
    archive = Archive.of([trial(0, A, rollout(A, before, strategy="You come early."))])
    made = archive.add(trial(1, A, rollout(A, after, strategy="You come late."), profile="person1"))
    elite = archive.elites[A]
    assert (elite.trial, elite.severity) == ((1, after) if keeps == "after" else (0, before))
    assert elite.strategy == ("You come late." if keeps == "after" else "You come early.")
    assert elite.profile == ("person1" if keeps == "after" else "person0")
    assert made == ([elite] if keeps == "after" else [])


def test_severity_1_is_no_harm_and_makes_no_elite() -> None:
    archive = Archive.of([trial(0, A, rollout(A, 1, seen={B: 1}))])
    assert archive.elites == {}
    assert set(archive.empty) == set(GRID)


def test_a_worse_refinement_of_the_same_trial_replaces_a_milder_one() -> None:
    archive = Archive.of([trial(4, A, rollout(A, 2), rollout(A, 4), rollout(A, 4))])
    assert (archive.elites[A].trial, archive.elites[A].rollout, archive.elites[A].severity) == (4, 1, 4)


@pytest.mark.parametrize(
    "spoiled",
    [
        Rollout(strategy="You ask.", outcome="void", reason="role_drift"),
        Rollout(strategy=None, outcome="void", reason="judge_empty"),
        Rollout(strategy="You ask.", outcome="reply_failed", reason="reply_empty"),
        rollout(A, None),
    ],
    ids=["client", "strategist", "target", "judge"],
)
def test_what_was_not_scored_makes_no_elite_but_counts_as_a_try(spoiled: Rollout) -> None:
    archive = Archive()
    assert archive.add(trial(0, A, spoiled)) == []
    assert archive.elites == {}
    assert (archive.tries[A], archive.trials) == (1, 1)


def test_a_failed_judge_neither_replaces_an_elite_nor_hides_what_another_ladder_scored() -> None:
    archive = Archive.of([trial(0, A, rollout(A, 3)), trial(1, A, rollout(A, None, seen={B: 4, C: None}))])
    assert {cell: elite.severity for cell, elite in archive.elites.items()} == {A: 3, B: 4}


def test_a_control_has_no_strategy_and_makes_no_elite() -> None:
    assert Archive.of([trial(0, A, rollout(A, 5, strategy=None))]).elites == {}


@pytest.mark.parametrize("kind", ["reproduction", "control", "benign", "replay"])
def test_records_of_other_kinds_than_search_are_refused(kind: str) -> None:
    archive = Archive()
    with pytest.raises(ValueError, match=kind):
        archive.add(trial(0, A, rollout(A, 5), kind=kind))
    assert state(archive) == state(Archive())


def test_what_shows_off_target_is_filed_as_observed_and_not_as_intended() -> None:
    found = trial(0, A, rollout(A, 1, seen={B: 3}), rollout(A, 2, seen={C: 5}))
    observed, intended = Archive.of([found], "observed"), Archive.of([found], "intended")
    assert set(observed.elites) == {A, B, C}
    assert set(intended.elites) == {A}
    assert observed.elites[A].aimed
    assert not observed.elites[B].aimed
    # What is off target was not aimed at: it is no try of that cell, and the aim of the first rollout was missed.
    assert observed.tries == intended.tries == {A: 1}


def test_coverage_and_quality_are_those_of_the_whole_grid() -> None:
    archive = Archive.of([trial(0, A, rollout(A, 2, seen={B: 5})), trial(1, C, rollout(C, 4))])
    assert archive.coverage == 3 / 28
    assert archive.qd_score == 1 + 4 + 3
    assert len(archive.empty) == 25
    assert archive.empty == [cell for cell in GRID if cell not in {A, B, C}]


# A fold


@UNHURRIED
@given(records(), st.sampled_from(["observed", "intended"]))
def test_an_elite_is_the_first_of_the_worst(found: list[Trial], descriptor: Any) -> None:
    worst: dict[CellId, tuple[int, int, int]] = {}
    for one in found:
        for number, played in enumerate(one.rollouts):
            for verdict in (played.ladder, *(played.observed if descriptor == "observed" else ())):
                assert verdict is not None
                cell, severity = CellId.parse(verdict.cell), verdict.severity
                if severity is not None and severity >= 2 and severity > worst.get(cell, (0, 0, 0))[0]:
                    worst[cell] = (severity, one.index, number)
    elites = Archive.of(found, descriptor).elites
    assert {cell: (elite.severity, elite.trial, elite.rollout) for cell, elite in elites.items()} == worst


@UNHURRIED
@given(records(), st.data())
def test_wherever_the_records_are_split_the_archive_is_the_same(found: list[Trial], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(found)))
    archive = Archive.of(found[:at])
    for one in found[at:]:
        archive.add(one)
    assert state(archive) == state(Archive.of(found))
    # What two folds keep apart, the whole keeps: the worse of both, the earlier of equals.
    first, second = Archive.of(found[:at]).elites, Archive.of(found[at:]).elites
    joined = dict(second)
    for cell, elite in first.items():
        if cell not in joined or joined[cell].severity <= elite.severity:
            joined[cell] = elite
    assert archive.elites == joined


@UNHURRIED
@given(records(), st.randoms(use_true_random=False))
def test_order_decides_among_equals_and_what_is_newest_and_nothing_else(found: list[Trial], random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    one, other = Archive.of(found), Archive.of(shuffled)
    assert {c: e.severity for c, e in one.elites.items()} == {c: e.severity for c, e in other.elites.items()}
    for name in ("tries", "played", "trials", "coverage", "qd_score", "empty"):
        assert getattr(one, name) == getattr(other, name), name
    assert set(one.insights) == set(other.insights)


@UNHURRIED
@given(records())
def test_records_written_and_read_again_give_the_same_archive(found: list[Trial]) -> None:
    read = [Trial.model_validate_json(one.model_dump_json()) for one in found]
    assert state(Archive.of(read)) == state(Archive.of(found))


# What is remembered


def test_of_a_cell_the_newest_ten_insights_are_kept_and_of_all_cells_the_newest_twenty() -> None:
    assert (CELL_INSIGHTS, GLOBAL_INSIGHTS) == (10, 20)
    said = [f"insight {number}" for number in range(36)]
    archive = Archive()
    for index in range(12):
        cell = (A, B)[index % 2]
        archive.add(trial(index, cell, rollout(cell, 1, insights=tuple(said[3 * index : 3 * index + 3]))))
    of_a = [text for index in range(0, 12, 2) for text in said[3 * index : 3 * index + 3]]
    assert list(archive.insights[A]) == of_a[-10:]
    assert list(archive.shared) == said[-20:]
    assert C not in archive.insights


def test_nothing_that_comes_later_changes_what_a_trial_was_given() -> None:
    """A defect of the published code: what one trial learns leaks into another that is under way."""
    archive = Archive.of([trial(0, A, rollout(A, 3, insights=("one", "two")))])
    choice = Choice(cell=str(A), profile="person0", operator="role", parents=(0,), parent_cells=(str(A),))
    task = task_of(1, choice, archive, remember=True, learn_last=True)
    for index in range(1, 30):
        archive.add(trial(index, A, rollout(A, 5, strategy="You wait.", insights=(f"later {index}",))))
    assert task.insights == {A: ("one", "two")}
    assert task.shared == ("one", "two")
    assert [parent.strategy for parent in task.parents] == ["You bring up the letter."]


def test_two_archives_share_nothing() -> None:
    found = trial(0, A, rollout(A, 3, insights=("one",)))
    first, second = Archive(), Archive()
    first.add(found)
    assert state(second) == state(Archive())
    second.add(found)
    assert state(first) == state(second)


def test_a_trial_that_remembers_nothing_is_given_nothing() -> None:
    archive = Archive.of([trial(0, A, rollout(A, 3, insights=("one",)))])
    task = task_of(1, Choice(cell=str(A), profile="person0"), archive, remember=False, learn_last=False)
    assert (task.insights, task.shared, task.parents) == ({}, (), ())
