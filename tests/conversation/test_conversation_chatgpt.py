"""ChatGPT's account export: the branch that was shown last is read, from the root to the current node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Inputs, parse_record, read_conversations
from psysafe.errors import InputError


def node(role: str | None, text: Any, parent: str | None, *children: str, **message: Any) -> dict[str, Any]:
    """A node of the tree; a role of None is the root, which has no message."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    body = None if role is None else {"author": {"role": role}, "content": content, "metadata": {}} | message
    return {"message": body, "parent": parent, "children": list(children)}


def chat(current: str | None, nodes: dict[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"title": "A talk", "create_time": 1.5, "mapping": nodes, "current_node": current, "id": "c1"} | more


def line(*turns: tuple[str, Any] | tuple[str, Any, dict[str, Any]]) -> dict[str, Any]:
    """A conversation without branches."""
    nodes = {"n0": node(None, "", None, "n1")}
    for i, (role, text, *more) in enumerate(turns, 1):
        nodes[f"n{i}"] = node(role, text, f"n{i - 1}", *([f"n{i + 1}"] if i < len(turns) else []), **(more or [{}])[0])
    return chat(f"n{len(turns)}", nodes)


def read(obj: Any) -> Conversation:
    return parse_record(obj, file="c.json", line=None, default_id="made")


def said(obj: Any) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in read(obj).messages]


