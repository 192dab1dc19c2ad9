"""The content of a message becomes one text; nothing in it is dropped, and defects are named exactly."""

from typing import Any

import pytest

from psysafe.conversation import parse_record
from psysafe.errors import InputError


def content_of(message: dict[str, Any], limit: int = 1000) -> str:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", **message}]
    obj = {"messages": messages}
    return parse_record(obj, file="f", line=1, default_id="d", max_message_chars=limit).messages[1].content


def error_of(message: dict[str, Any], limit: int = 1000) -> InputError:
    with pytest.raises(InputError) as caught:
        content_of(message, limit)
    assert "expected" in caught.value.problem
    return caught.value


def test_text_is_kept_to_the_letter() -> None:
    assert content_of({"content": " a\r\n\tb  \n"}) == " a\r\n\tb  \n"


def test_text_parts_are_joined_by_newlines_and_others_leave_a_placeholder() -> None:
    parts = [
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "data:..."}},
        {"type": "input_text", "text": "two"},
        {"type": "input_audio", "input_audio": {}},
        {"type": "output_text", "text": "three"},
        {"type": "file", "file": {}},
        {"type": "refusal", "refusal": "I cannot"},
        {"type": "thinking", "thinking": "..."},
    ]
    expected = ["one", "[image]", "two", "[audio]", "three", "[file]", "I cannot", "[thinking]"]
    assert content_of({"content": parts}) == "\n".join(expected)


def test_an_empty_list_of_parts_is_an_empty_reply() -> None:
    assert content_of({"content": []}) == ""


def test_a_refusal_stands_for_absent_content_and_beside_present_content() -> None:
    assert content_of({"content": None, "refusal": "I cannot"}) == "I cannot"
    assert content_of({"refusal": "I cannot"}) == "I cannot"
    assert content_of({"content": "But", "refusal": "I cannot"}) == "But\nI cannot"
    assert content_of({"content": "Yes", "refusal": None}) == "Yes"


def test_tool_calls_are_lines_after_the_text() -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"q": "help line"}'}},
        {"function": {"name": "book", "arguments": {"day": 1}}},
        {"type": "custom", "custom": {"name": "note", "input": "x"}},
        {"name": "stop"},
    ]
    lines = ['[tool call: find({"q": "help line"})]', '[tool call: book({"day":1})]']
    lines += ["[tool call: note(x)]", "[tool call: stop()]"]
    assert content_of({"content": None, "tool_calls": calls}) == "\n".join(lines)
    assert content_of({"tool_calls": calls[:1]}) == lines[0]
    assert content_of({"content": "Wait", "tool_calls": calls[:1]}) == f"Wait\n{lines[0]}"
    assert content_of({"content": "Wait", "tool_calls": None}) == "Wait"
    assert content_of({"content": None, "function_call": {"name": "f", "arguments": ""}}) == "[tool call: f()]"


def test_absent_content_is_more_likely_a_misspelt_key_than_an_empty_reply() -> None:
    assert error_of({"contents": "Hi"}).field == "messages[1].content"
    assert error_of({"tool_calls": []}).field == "messages[1].content"


@pytest.mark.parametrize(
    "message,field",
    [
        ({"content": 3}, "content"),
        ({"content": {"text": "x"}}, "content"),
        ({"content": False}, "content"),
        ({"content": ["x"]}, "content[0]"),
        ({"content": [{"type": "text", "text": "x"}, {"type": "text", "text": None}]}, "content[1].text"),
        ({"content": [{"type": "refusal", "text": "x"}]}, "content[0].refusal"),
        ({"content": [{"text": "x"}]}, "content[0].type"),
        ({"content": [{"type": "x\ny"}]}, "content[0].type"),
        ({"content": [{"type": "x" * 65}]}, "content[0].type"),
        ({"content": None, "refusal": 1}, "refusal"),
        ({"content": None, "tool_calls": {}}, "tool_calls"),
        ({"content": None, "tool_calls": [1]}, "tool_calls[0]"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, "tool_calls[0].function"),
        ({"content": None, "tool_calls": [{"function": {"name": 1}}]}, "tool_calls[0].function.name"),
        (
            {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": {1, 2}}}]},
            "tool_calls[0].function.arguments",
        ),
        ({"content": None, "function_call": "f"}, "function_call"),
    ],
)
def test_malformed_content_is_an_error_at_its_path(message: dict[str, Any], field: str) -> None:
    assert error_of(message).field == f"messages[1].{field}"


@pytest.mark.parametrize("bad,named", [("a\0b", "NUL character at position 2"), ("né\udc80", "U+DC80 at position 3")])
def test_characters_that_cannot_be_stored_everywhere_are_errors_at_their_path(bad: str, named: str) -> None:
    calls = [{"function": {"name": "f", "arguments": bad}}]
    places: dict[str, dict[str, Any]] = {
        "content": {"content": bad},
        "content[1].text": {"content": [{"type": "image"}, {"type": "text", "text": bad}]},
        "refusal": {"content": None, "refusal": bad},
        "tool_calls[0].function": {"content": None, "tool_calls": calls},
    }
    for field, message in places.items():
        error = error_of(message)
        assert error.field == f"messages[1].{field}"
        if field != "tool_calls[0].function":  # there, the place is counted in the line that stands for the call
            assert named in error.problem


def test_a_message_longer_than_the_limit_is_an_error_and_one_of_its_length_is_not() -> None:
    assert content_of({"content": "x" * 1000}) == "x" * 1000
    error = error_of({"content": "x" * 1001})
    assert error.field == "messages[1].content"
    assert "1,001 characters; expected at most 1,000" in error.problem
    error_of({"content": [{"type": "text", "text": "x" * 600}] * 2})


def test_an_error_shows_at_most_60_characters_of_a_private_conversation() -> None:
    secret = "my name is Jo\n" * 10
    error = error_of({"content": [{"type": secret}]})
    assert secret[:40].encode("unicode_escape").decode() in error.problem
    found = error.problem.removeprefix("found ").split("; expected")[0]
    assert len(found) <= 60
