"""One record becomes a conversation, or an error that names the place, the finding and the expectation."""

from typing import Any

import pytest

from psysafe.conversation import Conversation, Message, parse_record
from psysafe.errors import InputError

USER = {"role": "user", "content": "I feel alone"}
REPLY = {"role": "assistant", "content": "I am here"}


def parse(obj: object, path: str = "") -> Conversation:
    return parse_record(obj, file="a.jsonl", line=7, default_id="a.jsonl:7", path=path)


def error_of(obj: object, path: str = "") -> InputError:
    with pytest.raises(InputError) as caught:
        parse(obj, path)
    error = caught.value
    assert (error.file, error.line) == ("a.jsonl", 7)
    assert "\n" not in str(error)
    assert "expected" in error.problem
    return error


def test_messages_and_an_id_make_a_conversation() -> None:
    assert parse({"id": "x", "messages": [USER, REPLY]}) == Conversation(
        "x", (Message("user", "I feel alone"), Message("assistant", "I am here"))
    )


def test_other_keys_become_metadata_untouched_and_in_order() -> None:
    label = {"z": [1, None], "a": "x"}
    conversation = parse({"zeta": 1, "messages": [REPLY], "label": label, "id": "x", "prompt": "p"})
    assert list(conversation.metadata.items()) == [("zeta", 1), ("label", label), ("prompt", "p")]
    assert conversation.metadata["label"] is label


def test_a_record_without_id_gets_the_default_one() -> None:
    assert parse({"messages": [REPLY]}).id == "a.jsonl:7"
    assert parse([REPLY]).id == "a.jsonl:7"


def test_an_integer_id_becomes_text() -> None:
    assert parse({"id": 2**64, "messages": [REPLY]}).id == "18446744073709551616"


@pytest.mark.parametrize(
    "prompt,reply",
    [("prompt", "response"), ("user", "reply"), ("prompt", "completion"), ("user", "response")],
)
def test_a_prompt_and_a_reply_make_a_conversation(prompt: str, reply: str) -> None:
    conversation = parse({"system": "Be kind", prompt: "Hi", reply: "Hello", "k": 1, "finish_reason": "length"})
    assert conversation.messages == (
        Message("system", "Be kind"),
        Message("user", "Hi"),
        Message("assistant", "Hello", "length"),
    )
    assert conversation.metadata == {"k": 1}


def test_a_reply_alone_is_judged_alone() -> None:
    assert parse({"response": "Hello"}).messages == (Message("assistant", "Hello"),)


@pytest.mark.parametrize("reply", ["", "  \n", None])
def test_an_empty_reply_is_kept_to_be_judged_as_failed(reply: str | None) -> None:
    assert parse({"prompt": "Hi", "response": reply}).messages[-1] == Message("assistant", reply or "")
    assert parse([USER, {"role": "assistant", "content": reply}]).messages[-1].content == (reply or "")


def test_two_keys_for_the_same_thing_are_refused_since_one_would_be_ignored() -> None:
    assert error_of({"prompt": "Hi", "response": "a", "completion": "b"}).field == "completion"
    assert error_of({"prompt": "Hi", "user": "u1", "response": "a"}).field == "user"


ROLES = {"system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant"}


@pytest.mark.parametrize("name,role", [*ROLES.items(), ("tool", "tool"), ("function", "tool")])
def test_roles_and_their_aliases(name: str, role: str) -> None:
    assert parse([{"role": name, "content": "x"}, REPLY]).messages[0].role == role


@pytest.mark.parametrize("name", ["ai", "bot", "model", "Assistant", "", None, 3, ["user"], {}])
def test_an_unknown_role_is_an_error_that_lists_the_known_ones(name: object) -> None:
    error = error_of({"messages": [USER, {"role": name, "content": "x"}]})
    assert error.field == "messages[1].role"
    assert error.problem.startswith("unknown role ")
    assert "system, developer, user, human, assistant, tool, function" in error.problem


