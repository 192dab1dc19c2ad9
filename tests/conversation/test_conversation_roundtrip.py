"""What psysafe writes it reads back; how a file is cut, joined or ended does not change what is read."""

import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Finish, Inputs, Message, Role, parse_record, read_conversations
from psysafe.conversation.types import RESERVED_KEYS

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
MESSAGES = st.builds(Message, st.sampled_from(get_args(Role)), TEXT, st.none() | st.sampled_from(get_args(Finish)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
KEYS = TEXT | st.sampled_from([*RESERVED_KEYS, "prompt", "response", "conversations", "role", "user"])


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    messages = [*draw(st.lists(MESSAGES, max_size=3)), Message("assistant", draw(TEXT))]
    messages += draw(st.lists(MESSAGES, max_size=2))
    judged = [i for i, message in enumerate(messages) if message.role == "assistant"]
    return Conversation(
        draw(TEXT.filter(str.strip)),
        tuple(messages),
        draw(st.dictionaries(KEYS, JSON, max_size=4)),
        draw(st.none() | st.sampled_from(judged)),
    )


@given(conversations())
def test_a_conversation_written_as_json_is_read_back_equal_with_its_metadata_in_order(
    conversation: Conversation,
) -> None:
    for text in (json.dumps(conversation.to_dict()), orjson.dumps(conversation.to_dict())):
        again = parse_record(orjson.loads(text), file="f", line=1, default_id="d")
        assert again == conversation
        assert list(again.metadata) == list(conversation.metadata)
        assert again.content_hash() == conversation.content_hash()


@given(conversations())
def test_writing_does_not_touch_the_conversation(conversation: Conversation) -> None:
    before = json.dumps(dict(conversation.metadata))
    record: dict[str, Any] = conversation.to_dict()
    record["messages"].clear()
    record.get("psysafe_metadata", {}).clear()
    record.clear()
    assert json.dumps(dict(conversation.metadata)) == before
    assert conversation.messages


@settings(deadline=None)
@given(st.lists(conversations(), min_size=1, max_size=4))
def test_all_formats_give_the_same_conversations(written: list[Conversation]) -> None:
    records = [conversation.to_dict() for conversation in written]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        for data, format in (
            (b"\n".join(map(orjson.dumps, records)), "jsonl"),
            (b"\r\n".join(map(orjson.dumps, records)) + b"\r\n", "jsonl"),
            (orjson.dumps(records, option=orjson.OPT_INDENT_2), "json"),
            (orjson.dumps({"conversations": records}), "json"),
        ):
            path.write_bytes(data)
            assert list(read_conversations(path, format=format)) == written  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.lists(conversations(), min_size=2, max_size=6, unique_by=lambda c: c.id), st.data())
def test_two_files_one_after_the_other_are_their_concatenation(
    written: list[Conversation], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(1, len(written) - 1))
    lines = [orjson.dumps(conversation.to_dict()) + b"\n" for conversation in written]
    with tempfile.TemporaryDirectory() as folder:
        one, two, both = (Path(folder) / name for name in ("a.jsonl", "b.jsonl", "c.jsonl"))
        one.write_bytes(b"".join(lines[:cut]))
        two.write_bytes(b"".join(lines[cut:]))
        both.write_bytes(one.read_bytes() + two.read_bytes())
        assert list(Inputs([one, two])) == list(Inputs([both])) == written
