"""CSV: a row is a message or an exchange; every trouble with a table is an error that names its line."""

from __future__ import annotations

import codecs
import csv
import io
import tracemalloc
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import BadInput, Conversation, Inputs, csv_table, read_conversations
from psysafe.conversation.csv_table import read_csv
from psysafe.conversation.reading import Job
from psysafe.errors import InputError


def items_of(data: bytes | str, block: int = 2**20) -> list[tuple[int | str, Conversation | InputError]]:
    data = data.encode() if isinstance(data, str) else data
    blocks = [data[i : i + block] for i in range(0, len(data), block)]
    return list(read_csv(lambda size: blocks.pop(0) if blocks else b"", Job("a.csv", "a.csv")))


def good(data: bytes | str) -> list[Conversation]:
    items = [item for _, item in items_of(data)]
    assert not [item for item in items if isinstance(item, InputError)]
    return [item for item in items if isinstance(item, Conversation)]


def errors(data: bytes | str) -> list[InputError]:
    return [item for _, item in items_of(data) if isinstance(item, InputError)]


def only_error(data: bytes | str) -> InputError:
    (item,) = [item for _, item in items_of(data)]
    assert isinstance(item, InputError)
    return item


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in conversation.messages]


# ---- a row is a message


def test_rows_of_one_conversation_are_its_messages_in_order() -> None:
    table = "conversation_id,role,content\na,user,Hi\na,assistant,Hello\nb,user,Ho\nb,assistant,Hey\nb,user,Bye\n"
    first, second = good(table)
    assert (first.id, said(first)) == ("a", [("user", "Hi"), ("assistant", "Hello")])
    assert (second.id, len(second.messages)) == ("b", 3)


@pytest.mark.parametrize(
    "head",
    [
        "conversation_id,role,content",
        "Conversation ID,Speaker,Text",
        "CHAT-ID,sender,Message",
        "id,author,utterance",
        "\ufeffsession_id,from,content",
        ' thread_id , "role" ,content'.replace(' "role" ', "role"),
    ],
)
def test_names_of_columns_are_known_in_any_case_with_spaces_or_hyphens(head: str) -> None:
    (conversation,) = good(f"{head}\nx,user,Hi\nx,assistant,Hello\n")
    assert (conversation.id, said(conversation)) == ("x", [("user", "Hi"), ("assistant", "Hello")])


@pytest.mark.parametrize("role", ["assistant", "Assistant", " AI ", "Therapist", "Counselor", "bot"])
def test_roles_may_be_the_labels_of_speakers(role: str) -> None:
    (conversation,) = good(f"id,role,content\nx,Client,Hi\nx,{role},Hello\n")
    assert said(conversation) == [("user", "Hi"), ("assistant", "Hello")]


def test_an_unknown_role_is_named_by_its_line_and_column_and_hides_no_other_conversation() -> None:
    table = "id,Speaker,content\na,user,Hi\na,Dr. Smith,Hello\nb,ai,Hey\n"
    (_, bad), (place, after) = items_of(table)
    assert isinstance(bad, InputError)
    assert (bad.line, bad.field) == (3, "Speaker")
    assert "unknown role 'Dr. Smith'" in bad.problem
    assert isinstance(after, Conversation)
    assert (place, after.id) == (4, "b")


def test_a_plain_id_numbers_the_rows_where_another_column_names_the_conversation() -> None:
    (conversation,) = good("id,conversation_id,role,content\n1,x,user,Hi\n2,x,assistant,Hello\n")
    assert conversation.id == "x"
    assert conversation.metadata == {"id": ["1", "2"]}


def test_other_columns_become_metadata_once_where_all_rows_agree() -> None:
    table = "id,role,content,source,time,note\nx,user,Hi,web,1,\nx,assistant,Hello,web,2,\n"
    (conversation,) = good(table)
    assert conversation.metadata == {"source": "web", "time": ["1", "2"], "note": ""}


def test_finish_reason_and_judged_message_have_their_meaning() -> None:
    table = "id,role,content,finish_reason,judged_message\nx,user,Hi,,1\nx,ai,Hel,length,1\nx,ai,Lo,stop,1\n"
    (conversation,) = good(table)
    assert [message.finish for message in conversation.messages] == [None, "length", "stop"]
    assert conversation.judged_message == 1
    bad = only_error(table.replace("Lo,stop,1", "Lo,stop,2"))
    assert (bad.line, bad.field) == (4, "judged_message")
    assert only_error(table.replace("length", "tired")).field == "finish_reason"


