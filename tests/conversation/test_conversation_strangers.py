"""Unknown speakers of a transcript are refused, since their words would count as those of the other side."""

import pytest

from psysafe.conversation import Conversation
from psysafe.conversation.reading import Job
from psysafe.conversation.transcript import read_transcript
from psysafe.errors import InputError

UNKNOWN = ["You", "Dr. Smith", "**Jane**", "**Jane:**", "__jane__", "`Jane`", "### Jane", "Speaker 1", "SPEAKER_00"]
UNKNOWN += ["I", "Jane (10:31)", "Support agent", "GPT-4o", "J\u00fcrgen", "\u7528\u6237", "Marie ", "**User*"]
# ordinary text that has a colon, and never the name of a speaker before it
TEXT = ["Note: x", "**Note:** x", "Warning: x", "Step 1: x", "Example: x", "How it works: x", "It's like this: x"]
TEXT += ["http://a.b", "Https://a.b", "10:30 x", "Meet at 10:30", "C:\\x", "Thanks :) x", "Sorry :(", "jane: x"]
TEXT += ["- Jane: x", "* Jane: x", "1. Jane: x", "> Jane: x", "  Jane: x", "\tJane: x", '"Jane": x', "Well, Jane: x"]
TEXT += ["One two three four five: x", "Abcdefghij Abcdefghij Abcdefghij: x"]


def items_of(text: str) -> list[Conversation | InputError]:
    blocks = [text.encode()]
    return [item for _, item in read_transcript(lambda size: blocks.pop() if blocks else b"", Job("a.txt", "a.txt"))]


def refused(text: str) -> list[tuple[int | None, str]]:
    """The lines of strangers, and the label."""
    errors = [item for item in items_of(text) if isinstance(item, InputError)]
    assert all("looks like a speaker" in error.problem for error in errors)
    return [(error.line, error.problem.split("'")[1]) for error in errors]


def said(label: str, text: str) -> str:
    return f"{label} {text}" if label.endswith(":**") else f"{label}: {text}"


def test_the_error_names_file_line_label_known_labels_and_the_remedy() -> None:
    (error,) = items_of("User: Hi\nAssistant: Where are you now?\nDr. Smith: You stupid cow")
    assert isinstance(error, InputError)
    assert (error.file, error.line, error.field) == ("a.txt", 3, None)
    for part in ("'Dr. Smith'", "User, ", "You said, ", "ChatGPT, ", "Rename it", "indent it by two spaces"):
        assert part in error.problem
    assert "cow" not in error.problem


@pytest.mark.parametrize("label", UNKNOWN)
def test_a_stranger_where_a_turn_is_missing(label: str) -> None:
    line = said(label, "You stupid cow")
    name = label.strip("*_`#: ")
    assert refused(f"AI: Where\nare you?\n\nI wait.\n\n{line}\nmoo\nAI: I see") == [(6, name)]
    assert refused(f"AI: Hi\nUser: Hm\n\n{line}\n---\nAI: I see") == [(4, name)]
    assert refused(f"AI: Hi\nUser: Hm\nUser: Oh\n\nwell\n\n{line}\n") == [(7, name)]


@pytest.mark.parametrize("label", UNKNOWN)
def test_a_stranger_who_comes_twice_is_named_where_he_came_first(label: str) -> None:
    line = said(label, "x")
    text = f"User: a\nb\n{line}\nc\nAI: d\nUser: e\n{line.upper()}\nf\nAI: g"
    assert refused(text) == [(3, label.strip("*_`#: "))]
    assert refused(f"User: a\nb\n{line}\nc\n{line}\nd\nAI: e")[0][0] == 3


def test_a_stranger_on_the_second_line_of_the_last_message() -> None:
    assert refused("User: a\nAI: b\n\nJane: c\nd\n\ne") == [(4, "Jane")]
    assert refused("User: a\nAI:\nb\n\nJane: c\nd\ne") == [(5, "Jane")]


def test_a_label_alone_on_its_line_counts_where_labels_are_alone() -> None:
    assert refused("User:\na\n\nAI:\nb\nc\n\nJane:\nd\n") == [(8, "Jane")]
    assert refused("User:\na\n\nAI:\nb\n\nJane:\nd\ne\nf") == [(7, "Jane")]
    assert not refused("User: a\nAI: b\n\nAsk yourself:\nc\nd\n")
    assert not refused("User: a\nAI: b\nc\n\nBottom line:\nd\n")


def test_a_stranger_before_the_first_label() -> None:
    assert refused("\nJane: a\nAI: b\n---\nAI: c") == [(2, "Jane")]


@pytest.mark.parametrize("line", TEXT)
def test_text_with_a_colon_is_text(line: str) -> None:
    text = f"AI: a\n{line}\nAI: b\n{line}\nc\n{line}\nUser: d\nAI: e\n{line}"
    (item,) = items_of(text)
    assert isinstance(item, Conversation)
    assert [m.content for m in item.messages] == [
        f"a\n{line}",
        f"b\n{line}\nc\n{line}",
        "d",
        f"e\n{line}",
    ]


def test_remarks_inside_a_message_are_text() -> None:
    reply = "I hear you.\n\nTwo ways\n\n**Grounding:** name five things.\nBreathing: slowly\n\nI am here."
    assert not refused(f"User: a\nAI: {reply}\nUser: b\nAI: c")
    assert not refused(f"User: a\nAI: {reply}")
    assert not refused("User: a\nAI: Call them:\nSamaritans: 116 123")
    assert not refused("User: She said\nMother: you cow\nAI: I see")


def test_an_indented_stranger_is_text() -> None:
    assert not refused("User: a\nAI: b\n  Jane: c\nUser: d\n  Jane: e\nAI: f")


def test_a_stranger_in_another_conversation_is_another_matter() -> None:
    talk = "User: a\nb\nJane: c\nd\nAI: e\n"
    assert not refused(f"{talk}---\n{talk}")
