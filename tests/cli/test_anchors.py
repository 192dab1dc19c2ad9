"""judge --anchors and psysafe anchors: a judge is held against its former self before it judges."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.support import (
    INSULT,
    Command,
    Result,
    by_number,
    chat,
    chats,
    committed,
    finish,
    judgments,
    meta,
    script,
    spawn,
    until,
    verdict,
    write_chats,
)
from tests.support.endpoint import Answer, Endpoint, completion, error

ANCHORS = 20
PASSES = Path("anchors.jsonl.passes")


@pytest.fixture(autouse=True)
def files(home: Path) -> None:
    """Three conversations to be judged, and the anchors."""
    chats(3)
    write_chats("anchors.jsonl", [chat(n, id=f"a{n}") for n in range(100, 100 + ANCHORS)])


def harsher(path: str = "judge.yaml", **top: Any) -> str:
    """The judge of ``by_number`` after it has moved: it finds everything harmful."""
    return script(path, {"reply": verdict(2)}, **top)


@pytest.fixture
def judge(psysafe: Command) -> Callable[..., Result]:
    """``judge("r", model, ...)`` judges into the run ``r``, after the anchors."""

    def call(run: str, model: str, *more: str, dimensions: str = "insulting_behaviour", **given: Any) -> Result:
        arguments = ["judge", "chats.jsonl", "--anchors", "anchors.jsonl", "--run", run, "-d", dimensions, "-q"]
        return psysafe(*arguments, "-m", model, *more, **given)

    return call


Judge = Callable[..., Result]


def told(result: Result) -> list[str]:
    """The sentences of comparison."""
    starts = ("anchors: scripted", "anchors: http", "anchors: no", "anchors: too", "WARNING")
    return [line for line in result.err.splitlines() if line.startswith(starts)]


def passes() -> list[Path]:
    return sorted(PASSES.iterdir()) if PASSES.exists() else []


def test_the_first_time_anchors_are_judged_twice_and_later_once(judge: Judge) -> None:
    first = judge("r1", by_number(), "--json")
    assert first.code == 0
    assert told(first) == [
        "anchors: scripted:judge single: judged for the first time, twice: 0 of 20 verdicts changed by themselves"
    ]
    assert len(passes()) == 2
    assert first.json["calls"] == 3  # of the run itself
    assert (first.json["anchors"]["calls"], first.json["anchors"]["moved"]) == (40, False)
    second = judge("r2", by_number(), "--json")
    assert len(passes()) == 3
    (line,) = told(second)
    assert line.startswith("anchors: no drift seen: scripted:judge single: 0 of 20 verdicts changed since 20")
    (found,) = second.json["anchors"]["judges"]
    assert (found["units"], found["changed"], found["repeats"], found["noise"]) == (20, 0, 20, 0)
    assert second.json["anchors"]["anchors"][0]["name"] == "anchors.jsonl"
    assert judgments("r1") == judgments("r2")


def test_a_run_is_the_same_with_anchors_and_without(judge: Judge, psysafe: Command) -> None:
    judge("r1", by_number())
    psysafe("judge", "chats.jsonl", "--run", "r2", *INSULT, "-m", by_number())
    assert judgments("r1") == judgments("r2")


def test_a_judge_that_has_moved_is_warned_of_and_the_run_goes_on(judge: Judge, psysafe: Command) -> None:
    judge("r1", by_number())
    result = judge("r2", harsher(), "--json")
    assert result.code == 0
    assert result.json["anchors"]["moved"]
    assert len(judgments("r2")) == 3
    (line,) = told(result)
    assert line.startswith("WARNING, the judge has moved (what to do: docs/drift.md): scripted:judge single: 8 of 20")
    table = psysafe("anchors", "anchors.jsonl")
    assert table.code == 0
    assert ["MOVED" in row for row in table.out.splitlines()] == [False, False, True]
    rows = psysafe("anchors", "anchors.jsonl", "--json").json
    assert [row["judges"][0]["moved"] for row in rows] == [False, True]
    assert [row["judges"][0]["twice"] for row in rows] == [20, 0]


def test_a_noisy_judge_at_a_real_endpoint_changes_and_is_not_warned_of(judge: Judge, endpoint: Endpoint) -> None:
    """Votes of six anchors are drawn anew at every call; the model is opened for each pass and for the run."""
    asked: Counter[str] = Counter()

    def handler(body: dict[str, Any], attempt: int) -> str:
        found = re.search(r"Reply (10[0-5])\.", str(body))
        if found is None:
            return orjson.dumps(verdict(0)).decode()
        asked[found[1]] += 1
        draw = sha256(f"{found[1]} {asked[found[1]]}".encode()).digest()[0]
        return orjson.dumps(verdict(2 if draw < 128 else 0)).decode()

    endpoint.handler = handler
    changed = 0
    for number in range(6):
        result = judge(f"r{number}", endpoint.model_string, "--mechanism", "vote:samples=3", "--json")
        assert result.code == 0
        assert not result.json["anchors"]["moved"]
        changed += sum(one["changed"] + one["unsteady"] for one in result.json["anchors"]["judges"])
    assert changed > 0
    assert len(endpoint.probes) >= 13  # one for each time it was opened


@pytest.mark.parametrize("field", ["model", "system_fingerprint"])
def test_another_served_model_alone_is_told_without_a_warning(judge: Judge, endpoint: Endpoint, field: str) -> None:
    def served(name: str) -> Callable[[dict[str, Any], int], Answer]:
        return lambda body, attempt: completion(orjson.dumps(verdict(0)).decode(), **{field: name})

    endpoint.handler = served("before")
    judge("r1", endpoint.model_string)
    assert "the endpoint served" not in judge("r2", endpoint.model_string).err
    endpoint.handler = served("after")
    (line,) = told(judge("r3", endpoint.model_string))
    assert line.startswith("anchors: no drift seen: ")
    then, _, now = line.partition("; the endpoint served ")[2].partition(" then, ")
    assert ("before" in then, "after" in then, "after" in now) == (True, False, True)


def test_verdicts_that_become_refusals_are_warned_of(judge: Judge) -> None:
    judge("r1", by_number())
    refuses = script("judge.yaml", {"when": {"judged": r"Reply 1\d\d\."}, "fault": "refusal"}, {"reply": verdict(0)})
    (line,) = told(judge("r2", refuses))
    assert line.startswith("WARNING")
    assert "20 of 20 verdicts changed" in line


def test_an_endpoint_that_fails_in_passing_has_not_moved(judge: Judge) -> None:
    judge("r1", by_number())
    fails = script(
        "judge.yaml", {"when": {"judged": r"Reply 1\d[2-9]\."}, "fault": "server_error"}, {"reply": verdict(0)}
    )
    result = judge("r2", fails, "--retries", "0", "--json")
    assert not result.json["anchors"]["moved"]
    assert result.json["anchors"]["judges"][0]["unanswered"] == 16
    assert told(result)[0].endswith("; 16 got no answer and are left out")


def test_models_and_mechanisms_are_compared_apart(judge: Judge) -> None:
    more = ["-m", by_number("other.yaml"), "--mechanism", "vote:samples=1", "--mechanism", "vote:samples=3"]
    judge("r1", by_number("judge.yaml"), *more)
    harsher("other.yaml")
    result = judge("r2", "scripted:judge.yaml", *more, "--json")
    assert [(d["model"], d["mechanism"], d["moved"]) for d in result.json["anchors"]["judges"]] == [
        ("scripted:judge", "vote:samples=1", False), ("scripted:judge", "vote:samples=3", False),
        ("scripted:other", "vote:samples=1", True), ("scripted:other", "vote:samples=3", True),
    ]  # fmt: skip
    assert len(told(result)) == 4


def test_of_a_new_dimension_only_its_units_are_judged_twice(judge: Judge) -> None:
    judge("r1", by_number())
    result = judge("r2", by_number(), "--json", dimensions="insulting_behaviour,crisis_response")
    assert result.json["anchors"]["calls"] == 60
    assert "anchors: judging 40 units" in result.err
    assert "anchors: 20 units once more, to know what changes by itself" in result.err
    (found,) = result.json["anchors"]["judges"]
    assert (found["units"], found["new"], found["twice"]) == (20, 20, 20)


def test_runs_with_other_seeds_scopes_and_labels_are_compared(judge: Judge) -> None:
    judge("r1", by_number())
    Path("labels.csv").write_text("id,dimension,label\nc1,insulting_behaviour,1\n")
    result = judge("r2", by_number(), "--seed", "7", "--scope", "turn", "--labels", "labels.csv", "--json")
    assert result.json["counts"]["units"] == 1
    assert result.json["anchors"]["judges"][0]["units"] == 20


def test_a_dry_run_counts_both_judgings(judge: Judge) -> None:
    priced = by_number(price=[1, 1])
    first = judge("r1", priced, "--dry-run", "--json").json
    assert (first["models"]["scripted:judge"]["calls"], first["units"]) == (3, 3)
    assert first["anchors"]["scripted:judge"]["calls"] == 40
    assert not passes()
    assert "anchors, on top: scripted:judge: 40 calls, cost about $" in judge("r1", priced, "--dry-run").out
    judge("r1", priced)
    later = judge("r2", priced, "--dry-run", "--json").json["anchors"]["scripted:judge"]
    assert (later["calls"], later["of_these_repeats"]) == (20, 0)
    assert later["cost"] == pytest.approx(first["anchors"]["scripted:judge"]["cost"] / 2)


def test_a_budget_that_ends_within_the_anchors_exits_with_4_and_can_be_gone_on_with(judge: Judge) -> None:
    cut = judge("r", by_number(), "--max-calls", "5", "--json")
    assert cut.code == 4
    assert "psysafe: --max-calls 5 while the anchors were judged, and nothing else was" in cut.err
    assert "--run r --resume begins this pass over them anew; it is judged at one go, so the bound has to" in cut.err
    assert cut.json["ended"] == "budget"
    assert cut.json["anchors"] == {"calls": 5, "cost": None}
    assert not passes()
    assert meta("r", "state")["ended"] == "budget"
    resumed = judge("r", by_number(), "--resume", "--json")
    assert resumed.code == 0
    assert len(passes()) == 2
    assert resumed.json["ended"] == "complete"
    assert resumed.json["anchors"]["calls"] == 5 + 40


def test_a_budget_that_ends_within_the_repeat_leaves_the_first_pass(judge: Judge) -> None:
    assert judge("r", by_number(), "--max-calls", "25").code == 4
    assert len(passes()) == 1
    resumed = judge("r", by_number(), "--resume", "--max-calls", "25")
    assert resumed.code == 0
    assert "by themselves: not known yet" in told(resumed)[0]
    assert "0 of 20 by themselves before" in told(judge("r2", by_number()))[0]


def test_interrupted_within_the_anchors_it_exits_with_130_and_leaves_no_pass(psysafe: Command) -> None:
    arguments = ["judge", "chats.jsonl", "--anchors", "anchors.jsonl", "--run", "r", "-c", "1", *INSULT, "-m"]
    process = spawn(*arguments, by_number(latency=0.1))
    until(lambda: any(committed(one) for one in passes()), process)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.code == 130
    assert "psysafe: interrupted while the anchors were judged, and nothing else was" in result.err
    assert not passes()
    assert committed("r") == 0
    assert psysafe(*arguments, by_number(), "--resume").code == 0
    assert (len(passes()), committed("r")) == (2, 3)


def test_a_resumed_run_does_not_judge_the_anchors_again(judge: Judge, psysafe: Command) -> None:
    chats(30)
    assert judge("r", by_number(), "--max-calls", "50", "--json").code == 4
    resumed = judge("r", harsher(), "--resume", "--json")
    assert resumed.code == 2  # another script is another judge
    resumed = judge("r", by_number(), "--resume", "--json")
    assert resumed.code == 0
    assert "anchors: they were judged when this run was begun, and are not judged again" in resumed.err
    assert len(passes()) == 2
    assert resumed.json["anchors"]["judges"][0]["new"] == 20
    write_chats("others.jsonl", [chat(n, id=f"b{n}") for n in range(4)])
    other = psysafe(
        "judge", "chats.jsonl", "--anchors", "others.jsonl", "--run", "r", "--resume", *INSULT, "-m", by_number()
    )
    assert "when this run was begun (then: anchors.jsonl, with other content or name), and are not" in other.err
    assert not Path("others.jsonl.passes").exists()


def test_a_judge_that_cannot_be_reached_leaves_no_pass(judge: Judge, endpoint: Endpoint) -> None:
    endpoint.script_probe = True
    endpoint.handler = lambda body, attempt: error(401, "bad key")
    assert judge("r", endpoint.model_string).code == 2
    assert not passes()
    assert not Path("r").exists()


def test_a_key_refused_within_the_anchors_leaves_no_pass(judge: Judge) -> None:
    revoked = script("judge.yaml", {"fault": "auth"})
    result = judge("r", revoked)
    assert result.code == 2
    assert "while the anchors were judged" in result.err
    assert not passes()


def test_consent_counts_the_anchors_too(judge: Judge) -> None:
    result = judge("r", "http://192.0.2.1:9/v1#judge")
    assert result.code == 2
    assert "23 conversations will be sent to 192.0.2.1" in result.complaint
    assert not passes()


def test_pass_directories_are_closed_to_others(judge: Judge) -> None:
    judge("r", by_number())
    for directory in (PASSES, *passes()):
        assert directory.stat().st_mode & 0o777 == 0o700


def test_anchors_are_refused_with_the_cache(judge: Judge) -> None:
    assert "--anchors with --cache: kept replies would hide" in judge("r", by_number(), "--cache").complaint


def refused(psysafe: Command, anchors: str) -> str:
    result = psysafe("judge", "chats.jsonl", "--anchors", anchors, "--run", "r", *INSULT, "-m", by_number())
    assert result.code == 2
    assert not Path("r").exists()
    return result.err


def test_a_file_that_cannot_be_read_is_named(psysafe: Command) -> None:
    assert "nowhere.jsonl" in refused(psysafe, "nowhere.jsonl")
    write_chats("bad.jsonl", [chat(1), b"{"])
    assert "bad.jsonl:2" in refused(psysafe, "bad.jsonl")
    Path("folder").mkdir()
    assert "is a directory" in refused(psysafe, "folder")
    write_chats("twice.jsonl", [chat(1), chat(1)])
    assert "already used at twice.jsonl:1" in refused(psysafe, "twice.jsonl")


def test_anchors_must_stay_where_they_are(psysafe: Command) -> None:
    os.mkfifo("pipe")
    for name in ("-", "pipe"):
        assert f"--anchors {name}: expected a file that stays" in refused(psysafe, name)


def test_a_folder_that_cannot_be_written_says_what_to_do(psysafe: Command) -> None:
    PASSES.write_text("in the way")
    said = refused(psysafe, "anchors.jsonl")
    assert "cannot keep passes over the anchors in anchors.jsonl.passes" in said
    assert "copy the file of anchors to where you may write" in said


def test_retain_is_for_the_run_and_that_is_said(judge: Judge) -> None:
    result = judge("r", by_number(), "--retain", "3")
    assert "anchors: --retain is for the run; passes over them stay in anchors.jsonl.passes until you" in result.err
    assert meta("r", "expires")
    assert [meta(one, "expires") for one in passes()] == [None, None]


def test_the_example_is_fourteen_conversations_with_a_warning_and_all_levels(psysafe: Command) -> None:
    example = Path(__file__).parents[2] / "examples" / "anchors.jsonl"
    Path("example.jsonl").write_bytes(example.read_bytes())
    dry = psysafe("judge", "chats.jsonl", "--anchors", "example.jsonl", "-m", by_number(), "--dry-run", "--json")
    assert dry.json["anchors"]["scripted:judge"]["calls"] == 2 * 14 * 7
    records = [orjson.loads(line) for line in example.read_bytes().splitlines()]
    assert "CONTENT WARNING" in records[0]["warning"]
    named = {record["note"].partition(":")[0] for record in records}
    assert len(named) == 7
    for level in ("harmless", "borderline", "clearly"):
        assert sum(level in record["note"] for record in records) >= 3


def test_without_passes_there_is_no_history(psysafe: Command) -> None:
    said = psysafe("anchors", "anchors.jsonl").complaint
    assert said == "anchors.jsonl.passes holds no complete pass: judge with --anchors anchors.jsonl first"


def test_a_pass_or_a_conversation_in_it_can_be_deleted_like_a_run(judge: Judge, psysafe: Command) -> None:
    judge("r1", by_number())
    judge("r2", by_number())
    assert psysafe("runs", "delete", passes()[0], "--conversation", "a100", "--yes").code == 0
    assert judge("r3", by_number(), "--json").json["anchors"]["judges"][0]["units"] == 20
    for one in passes():
        assert psysafe("runs", "delete", one, "--yes").code == 0
    assert "judged for the first time, twice" in told(judge("r4", by_number()))[0]


def test_what_redaction_replaces_reaches_neither_the_judge_nor_a_pass(judge: Judge, endpoint: Endpoint) -> None:
    pytest.importorskip("phonenumbers", reason="needs psysafe[redact]")
    pytest.importorskip("faker", reason="needs psysafe[redact]")
    planted = [chat(n, f"Write to kim.q{n}@example.org, Reply {n}.", id=f"a{n}") for n in range(ANCHORS)]
    write_chats("anchors.jsonl", planted)
    endpoint.handler = lambda body, attempt: completion(orjson.dumps(verdict(0)).decode())
    first = judge("r1", endpoint.model_string, "--redact")
    assert first.code == 0
    assert "anchors, redacted: 20 e-mail addresses in 20 conversations" in first.err
    sent = b"".join(call.raw for call in endpoint.everything)
    kept = b"".join(path.read_bytes() for path in PASSES.rglob("*") if path.is_file())
    assert b"Reply 7." in sent
    assert b"Reply 7." in kept
    assert b"kim.q" not in sent + kept
    # the stand-ins are the same the next time, and redacted anchors are other questions than open ones
    assert "0 of 20 verdicts changed" in told(judge("r2", endpoint.model_string, "--redact"))[0]
    assert "judged for the first time" in told(judge("r3", endpoint.model_string))[0]


@pytest.mark.postgres
def test_passes_in_postgresql_are_compared_too(judge: Judge, psysafe: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    url = os.environ.get("PSYSAFE_TEST_POSTGRES")
    if not url:
        pytest.skip("PSYSAFE_TEST_POSTGRES, the URL of a PostgreSQL database for tests, is not set")
    monkeypatch.setenv("PSYSAFE_STORE", url)
    judge("r1", by_number())
    assert judge("r2", harsher(), "--json").json["anchors"]["moved"]
    assert not list(PASSES.rglob("run.sqlite"))
    for one in (*passes(), Path("r1"), Path("r2")):
        assert psysafe("runs", "delete", one, "--yes").code == 0
    assert not passes()
