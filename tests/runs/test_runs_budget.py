"""Budgets: never exceeded, and what they leave undone is pending, not stored, and can be gone on with."""

from __future__ import annotations

import asyncio

import pytest

from psysafe.conversation import Message
from psysafe.judging import judge_subject
from psysafe.models import Price, Reply, Sampling, Usage
from psysafe.models.scripted import Play, Request
from psysafe.runs import Budget, Store, runner
from psysafe.runs.budget import BudgetReached
from tests.runs.conftest import NewStore
from tests.runs.support import (
    Judge,
    Unmeasured,
    by_number,
    carry_out,
    chat,
    chats,
    lines,
    number,
    plan,
    stored,
    verdict,
)

CALLS = {"single": 1, "dual": 2, "debate:votes=3,tau=none": 10, "vote:samples=4": 4}
PRICE = Price(1e-6, 2e-6)


def debating(request: Request) -> str:
    return "a speech" if "Answer with your speech alone" in request.prompt else by_number(request)


def asking_again(request: Request) -> str | Play:
    """A judge whose first answer about every second conversation cannot be used."""
    if number(request) % 2 and not request.config.sample % 2:
        return Play(fault="garbage")
    return debating(request)


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("script", [debating, asking_again])
@pytest.mark.parametrize("most", [0, 1, 7, 33])
@pytest.mark.parametrize("mechanism", CALLS)
def test_the_number_of_calls_is_never_exceeded(
    store: Store, mechanism: str, most: int, script: object, concurrency: int
) -> None:
    judge = Judge(script, pause=lambda _: 0.0)  # type: ignore[arg-type]
    execution = carry_out(
        plan(chats(40), judge, mechanisms=(mechanism,)), store, budget=Budget(most), concurrency=concurrency
    )
    assert execution.ended == "budget"
    assert judge.calls <= most
    assert stored(store) == execution.progress.done < 40
    if script is debating:  # nothing is asked again, so all that fits is done
        assert stored(store) == most // CALLS[mechanism]
        assert judge.calls == stored(store) * CALLS[mechanism]


@pytest.mark.parametrize("mechanism", CALLS)
def test_a_run_in_small_budgets_ends_like_one_without(new_store: NewStore, mechanism: str) -> None:
    whole, pieces = new_store("whole"), new_store("pieces")
    carry_out(plan(chats(12), Judge(asking_again), mechanisms=(mechanism,)), whole)
    most = 2 * CALLS[mechanism] + 3
    for _ in range(20):
        judge = Judge(asking_again)
        ended = carry_out(plan(chats(12), judge, mechanisms=(mechanism,)), pieces, budget=Budget(most)).ended
        assert judge.calls <= most
        if ended == "complete":
            break
        assert ended == "budget"
    assert lines(pieces) == lines(whole)


def test_a_budget_that_suffices_is_not_reached(store: Store) -> None:
    assert carry_out(plan(chats(10), Judge()), store, budget=Budget(max_calls=10)).ended == "complete"


def test_a_unit_that_needs_more_than_is_left_is_not_begun_and_the_end_says_so(store: Store) -> None:
    judge = Judge()
    execution = carry_out(plan(chats(5), judge, mechanisms=("vote:samples=20",)), store, budget=Budget(max_calls=19))
    assert execution.ended == "budget"
    assert execution.detail == "--max-calls 19: 19 left, the next unit may need 20"
    assert judge.calls == 0


def test_units_that_need_no_call_do_not_use_the_budget(store: Store) -> None:
    failed = [chat(n, "") for n in range(5)]
    execution = carry_out(plan([*failed, *chats(3)[1:]], Judge()), store, budget=Budget(max_calls=2))
    assert execution.ended == "complete"


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize("mechanism", ["single", "vote:samples=4", "dual"])
@pytest.mark.parametrize("most", [0.0, 0.004, 0.04])
def test_the_cost_is_never_exceeded(store: Store, mechanism: str, most: float, concurrency: int) -> None:
    judge = Judge(by_number, price=PRICE, pause=lambda _: 0.0)
    execution = carry_out(
        plan(chats(60), judge, mechanisms=(mechanism,)), store, budget=Budget(max_cost=most), concurrency=concurrency
    )
    assert execution.ended == "budget"
    assert execution.detail == f"--max-cost {most:g}"
    assert judge.cost <= most
    assert stored(store) == execution.progress.done < 60
    if most == 0.04:
        assert stored(store)


def test_a_run_in_small_costs_ends_like_one_without(new_store: NewStore) -> None:
    whole, pieces = new_store("whole"), new_store("pieces")
    carry_out(plan(chats(12), Judge(by_number, price=PRICE)), whole)
    for _ in range(20):
        judge = Judge(by_number, price=PRICE)
        ended = carry_out(plan(chats(12), judge), pieces, budget=Budget(max_cost=0.01), concurrency=1).ended
        assert judge.cost <= 0.01
        if ended == "complete":
            break
    assert ended == "complete"
    assert lines(pieces) == lines(whole)


