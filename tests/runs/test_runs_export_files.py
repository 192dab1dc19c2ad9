"""Exports for other programs: Parquet with typed columns, and logs of Inspect that can be read back."""

from __future__ import annotations

import io
import math
import os
import stat
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.conversation import Conversation, Message, read_conversations
from psysafe.errors import UsageError
from psysafe.judging import Judgment
from psysafe.judging.judgment import Evidence, Vote
from psysafe.runs import Store
from psysafe.runs import export as exports
from psysafe.runs import export_inspect as inspect_export
from psysafe.runs.export import EXPORTS, FILE_EXPORTS
from tests.runs.support import Judge, carry_out, chat, chats, entry, export, plan

UNSCORED: dict[str, Any] = {
    "outcome": "unscored",
    "reason": "timeout",
    "detail": "no answer",
    "cost": None,
    "usage": None,
}
VOTES = (
    Vote("vote 1", "scored", 2, rationale="bad", evidence=(Evidence("Reply", 1, True),), flags=("repaired",)),
    Vote("vote 2", "unscored", None, "judge_refused", "no"),
)


def put(store: Store, records: list[dict[str, Any]]) -> None:
    """Keeps judgments whose records have been changed, as a later version might write them."""
    kept = [(record, {"id": record["conversation"], "messages": []}) for record in records]
    store.judgments = lambda: iter(kept)  # type: ignore[method-assign]


def record(**fields: Any) -> dict[str, Any]:
    return {**entry(chat(1), 1).judgment.to_dict(), **fields}


# ---- CSV


def test_the_probability_has_a_column_of_csv(store: Store) -> None:
    import csv

    put(
        store,
        [record(probability=0.25), record(probability=None), {k: v for k, v in record().items() if k != "probability"}],
    )
    rows = list(csv.DictReader(io.StringIO(export(store, "csv").decode("utf-8-sig"), newline="")))
    assert [row["probability"] for row in rows] == ["0.25", "", ""]


# ---- Parquet


def table(store: Store) -> Any:
    pytest.importorskip("pyarrow", reason="Parquet is an extra")
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(export(store, "parquet")))


def test_a_row_of_parquet_is_a_judgment_with_types_and_lists(store: Store) -> None:
    store.write(
        [
            entry(
                chat(1, label=2), 1, 0, score=1.5, label=2, harmful=True, flags=("curtailed", "tie"), rationale="für ä",
                evidence=(Evidence("Reply", 1, True), Evidence("Nope", None, False)), votes=VOTES,
                mechanism={"name": "vote", "samples": 2},
            ),
            entry(chat(2), 2, 1, **UNSCORED),
        ]
    )  # fmt: skip
    found = table(store)
    first, second = found.to_pylist()
    assert (first["id"], first["score"], first["harmful"], first["flags"]) == ("c0001", 1.5, True, ["curtailed", "tie"])
    assert (first["mechanism"], orjson.loads(first["mechanism_parameters"])) == ("vote", {"samples": 2})
    assert first["evidence"][1] == {"quote": "Nope", "message": None, "verified": False}
    assert [(vote["step"], vote["score"], vote["reason"]) for vote in first["votes"]] == [
        ("vote 1", 2.0, None),
        ("vote 2", None, "judge_refused"),
    ]
    assert first["votes"][0]["evidence"] == [{"quote": "Reply", "message": 1, "verified": True}]
    assert (first["prompt_tokens"], first["cost"], orjson.loads(first["metadata"])) == (100, 0.25, {"label": 2})
    # unknown is null, never 0
    assert {second[name] for name in ("score", "label", "harmful", "cost", "prompt_tokens", "metadata")} == {None}
    assert (second["outcome"], second["reason"]) == ("unscored", "timeout")
    assert str(found.schema.field("flags").type) == "list<element: string>"


def test_parquet_has_every_field_of_a_judgment(store: Store) -> None:
    store.write([entry(chat(1), 1)])
    names = set(table(store).schema.names)
    elsewhere = {"conversation": {"id"}, "usage": {"prompt_tokens", "completion_tokens"}}
    for field in Judgment.__dataclass_fields__:
        assert elsewhere.get(field, {field}) <= names, field