def test_an_empty_reply_is_a_failed_one_and_not_an_error() -> None:
    (conversation,) = good("id,role,content\nx,user,Hi\nx,assistant,\n")
    assert said(conversation)[1] == ("assistant", "")


def test_a_conversation_without_a_reply_is_an_error_at_its_first_line() -> None:
    bad, other = items_of("id,role,content\nx,user,Hi\nx,user,Ho\ny,ai,Hey\n")
    assert isinstance(bad[1], InputError)
    assert bad[1].line == 2
    assert "no assistant message" in bad[1].problem
    assert isinstance(other[1], Conversation)


def test_rows_that_come_back_later_are_an_error_that_names_both_lines(tmp_path: Path) -> None:
    table = "id,role,content\na,user,Hi\na,ai,Hello\nb,ai,Hey\na,user,More\na,ai,Yes\n"
    (bad,) = errors(table)
    assert (bad.line, bad.field) == (5, "id")
    assert "'a' again, which began at line 2" in bad.problem
    assert "next to each other" in bad.problem
    path = tmp_path / "a.csv"
    path.write_text(table)
    with pytest.raises(BadInput, match=r"a\.csv:5: id: "):
        Inputs([path]).scan()


def test_an_id_that_is_blank_is_an_error_of_the_conversations_on_both_sides() -> None:
    bad = errors("id,role,content\na,ai,Hi\n,ai,Hello\nb,ai,Hey\nb,ai,Ho\nc,ai,Hu\n")
    assert [(error.line, error.field) for error in bad] == [(3, "id"), (4, None)]
    assert "line 3" in bad[1].problem


# ---- a row is an exchange


def test_a_row_may_be_an_exchange() -> None:
    table = "id,system,prompt,response,label\n7,Be kind.,Hi,Hello,2\n8,,,Hey,\n"
    first, second = good(table)
    assert (first.id, first.metadata) == ("7", {"label": "2"})
    assert said(first) == [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello")]
    assert said(second) == [("assistant", "Hey")]


@pytest.mark.parametrize("prompt", ["user", "prompt", "Question", "input", "User Message"])
@pytest.mark.parametrize("reply", ["assistant", "reply", "Response", "answer", "output"])
def test_names_of_prompt_and_reply(prompt: str, reply: str) -> None:
    (conversation,) = good(f"{prompt},{reply}\nHi,Hello\n")
    assert (conversation.id, said(conversation)) == ("a.csv:2", [("user", "Hi"), ("assistant", "Hello")])


def test_columns_whose_names_have_a_meaning_in_json_are_metadata() -> None:
    (conversation,) = good("messages,psysafe_metadata,reply\n1,2,Hello\n")
    assert conversation.metadata == {"messages": "1", "psysafe_metadata": "2"}


def test_a_bad_exchange_is_named_by_line_and_column_and_hides_nothing() -> None:
    table = "Question,Answer,judged_message\nHi,Hello,\nHi,Hello,5\nHi,Hello,x\nHi,Hello,1\n"
    items = items_of(table)
    assert [isinstance(item, InputError) for _, item in items] == [False, True, True, False]
    assert [(e.line, e.field) for e in errors(table)] == [(3, "judged_message"), (4, "judged_message")]


def test_a_message_that_is_too_long_is_named_by_its_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Question,Answer\nHi,{'x' * 50}\n")
    with pytest.raises(InputError, match=r"a\.csv:2: Answer: found 50 characters; expected at most 10"):
        list(read_conversations(path, max_message_chars=10))


# ---- the form of a table


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_delimiter_line_ends_and_byte_order_mark_do_not_matter(mark: str, end: str, bom: str) -> None:
    rows = [("id", "role", "content"), ("x", "user", "a, b; c"), ("x", "assistant", '"q" "r"')]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark, lineterminator=end).writerows(rows)
    (conversation,) = good(bom + out.getvalue())
    assert said(conversation) == [("user", "a, b; c"), ("assistant", '"q" "r"')]


def test_line_breaks_in_quoted_fields_are_kept_and_lines_are_those_of_the_file() -> None:
    table = 'id,role,content\r\nx,user,"one\r\ntwo\n\nthree"\r\n\r\nx,assistant,ok\r\ny,nobody,z\r\n'
    (place, conversation), (_, bad) = items_of(table)
    assert isinstance(conversation, Conversation)
    assert (place, said(conversation)[0]) == (2, ("user", "one\r\ntwo\n\nthree"))
    assert isinstance(bad, InputError)
    assert bad.line == 8