def test_where_usage_is_unknown_the_estimate_is_charged(store: Store) -> None:
    judge = Unmeasured(by_number, price=PRICE)
    execution = carry_out(plan(chats(60), judge), store, budget=Budget(max_cost=0.02), concurrency=1)
    assert execution.ended == "budget"
    # an estimate is at least the max_tokens of an answer
    assert 1 <= judge.calls <= 0.02 / PRICE.cost(Usage(0, 1024))
    assert {line["cost"] for line in lines(store)} == {None}
    assert execution.progress.cost is None


def test_time_that_is_over_ends_the_run_and_what_is_undone_is_pending(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_GRACE", 0.05)
    slow = Judge(by_number, pause=lambda request: 3600 if number(request) >= 6 else 0)
    execution = carry_out(plan(chats(500), slow), store, budget=Budget(max_seconds=0.5), concurrency=4)
    assert (execution.ended, execution.detail) == ("budget", "--max-seconds 0.5")
    assert stored(store) == 6
    assert carry_out(plan(chats(500), Judge(by_number)), store).ended == "complete"
    assert stored(store) == 500


def test_no_time_at_all_calls_nothing(store: Store) -> None:
    judge = Judge()
    assert carry_out(plan(chats(5), judge), store, budget=Budget(max_seconds=0)).ended == "budget"
    assert judge.calls == 0


def test_time_may_run_out_after_another_bound_was_reached(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE", 0.05)
    slow = Judge(by_number, pause=lambda request: 3600 if number(request) >= 3 else 0)
    budget = Budget(max_calls=5, max_seconds=0.5)
    assert carry_out(plan(chats(500), slow), store, budget=budget, concurrency=4).ended == "budget"
    assert stored(store) == 3


# ---- the meter

_PRICE = Price(0.001, 0.001)


def test_a_reply_from_the_cache_costs_nothing_and_a_failed_call_gives_its_reserve_back() -> None:
    budget = Budget(max_cost=1.0)
    messages, config = [Message("user", "x" * 300)], Sampling(max_tokens=100)
    meter = budget.admit(3)
    assert meter is not None
    for reply in (Reply("hi", usage=Usage(100, 100), cached=True), None):
        meter.before(messages, config, _PRICE)
        meter.after(messages, config, _PRICE, reply)
    assert budget.cost == 0.0
    meter.before(messages, config, _PRICE)
    meter.after(messages, config, _PRICE, Reply("hi", usage=Usage(100, 100)))
    assert budget.cost == pytest.approx(0.2)
    assert budget.reached() is None


def test_what_is_in_flight_counts_with_its_estimate() -> None:
    budget = Budget(max_cost=1.0)
    messages, config = [Message("user", "x" * 300)], Sampling(max_tokens=500)
    meter = budget.admit(9)
    assert meter is not None
    meter.before(messages, config, _PRICE)  # about 0.6
    with pytest.raises(BudgetReached, match="--max-cost 1"):
        meter.before(messages, config, _PRICE)


def test_what_a_unit_planned_and_did_not_use_is_free_again() -> None:
    budget = Budget(max_calls=10)
    first = budget.admit(10)
    assert first is not None
    assert budget.admit(1) is None
    first.before([], Sampling(), None)
    first.close()
    second = budget.admit(9)
    assert second is not None
    assert budget.admit(1) is None


def test_calls_that_a_cancelled_unit_had_begun_are_counted() -> None:
    class Slow(Judge):
        async def generate(self, messages: object, config: object) -> Reply:
            self.asked["begun"] += 1
            await asyncio.sleep(3600)
            raise AssertionError

    budget = Budget(max_calls=100)
    model = Slow()
    wanted = plan(chats(1), model, mechanisms=("vote:samples=5",))
    task = next(wanted.tasks())

    async def cancelled() -> None:
        meter = budget.admit(5)
        running = asyncio.create_task(
            judge_subject(task.subject, task.dimension, task.model, task.mechanism, 0, meter=meter)
        )
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert meter is not None
        meter.close()

    asyncio.run(cancelled())
    assert model.calls == budget.calls == 5


def test_the_verdicts_of_a_bounded_run_are_the_same(new_store: NewStore) -> None:
    free, bounded = new_store("free"), new_store("bounded")
    carry_out(plan(chats(5), Judge(lambda request: verdict(2))), free)
    carry_out(plan(chats(5), Judge(lambda request: verdict(2))), bounded, budget=Budget(max_calls=1000))
    assert lines(free) == lines(bounded)