def test_what_a_later_version_adds_is_carried(store: Store) -> None:
    vote = orjson.loads(orjson.dumps(VOTES[0])) | {"expected": 1.5, "weight": 3}
    put(store, [record(probability=0.5, members=[{"judge": "a"}], novel={"x": 1}, votes=[vote])])
    (row,) = table(store).to_pylist()
    assert row["probability"] == 0.5
    assert orjson.loads(row["members"]) == [{"judge": "a"}]
    assert orjson.loads(row["other"]) == {"novel": {"x": 1}}
    assert (row["votes"][0]["expected"], orjson.loads(row["votes"][0]["other"])) == (1.5, {"weight": 3})


def test_parquet_is_written_in_groups_of_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is an extra")
    import pyarrow.parquet as pq

    monkeypatch.setattr("psysafe.runs.export_parquet._GROUP_ROWS", 10)
    carry_out(plan(chats(25), Judge()), store)
    file = pq.ParquetFile(io.BytesIO(export(store, "parquet")))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [10, 10, 5]
    keys = [orjson.loads(line)["key"] for line in export(store).splitlines()]
    assert file.read(["key"])["key"].to_pylist() == keys


def test_parquet_of_nothing_is_a_table_without_rows(store: Store) -> None:
    assert table(store).num_rows == 0


def test_parquet_can_be_written_to_a_pipe(store: Store) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is an extra")
    store.write([entry(chat(1), 1)])
    read, write = os.pipe()
    with open(write, "wb") as out:
        assert EXPORTS["parquet"](store, out) == 1
        assert not out.closed
    with open(read, "rb") as got:
        assert got.read() == export(store, "parquet")


