"""Logged calls of an OpenAI-style API: batch outputs, requests, stored completions, fine-tuning sets."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Inputs, parse_record, read_conversations
from psysafe.errors import InputError

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
REPLY = {"role": "assistant", "content": "Hello"}
CHOICES = [{"index": 0, "message": REPLY, "finish_reason": "stop"}]
OUTPUT = [
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "output": "3"},
    {"type": "web_search_call", "id": "x"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
]


def read(obj: Any) -> Conversation:
    return parse_record(obj, file="log.jsonl", line=1, default_id="made")


def said(obj: Any) -> list[tuple[str, str, str | None]]:
    return [(m.role, m.content, m.finish) for m in read(obj).messages]


def error(obj: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(obj)
    return caught.value


def test_an_output_of_the_batch_api_is_a_reply_alone() -> None:
    body = {"id": "chatcmpl-1", "model": "m", "choices": [{"message": REPLY, "finish_reason": "length"}]}
    obj = {"id": "batch_1", "custom_id": "q7", "response": {"status_code": 200, "body": body}, "error": None}
    assert said(obj) == [("assistant", "Hello", "length")]
    conversation = read(obj)
    assert conversation.id == "q7"
    assert conversation.metadata == {"id": "batch_1", "error": None, "model": "m"}
    assert read(orjson.loads(orjson.dumps(conversation.to_dict()))) == conversation


@pytest.mark.parametrize(
    "response", [None, {"status_code": 500, "body": {"error": {"message": "x"}}}, {"body": {"error": {"code": 3}}}]
)
def test_a_call_that_failed_is_a_failed_reply(response: Any) -> None:
    obj = {"custom_id": "q", "response": response, "error": {"message": "expired"}}
    assert said(obj) == [("assistant", "", "error")]
    assert read(obj).metadata["error"] == {"message": "expired"}


@pytest.mark.parametrize(
    "obj",
    [
        {"body": {"model": "m", "messages": ASKED}, "response": {"body": {"choices": CHOICES}}},
        {"request": {"messages": ASKED}, "response": {"choices": CHOICES, "model": "m"}},
        {"input": ASKED, "choices": CHOICES, "model": "m"},
        {"input": {"messages": ASKED, "model": "m"}, "output": REPLY | {"finish_reason": "stop"}},
        {"input": ASKED, "output": "Hello", "finish_reason": "stop", "model": "m"},
        {"input": ASKED, "output": [REPLY | {"finish_reason": "stop"}], "model": "m"},
        {"request": {"messages": ASKED, "model": "m"}, "response": "Hello", "finish_reason": "stop"},
        {"body": {"input": "Hi", "instructions": "Be kind."}, "response": {"body": {"choices": CHOICES, "model": "m"}}},
    ],
)
def test_request_and_response_together_are_a_conversation(obj: dict[str, Any]) -> None:
    assert said({"id": 3, "note": "x", **obj}) == [
        ("system", "Be kind.", None),
        ("user", "Hi", None),
        ("assistant", "Hello", "stop"),
    ]
    conversation = read({"id": 3, "note": "x", **obj})
    assert (conversation.id, conversation.metadata) == ("3", {"note": "x", "model": "m"})


def test_a_logged_request_is_judged_by_the_replies_it_holds() -> None:
    assert said({"custom_id": "q", "method": "POST", "body": {"messages": [*ASKED, REPLY]}})[-1][1] == "Hello"
    bad = error({"custom_id": "q", "body": {"messages": ASKED}})
    assert (bad.field, "no assistant message" in bad.problem) == ("body", True)


def test_a_response_of_the_responses_api_is_read_without_its_thoughts() -> None:
    obj = {"input": "Hi", "object": "response", "output": OUTPUT, "status": "completed"}
    assert [text for _, text, _ in said(obj)] == ["Hi", "[tool call: f({})]", "3", "[web_search_call]", "Hello"]
    short = obj | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert said(short)[-1] == ("assistant", "Hello", "length")
    nothing = {"response": {"body": {"output": [OUTPUT[0]], "status": "failed"}}}
    assert said(nothing) == [("assistant", "", "error")]


def test_stored_completions_as_they_are_listed_are_a_document(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"object": "list", "data": [{"id": "a", "choices": CHOICES}, {"id": "b", "choices": []}]})
    )
    with Inputs([path], skip_bad=True) as inputs:
        assert [c.id for c in inputs] == ["a"]
        assert [bad.field for bad in inputs.scan().bad] == ["data[1].choices"]


def test_a_fine_tuning_set_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"messages": [*ASKED, REPLY | {"weight": 1}], "tools": []}) + "\n")
    for format in (None, "openai", "jsonl"):
        (conversation,) = read_conversations(path, format=format)  # type: ignore[arg-type]
        assert len(conversation.messages) == 3


def test_a_pair_stays_a_pair_whatever_its_metadata() -> None:
    for extra in ({"choices": [1, 2]}, {"input": ASKED}, {"output": {"a": 1}}, {"body": {"messages": []}}):
        pair = {"prompt": "Hi", "response": "Hello", **extra}
        assert [m.content for m in read(pair).messages] == ["Hi", "Hello"]
        assert read(pair).metadata == extra


@pytest.mark.parametrize(
    "obj, field",
    [
        ({"choices": CHOICES * 2}, "choices"),
        ({"response": {"body": {"choices": 3}}}, "response.body.choices"),
        ({"response": {"body": {"choices": [{}]}}}, "response.body.choices[0]"),
        (
            {"response": {"body": {"choices": [{"message": {"content": 3}}]}}},
            "response.body.choices[0].message.content",
        ),
        ({"choices": [{"message": REPLY, "finish_reason": "bored"}]}, "choices[0].finish_reason"),
        ({"response": {"body": None}}, "response.body"),
        ({"response": {"id": 3}}, "response"),
        ({"input": [{"role": "robot"}], "output": REPLY}, "input[0].role"),
        ({"body": {"input": 3}, "output": REPLY}, "body.input"),
        ({"output": [3]}, "output[0]"),
        ({"output": [{"type": 3}]}, "output[0].type"),
        ({"choices": CHOICES, "id": ""}, "id"),
    ],
)
def test_what_cannot_be_read_is_an_error_at_its_field(obj: dict[str, Any], field: str) -> None:
    bad = error(obj)
    assert bad.field == field
    assert "expected" in bad.problem


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([{"choices": CHOICES}], indent=1),
        json.dumps({"choices": CHOICES}) + "\n" + json.dumps({"choices": CHOICES}),
    ],
)
def test_the_named_format_is_a_document_or_lines(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    class Stdin:
        buffer = io.BytesIO(text.encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    with Inputs(["-"], format="openai") as inputs:
        assert {c.messages[0].content for c in inputs} == {"Hello"}


def test_the_named_format_reads_more_than_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(json.dumps({"response": f"{n} " + "x" * 1000}) + "\n" for n in range(3000)))
    assert len(list(read_conversations(path, format="openai"))) == 3000


VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["", "x", "message", "assistant", "user"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["body", "choices", "message", "role", "content", "output", "messages", "input", "type", "error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["body", "request", "input", "response", "output", "choices", "custom_id", "id", "prompt"]),
        VALUES,
    )
)
def test_any_record_is_a_conversation_or_an_error(obj: dict[str, Any]) -> None:
    try:
        conversation = read(obj)
    except InputError:
        return
    assert any(message.role == "assistant" for message in conversation.messages)
