"""A replay: equal strategies against another target, held against the reproductions of the first."""

from __future__ import annotations

import orjson
import pytest

from psysafe.probing.archive import Archive
from psysafe.probing.records import Trial
from psysafe.probing.replaying import compared
from psysafe.probing.stages import repetitions
from psysafe.probing.trial import run_trial
from psysafe.taxonomy import GRID, CellId
from tests.probing.support import Listening, Players, every_other_cell, quick, records_of, rollout, trial
from tests.support.asking import run

A, B, C = GRID[2], GRID[11], GRID[25]
STRATEGY = "You begin with the letter and stay with it."


def found() -> list[Trial]:
    """A search with two elites."""
    return [
        trial(0, A, rollout(A, 3, strategy=STRATEGY), profile="p1"),
        trial(1, B, rollout(B, 1), profile="p2"),
        trial(2, B, rollout(B, 5, strategy="Another one."), profile="p2"),
    ]


def later(kind: str, cell: CellId, *severities: int | None, first: int = 0, profile: str = "p1") -> list[Trial]:
    """Trials of one dialogue each."""
    return [
        trial(first + n, cell, rollout(cell, severity), kind=kind, of=0, profile=profile)
        for n, severity in enumerate(severities)
    ]


def test_each_elite_is_replayed_so_often_as_it_is() -> None:
    tasks = repetitions("replay", Archive.of(found()), 2)
    assert [task.index for task in tasks] == [0, 1, 2, 3]
    assert {(task.kind, task.choice.refinements, task.controlled) for task in tasks} == {("replay", 0, False)}
    told = [(task.choice.cell, task.choice.profile, task.strategy, task.of) for task in tasks]
    assert told == [(str(A), "p1", STRATEGY, 0)] * 2 + [(str(B), "p2", "Another one.", 2)] * 2
    assert repetitions("replay", Archive.of([trial(0, A)]), 3) == []


def test_cells_are_compared_by_how_many_dialogues_were_significant_then_and_now() -> None:
    source = [*found(), *later("reproduction", A, 3, 4, 1), *later("reproduction", B, 5, 5, 5, first=3, profile="p2")]
    now = [*later("replay", A, 1, 1, 1), *later("replay", B, 1, 2, None, first=3, profile="p2")]
    # other kinds, and another order, change nothing
    comparison = compared(source[::-1], [*now[::-1], *later("control", A, 5, 5)], "observed")
    first, second = comparison.cells
    assert (first.cell, first.profile, first.severity, first.before, first.after, first.worst) == (
        A, "p1", 3, (2, 3), (0, 3), 1,
    )  # fmt: skip
    # a dialogue without a verdict is in no denominator
    assert (second.cell, second.severity, second.before, second.after, second.worst) == (B, 5, (3, 3), (1, 2), 2)
    assert (comparison.before.count, comparison.before.n) == (5, 6)
    assert (comparison.after.count, comparison.after.n) == (1, 5)


def test_the_change_is_that_of_pairs_the_later_less_the_earlier() -> None:
    source = [*found(), *later("reproduction", A, 3, 4, 1), *later("reproduction", B, 5, 5, 5, first=3, profile="p2")]
    now = [*later("replay", A, 1, 1, 4), *later("replay", B, 1, 2, first=3, profile="p2")]
    change = compared(source, now, "observed").change
    # -1 -1 +1, and -1 0
    assert (change.count, change.n) == (-2, 5)
    assert change.value == pytest.approx(-0.4)
    assert change.interval is None
    assert change.why == "too few clusters: 2, at least 5 are needed"


def test_with_enough_persons_the_change_has_an_interval() -> None:
    cells = GRID[:8]
    source, now = [], []
    for n, cell in enumerate(cells):
        source.append(trial(n, cell, rollout(cell, 3), profile=f"p{n}"))
        source += later("reproduction", cell, 3, 3, first=2 * n, profile=f"p{n}")
        now += later("replay", cell, 1, 3 if n % 3 else 1, first=2 * n, profile=f"p{n}")
    change = compared(source, now, "observed").change
    assert change.value == pytest.approx(-11 / 16)
    low, high = change.interval or (0.0, 0.0)
    assert -1 <= low < -11 / 16 < high < 0


def test_a_cell_that_was_never_repeated_or_has_no_verdict_now_is_shown_as_that() -> None:
    comparison = compared(found(), later("replay", A, None, None), "observed")
    first, second = comparison.cells
    assert (first.before, first.after, first.worst) == ((0, 0), (0, 0), None)
    assert (second.before, second.after, second.worst) == ((0, 0), (0, 0), None)
    for one in (comparison.before, comparison.after, comparison.change):
        assert (one.value, one.n) == (None, 0)


def test_what_was_filed_off_target_is_compared_where_it_was_filed() -> None:
    source = [trial(0, A, rollout(A, 1, seen={C: 4}))]
    assert [cell.cell for cell in compared(source, [], "observed").cells] == [C]
    assert compared(source, [], "intended").cells == ()


def test_it_can_be_written_as_json() -> None:
    told = orjson.loads(orjson.dumps(compared(found(), later("replay", A, 1), "observed").as_dict()))
    assert told["cells"][0] == {
        "cell": str(A), "profile": "p1", "severity": 3, "before": [0, 0], "after": [0, 1], "worst": 1,
    }  # fmt: skip
    assert set(told) == {"cells", "before", "after", "change"}


def test_equal_strategies_no_longer_work_where_the_faults_are_gone() -> None:
    cast = Players(every_other_cell())
    source = run(records_of(cast.searching(quick(trials=16))))
    tasks = repetitions("replay", Archive.of(source), 2)
    assert tasks

    async def played(by: Players) -> list[Trial]:
        return [await run_trial(task, by.cast, quick(seed=8)) for task in tasks]

    mended = Players({})
    mended.strategist = strategist = Listening(mended.strategist)
    assert not any(one.hit for one in run(played(mended)))
    assert strategist.asked == []
    same = run(played(cast))
    assert all(one.hit for one in same)
    strategies = [[rollout.strategy for rollout in one.rollouts] for one in same]
    assert strategies == [[task.strategy] for task in tasks]
