"""A JSON document: one record, a list of records or of messages, or an object with conversations."""

import codecs
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, json_document
from psysafe.conversation.json_document import read_json
from psysafe.conversation.reading import Job
from psysafe.errors import InputError

USER = {"role": "user", "content": "Hi"}
REPLY = {"role": "assistant", "content": "Hello"}


def items_of(data: bytes) -> list[Conversation | InputError]:
    blocks = [data[i : i + 50] for i in range(0, len(data), 50)]
    return [item for _, item in read_json(lambda size: blocks.pop(0) if blocks else b"", Job("a.json", "a.json"))]


def good(document: Any) -> list[Conversation]:
    items = items_of(json.dumps(document, indent=1).encode())
    assert not [item for item in items if isinstance(item, InputError)]
    return [item for item in items if isinstance(item, Conversation)]


def only_error(data: bytes) -> InputError:
    (item,) = items_of(data)
    assert isinstance(item, InputError)
    return item


def test_one_record() -> None:
    assert [c.id for c in good({"messages": [REPLY]})] == ["a.json:1"]
    assert [c.id for c in good({"id": "x", "response": "Hello"})] == ["x"]


def test_a_bare_list_of_messages_is_one_conversation() -> None:
    (conversation,) = good([USER, REPLY])
    assert (conversation.id, len(conversation.messages)) == ("a.json:1", 2)


def test_a_list_of_records_or_of_lists_of_messages() -> None:
    records = [{"messages": [REPLY], "role": "x"}, {"id": "x", "reply": "y"}, [USER, REPLY]]
    assert [c.id for c in good(records)] == ["a.json:1", "x", "a.json:3"]
    assert [c.id for c in good([[REPLY], [USER, REPLY]])] == ["a.json:1", "a.json:2"]


def test_an_object_with_conversations() -> None:
    assert [c.id for c in good({"made": "2024", "conversations": [[REPLY], {"response": "x"}]})] == [
        "a.json:1",
        "a.json:2",
    ]


def test_a_record_may_have_conversations_among_its_metadata() -> None:
    (conversation,) = good({"messages": [REPLY], "conversations": [1]})
    assert conversation.metadata == {"conversations": [1]}


def test_of_a_key_given_twice_the_last_counts() -> None:
    (item,) = items_of(b'{"response": "a", "id": "x", "id": "y"}')
    assert isinstance(item, Conversation)
    assert item.id == "y"


def test_a_bad_record_is_named_by_its_path_and_hides_nothing() -> None:
    for document, path in (([[REPLY], {"messages": [3]}], "[1]"), ({"conversations": [[REPLY], [3]]}, "")):
        items = items_of(json.dumps(document).encode())
        assert isinstance(items[0], Conversation)
        assert isinstance(items[1], InputError)
        assert items[1].line is None
        assert items[1].field == (f"{path}.messages[0]" if path else "conversations[1][0]")


@pytest.mark.parametrize("document", ["[]", '{"conversations": []}', "3", "null", '"x"', "{}", '{"conversations": 3}'])
def test_a_document_without_records_is_an_error_that_says_what_is_accepted(document: str) -> None:
    assert "expected" in only_error(document.encode()).problem


@pytest.mark.parametrize("data", [b"", b" \n", codecs.BOM_UTF8])
def test_an_empty_file_is_an_error(data: bytes) -> None:
    assert "is empty" in only_error(data).problem


def test_malformed_json_is_named_by_line_and_column() -> None:
    error = only_error(b'{"id": "x",\r\n  "messages": oops}')
    assert error.line == 2
    assert "column 15" in error.problem


def test_encodings() -> None:
    data = b'{"id": "x",\n"response": "Gr\xfc\xdfe"}'
    assert only_error(data).line == 2
    assert "0xFC at byte 16" in only_error(data).problem
    assert "NUL byte at byte 16" in only_error(data.replace(b"\xfc\xdf", b"\0")).problem
    assert "UTF-16" in only_error('{"response": "x"}'.encode("utf-16")).problem
    assert "lone surrogate escape" in only_error(rb'{"response": "\ud800"}').problem
    assert isinstance(items_of(codecs.BOM_UTF8 + b'{"response": "x"}')[0], Conversation)


def test_a_document_over_the_limit_is_refused_with_the_advice_to_use_jsonl(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = b'{"response": "x"}'.ljust(100)
    monkeypatch.setattr(json_document, "MAX_DOCUMENT_BYTES", 100)
    assert isinstance(items_of(data)[0], Conversation)
    assert "JSONL" in only_error(data + b" ").problem


PIECES = st.lists(
    st.sampled_from(['{"messages":', '{"conversations":', "[", "]", "}", ",", '{"role":"assistant",'])
    | st.sampled_from(['"content":"x"}', '{"response":"y"}', "\n", "null", '"id":', "1", "\\ud800", "NaN", "\0"])
).map(lambda pieces: "".join(pieces).encode())


@given(PIECES | st.binary())
def test_any_bytes_are_conversations_or_errors_and_never_anything_else(data: bytes) -> None:
    assert items_of(data)
