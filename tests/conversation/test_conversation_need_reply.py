"""Conversations that wait for a reply: every reader takes them where none is needed, and is as strict in all else."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.conversation import BadInput, Conversation, Format, Inputs, Message, parse_record, read_conversations
from psysafe.conversation.csv_table import read_csv
from psysafe.conversation.reading import Job
from psysafe.errors import InputError

USER = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be kind."}
REPLY = {"role": "assistant", "content": "Hello"}
ASKED = [("user", "Hi")]
ASKED_KINDLY = [("system", "Be kind."), ("user", "Hi")]


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in conversation.messages]


def has_reply(conversation: Conversation) -> bool:
    return any(message.role == "assistant" for message in conversation.messages)


def lenient(obj: Any) -> Conversation:
    return parse_record(obj, file="a.jsonl", line=1, default_id="made", need_reply=False)


def error(obj: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        lenient(obj)
    return caught.value


def tree(*turns: tuple[str, str]) -> dict[str, Any]:
    """A conversation of ChatGPT's export."""
    nodes: dict[str, Any] = {"n0": {"message": None, "parent": None, "children": ["n1"]}}
    for i, (role, text) in enumerate(turns, 1):
        message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
        nodes[f"n{i}"] = {"message": message, "parent": f"n{i - 1}", "children": [f"n{i + 1}"]}
    nodes[f"n{len(turns)}"]["children"] = []
    return {"mapping": nodes, "current_node": f"n{len(turns)}", "id": "c1"}


# ---- each reader

RECORDS: list[tuple[Any, list[tuple[str, str]]]] = [
    ({"messages": [USER]}, ASKED),
    ({"messages": [SYSTEM, USER]}, ASKED_KINDLY),
    ([SYSTEM, USER], ASKED_KINDLY),
    ({"prompt": "Hi"}, ASKED),
    ({"user": "Hi", "system": "Be kind."}, ASKED_KINDLY),
    ({"custom_id": "q", "method": "POST", "body": {"model": "m", "messages": [SYSTEM, USER]}}, ASKED_KINDLY),
    ({"request": {"input": "Hi", "instructions": "Be kind."}}, ASKED_KINDLY),
    ({"input": [USER]}, ASKED),
    (tree(("system", "Be kind."), ("user", "Hi")), ASKED_KINDLY),
]
FILES: list[tuple[str, bytes, list[tuple[str, str]]]] = [
    *[("a.jsonl", orjson.dumps(record), messages) for record, messages in RECORDS],
    *[("a.json", orjson.dumps(record), messages) for record, messages in RECORDS],
    *[("a.json", orjson.dumps([record]), messages) for record, messages in RECORDS],
    *[("a.json", orjson.dumps({"conversations": [record]}), messages) for record, messages in RECORDS],
    # beside a prompt, a role is metadata; in a list of messages it is theirs, whatever else they hold
    ("a.json", orjson.dumps([{"prompt": "Hi", "role": "carer"}]), ASKED),
    ("a.json", orjson.dumps([{**USER, "user": "u1"}]), ASKED),
    ("a.txt", b"User: Hi\n", ASKED),
    ("a.md", b"**System:** Be kind.\n\n**Client:** Hi\n", ASKED_KINDLY),
    ("a.csv", b"prompt\nHi\n", ASKED),
    ("a.csv", b"\n\nquestion\n\nHi\n\n", ASKED),
    ("a.csv", b"id;system_prompt;user_message;topic\n7;Be kind.;Hi;sleep\n", ASKED_KINDLY),
    ("a.csv", b"id,role,content\nx,system,Be kind.\nx,Client,Hi\n", ASKED_KINDLY),
    ("a.csv", b"role,prompt\ncarer,Hi\n", ASKED),
]