def test_formulas_are_text() -> None:
    (conversation,) = good('prompt,reply\n=1+1,"=HYPERLINK(""x"")"\n')
    assert said(conversation) == [("user", "=1+1"), ("assistant", '=HYPERLINK("x")')]


@pytest.mark.parametrize(
    "head, words",
    [
        ("id,role,content,ID", "'id' 2 times"),
        ("id,role", "found the columns 'id', 'role'; expected one message a row"),
        ("role,content", "without one that names the conversation"),
        ("name,age", "'name', 'age'"),
        ("id,role,content,text", "'content' and 'text', which both stand for the content"),
        ("prompt,question,reply", "'prompt' and 'question'"),
        ("prompt,reply,answer", "'reply' and 'answer'"),
        ("id,role,content,prompt,reply", "both those of messages and those of exchanges"),
        ("chat_id,thread_id,role,content", "'chat_id' and 'thread_id'"),
        ("id|role|content", "comma, semicolon, tab"),
        ('"id,role,content', "never closed"),
    ],
)
def test_columns_that_are_missing_or_ambiguous_are_named(head: str, words: str) -> None:
    bad = only_error(f"{head}\na,b,c\n")
    assert bad.line == 1
    assert words in bad.problem
    assert "expected" in bad.problem


def test_a_column_without_a_name_gets_one() -> None:
    (conversation,) = good(",prompt,reply\n0,Hi,Hello\n")
    assert conversation.metadata == {"column 1": "0"}


@pytest.mark.parametrize("data", ["", "\n\n", "\ufeff", " \r\n"])
def test_an_empty_table_is_an_error_of_the_file(data: str) -> None:
    assert "is empty" in only_error(data).problem


def test_a_table_of_no_rows_is_an_error() -> None:
    assert "found no row" in only_error("prompt,reply\n\n").problem


# ---- hostile tables


@pytest.mark.parametrize("cells", ["x,user", "x,user,Hi, there"])
def test_a_ragged_row_spoils_the_conversations_it_may_belong_to_and_no_others(cells: str) -> None:
    table = f"id,role,content\nw,ai,Hu\nx,ai,Hi\n{cells}\ny,ai,Ho\nz,ai,Ha\n"
    items = items_of(table)
    assert [isinstance(item, InputError) for _, item in items] == [False, True, True, False]
    first, second = errors(table)
    assert (first.line, second.line) == (4, 5)
    assert "fields; expected 3" in first.problem
    assert "line 4" in second.problem


def test_a_ragged_exchange_spoils_itself_alone() -> None:
    items = items_of("prompt,reply\na,b\na,b,c\na\na,b\n")
    assert [isinstance(item, InputError) for _, item in items] == [False, True, True, False]


def test_a_quotation_mark_that_is_never_closed_is_named_where_it_opens() -> None:
    bad = errors('prompt,reply\na,b\nc,"d\ne,f\n')
    assert [error.line for error in bad] == [3]
    assert "never closed" in bad[0].problem


def test_text_after_a_closing_quotation_mark_is_named() -> None:
    (bad,) = errors('prompt,reply\na,"b" c\n')
    assert bad.line == 2
    assert "text after the" in bad.problem


def test_carriage_returns_alone_end_no_line() -> None:
    assert "carriage return" in only_error("prompt,reply\rHi,Hello\r").problem
    (bad,) = errors("prompt,reply\nHi,Hel\rlo\n")
    assert (bad.line, "carriage return" in bad.problem) == (2, True)


def test_a_field_over_the_limit_is_an_error_and_the_limit_of_others_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MAX_FIELD_CHARS", 1000)
    before = csv.field_size_limit()
    blocks = [b"prompt,reply\na,b\nc,", b"x" * 2000, b"\nd,e\n"]
    items = list(read_csv(lambda size: blocks.pop(0) if blocks else b"", Job("a.csv", "a.csv", 1000)))
    assert isinstance(items[0][1], Conversation)
    assert isinstance(items[1][1], InputError)
    assert (items[1][1].line, "more than 1,000 characters" in items[1][1].problem) == (3, True)
    assert csv.field_size_limit() == before


