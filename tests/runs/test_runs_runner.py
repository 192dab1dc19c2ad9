"""The runner: every unit once, stopping early for a reason, and keeping what is done whatever happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import pytest

from psysafe.conversation import Conversation, Message
from psysafe.judging import Judgment
from psysafe.judging.mechanisms import Single
from psysafe.models import Limits, ModelError, Reply, Sampling
from psysafe.models.scripted import Play, Request
from psysafe.runs import Budget, Execution, Progress, Stop, Store, StoreError, execute, runner, summarise
from tests.runs.conftest import NewStore
from tests.runs.support import (
    HangingToOpen,
    Judge,
    by_number,
    carry_out,
    chat,
    chats,
    column,
    export,
    lines,
    number,
    plan,
    safe,
    stored,
    verdict,
)

ALL = ("single", "dual", "debate:votes=3", "vote:samples=3")


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in flight when a run is stopped gets a moment, as ever, but a short one."""
    monkeypatch.setattr(runner, "_GRACE", 0.5)


async def never() -> None:
    """What an endpoint that hangs does."""
    await asyncio.sleep(3600)


class Hanging(Judge):
    """Answers about the first ``good`` conversations; the rest hangs. ``reached`` is set by the first that does."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self.good = good
        self.reached = asyncio.Event()

    async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
        if number(Request(messages, config, 0)) >= self.good:
            self.asked["hanging"] += 1
            self.reached.set()
            await never()
        return await super().generate(messages, config)


# ---- every unit once


def test_every_unit_is_judged_once(store: Store) -> None:
    first, second = Judge(by_number, "scripted:first"), Judge(by_number, "scripted:second")
    wanted = plan(
        chats(20),
        [first, second],
        dimensions=("insulting_behaviour", "crisis_response"),
        mechanisms=("single", "vote:samples=3"),
    )
    execution = carry_out(wanted, store)
    assert execution.ended == "complete"
    assert execution.progress.done == wanted.units == stored(store) == 20 * 2 * 2 * 2
    for model in (first, second):
        assert model.calls == 20 * 2 * (1 + 3)
        assert set(model.asked.values()) == {1}
        assert (model.opened, model.closed) == (1, 1)
    found = Counter((line["id"], line["dimension"], line["model"], line["mechanism"]["name"]) for line in lines(store))
    assert len(found) == 160
    assert set(found.values()) == {1}


def test_at_scope_turn_every_assistant_message_is_a_unit_with_only_what_precedes_it(store: Store) -> None:
    talk = Conversation(
        "talk",
        (
            Message("user", "one"),
            Message("assistant", "Reply 0."),
            Message("user", "two"),
            Message("assistant", "Reply 1."),
            Message("user", "what came later"),
        ),
    )
    judge = Judge()
    carry_out(plan([talk], judge, scope="turn"), store)
    assert [line["message"] for line in lines(store)] == [1, 3]
    prompts = sorted(judge.asked, key=len)
    assert "Reply 1." not in prompts[0]
    assert "Reply 0." in prompts[1]
    assert not [text for text in prompts if "what came later" in text]


def test_a_failed_reply_costs_no_call(store: Store) -> None:
    judge = Judge()
    failed = [chat(0, ""), chat(1, "   "), Conversation("c0002", (Message("assistant", "half", "length"),))]
    carry_out(plan([*failed, chat(3)], judge), store)
    assert judge.calls == 1
    assert column(store, "reason") == {
        "c0000": "reply_empty",
        "c0001": "reply_empty",
        "c0002": "reply_truncated",
        "c0003": None,
    }


@pytest.mark.parametrize("concurrency", [1, 7])
def test_no_more_calls_are_in_flight_than_there_is_room_for(store: Store, concurrency: int) -> None:
    judge = Judge(pause=lambda _: 0.001)
    carry_out(plan(chats(60), judge), store, concurrency=concurrency)
    # Enough beyond to keep every place filled; one at a time is one unit at a time, so that its seconds are its own.
    assert judge.most_at_once == 1 if concurrency == 1 else 1 < judge.most_at_once <= concurrency + 8


def test_a_unit_wider_than_the_room_is_judged_alone(store: Store) -> None:
    judge = Judge(pause=lambda _: 0.001)
    carry_out(plan(chats(3), judge, mechanisms=("vote:samples=30",)), store, concurrency=1)
    assert judge.most_at_once == 30
    assert stored(store) == 3


def test_progress_counts_what_is_done(store: Store) -> None:
    seen: list[tuple[int, int]] = []

    def watch(progress: Progress) -> None:
        seen.append((progress.done, progress.units))

    def script(request: Request) -> str | Play:
        return Play(fault="refusal") if number(request) == 3 else verdict(1)

    execution = carry_out(plan([*chats(9), chat(9, "")], Judge(script)), store, watch=watch, concurrency=1)
    assert seen == [(n, 10) for n in range(1, 11)]
    assert execution.progress.outcomes == {"scored": 8, "unscored": 1, "reply_failed": 1}
    assert execution.progress.reasons == {"judge_refused": 1, "reply_empty": 1}
    assert execution.progress.calls == 8 + 2  # the refusal was asked again


# ---- determinism


def draw_from(*parts: object) -> int:
    """A number that depends on the parts alone."""
    return crc32(repr(parts).encode())


@pytest.mark.parametrize("mechanism", ALL)
def test_latencies_and_the_number_in_flight_change_no_byte_of_the_export(new_store: NewStore, mechanism: str) -> None:
    exports = []
    for round, concurrency in enumerate((1, 64, 64)):

        def pause(request: Request, round: int = round) -> float:
            return draw_from(round, request.prompt, request.config.sample) % 1000 / 100_000

        def script(request: Request) -> str | Play:
            draw = draw_from(request.prompt, request.config.sample, request.config.seed) % 12
            if "Answer with your speech alone" in request.prompt:
                return f"speech {draw}"
            faults = {0: Play(fault="garbage"), 1: Play(fault="refusal"), 2: Play(fault="server_error")}
            return faults.get(draw, verdict(draw % 3, f"for reason {draw}"))

        store = new_store(f"run{round}")
        judge = Judge(script, pause=pause)
        carry_out(plan(chats(25), judge, mechanisms=(mechanism,), seed=7), store, concurrency=concurrency)
        exports.append(lines(store))
        assert len(exports[-1]) == 25
    assert exports[0] == exports[1] == exports[2]
    assert len({str(line["score"]) for line in exports[0]}) > 2


def test_another_seed_is_another_run(new_store: NewStore) -> None:
    keys = []
    for seed in (0, 1):
        store = new_store(f"run{seed}")
        carry_out(plan(chats(5), Judge(), seed=seed), store)
        keys.append({line["key"] for line in lines(store)})
    assert not keys[0] & keys[1]


# ---- resuming


def test_a_finished_run_that_is_resumed_calls_nothing(store: Store) -> None:
    carry_out(plan(chats(30), Judge(by_number)), store)
    before = export(store)
    judge = Judge()
    execution = carry_out(plan(chats(30), judge), store)
    assert execution.ended == "complete"
    assert (execution.progress.resumed, execution.progress.done) == (30, 0)
    assert judge.calls == 0
    assert export(store) == before


# what a judge may do that leaves a unit unscored -> its reason, and whether a resume asks again
FAULTS: dict[str, tuple[Play, str, bool]] = {
    "429 to the end": (Play(fault="rate_limited"), "rate_limited", True),
    "5xx": (Play(fault="server_error"), "endpoint_error", True),
    "a lost connection": (Play(fault="disconnect"), "endpoint_error", True),
    "silence": (Play(fault="hang"), "timeout", True),
    "a refusal": (Play(fault="refusal"), "judge_refused", False),
    "a blocked input": (Play(fault="blocked"), "judge_blocked", False),
    "a withheld output": (Play(fault="content_filter"), "judge_blocked", False),
    "nothing": (Play(fault="empty"), "judge_empty", False),
    "garbage": (Play(fault="garbage"), "judge_unparseable", False),
    "half an answer": (Play('{"rationale": "it is', fault="truncated"), "judge_truncated", False),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_resume_asks_again_only_what_failed_in_passing(store: Store, fault: str) -> None:
    play, reason, passing = FAULTS[fault]
    limits = Limits(concurrency=8, max_retries=0, timeout=0.02, backoff=0.0)

    def script(request: Request) -> str | Play:
        return play if number(request) == 1 else verdict(0)

    wanted = chats(3)
    carry_out(plan(wanted, Judge(script, limits=limits)), store)
    assert column(store, "reason") == {"c0000": None, "c0001": reason, "c0002": None}
    # once more with the same fault, then with a judge that is well
    for tries, healthy in ((2, False), (3, True), (3, True)):
        judge = Judge(safe if healthy else script, limits=limits)
        carry_out(plan(wanted, judge), store)
        still = reason if not (passing and healthy) else None
        assert column(store, "reason") == {"c0000": None, "c0001": still, "c0002": None}
        assert column(store, "tries") == {"c0000": 1, "c0001": tries if passing else 1, "c0002": 1}
        if not passing:
            assert judge.calls == 0
    assert len(lines(store)) == 3


def test_a_run_resumed_with_fewer_in_flight_ends_like_one_that_was_never_disturbed(new_store: NewStore) -> None:
    wanted = chats(40)
    whole, halved = new_store("whole"), new_store("halved")
    carry_out(plan(wanted, Judge(by_number)), whole)
    assert carry_out(plan(wanted, Judge(by_number)), halved, budget=Budget(17)).ended == "budget"
    carry_out(plan(wanted, Judge(by_number)), halved, concurrency=1)
    assert lines(halved) == lines(whole)


# ---- trouble with the model


def test_a_key_that_is_refused_in_the_middle_ends_the_run_and_keeps_what_is_done(store: Store) -> None:
    def script(request: Request) -> str | Play:
        return Play(fault="auth") if number(request) >= 20 else verdict(0)

    judge = Judge(script)
    execution = carry_out(plan(chats(500), judge), store, concurrency=4)
    assert (execution.ended, execution.detail) == ("fatal", "scripted 401")
    assert set(column(store, "outcome")) == {f"c{n:04}" for n in range(20)}
    assert judge.calls < 20 + 2 * 12
    assert (judge.opened, judge.closed) == (1, 1)
    assert carry_out(plan(chats(500), Judge()), store).ended == "complete"
    assert set(column(store, "outcome").values()) == {"scored"}
    assert stored(store) == 500


def test_a_model_that_cannot_be_opened_ends_the_run_before_the_first_call(store: Store) -> None:
    class Closed(Judge):
        async def open(self) -> None:
            await super().open()
            raise ModelError("endpoint_error", "cannot reach 127.0.0.1:1")

    first, second = Judge(name="scripted:first"), Closed(name="scripted:second")
    with pytest.raises(ModelError, match="cannot reach"):
        carry_out(plan(chats(3), [first, second]), store)
    assert first.calls == second.calls == 0
    assert first.closed == second.closed == 1
    assert stored(store) == 0


def test_a_run_whose_endpoint_is_gone_ends_early_and_goes_on_when_it_is_back(new_store: NewStore) -> None:
    store, whole = new_store("run"), new_store("whole")
    gone = Judge(lambda request: Play(fault="disconnect") if number(request) >= 30 else by_number(request))
    execution = carry_out(plan(chats(1000), gone), store, concurrency=4)
    assert execution.ended == "endpoint_lost"
    assert execution.detail is not None
    assert "in a row got no answer (endpoint_error)" in execution.detail
    assert gone.calls < 30 + 20 + 2 * 12
    outcomes = Counter(column(store, "outcome").values())
    assert outcomes["scored"] == 30
    assert outcomes["unscored"] >= 20
    carry_out(plan(chats(1000), Judge(by_number)), store)
    carry_out(plan(chats(1000), Judge(by_number)), whole)
    assert lines(store) == lines(whole)


def test_failures_with_successes_between_them_do_not_end_a_run(store: Store) -> None:
    flaky = Judge(lambda request: Play(fault="disconnect") if number(request) % 10 else verdict(0))
    execution = carry_out(plan(chats(300), flaky), store, concurrency=1)
    assert execution.ended == "complete"
    assert summarise(store).reasons == {"endpoint_error": 270}


# ---- being stopped


def _stopped(judge: Hanging, store: Store, count: int, asks: int) -> tuple[Execution, Stop]:
    """Run until the judge hangs, then ask to stop so many times."""
    stop = Stop()

    async def both() -> Execution:
        running = asyncio.create_task(execute(plan(chats(count), judge), store, stop=stop, concurrency=4))
        await judge.reached.wait()
        await asyncio.sleep(0.05)
        for _ in range(asks):
            stop()
        return await asyncio.wait_for(running, 30)

    return asyncio.run(both()), stop


def test_a_stopped_run_keeps_all_that_is_finished_and_starts_nothing_new(store: Store) -> None:
    judge = Hanging(good=15)
    execution, _ = _stopped(judge, store, 1000, 1)
    assert execution.ended == "interrupted"
    assert set(column(store, "outcome")) == {f"c{n:04}" for n in range(15)}
    assert judge.calls <= 15 + 12
    carry_out(plan(chats(1000), Judge()), store)
    assert stored(store) == 1000


def test_what_finishes_within_the_grace_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE", 30)
    stop = Stop()
    let_go = asyncio.Event()

    class Waiting(Judge):
        async def generate(self, messages: Sequence[Message], config: Sampling) -> Reply:
            if not stop.asked.is_set():
                stop()
                asyncio.get_running_loop().call_later(0.05, let_go.set)
            reply = await super().generate(messages, config)
            await let_go.wait()
            return reply

    execution = carry_out(plan(chats(1000), Waiting()), store, stop=stop, concurrency=4)
    assert execution.ended == "interrupted"
    assert 1 <= stored(store) <= 12
    assert stored(store) == execution.progress.done


def test_asking_twice_does_not_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_GRACE", 3600)  # the test would not end
    execution, _ = _stopped(Hanging(good=15), store, 1000, 2)
    assert execution.ended == "interrupted"
    assert stored(store) == 15


@pytest.mark.parametrize("asks", [1, 2])
def test_a_run_can_be_stopped_while_it_waits_for_the_last_units_of_its_budget(store: Store, asks: int) -> None:
    stop = Stop()
    judge = Hanging(good=5)

    async def both() -> Execution:
        running = asyncio.create_task(
            execute(plan(chats(1000), judge), store, stop=stop, concurrency=4, budget=Budget(max_calls=8))
        )
        await judge.reached.wait()
        await asyncio.sleep(0.05)
        for _ in range(asks):
            stop()
        return await asyncio.wait_for(running, 30)

    assert asyncio.run(both()).ended in ("budget", "interrupted")
    assert stored(store) == 5


@pytest.mark.parametrize("asks", [1, 2])
def test_a_run_can_be_stopped_while_a_model_is_being_opened(store: Store, asks: int) -> None:
    stop = Stop()
    model = HangingToOpen()

    async def both() -> Execution:
        running = asyncio.create_task(execute(plan(chats(10), model), store, stop=stop))
        await model.reached.wait()
        for _ in range(asks):
            stop()
        return await asyncio.wait_for(running, 30)

    execution = asyncio.run(both())
    assert execution.ended == "interrupted"
    assert model.calls == stored(store) == 0
    assert model.closed == 1


def test_a_run_that_is_stopped_before_it_began_calls_nothing(store: Store) -> None:
    stop = Stop()
    stop()
    judge = Judge()
    execution = carry_out(plan(chats(10), judge), store, stop=stop)
    assert execution.ended == "interrupted"
    assert judge.calls == 0


def test_what_is_pending_does_not_count_what_an_earlier_execution_did(store: Store) -> None:
    # the later conversations are done, the first ones are not
    late = Judge(lambda request: Play(fault="disconnect") if number(request) < 5 else verdict(0))
    carry_out(plan(chats(15), late), store)
    execution = carry_out(plan(chats(15), Judge()), store, budget=Budget(max_calls=0))
    assert (execution.progress.units, execution.progress.resumed, execution.progress.done) == (15, 10, 0)


# ---- our own defects


def test_a_defect_in_a_mechanism_surfaces_and_what_is_done_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Single.run

    async def broken(self: Single, unit: object) -> object:
        if unit.subject.conversation.id == "c0030":  # type: ignore[attr-defined]
            raise ZeroDivisionError("a defect")
        return await run(self, unit)  # type: ignore[arg-type]

    monkeypatch.setattr(Single, "run", broken)
    with pytest.raises(ZeroDivisionError, match="a defect"):
        carry_out(plan(chats(1000), Judge()), store, concurrency=4)
    kept = set(column(store, "outcome"))
    assert kept >= {f"c{n:04}" for n in range(30)}
    assert "c0030" not in kept
    assert len(kept) < 60
    monkeypatch.undo()
    carry_out(plan(chats(1000), Judge()), store)
    assert stored(store) == 1000


def test_a_defect_of_the_watcher_surfaces_too(store: Store) -> None:
    def watch(progress: Progress) -> None:
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        carry_out(plan(chats(10), Judge()), store, watch=watch, concurrency=1)
    assert stored(store) >= 1


def test_a_store_that_fails_ends_the_run_and_nothing_is_pretended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Store.write
    written: list[int] = []

    def full(self: Store, entries: Sequence[object]) -> None:
        if written:
            raise StoreError("the disk is full")
        write(self, entries)  # type: ignore[arg-type]
        written.append(len(entries))

    monkeypatch.setattr(Store, "write", full)
    judge = Judge(pause=lambda _: 0.001)
    with pytest.raises(StoreError, match="the disk is full"):
        carry_out(plan(chats(5000), judge), store, concurrency=64)
    assert judge.calls < 5000
    monkeypatch.undo()
    assert stored(store) == written[0]
    finished, again = store.done()
    assert len(finished) == written[0]
    assert not again
    # and it can be gone on with when there is room again
    carry_out(plan(chats(300), Judge()), store)
    assert set(column(store, "outcome")) >= {f"c{n:04}" for n in range(300)}


def test_the_judgments_of_a_run_are_whole(store: Store) -> None:
    carry_out(plan(chats(2), Judge(by_number), mechanisms=("dual",)), store)
    line = lines(store)[1]
    assert set(line) == {"id", "verdict", "metadata"} | set(Judgment.__dataclass_fields__) - {"seconds"}
    assert [vote["step"] for vote in line["votes"]] == ["assessor", "corrector"]
