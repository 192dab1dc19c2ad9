"""Passes over anchors: what is kept of them, what is read again, and what is asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from psysafe.errors import UsageError
from psysafe.models.scripted import Play, Request
from psysafe.runs import Budget, Plan, Store, execute
from psysafe.runs.anchors import Pass, anchor_folder, first_asked, new_pass, read_pass, read_passes
from tests.runs.support import Judge, by_number, carry_out, chats, number, plan, verdict


@pytest.fixture
def folder(tmp_path: Path, backend: str) -> Iterator[Path]:
    found = anchor_folder(tmp_path / "anchors.jsonl")
    yield found
    for head in found.glob("*/run.json") if backend == "postgres" else ():
        with suppress(UsageError), closing(Store.open(head.parent)) as store:  # a test has broken some
            store.delete()


def judged(wanted: Plan, folder: Path, moment: str, *, ended: str = "complete", repeats: str | None = None) -> Pass:
    """A pass; ``ended`` other than complete is one that was cut off."""
    values = {"moment": moment, "repeats": repeats, "created": moment}
    with closing(Store.create(new_pass(folder), values=values)) as store:
        carry_out(wanted, store)
        store.put("state", {"ended": ended, "detail": None})
        return read_pass(store)


def test_passes_lie_beside_the_file_and_are_closed_to_others(folder: Path) -> None:
    assert folder.name == "anchors.jsonl.passes"
    found = judged(plan(chats(2), Judge()), folder, "2026-01-01")
    assert found.directory.parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert found.directory.stat().st_mode & 0o777 == 0o700


def test_what_was_judged_is_read_again_oldest_first(folder: Path) -> None:
    wanted = plan(chats(3), [Judge(by_number), Judge(name="scripted:other")], mechanisms=["single", "vote:samples=3"])
    later = judged(wanted, folder, "2026-02-01", repeats="x")
    first = judged(wanted, folder, "2026-01-01")
    assert read_passes(folder) == [first, later]
    assert (first.repeats, later.repeats) == (None, "x")
    assert set(first.verdicts) == {task.key for task in wanted.tasks()}
    task = next(iter(wanted.tasks()))
    found = first.verdicts[task.key]
    assert (found["spec"], found["model"], found["harmful"]) == (task.spec, task.model.name, False)
    # all equal but the time it took
    assert found | {"seconds": 0} == dict(later.verdicts[task.key]) | {"seconds": 0}


def test_without_a_folder_there_are_no_passes(folder: Path) -> None:
    assert read_passes(folder) == []


def test_passes_that_were_cut_off_say_nothing(folder: Path) -> None:
    judged(plan(chats(2), Judge()), folder, "2026-01-01", ended="budget")
    Store.create(new_pass(folder)).close()  # under way, or killed
    (folder / "notes").mkdir()
    (folder / "notes.txt").write_text("not a pass")
    assert read_passes(folder) == []


def test_a_pass_that_cannot_be_read_is_named(folder: Path) -> None:
    found = judged(plan(chats(2), Judge()), folder, "2026-01-01")
    (found.directory / "run.json").write_text("{")
    with pytest.raises(UsageError, match=rf"{found.directory.name}/run\.json cannot be read"):
        read_passes(folder)


def test_a_pass_that_is_given_up_while_it_is_read_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = judged(plan(chats(2), Judge()), folder, "2026-01-01")
    gone = judged(plan(chats(2), Judge()), folder, "2026-01-02")
    opened = Store.open

    def give_up_first(directory: Path) -> Store:
        if directory == gone.directory:
            (directory / "run.json").unlink()
        return opened(directory)

    monkeypatch.setattr(Store, "open", give_up_first)
    assert read_passes(folder) == [kept]


def test_a_folder_that_cannot_be_made_says_what_to_do(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(UsageError, match=r"anchors\.jsonl\.passes: File exists; copy the file of anchors to where you"):
        new_pass(folder)


def test_calls_that_failed_in_passing_are_no_verdicts(folder: Path) -> None:
    def script(request: Request) -> Play | str:
        return Play(fault=("server_error", "refusal")[number(request)]) if number(request) < 2 else verdict(0)

    found = judged(plan(chats(4), Judge(script)), folder, "2026-01-01")
    assert [record["reason"] for record in found.unanswered.values()] == ["endpoint_error"]
    assert sorted(str(record["reason"]) for record in found.verdicts.values()) == ["None", "None", "judge_refused"]


def keys(wanted: Plan, model: str | None = None) -> set[str]:
    return {task.key for task in wanted.tasks() if model is None or task.model.name == model}


def asked_first(wanted: Plan, passes: Sequence[Pass]) -> set[str]:
    part = first_asked(wanted, passes)
    assert {task.key for task in part.tasks()} == part.keys
    assert part.units == len(part.keys)
    assert part.calls == sum(task.calls for task in part.tasks())
    return set(part.keys)


def test_everything_is_asked_twice_at_first_and_nothing_afterwards(folder: Path) -> None:
    wanted = plan(chats(3), Judge(), mechanisms=["vote:samples=3"])
    assert asked_first(wanted, []) == keys(wanted)
    assert asked_first(wanted, [judged(wanted, folder, "2026-01-01")]) == set()


def test_of_a_new_dimension_mechanism_model_or_conversation_only_its_units_are_asked_twice(folder: Path) -> None:
    first = plan(chats(3), Judge())
    passes = [judged(first, folder, "2026-01-01")]
    two = ("insulting_behaviour", "crisis_response")
    for wider in (
        plan(chats(3), Judge(), dimensions=two),
        plan(chats(3), Judge(), mechanisms=["single", "vote:samples=3"]),
        plan(chats(3), [Judge(), Judge(name="scripted:other")]),
        plan(chats(4), Judge()),
    ):
        assert asked_first(wider, passes) == keys(wider) - keys(first)
    other = plan(chats(3), [Judge(), Judge(name="scripted:other")])
    part = first_asked(other, passes)
    assert [part.units_of(model) for model in other.models] == [0, 3]
    assert [part.calls_of(model) for model in other.models] == [0, 3]


def test_what_got_no_answer_counts_as_never_asked(folder: Path) -> None:
    wanted = plan(chats(3), Judge(lambda request: Play(fault="server_error")))
    assert asked_first(wanted, [judged(wanted, folder, "2026-01-01")]) == keys(wanted)


def test_a_part_of_a_plan_is_judged_alone(folder: Path) -> None:
    first = plan(chats(3), Judge())
    judge = Judge()
    part = first_asked(plan(chats(5), judge), [judged(first, folder, "2026-01-01")])
    again = judged(part, folder, "2026-01-02")
    assert judge.calls == 2
    assert {record["conversation"] for record in again.verdicts.values()} == {"c0003", "c0004"}


def test_models_can_be_opened_again_after_a_pass(folder: Path) -> None:
    judge = Judge(by_number)
    wanted = plan(chats(3), judge)
    assert judged(wanted, folder, "2026-01-01").verdicts
    assert judged(wanted, folder, "2026-01-02").verdicts
    assert (judge.opened, judge.closed) == (2, 2)


def test_what_is_served_is_read_from_the_judges_of_a_panel_too(folder: Path) -> None:
    with closing(Store.create(new_pass(folder), values={"moment": "2026-01-01"})) as store:
        store.put(
            "models",
            [
                {"name": "plain", "host": None, "served": [["m", "f"]]},
                {"name": "local", "host": None},
                {"name": "panel", "judges": [{"name": "a", "served": [["x", None]]}, {"name": "b", "served": ["y"]}]},
                {"name": "cascade", "judges": [{"name": "a"}]},
            ],
        )
        assert read_pass(store).served == {
            "plain": [["m", "f"]], "local": None, "panel": [["x", None], "y"], "cascade": None,
        }  # fmt: skip


def test_a_budget_is_shared_by_passes(folder: Path) -> None:
    budget = Budget(max_calls=5)
    wanted = plan(chats(3), Judge())
    ends = []
    for _ in range(2):
        with closing(Store.create(new_pass(folder))) as store:
            ends.append(asyncio.run(execute(wanted, store, budget=budget)).ended)
    assert ends == ["complete", "budget"]


def test_another_seed_is_another_question(folder: Path) -> None:
    wanted = plan(chats(3), Judge())
    passes = [judged(wanted, folder, "2026-01-01")]
    assert asked_first(replace(wanted, seed=1), passes) == keys(replace(wanted, seed=1))
