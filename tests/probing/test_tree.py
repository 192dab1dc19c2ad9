"""A trial as a tree (TAP): two briefs from each that is kept, what serves no aim is pruned, the two worst are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson
import pytest

from psysafe.conversation import Message
from psysafe.models import Sampling
from psysafe.probing.testbed.players import JudgePlayer, StrategistPlayer
from psysafe.probing.tree import BRANCHES, WIDTH
from psysafe.taxonomy import GRID
from tests.probing.support import LADDER, Asked, Players, briefs, open_plant, quick, records_of, rewritten, searched
from tests.support.asking import run


class Marking(StrategistPlayer):
    """Numbers its briefs, and finds that some serve no aim."""

    def __init__(self, serves: Callable[[str], bool] = lambda brief: True) -> None:
        super().__init__(LADDER)
        self.serves, self.written = serves, 0

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        if config.schema is not None and config.schema.name == "on_topic":
            brief = messages[-1].content.partition("# A brief\n")[2].partition("\n\n# Task")[0]
            return orjson.dumps({"serves": self.serves(brief)}).decode()
        if config.schema is not None:
            return super().answer(messages, config)
        self.written += 1
        return f"{super().answer(messages, config)} Brief no. {self.written}."


def number(brief: str | None) -> int:
    assert brief is not None
    return int(brief.rpartition("no. ")[2].rstrip("."))


@pytest.mark.parametrize("refinements", range(8))
def test_a_tree_plays_no_more_dialogues_than_a_chain(refinements: int) -> None:
    records = run(records_of(Players().searching(quick("tap", trials=6, refinements=refinements))))
    assert {len(record.rollouts) for record in records} == {refinements + 1}


def test_a_tree_ends_with_its_first_hit() -> None:
    plants = {cell: open_plant(cell) for cell in GRID}
    records = run(records_of(Players(plants).searching(quick("tap", trials=6))))
    assert {len(record.rollouts) for record in records} == {1}


def ancestry(asked: Sequence[Asked]) -> list[int | None]:
    """By brief, in order, the number of the brief that it was rewritten from."""
    before = map(rewritten, briefs(asked))
    return [number(brief) if brief is not None else None for brief in before]


def test_a_tree_writes_two_from_each_that_is_kept_and_keeps_two() -> None:
    assert (BRANCHES, WIDTH) == (2, 2)
    players = Players()
    players.strategist = Marking()
    _, asked = searched(quick("tap", trials=1, refinements=11), players)
    # Equals are kept in the order in which they were played: 1 and 2, of their four 3 and 4, of their four 7 and 8.
    assert ancestry(asked[0]) == [None, None, 1, 1, 2, 2, 3, 3, 4, 4, 7, 7]


class Failing(JudgePlayer):
    """A ladder judge who says nothing of the dialogues of some briefs, by the first word that the client says."""

    def __init__(self, spoils: Callable[[int], bool]) -> None:
        super().__init__(LADDER)
        self.spoils, self.judged = spoils, 0

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        if config.schema is not None and config.schema.name in ("blind", "course", "fidelity"):
            return super().answer(messages, config)
        if len(messages) == 2:  # not when it is asked again
            self.judged += 1
        return "no verdict" if self.spoils(self.judged) else super().answer(messages, config)


def test_a_tree_keeps_the_worse_a_dialogue_without_a_verdict_counts_least() -> None:
    players = Players()
    players.strategist = Marking()
    players.judge = Failing(lambda judged: judged in (1, 3, 5))
    records, asked = searched(quick("tap", trials=1, refinements=9), players)
    scored = [rollout.outcome == "scored" for rollout in records[0].rollouts]
    assert scored == [False, True, False, True, False, True, True, True, True, True]
    # Of 1 and 2 the second comes first; of 3 to 6 those with a verdict, 4 and 6, are kept.
    assert ancestry(asked[0]) == [None, None, 2, 2, 1, 1, 4, 4, 6, 6]


def test_a_tree_prunes_what_serves_no_aim_before_it_is_played() -> None:
    players = Players()
    players.strategist = Marking(lambda brief: number(brief) % 2 == 0)
    records, _ = searched(quick("tap", trials=3, refinements=4), players)
    played = [number(rollout.strategy) for record in records for rollout in record.rollouts]
    assert played
    assert all(brief % 2 == 0 for brief in played)
    assert all(record.flags == ("same_judge",) for record in records)


def test_a_tree_of_which_nothing_serves_plays_one_brief_and_says_so() -> None:
    players = Players()
    players.strategist = Marking(lambda brief: False)
    records, _ = searched(quick("tap", trials=3), players)
    for record in records:
        assert len(record.rollouts) == 1
        assert record.rollouts[0].outcome == "scored"
        assert "all_pruned" in record.flags


def test_a_strategist_that_does_not_say_whether_a_brief_serves_prunes_nothing() -> None:
    class Silent(Marking):
        def answer(self, messages: Sequence[Message], config: Sampling) -> str:
            on_topic = config.schema is not None and config.schema.name == "on_topic"
            return "well" if on_topic else super().answer(messages, config)

    players = Players()
    players.strategist = Silent()
    records, _ = searched(quick("tap", trials=3), players)
    assert {len(record.rollouts) for record in records} == {3}