def error(obj: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(obj)
    return caught.value


BRANCHES = {
    "r": node(None, "", None, "u"),
    "u": node("user", "Hi", "r", "a1", "a2"),
    "a1": node("assistant", "First try", "u", "u2"),
    "u2": node("user", "More", "a1"),
    "a2": node("assistant", "Second try", "u"),
}


def test_an_export_just_works(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([line(("user", "Hi"), ("assistant", "Hello")), line(("user", "x")) | {"id": "c2"}]))
    with Inputs([path], skip_bad=True) as inputs:
        assert [c.id for c in inputs] == ["c1"]
        assert [str(bad) for bad in inputs.scan().bad] == [
            f"{path}: [1].mapping: found no assistant message; expected at least one, since that is what is judged"
        ]
    for format in ("openai", "json"):
        assert [c.id for c in read_conversations(path, format=format, skip_bad=True)] == ["c1"]  # type: ignore[arg-type]


def test_the_current_node_chooses_the_branch_and_the_others_are_counted() -> None:
    assert said(chat("a2", BRANCHES)) == [("user", "Hi"), ("assistant", "Second try")]
    assert said(chat("u2", BRANCHES)) == [("user", "Hi"), ("assistant", "First try"), ("user", "More")]
    assert read(chat("a2", BRANCHES)).metadata["other_branch_messages"] == 2
    assert "other_branch_messages" not in read(line(("assistant", "x"))).metadata


def test_without_a_current_node_the_newest_end_counts() -> None:
    nodes = json.loads(json.dumps(BRANCHES))
    for time, key in enumerate(("u", "a1", "a2", "u2"), 1):
        nodes[key]["message"]["create_time"] = time
    assert said(chat(None, nodes))[-1] == ("user", "More")
    nodes["a2"]["message"]["create_time"] = 9
    assert said(chat(None, nodes))[-1] == ("assistant", "Second try")
    without = chat(None, nodes)
    del without["current_node"]
    assert said(without)[-1] == ("assistant", "Second try")


def test_the_rest_of_the_record_is_metadata_and_comes_back() -> None:
    conversation = read(line(("assistant", "Hello")) | {"conversation_id": "c9", "default_model_slug": "m"})
    assert conversation.id == "c9"
    assert conversation.metadata == {"title": "A talk", "create_time": 1.5, "default_model_slug": "m"}
    assert read(orjson.loads(orjson.dumps(conversation.to_dict()))) == conversation
    nameless = line(("assistant", "x"))
    del nameless["id"]
    assert read(nameless).id == "made"


def test_what_was_hidden_only_thought_or_is_an_empty_system_message_is_left_out() -> None:
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 3 s"}
    profile = {"content_type": "user_editable_context", "user_profile": "x"}
    assert said(
        line(
            ("system", ""), ("system", "secret", hidden), ("user", profile), ("system", "Be kind."), ("user", "Hi"),
            ("assistant", thoughts), ("assistant", recap), ("assistant", "Hello"),
        )
    ) == [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello")]  # fmt: skip


def test_an_empty_step_of_a_turn_is_left_out_and_an_empty_turn_is_not() -> None:
    assert said(line(("user", "Hi"), ("assistant", ""), ("assistant", "Hello"))) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
    ]
    assert said(line(("user", "Hi"), ("assistant", ""), ("user", "Are you there?"), ("assistant", ""))) == [
        ("user", "Hi"),
        ("assistant", ""),
        ("user", "Are you there?"),
        ("assistant", ""),
    ]


def test_what_is_not_text_leaves_a_placeholder() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    parts = {
        "content_type": "multimodal_text",
        "parts": [picture, "Look", {"content_type": "audio_transcription", "text": "um"}],
    }
    assert said(line(("user", parts), ("assistant", "Nice")))[0] == ("user", "[image]\nLook\num")
    odd = {"content_type": "multimodal_text", "parts": [{"content_type": "hologram"}]}
    assert said(line(("user", odd), ("assistant", {"content_type": "app"}))) == [
        ("user", "[hologram]"),
        ("assistant", "[app]"),
    ]


def test_tools_are_seen() -> None:
    call = {"content_type": "code", "text": "1+1"}
    output = {"content_type": "execution_output", "text": "2"}
    page = {"content_type": "tether_browsing_display", "result": "a page"}
    talk = line(
        ("user", "Add"), ("assistant", call, {"recipient": "python"}), ("tool", output), ("tool", page),
        ("assistant", "It is 2.", {"recipient": "all"}),
    )  # fmt: skip
    assert said(talk) == [
        ("user", "Add"),
        ("assistant", "[tool call: python(1+1)]"),
        ("tool", "2"),
        ("tool", "a page"),
        ("assistant", "It is 2."),
    ]


@pytest.mark.parametrize("kind, finish", [("stop", "stop"), ("max_tokens", "length"), ("interrupted", None), (3, None)])
def test_how_a_reply_ended_is_read_where_it_is_known(kind: Any, finish: str | None) -> None:
    talk = line(("assistant", "Hello", {"metadata": {"finish_details": {"type": kind}}}))
    assert read(talk).messages[0].finish == finish


@pytest.mark.parametrize(
    "change, field",
    [
        ({"current_node": "gone"}, "current_node"),
        ({"current_node": 3}, "current_node"),
        ({"mapping": {}, "current_node": None}, "mapping"),
        ({"mapping": {"a": node("assistant", "x", "b"), "b": node("user", "y", "a")}, "current_node": "a"}, "mapping['a'].parent"),
        ({"mapping": {"a": node("assistant", "x", "z")}, "current_node": "a"}, "mapping['a'].parent"),
        ({"mapping": {"a": node("assistant", {"content_type": "text", "parts": [3]}, None)}, "current_node": "a"},
         "mapping['a'].message.content.parts[0]"),
        ({"mapping": {"a": node("robot", "x", None)}, "current_node": "a"}, "mapping['a'].message.author.role"),
        ({"mapping": {"a": node("assistant", "x\0", None)}, "current_node": "a"}, "mapping['a'].message.content"),
        ({"id": " "}, "id"),
    ],
)  # fmt: skip
def test_a_broken_tree_is_an_error_at_its_field(change: dict[str, Any], field: str) -> None:
    bad = error(line(("assistant", "Hello")) | change)
    assert bad.field == field
    assert "expected" in bad.problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["a", "b", "text", "assistant", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["message", "parent", "children", "author", "role", "content", "parts", "content_type", "a"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON)
def test_any_tree_is_a_conversation_or_an_error(mapping: Any, current: Any) -> None:
    try:
        read({"mapping": mapping, "current_node": current})
    except InputError:
        return


@given(st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4), st.sampled_from(["a", "b", None]))
def test_any_nodes_are_a_conversation_or_an_error(mapping: Any, current: Any) -> None:
    try:
        read({"mapping": mapping, "current_node": current})
    except InputError:
        return
