"""Parquet: a conversation, a message or an exchange a row; row groups are streamed; errors name row and column."""

from __future__ import annotations

import datetime
import decimal
import io
import math
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from psysafe.conversation import Conversation, Inputs, parse_record, read_conversations
from psysafe.errors import InputError, UsageError

pa = pytest.importorskip("pyarrow", reason="Parquet is an extra")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra")


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def read(path: Path) -> tuple[list[Conversation], list[InputError]]:
    bad: list[InputError] = []
    try:
        return list(read_conversations(path, skip_bad=True, on_bad=bad.append)), bad
    except UsageError:
        return [], bad


def test_a_row_with_messages_is_a_conversation(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    reply = [{"role": "assistant", "content": None}]
    path = write(tmp_path / "a.parquet", {"Id": [7, 8], "messages": [talk, reply], "label": [1, None]})
    first, second = read(path)[0]
    assert (first.id, first.metadata, len(first.messages)) == ("7", {"label": 1}, 2)
    assert (second.id, second.messages[0].content) == ("8", "")


def test_ids_are_made_from_the_row_where_there_are_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": ["Hi", None], "reply": ["Hello", None]})
    first, second = read(path)[0]
    assert [c.id for c in (first, second)] == ["a.parquet:1", "a.parquet:2"]
    # a reply of null is a failed one
    assert [m.content for m in second.messages] == [""]


def test_rows_that_are_messages_follow_the_rules_of_csv(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {"chat_id": [1, 1, 2], "Speaker": ["Client", "AI", "ai"], "text": ["Hi", "Hello", "Hey"], "n": [1, 2, 3]},
        row_group_size=1,
    )
    first, second = read(path)[0]
    assert (first.id, first.metadata) == ("1", {"n": [1, 2]})
    assert [m.role for m in first.messages] == ["user", "assistant"]
    assert second.id == "2"


def test_errors_name_row_and_column_and_hide_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {"id": ["a", "a", "b", "a"], "role": ["user", "robot", "ai", "ai"], "content": ["Hi", "Ho", "Hey", "Hu"]},
    )
    good, bad = read(path)
    assert [c.id for c in good] == ["b"]
    assert [error.line for error in bad] == [None, None]
    assert str(bad[0]).startswith(f"{path}: row 2, role: unknown role 'robot'")
    assert "row 4, id" in str(bad[1])
    assert "began at row 1" in str(bad[1])
    path = write(
        tmp_path / "b.parquet", {"messages": [[{"role": "user", "content": "x"}], [{"role": "ai", "content": "y"}]]}
    )
    assert [error.field for error in read(path)[1]] == ["row 1, messages", "row 2, messages[0].role"]


def test_a_repeated_id_is_named_by_both_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"id": ["x", "x"], "reply": ["a", "b"]})
    with pytest.raises(UsageError, match=r"already used at .*row 1"):
        Inputs([path]).scan()


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"a": ["x"], "b": ["y"]}, "found the columns 'a', 'b'; expected messages (a list)"),
        ({"role": ["ai"], "content": ["x"]}, "without one that names the conversation"),
        ({"prompt": ["a"], "question": ["b"], "reply": ["c"]}, "'prompt' and 'question'"),
        ({"messages": ["[]"]}, "expected messages (a list)"),
        ({"reply": pa.array([], pa.string())}, "found no rows"),
    ],
)
def test_missing_and_ambiguous_columns_are_named(tmp_path: Path, columns: dict[str, Any], words: str) -> None:
    good, bad = read(write(tmp_path / "a.parquet", columns))
    assert not good
    assert [words in error.problem for error in bad] == [True]


def test_text_is_expected_where_a_message_stands(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"prompt": ["a"], "reply": [3]})
    (bad,) = read(path)[1]
    assert (bad.field, bad.problem) == ("row 1, reply", "found 3; expected text")


def test_metadata_is_what_json_can_hold(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {
            "reply": ["x"],
            "day": [datetime.date(2024, 1, 2)],
            "at": [datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)],
            "price": [decimal.Decimal("1.50")],
            "nan": [math.nan],
            "blob": [b"\x00\xff"],
            "deep": [{"a": [1, None]}],
        },
    )
    (conversation,) = read(path)[0]
    assert conversation.metadata == {
        "day": "2024-01-02",
        "at": "2024-01-02T03:04:05+00:00",
        "price": "1.50",
        "nan": None,
        "blob": "[2 bytes]",
        "deep": {"a": [1, None]},
    }
    again = orjson.loads(orjson.dumps(conversation.to_dict()))
    assert parse_record(again, file="-", line=1, default_id="-") == conversation


@pytest.mark.parametrize("size", [0, 3, 8, 400])
def test_what_is_no_parquet_file_or_only_part_of_one_is_an_error(tmp_path: Path, size: int) -> None:
    whole = write(tmp_path / "whole.parquet", {"reply": [f"reply {n}" for n in range(1000)]}).read_bytes()
    path = tmp_path / "a.parquet"
    path.write_bytes(whole[:size])
    good, bad = read(path)
    assert not good
    assert ["cannot be read as Parquet" in str(error) for error in bad] == [True]


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"reply": [f"reply {n}" for n in range(1000)]}, compression="gzip")
    data = bytearray(path.read_bytes())
    data[100:600] = bytes(500)
    path.write_bytes(data)
    bad = read(path)[1]
    assert "expected a whole Parquet file" in str(bad[-1])


@pytest.mark.parametrize("format", [None, "parquet"])
def test_standard_input_may_be_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: Any) -> None:
    data = write(tmp_path / "a.parquet", {"id": ["x", "y"], "reply": ["a", "b"]}).read_bytes()

    class Stdin:
        buffer = io.BytesIO(data)

    monkeypatch.setattr("sys.stdin", Stdin())
    with Inputs(["-"], format=format) as inputs:
        pairs = list(zip(inputs, inputs, strict=True))  # two readers at once over the same bytes
        assert [(a.id, b.id) for a, b in pairs] == [("x", "x"), ("y", "y")]


def test_row_groups_are_read_one_after_the_other(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        {"id": [str(n) for n in range(4000)], "reply": [f"{n} " + "x" * 3000 for n in range(4000)]},
        row_group_size=100,
        compression="none",
        use_dictionary=False,
    )
    assert path.stat().st_size > 12_000_000
    before = pa.total_allocated_bytes()
    for count, _ in enumerate(read_conversations(path), 1):
        if count % 500 == 0:
            assert pa.total_allocated_bytes() - before < 6_000_000
    assert count == 4000


def test_the_missing_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", {"reply": ["x"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'psysafe\[parquet\]'") as caught:
        Inputs([path]).scan()
    assert "\n" not in str(caught.value)