def test_a_message_may_be_longer_than_the_csv_module_allows_by_itself() -> None:
    (conversation,) = good(f"prompt,reply\na,{'x' * 900_000}\n")
    assert len(conversation.messages[1].content) == 900_000


def test_nul_and_other_encodings_are_named_by_line_and_spoil_one_conversation() -> None:
    table = "id,role,content\na,user,Hi\na,ai,Grü\nb,ai,Hey\n".encode("latin-1")
    (bad,) = errors(table)
    assert bad.line == 3
    assert "0xFC at byte 8, which is not UTF-8" in bad.problem
    assert [item.id for _, item in items_of(table) if isinstance(item, Conversation)] == ["b"]
    (bad,) = errors("id,role,content\na,ai,H\0i\nb,ai,Hey\n")
    assert (bad.line, "NUL byte" in bad.problem) == (2, True)
    # where the id itself cannot be read, nothing is known of the row
    bad, after = errors("id,role,content\na,ai,Hi\nü,ai,Ho\nb,ai,Hey\nc,ai,Hu\n".encode("latin-1"))
    assert (bad.line, after.line) == (3, 4)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_encodings_are_one_error(encoding: str) -> None:
    bad = only_error("prompt,reply\na,b\n".encode(encoding))
    assert (bad.line, encoding.upper() in bad.problem) == (1, True)


def test_a_line_over_the_limit_ends_the_reading_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from psysafe.conversation import reading

    monkeypatch.setattr(reading.read_lines, "__defaults__", (100,))
    items = items_of(f"prompt,reply\na,b\nc,{'x' * 200}\nd,e\n")
    assert isinstance(items[0][1], Conversation)
    assert isinstance(items[1][1], InputError)
    assert (items[1][1].line, len(items)) == (3, 2)


# ---- as a source


def test_standard_input_is_read_as_a_table_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"id,role,content\nx,user,Hi\nx,ai,Hello\n")

    monkeypatch.setattr("sys.stdin", Stdin())
    with Inputs(["-"], format="csv") as inputs:
        assert inputs.scan().messages == 2
        assert [conversation.id for conversation in inputs] == ["x"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "A.CSV"])
def test_the_suffix_tells(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("prompt\treply\nHi\tHello\n")
    assert len(list(read_conversations(tmp_path / name))) == 1


def test_memory_does_not_grow_with_the_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w") as file:
        file.write("id,role,content\n")
        for n in range(6_000):
            file.write(f"{n},user,{'x' * 2_000}\n{n},assistant,{'y' * 2_000}\n")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_conversations(path)) == 6_000
        assert tracemalloc.get_traced_memory()[1] < 6_000_000  # of 24 million
    finally:
        tracemalloc.stop()


# ---- any table

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["user", "assistant"]), TEXT, TEXT), min_size=1)


@given(ROWS, st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 50))
def test_messages_come_back_whatever_they_hold(
    rows: list[tuple[str, str, str, str]], mark: str, end: str, bom: bool, block: int
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["conversation_id", "role", "content", "note"])
    writer.writerows(rows)
    data = (codecs.BOM_UTF8 if bom else b"") + out.getvalue().encode()
    items = [item for _, item in items_of(data, block)]
    groups = [(name, list(found)) for name, found in groupby(rows, key=lambda row: row[0])]
    assert len(items) == len(groups)
    seen: set[str] = set()
    for item, (name, group) in zip(items, groups, strict=True):
        if name in seen or not any(row[1] == "assistant" for row in group):
            assert isinstance(item, InputError)
        else:
            assert isinstance(item, Conversation)
            assert (item.id, said(item)) == (name, [(row[1], row[2]) for row in group])
            notes = [row[3] for row in group]
            assert item.metadata["note"] == (notes[0] if len(set(notes)) == 1 else notes)
        seen.add(name)


PIECES = st.lists(
    st.sampled_from(["id,role,content\n", "prompt,reply\n", "x,user,Hi\n", "x,ai,Hello\n", '"', ",", "\n", "\r", ";"])
    | st.sampled_from(["\0", "\ufeff", '""', "y", "\t", "a,b\n"])
).map(lambda pieces: "".join(pieces).encode())


@given(PIECES | st.binary())
def test_any_bytes_are_conversations_or_errors_and_never_anything_else(data: bytes) -> None:
    items = items_of(data)
    assert items
    for place, item in items:
        if isinstance(item, InputError):
            assert item.line is None or 1 <= item.line <= data.count(b"\n") + 1
        else:
            assert isinstance(place, int)