@pytest.mark.parametrize("name, content, messages", FILES)
def test_a_conversation_without_a_reply_is_read_only_where_none_is_needed(
    tmp_path: Path, name: str, content: bytes, messages: list[tuple[str, str]]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (conversation,) = read_conversations(path, need_reply=False)
    assert said(conversation) == messages
    assert list(Inputs([path], need_reply=False)) == [conversation]
    with pytest.raises(InputError):
        list(read_conversations(path))
    with pytest.raises(BadInput):
        Inputs([path]).scan()


@pytest.mark.parametrize("record, messages", RECORDS)
def test_so_it_is_in_the_format_openai(tmp_path: Path, record: Any, messages: list[tuple[str, str]]) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(orjson.dumps(record))
    assert [said(c) for c in read_conversations(path, format="openai", need_reply=False)] == [messages]
    with pytest.raises(InputError):
        list(read_conversations(path, format="openai"))


@pytest.mark.parametrize(
    "columns, messages",
    [
        ({"prompt": ["Hi"]}, ASKED),
        ({"messages": [[SYSTEM, USER]]}, ASKED_KINDLY),
        ({"chat_id": [1, 1], "role": ["system", "user"], "text": ["Be kind.", "Hi"]}, ASKED_KINDLY),
    ],
)
def test_so_it_is_in_parquet(tmp_path: Path, columns: dict[str, Any], messages: list[tuple[str, str]]) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet is an extra")
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    assert [said(c) for c in Inputs([path], need_reply=False)] == [messages]
    with pytest.raises(InputError):
        list(read_conversations(path))


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_so_it_is_in_logs_of_inspect(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect is an extra")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what Inspect imports
        from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
        from inspect_ai.model import ChatMessageUser
    spec = EvalSpec(
        created="2024-01-01T00:00:00+00:00",
        task="support",
        model="mock/model",
        dataset=EvalDataset(),
        config=EvalConfig(),
    )
    samples = [
        EvalSample(id="a", epoch=1, input="Hi", target="", messages=[ChatMessageUser(content="Hi")]),
        EvalSample(id="b", epoch=1, input="Hi", target="", messages=[]),
    ]
    path = tmp_path / f"log{suffix}"
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), str(path))
    bad: list[InputError] = []
    (conversation,) = read_conversations(path, need_reply=False, skip_bad=True, on_bad=bad.append)
    assert (conversation.id, said(conversation)) == ("a#1", ASKED)
    assert [str(e) for e in bad] == [
        f"{path}: sample 'b', epoch 1, messages: found no message; expected at least one",
    ]
    with pytest.raises(InputError, match="found no assistant message"):
        list(read_conversations(path))


# ---- what stays an error