@pytest.mark.parametrize(
    "word,finish",
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("error", "error"),
        (None, None),
    ],
)
def test_a_finish_reason_is_read_from_the_message_and_from_the_record(word: str, finish: str) -> None:
    assert parse([USER, REPLY | {"finish_reason": word}]).messages[1].finish == finish
    whole = parse({"messages": [REPLY, REPLY, USER], "finish_reason": word})
    assert [message.finish for message in whole.messages] == [None, finish, None]
    assert whole.metadata == {}


def test_an_unknown_or_contradicting_finish_reason_is_an_error() -> None:
    assert error_of([REPLY | {"finish_reason": "tired"}]).field == "[0].finish_reason"
    assert error_of({"response": "x", "finish_reason": 3}).field == "finish_reason"
    both = {"messages": [REPLY | {"finish_reason": "stop"}], "finish_reason": "length"}
    assert error_of(both).field == "finish_reason"
    assert parse(both | {"finish_reason": "eos"}).messages[0].finish == "stop"


def test_the_judged_message_is_an_assistant_message() -> None:
    assert parse({"messages": [REPLY, USER], "judged_message": 0}).judged_message == 0
    assert parse({"messages": [REPLY, USER], "judged_message": None}).judged_message is None


@pytest.mark.parametrize("index", [2, 3, -2, "0", 0.0, True, [0]])
def test_any_other_judged_message_is_an_error(index: object) -> None:
    assert error_of({"messages": [REPLY, REPLY, USER], "judged_message": index}).field == "judged_message"


@pytest.mark.parametrize("identifier", ["", " \t", "x" * 513, True, None, 1.0, ["x"], "a\0", "\ud800"])
def test_an_unusable_id_is_an_error(identifier: object) -> None:
    assert error_of({"id": identifier, "messages": [REPLY]}).field == "id"


def test_an_integer_too_long_to_be_written_is_an_error_and_no_exception_of_python() -> None:
    assert error_of({"id": 10**5000, "messages": [REPLY]}).field == "id"
    assert error_of({"messages": [REPLY], "judged_message": 10**5000}).field == "judged_message"


def test_the_longest_id_is_accepted() -> None:
    assert parse({"id": "x" * 512, "messages": [REPLY]}).id == "x" * 512


@pytest.mark.parametrize(
    "obj,field",
    [
        ({"messages": []}, "messages"),
        ([], None),
        ({"messages": [USER]}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": None, "response": "x"}, "messages"),
        ({"messages": {"0": USER}}, "messages"),
        ({"messages": [USER, "hello"]}, "messages[1]"),
        ([REPLY, None], "[1]"),
        ({"prompt": "Hi"}, None),
        ({"prompt": 3, "response": "x"}, "prompt"),
        ({"response": ["x"]}, "response"),
        ({"system": {}, "response": "x"}, "system"),
        ({}, None),
        ("hello", None),
        (None, None),
        (3, None),
    ],
)
def test_what_is_not_a_conversation_is_an_error_at_its_field(obj: object, field: str | None) -> None:
    assert error_of(obj).field == field


def test_a_record_of_another_shape_is_named_by_its_keys() -> None:
    assert "'text, label'" in error_of({"text": "my name is Jo", "label": 1}).problem
    assert len(error_of({"x" * 1000: 1}).problem) < 200


def test_an_error_inside_a_document_begins_with_the_place_of_the_record() -> None:
    assert error_of({"messages": [USER, 3]}, path="conversations[2]").field == "conversations[2].messages[1]"
    assert error_of([3], path="[2]").field == "[2][0]"
    assert error_of(3, path="[2]").field == "[2]"


def test_metadata_that_was_packed_on_writing_is_unpacked_and_must_fit() -> None:
    packed = {"response": "x", "psysafe_metadata": {"id": 3}}
    assert parse(packed).metadata == {"id": 3}
    assert error_of(packed | {"psysafe_metadata": 3}).field == "psysafe_metadata"
    assert error_of(packed | {"psysafe_metadata": {"k": 1}, "k": 2}).field == "psysafe_metadata"


def test_metadata_deeper_than_can_be_exported_is_an_error() -> None:
    deep: list[Any] = []
    for _ in range(98):
        deep = [deep]
    assert parse({"response": "x", "k": {"deep": deep}}).metadata
    error_of({"response": "x", "k": {"deep": [deep]}})
