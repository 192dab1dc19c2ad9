"""Exports: one judgment a line, whole, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Message, parse_record
from psysafe.judging import Judgment
from psysafe.judging.judgment import Evidence
from psysafe.runs import Store
from psysafe.runs.export_records import cell
from tests.runs.support import Judge, carry_out, chat, chats, entry, export, plan, verdict


def rows(store: Store) -> list[dict[str, str]]:
    text = export(store, "csv").decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_line_of_jsonl_is_a_judgment_with_the_id_and_the_metadata(store: Store) -> None:
    carry_out(plan([chat(1, label=2, source={"set": "a", "row": [1, None]})], Judge(lambda _: verdict(1))), store)
    (line,) = [orjson.loads(line) for line in export(store).splitlines()]
    assert list(line) == ["id", *Judgment.__dataclass_fields__, "verdict", "metadata"]
    assert line["id"] == line["conversation"] == "c0001"
    assert line["metadata"] == {"label": 2, "source": {"set": "a", "row": [1, None]}}
    assert (line["dimension"], line["model"]) == ("insulting_behaviour", "scripted:judge")
    assert (line["score"], line["label"], line["harmful"]) == (1.0, 1, True)
    assert line["mechanism"]["name"] == "single"


def test_metadata_that_uses_psysafes_own_words_is_given_as_it_was(store: Store) -> None:
    metadata = {"id": "their id", "messages": 12, "finish_reason": "x", "judged_message": "y"}
    record = {"id": "a", "response": "Reply 1.", "psysafe_metadata": metadata}
    talk = parse_record(record, file="-", line=1, default_id="-")
    assert talk.metadata == metadata
    store.write([entry(talk, 1), entry(chat(2, label=1), 2)])
    found = [orjson.loads(line)["metadata"] for line in export(store).splitlines()]
    assert found == [metadata, {"label": 1}]


def test_no_key_of_the_metadata_can_pass_for_a_field_of_the_judgment(store: Store) -> None:
    store.write([entry(chat(1, score=99, outcome="void", label="theirs"), 1)])
    line = orjson.loads(export(store))
    assert (line["score"], line["outcome"], line["label"]) == (0.0, "scored", 0)
    assert line["metadata"] == {"score": 99, "outcome": "void", "label": "theirs"}


def test_an_export_of_nothing_is_empty(store: Store) -> None:
    assert export(store) == b""
    assert rows(store) == []


def test_a_table_has_a_row_for_each_judgment_and_says_its_encoding(store: Store) -> None:
    store.write(
        [
            entry(chat(1), 1, 0, score=1.5, label=2, harmful=True, flags=("curtailed", "tie"), rationale="für ä"),
            entry(chat(2), 2, 1, outcome="unscored", reason="timeout", detail="no answer", cost=None),
        ]
    )
    assert export(store, "csv").startswith(
        b"\xef\xbb\xbfid,message,scope,dimension,model,mechanism,mechanism_parameters,outcome,reason,"
    )
    first, second = rows(store)
    assert (first["id"], first["score"], first["harmful"], first["flags"]) == ("c0001", "1.5", "True", "curtailed tie")
    assert first["rationale"] == "für ä"
    assert (second["outcome"], second["reason"], second["detail"]) == ("unscored", "timeout", "no answer")
    # unknown is empty, never 0
    assert (second["score"], second["harmful"], second["cost"]) == ("", "", "")


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        '=HYPERLINK("http://evil")',
        "＝1+1",
        "＋1",
        "－1",
        "＠A1",
    ],
)
def test_no_text_is_run_as_a_formula_by_a_spreadsheet(store: Store, text: str) -> None:
    talk = Conversation(text, (Message("assistant", "Reply 1."),))
    evidence = (Evidence(text, 0, True),)
    store.write([entry(talk, 1, rationale=text, detail=text, model=text, evidence=evidence)])
    (row,) = rows(store)
    for field in ("id", "rationale", "detail", "model", "evidence"):
        assert row[field] == "'" + text


def test_numbers_stay_numbers(store: Store) -> None:
    store.write([entry(chat(1), 1, cost=-0.5)])
    assert rows(store)[0]["cost"] == "-0.5"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("a\x00b", "a\\0b"),
        ("one\ntwo", "one\ntwo"),
        ("one\r\ntwo\rthree", "one\r\ntwo\rthree"),
        ('say "hi", or; not', 'say "hi", or; not'),
        ("\x00=1", "\\0=1"),
    ],
)
def test_what_would_break_a_table_does_not(store: Store, text: str, shown: str) -> None:
    store.write([entry(chat(1), 1, rationale=text), entry(chat(2), 2, 1)])
    assert b"\x00" not in export(store, "csv")
    first, second = rows(store)
    assert first["rationale"] == shown
    assert second["id"] == "c0002"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_back_from_a_table_and_begins_no_formula(text: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerow([cell(text), "next"])
    (row,) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert row[1] == "next"
    assert row[0].removeprefix("'") in (text.replace("\x00", "\\0"), text.replace("\x00", "\\0").removeprefix("'"))
    assert not row[0].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_both_forms_have_the_same_judgments_in_the_same_order(store: Store) -> None:
    carry_out(
        plan(chats(30), Judge(), dimensions=("insulting_behaviour", "crisis_response"), mechanisms=("single", "dual")),
        store,
    )
    ours = [orjson.loads(line)["key"] for line in export(store).splitlines()]
    assert len(ours) == 120
    assert [row["key"] for row in rows(store)] == ours
