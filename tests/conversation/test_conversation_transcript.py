"""Plain transcripts: a label opens a message, a rule separates conversations."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation
from psysafe.conversation import transcript as module
from psysafe.conversation.reading import Job
from psysafe.conversation.transcript import read_transcript
from psysafe.errors import InputError


def items_of(data: str | bytes) -> list[Conversation | InputError]:
    blocks = [data.encode() if isinstance(data, str) else data]
    job = Job("a.txt", "a.txt")
    return [item for _, item in read_transcript(lambda size: blocks.pop() if blocks else b"", job)]


def good(text: str | bytes) -> list[list[tuple[str, str]]]:
    items = items_of(text)
    assert not [str(item) for item in items if isinstance(item, InputError)]
    return [[(m.role, m.content) for m in item.messages] for item in items if isinstance(item, Conversation)]


def only_error(text: str | bytes) -> InputError:
    (item,) = [item for item in items_of(text) if isinstance(item, InputError)]
    return item


def test_labels_open_messages_and_other_lines_continue_them() -> None:
    text = "\nUser: I feel\nalone\n\n  a lot\n\nAssistant: I am here.\n\n"
    assert good(text) == [[("user", "I feel\nalone\n\n  a lot"), ("assistant", "I am here.")]]


@pytest.mark.parametrize("label", ["User", "CLIENT", "patient", "Human", "Caller", "Me", "You said", " User", "User "])
def test_labels_of_the_user(label: str) -> None:
    assert good(f"{label}: Hi\nAI: x")[0][0] == ("user", "Hi")


@pytest.mark.parametrize(
    "label",
    [
        *("Assistant", "Counselor", "counsellor", "THERAPIST", "AI", "Bot", "Chatbot", "Assistant\t", "Assistant said"),
        *("ChatGPT", "chatgpt said", "GPT", "Claude", "Gemini", "Copilot said", "LLM", "Model"),
    ],
)
def test_labels_of_the_assistant(label: str) -> None:
    assert good(f"System: Be kind\n{label}:Hi") == [[("system", "Be kind"), ("assistant", "Hi")]]


@pytest.mark.parametrize(
    "label",
    [
        *("**User:**", "**User**:", "*User*:", "*User:*", "__User__:", "__User:__", "_User_ :", "`User`:", "`User:`"),
        *("***User:***", "### User:", "# **User:**", " **User:**", "User\uff1a", "**User\uff1a**"),
    ],
)
def test_labels_may_be_decorated(label: str) -> None:
    assert good(f"AI: x\n{label} *Hi* **you**\nAI: y")[0][1] == ("user", "*Hi* **you**")


def test_a_mark_that_ends_after_the_label_belongs_to_the_text() -> None:
    assert good("AI: x\n**User: Hi**\nAI: y")[0][1] == ("user", "**Hi**")


@pytest.mark.parametrize(
    "line", ["* User: x", "- User: x", "1. User: x", "####### User: x", "#User: x", "> **User:** x"]
)
def test_list_items_and_quotes_open_no_message(line: str) -> None:
    assert good(f"User: x\nAI: y\n{line}")[0][1:] == [("assistant", f"y\n{line}")]


@pytest.mark.parametrize("label", ["Me:", "You said:", "**User:**", "*Me*:"])
def test_the_words_of_the_user_are_not_given_to_the_assistant(label: str) -> None:
    text = f"Assistant: Where are you now?\n{label} You stupid cow"
    assert good(text) == [[("assistant", "Where are you now?"), ("user", "You stupid cow")]]


def test_a_copy_of_the_page_of_chatgpt_is_read() -> None:
    text = "You said:\nHi\n\nChatGPT said:\nHello.\n\nYou can talk.\n\nYou said:\nBye\n\nChatGPT said:\nBye\n"
    assert good(text) == [
        [("user", "Hi"), ("assistant", "Hello.\n\nYou can talk."), ("user", "Bye"), ("assistant", "Bye")]
    ]


@pytest.mark.parametrize("pasted", ["  Assistant: x", "\tAssistant: x", "> Assistant: x", ">Bot: x", "Nurse: x"])
def test_labels_in_pasted_text_can_be_kept_inside_a_message(pasted: str) -> None:
    assert good(f"User: It said\n{pasted}\nAI: I see") == [[("user", f"It said\n{pasted}"), ("assistant", "I see")]]


def test_the_indentation_of_a_first_pasted_line_stays() -> None:
    assert good("User:\n\n  Bot: x\nAI: y")[0][0] == ("user", "  Bot: x")


@pytest.mark.parametrize("rule", ["---", "===", "--------", "--- "])
def test_a_rule_separates_conversations_and_ids_count_them(rule: str) -> None:
    text = f"{rule}\nUser: a\nAI: b\n{rule}\n\n{rule}\nAI: c\n{rule}\n"
    assert good(text) == [[("user", "a"), ("assistant", "b")], [("assistant", "c")]]
    assert [item.id for item in items_of(text) if isinstance(item, Conversation)] == ["a.txt:1", "a.txt:2"]


@pytest.mark.parametrize("line", ["--", "-- -", "---x", "=-="])
def test_other_lines_are_no_rule(line: str) -> None:
    assert good(f"AI: a\n{line}\nb") == [[("assistant", f"a\n{line}\nb")]]


def test_text_before_the_first_label_is_an_error_that_lists_the_labels() -> None:
    error = only_error("AI: a\n---\n\nSession 1\nAI: b\n---\nAI: c")
    assert error.line == 4
    for label in ("User", "Client", "Therapist", "AI", "System"):
        assert label in error.problem


def test_a_bad_conversation_keeps_its_number() -> None:
    items = items_of("AI: a\n---\nhm\n---\nAI: c")
    assert [item.id for item in items if isinstance(item, Conversation)] == ["a.txt:1", "a.txt:3"]


def test_a_conversation_without_assistant_is_an_error_at_its_beginning() -> None:
    error = only_error("AI: a\n---\n\nUser: b\nc")
    assert (error.line, error.field) == (4, "messages")


def test_an_empty_reply_is_kept() -> None:
    assert good("User: a\nAssistant:\n") == [[("user", "a"), ("assistant", "")]]


def test_line_ends_and_marks_do_not_matter() -> None:
    text = "User: a\nb\n\nAI: c\n---\nAI: d\n"
    assert good(text.replace("\n", "\r\n")) == good(text)
    mark = codecs.BOM_UTF8
    assert good(mark + text.encode() + mark + b"---\n" + mark + text.encode()) == good(text) * 2


def test_encodings() -> None:
    error = only_error(b"AI: a\n---\nAI: b\nGr\xfc\xdfe\n---\nAI: c")
    assert error.line == 4
    assert "0xFC at byte 3" in error.problem
    assert only_error(b"AI: a\nb\0").line == 2
    assert "UTF-16" in only_error("AI: a\nUser: b".encode("utf-16")).problem


@pytest.mark.parametrize("data", ["", "\n \n", "---\n"])
def test_a_file_without_conversations_is_an_error(data: str) -> None:
    assert "is empty" in only_error(data).problem


def test_a_conversation_over_the_limit_is_an_error_and_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 100)
    items = items_of("AI: a\n" + "b\n" * 200 + "---\nAI: c")
    assert [isinstance(item, InputError) for item in items] == [True, False]


TURNS = st.lists(
    st.sampled_from(
        ["User: x", "aI : y", "  Bot: z", "---", "===", "", "text", "uſer: x", "> a", "**Jane:** x", "Jane:", "__A__: "]
    )
)


@given(st.binary() | TURNS.map("\n".join).map(str.encode))
def test_any_bytes_are_conversations_or_errors_and_never_anything_else(data: bytes) -> None:
    assert items_of(data)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), TEXT), min_size=1))
def test_a_written_transcript_is_read_as_it_was_meant(turns: list[tuple[str, str]]) -> None:
    turns = [*turns, ("assistant", "end")]
    assert good("\n".join(f"{role.title()}: {text}" for role, text in turns)) == [turns]
