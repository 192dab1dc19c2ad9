"""The searchers that psysafe's own is compared with, and what is left when a part is left out."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
import pytest

from psysafe.conversation import Message
from psysafe.models import Sampling
from psysafe.probing.settings import Settings
from psysafe.probing.testbed.players import JudgePlayer
from psysafe.probing.testbed.tokens import hints, strategies
from psysafe.taxonomy import COUNSELOR_ROLES, GRID, LEVEL_NAMES, CellId
from tests.probing.support import (
    LADDER,
    Listening,
    Players,
    briefs,
    every_other_cell,
    open_plant,
    quick,
    records_of,
    rewritten,
    searched,
)
from tests.support.asking import run

ORDER = [str(cell) for cell in GRID]
TAUGHT = "# What earlier chats have taught"
WORKED = "# A brief that worked"


# All of them


@pytest.mark.parametrize("searcher", ["psysafe", "paper", "random", "pair", "tap"])
def test_every_brief_aims_at_the_whole_cell_that_is_judged(searcher: str) -> None:
    """A defect of the published code: the counselor role or the category of the parent is kept, and another is judged."""
    records, asked = searched(quick(searcher))
    mutated = 0
    for record, requests in zip(records, asked, strict=True):
        for prompt in briefs(requests):
            assert LADDER[CellId.parse(record.cell)].definition in prompt
            mutated += WORKED in prompt
        judged = {rollout.ladder.cell for rollout in record.rollouts if rollout.ladder is not None}
        assert judged == {record.cell}
    assert (mutated > 0) == (searcher in ("psysafe", "paper"))


class Outspoken(JudgePlayer):
    """A ladder judge whose reasoning says which level it gives, in many ways."""

    def answer(self, messages: Sequence[Message], config: Sampling) -> str:
        text = super().answer(messages, config)
        if config.schema is not None and config.schema.name in ("blind", "course", "fidelity"):
            return text
        found = orjson.loads(text)
        level = found["score"]
        found["rationale"] += f" That is level {level}, a severity of {level}, {level}/5: {LEVEL_NAMES[level - 1]}."
        return orjson.dumps(found).decode()


@pytest.mark.parametrize("searcher", ["psysafe", "paper", "random", "pair", "tap"])
def test_the_attackers_side_sees_no_ladder_and_no_severity(searcher: str) -> None:
    players = Players(every_other_cell())
    players.judge = players.blind = Outspoken(LADDER)
    client = players.client = Listening(players.client)
    records, asked = searched(quick(searcher), players)
    prompts = [one.prompt for one in (*(one for requests in asked for one in requests), *client.asked)]
    rungs = {rung.observed for cell in GRID for rung in LADDER[cell].ladder}
    rationales = [r.ladder.judgment["rationale"] for t in records for r in t.rollouts if r.ladder is not None]
    assert all("a severity of " in text for text in rationales)
    taught = [prompt for prompt in prompts if "# What an evaluator wrote" in prompt]
    assert taught
    assert all("The replies were read against the description." in prompt for prompt in taught)
    for prompt in prompts:
        assert "severity" not in prompt
        assert not any(f"level {level}" in prompt or f"{level}/5" in prompt for level in range(1, 6))
        assert not any(rung in prompt for rung in rungs)


# PAIR


@pytest.mark.parametrize("searcher", ["pair", "tap"])
@pytest.mark.parametrize("in_flight", [1, 5])
def test_cells_are_attacked_in_turn(searcher: str, in_flight: int) -> None:
    records = run(records_of(Players().searching(quick(searcher, trials=60, in_flight=in_flight, refinements=0))))
    assert [record.cell for record in records] == (3 * ORDER)[:60]
    assert {record.profile for record in records} == {"person0", "person1", "person2", "person3"}


def test_what_was_brought_out_is_attacked_no_more_until_all_is() -> None:
    cells = ORDER[:4]
    plants = {GRID[1]: open_plant(GRID[1]), GRID[2]: open_plant(GRID[2])}
    records = run(records_of(Players(plants).searching(quick("pair", trials=10, cells=tuple(cells)))))
    first, *later = [record.cell for record in records[:4]], *(record.cell for record in records[4:])
    assert first == cells
    assert later == [cells[0], cells[3]] * 3
    everything = {cell: open_plant(cell) for cell in GRID[:4]}
    records = run(records_of(Players(everything).searching(quick("pair", trials=10, cells=tuple(cells)))))
    assert [record.cell for record in records] == (cells * 3)[:10]


@pytest.mark.parametrize("searcher", ["pair", "tap", "random"])
def test_pair_tap_and_random_hand_nothing_from_one_trial_to_the_next(searcher: str) -> None:
    records, asked = searched(quick(searcher, trials=60))
    assert any(record.hit for record in records)
    for record, requests in zip(records, asked, strict=True):
        assert record.choice.parents == ()
        first = briefs(requests)[0]
        assert TAUGHT not in first
        assert WORKED not in first
        assert strategies(first) == []
        assert hints(first) == []
    # Within a trial they do hand on: later briefs are rewritten in the light of the first.
    assert any(rewritten(prompt) and TAUGHT in prompt for requests in asked for prompt in briefs(requests)[1:])


def test_psysafe_and_paper_do_hand_on_what_was_learned() -> None:
    for searcher in ("psysafe", "paper"):
        _, asked = searched(quick(searcher, trials=60))
        assert any(TAUGHT in briefs(requests)[0] for requests in asked), searcher


def test_pair_is_a_chain_in_which_each_brief_is_the_last_one_made_stronger() -> None:
    records, asked = searched(quick("pair", trials=5, refinements=4), Players())
    for record, requests in zip(records, asked, strict=True):
        assert len(record.rollouts) == 5
        before = [rewritten(prompt) for prompt in briefs(requests)]
        assert before == [None, *(rollout.strategy for rollout in record.rollouts[:-1])]
        assert len(set(before)) == 5


# Presets


def test_the_presets_are_the_published_search_and_ours() -> None:
    paper, ours = Settings.preset_of("paper"), Settings.preset_of("psysafe")
    assert (paper.searcher, paper.descriptor, paper.schedule) == ("paper", "intended", "adaptive")
    assert (ours.searcher, ours.descriptor) == ("psysafe", "observed")
    for one in (paper, ours):
        # MHSafeEval: ten turns, at most five refinements; the client at 0.8, the target at 0.7.
        assert (one.turns, one.refinements) == (10, 5)
        assert (one.client_temperature, one.target_temperature) == (0.8, 0.7)
    wanted = Settings.preset_of("paper", turns=4, schedule=None)
    assert (wanted.turns, wanted.schedule, wanted.preset) == (4, "adaptive", "paper")


@pytest.mark.parametrize(("descriptor", "filed"), [("observed", True), ("intended", False)])
def test_what_shows_off_target_is_judged_on_its_own_ladder_where_it_is_filed(descriptor: str, filed: bool) -> None:
    aimed, other = GRID[2], GRID[9]
    plants = {other: open_plant(other, 3, neighbours=frozenset({aimed}))}
    settings = quick("psysafe", trials=3, cells=(str(aimed),), descriptor=descriptor)
    for record in run(records_of(Players(plants).searching(settings))):
        assert not record.hit
        for rollout in record.rollouts:
            assert [(seen.cell, seen.severity) for seen in rollout.observed] == ([(str(other), 3)] if filed else [])


# Ablations

BOTH = pytest.mark.parametrize("searcher", ["psysafe", "paper"])


@BOTH
def test_without_turns_there_is_one(searcher: str) -> None:
    records, _ = searched(quick(searcher, turns=1))
    assert {len(rollout.lines) for record in records for rollout in record.rollouts} == {2}


@BOTH
def test_without_refinements_every_trial_is_one_dialogue(searcher: str) -> None:
    records, asked = searched(quick(searcher, refinements=0))
    assert {len(record.rollouts) for record in records} == {1}
    assert not any(rewritten(prompt) for requests in asked for prompt in briefs(requests))


@BOTH
def test_without_counselor_roles_none_is_spoken_of_to_strategist_and_client(searcher: str) -> None:
    players = Players(every_other_cell())
    client = players.client = Listening(players.client)
    _, asked = searched(quick(searcher, roles=False), players)
    written = [one.prompt for requests in asked for one in requests if one.form != "fit"]
    texts = [*COUNSELOR_ROLES, *COUNSELOR_ROLES.values(), *(LADDER[cell].definition for cell in GRID)]
    for prompt in (*written, *(one.prompt for one in client.asked)):
        assert not any(text in prompt for text in texts)
    _, with_roles = searched(quick(searcher))
    assert all(any(text in prompt for text in texts) for requests in with_roles for prompt in briefs(requests))


@BOTH
def test_without_the_archive_there_are_no_parents_no_memory_and_no_preferred_cell(searcher: str) -> None:
    records, asked = searched(quick(searcher, archive=False, trials=80))
    for record, requests in zip(records, asked, strict=True):
        assert (record.choice.operator, record.choice.parents) == ("fresh", ())
        first = briefs(requests)[0]
        assert TAUGHT not in first
        assert WORKED not in first
        assert hints(first) == []
    # Cells come as they are drawn: some again that hold an elite already, some not at all.
    hit = [record.cell for record in records if record.hit]
    assert len(set(hit)) < len(hit)
    uniform = [
        record.choice for record in run(records_of(Players(every_other_cell()).searching(quick("random", trials=80))))
    ]
    assert [record.choice for record in records] == uniform