@pytest.mark.parametrize(
    "obj, field, problem",
    [
        ([], None, "found an empty list; expected at least one message"),
        ({"messages": []}, "messages", "found an empty list; expected at least one message"),
        ({"messages": [{"role": "bot", "content": "x"}]}, "messages[0].role", "unknown role 'bot'"),
        ({"prompt": None}, "prompt", "found nothing; expected text, since there is no reply either"),
        ({"user": 3}, "user", "found 3; expected text"),
        ({"prompt": "Hi", "user": "Hi"}, "user", "found beside prompt; expected one of them"),
        ({"system": "Be kind."}, None, "keys 'system'; expected an object with messages (a list), or with prompt (user)"),
        ("Hi", None, "or with prompt (user) and, if there is one, response (reply, completion)"),
        ({"prompt": "Hi", "id": " "}, "id", "expected text that is not blank"),
        ({"prompt": "Hi", "finish_reason": "stop"}, "finish_reason", "found without an assistant message"),
        ({"messages": [USER], "finish_reason": "tired"}, "finish_reason", "found 'tired'; expected null or one of"),
        ({"messages": [USER], "judged_message": 0}, "judged_message", "found without an assistant message"),
        ({"input": [USER], "judged_message": 0}, "judged_message", "found without an assistant message"),
        ({"messages": [USER, REPLY], "judged_message": 0}, "judged_message", "where the role is user"),
        (tree(("system", "")), "mapping", "found no message; expected at least one"),
        ({"input": [{"type": "reasoning"}]}, "input", "found no message; expected at least one"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_an_error_with_its_field(obj: Any, field: str | None, problem: str) -> None:
    found = error(obj)
    assert (found.line, found.field) == (1, field)
    assert problem in found.problem


@pytest.mark.parametrize("reply", [None, "", " "])
def test_an_empty_reply_is_a_failed_one_and_not_an_absent_one(reply: str | None) -> None:
    assert said(lenient({"prompt": "Hi", "response": reply})) == [*ASKED, ("assistant", reply or "")]


@pytest.mark.parametrize(
    "table, where",
    [
        ("prompt,topic\nHi,a\n,b\n", "a.csv:3: prompt: found nothing; expected text"),
        ("Question,finish_reason\nHi,stop\n", "a.csv:2: finish_reason: found without an assistant message"),
        ("id,role,content,judged\nx,user,Hi,0\n".replace("judged", "judged_message"), "a.csv:2: judged_message: "),
        ("topic\na\n", "one exchange a row, with a prompt (prompt, user, "),
        ("role,content\nuser,Hi\n", "without one that names the conversation"),
        ("prompt,question\nHi,Ho\n", "which both stand for the prompt"),
        ("prompt\n", "found no row below the names of the columns"),
        ("prompt\nHi, you\n", "a.csv:2: found 2 fields; expected 1"),
    ],
)
def test_errors_of_tables_name_line_and_column(table: str, where: str) -> None:
    blocks = [table.encode()]
    job = Job("a.csv", "a.csv", need_reply=False)
    items = [item for _, item in read_csv(lambda size: blocks.pop() if blocks else b"", job)]
    (found,) = [item for item in items if isinstance(item, InputError)]
    assert where in str(found)


def test_a_column_that_is_metadata_of_messages_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,role,content,query\nx,user,Hi,why\nx,ai,Hello,why\n")
    for need_reply in (True, False):
        (conversation,) = read_conversations(path, need_reply=need_reply)
        assert (len(conversation.messages), conversation.metadata) == (2, {"query": "why"})


# ---- several inputs


def test_a_scan_counts_prompts_and_finds_repeated_ids(tmp_path: Path) -> None:
    one, two = tmp_path / "a.jsonl", tmp_path / "b.csv"
    one.write_text('{"id": "x", "prompt": "Hi"}\n{"prompt": "Ho", "response": "Hello"}\n')
    two.write_text("id,prompt\ny,Hi\nx,Hi\n")
    inputs = Inputs([one, two], need_reply=False, skip_bad=True)
    scan = inputs.scan()
    assert (scan.conversations, scan.messages, scan.assistant_messages, scan.bad_count) == (3, 4, 1, 1)
    assert str(scan.bad[0]).startswith(f"{two}:3: id: id 'x' was already used at {one}:1")
    assert [c.id for c in inputs] == ["x", "a.jsonl:2", "y"]


def test_bad_input_does_not_speak_of_judging(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "Hi"}\n{\n')
    with pytest.raises(BadInput) as caught:
        Inputs([path], need_reply=False).scan()
    assert str(caught.value).endswith(
        "Correct them; or --skip-bad (skip_bad=True) goes on with the rest and lists these."
    )
    path.write_text("{\n")
    with pytest.raises(BadInput, match="No conversation is left; correct the input"):
        list(read_conversations(path, skip_bad=True, need_reply=False))


# ---- one rule for all records: only the want of a reply makes a difference

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
ROLES = st.sampled_from(["system", "user", "user", "assistant", "tool", "bot"])
MESSAGE = st.fixed_dictionaries({"role": ROLES, "content": TEXT | st.none()})
REQUEST = st.fixed_dictionaries({"messages": st.lists(MESSAGE, max_size=3)})
RECORD = st.lists(MESSAGE, max_size=3) | st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(MESSAGE, max_size=3),
        "prompt": TEXT | st.none(),
        "user": TEXT,
        "response": TEXT | st.none(),
        "system": TEXT,
        "body": REQUEST,
        "input": st.lists(MESSAGE, max_size=2) | TEXT,
        "choices": st.lists(st.fixed_dictionaries({"message": MESSAGE}), max_size=1),
        "finish_reason": st.sampled_from(["stop", "length", None]),
        "judged_message": st.integers(-1, 3),
        "id": TEXT,
        "role": TEXT,
    },
)


def agree(strict: Conversation | InputError, lenient: Conversation | InputError) -> None:
    if isinstance(lenient, InputError):
        assert isinstance(strict, InputError)
    elif has_reply(lenient):
        assert strict == lenient
    else:
        assert isinstance(strict, InputError)


def attempt(record: Any, need_reply: bool) -> Conversation | InputError:
    try:
        return parse_record(record, file="f", line=1, default_id="made", need_reply=need_reply)
    except InputError as error:
        return error


@settings(max_examples=300)
@given(RECORD)
def test_a_record_with_a_reply_is_read_alike_and_one_without_only_where_none_is_needed(record: Any) -> None:
    agree(attempt(record, True), attempt(record, False))


COLUMNS = ["id", "conversation_id", "role", "content", "prompt", "question", "reply", "system", "finish_reason", "x"]
CELL = st.sampled_from(["", " ", "user", "ai", "stop", "Hi", "7"])


def table_items(table: str, need_reply: bool) -> list[Conversation | InputError]:
    blocks = [table.encode()]
    job = Job("a.csv", "a.csv", need_reply=need_reply)
    return [item for _, item in read_csv(lambda size: blocks.pop() if blocks else b"", job)]


@settings(max_examples=300)
@given(st.data())
def test_so_is_a_table(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5, unique=True))
    rows = data.draw(st.lists(st.lists(CELL, min_size=len(names), max_size=len(names)), min_size=1, max_size=4))
    table = "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [names, *rows])
    strict, lenient = table_items(table, True), table_items(table, False)
    if len(strict) == len(lenient):
        for one, other in zip(strict, lenient, strict=True):
            agree(one, other)
    else:  # the columns hold no reply, which is one error for all rows
        assert [type(item) for item in strict] == [InputError]
        assert not any(isinstance(item, Conversation) and has_reply(item) for item in lenient)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.builds(Message, st.sampled_from(["system", "user", "tool"]), TEXT), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_what_waits_for_a_reply_is_written_and_read_back_equal(talks: list[list[Message]]) -> None:
    written = [Conversation(f"c{n}", tuple(messages)) for n, messages in enumerate(talks)]
    records = [conversation.to_dict() for conversation in written]
    forms: list[tuple[bytes, Format]] = [(b"\n".join(map(orjson.dumps, records)), "jsonl"), (orjson.dumps(records), "json")]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        for content, format in forms:
            path.write_bytes(content)
            assert list(Inputs([path], format=format, need_reply=False)) == written
            with pytest.raises(BadInput, match="No conversation is left"):
                Inputs([path], format=format).scan()