def test_the_missing_extras_are_one_line(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store.write([entry(chat(1), 1)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(UsageError, match=r"pip install 'psysafe\[parquet\]'"):
        export(store, "parquet")
    with pytest.raises(UsageError, match=r"pip install 'psysafe\[inspect\]'"):
        FILE_EXPORTS["inspect"](store, tmp_path / "a.eval")


# ---- Inspect


def logs(store: Store, path: Path) -> list[Any]:
    """The logs that an export writes, as Inspect itself reads them."""
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    from inspect_ai.log import read_eval_log

    count, files = exports.export_inspect(store, path)
    found = [read_eval_log(str(file)) for file in files]
    assert count == sum(len(sample.scores) for log in found for sample in log.samples)
    return found


def test_a_conversation_is_a_sample_and_a_judgment_a_score(store: Store, tmp_path: Path) -> None:
    carry_out(
        plan(
            [chat(n, label=n) for n in range(3)], Judge(),
            dimensions=("insulting_behaviour", "crisis_response"), mechanisms=("single", "dual"),
        ),
        store,
    )  # fmt: skip
    (log,) = logs(store, tmp_path / "run.eval")
    assert (log.status, log.eval.task, log.eval.metadata["judges"]) == ("success", "psysafe", ["scripted:judge"])
    assert [(sample.id, sample.metadata) for sample in log.samples] == [(f"c000{n}", {"label": n}) for n in range(3)]
    sample = log.samples[1]
    assert [(message.role, message.content) for message in sample.messages] == [
        ("user", "Question 1."),
        ("assistant", "Reply 1."),
    ]
    assert sorted(sample.scores) == [
        f"{dimension}/{mechanism}/scripted:judge"
        for dimension in ("crisis_response", "insulting_behaviour")
        for mechanism in ("dual", "single")
    ]
    score = sample.scores["insulting_behaviour/single/scripted:judge"]
    assert (score.value, score.answer, score.explanation) == (0.0, "not harmful", "because")
    assert (score.metadata["outcome"], score.metadata["votes"][0]["score"]) == ("scored", 0)


@pytest.mark.parametrize(
    "fields",
    [
        UNSCORED,
        {"outcome": "reply_failed", "reason": "reply_empty"},
        {"outcome": "not_applicable"},
        {"outcome": "void"},
    ],
)
def test_what_has_no_score_has_no_number_and_says_why(store: Store, tmp_path: Path, fields: dict[str, Any]) -> None:
    store.write([entry(chat(1), 1, 0, **fields), entry(chat(2), 2, 1)])
    (log,) = logs(store, tmp_path / "run.eval")
    score = log.samples[0].scores["insulting_behaviour/single/scripted:judge"]
    assert math.isnan(score.value)
    assert score.answer is None
    assert score.metadata["outcome"] == fields["outcome"]
    assert score.metadata["unscored_reason"] == fields.get("reason", fields["outcome"])
    (result,) = log.results.scores
    assert (result.scored_samples, result.unscored_samples) == (1, 1)


def test_the_harmful_verdict_is_the_answer_whatever_the_score(store: Store, tmp_path: Path) -> None:
    store.write(
        [
            entry(chat(1), 1, score=0.8, label=1, harmful=False),
            entry(chat(2), 2, 1, score=None, label=None, harmful=True),
        ]
    )
    (log,) = logs(store, tmp_path / "run.eval")
    scores = [next(iter(sample.scores.values())) for sample in log.samples]
    assert [(score.value, score.answer) for score in scores] == [(0.8, "not harmful"), (True, "harmful")]


def test_judgments_that_differ_in_any_way_keep_their_names(store: Store, tmp_path: Path) -> None:
    talk = Conversation(
        "c", (Message("assistant", "Reply 0."), Message("user", "So?"), Message("assistant", "Reply 1."))
    )
    carry_out(
        plan(
            [talk],
            [Judge(), Judge(name="scripted:other")],
            mechanisms=("vote:samples=1", "vote:samples=3"),
            scope="turn",
        ),
        store,
    )
    (log,) = logs(store, tmp_path / "run.eval")
    names = list(log.samples[0].scores)
    assert len(names) == 8
    assert sum("/message 2" in name for name in names) == 4
    assert sum('"samples":3' in name for name in names) == 4


def test_a_log_is_read_back_to_the_same_messages(store: Store, tmp_path: Path) -> None:
    talk = Conversation(
        "ä b",
        (
            Message("system", "Be kind."), Message("user", "Hi"), Message("assistant", "Hel", "length"),
            Message("tool", "found"), Message("user", ""), Message("assistant", "", "error"),
        ),
        {"label": [1, None]},
    )  # fmt: skip
    store.write([entry(talk, 1, 0, outcome="reply_failed", reason="reply_empty"), entry(chat(2), 2, 1)])
    logs(store, tmp_path / "run.eval")
    first, second = read_conversations(tmp_path / "run.eval")
    assert first.id == "ä b#1"
    assert first.messages == talk.messages
    assert first.metadata["metadata"] == {"label": [1, None]}
    assert first.metadata["scores"] == {"insulting_behaviour/single/scripted:judge": None}
    assert second.metadata["scores"] == {"insulting_behaviour/single/scripted:judge": 0.0}


def test_a_large_run_is_split_into_several_logs(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_export, "MAX_SAMPLES", 2)
    store.write([entry(chat(n), n, n) for n in range(5)])
    found = logs(store, tmp_path / "run.eval")
    assert sorted(path.name for path in tmp_path.glob("*.eval")) == ["run-1.eval", "run-2.eval", "run-3.eval"]
    assert [[sample.id for sample in log.samples] for log in found] == [
        ["c0000", "c0001"],
        ["c0002", "c0003"],
        ["c0004"],
    ]


def test_logs_are_private_and_nothing_else_is_left(store: Store, tmp_path: Path) -> None:
    store.write([entry(chat(1), 1)])
    folder = tmp_path / "out"
    folder.mkdir()
    logs(store, folder / "run.eval")
    assert os.listdir(folder) == ["run.eval"]
    assert stat.S_IMODE((folder / "run.eval").stat().st_mode) == 0o600


def test_an_export_that_breaks_off_leaves_the_old_log(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "run.eval").write_text("old")
    store.write([entry(chat(1), 1)])
    monkeypatch.setattr("inspect_ai.log.write_eval_log", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        exports.export_inspect(store, folder / "run.eval")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("run.eval", "old")]


def test_a_log_needs_its_suffix_and_a_judgment(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    with pytest.raises(UsageError, match="no judgments"):
        exports.export_inspect(store, tmp_path / "run.eval")
    with pytest.raises(UsageError, match=r"ends in \.eval"):
        exports.export_inspect(store, tmp_path / "run.json")
