"""JSON Lines: one record a line, read as a stream; each bad line has its own error and stops nothing."""

import codecs
import tracemalloc
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, jsonl, read_conversations, reading
from psysafe.conversation.jsonl import read_jsonl
from psysafe.conversation.reading import Job, read_lines
from psysafe.errors import InputError

GOOD = b'{"messages":[{"role":"assistant","content":"Hello"}]}'


def items_of(data: bytes, block: int = 2**20) -> list[tuple[int | str, Conversation | InputError]]:
    blocks = [data[i : i + block] for i in range(0, len(data), block)]
    return list(read_jsonl(lambda size: blocks.pop(0) if blocks else b"", Job("a.jsonl", "a.jsonl")))


def good_ids(data: bytes, block: int = 2**20) -> list[str]:
    items = [item for _, item in items_of(data, block)]
    assert not [item for item in items if isinstance(item, InputError)]
    return [item.id for item in items if isinstance(item, Conversation)]


def only_error(data: bytes) -> InputError:
    (item,) = [item for _, item in items_of(data) if isinstance(item, InputError)]
    return item


def test_each_line_is_a_record_or_a_list_of_messages_and_its_line_is_its_id() -> None:
    data = GOOD + b'\n\n \t \n[{"role":"assistant","content":"Hello"}]\n' + GOOD
    assert good_ids(data) == ["a.jsonl:1", "a.jsonl:4", "a.jsonl:5"]


def test_line_ends_and_a_missing_last_one_do_not_matter() -> None:
    unix = b"\n".join([GOOD, b"", GOOD, GOOD])
    expected = good_ids(unix)
    for same in (unix + b"\n", unix.replace(b"\n", b"\r\n"), unix.replace(b"\n", b"\r\n") + b"\r\n"):
        assert good_ids(same) == expected


def test_a_byte_order_mark_may_begin_any_line_since_files_are_concatenated() -> None:
    mark = codecs.BOM_UTF8
    assert good_ids(mark + mark + GOOD + b"\n" + mark + GOOD + b"\n" + mark) == ["a.jsonl:1", "a.jsonl:2"]


def test_a_bad_line_does_not_hide_the_others() -> None:
    items = items_of(GOOD + b"\n{]\n" + GOOD + b'\n{"messages":[]}\n' + GOOD)
    assert [place for place, _ in items] == [1, 2, 3, 4, 5]
    assert [isinstance(item, InputError) for _, item in items] == [False, True, False, True, False]


def test_malformed_json_is_named_by_line_and_column() -> None:
    error = only_error(GOOD + b'\n{"id": "\xc3\xa9", "messages": oops}')
    assert error.line == 2
    assert str(error).startswith("a.jsonl:2: malformed JSON at column 25: ")


@pytest.mark.parametrize("escape", [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ud83d x"])
def test_a_lone_surrogate_escape_is_named_as_such(escape: str) -> None:
    error = only_error(GOOD.replace(b"Hello", escape.encode()))
    assert "lone surrogate escape" in error.problem
    assert "column 4" in error.problem


@pytest.mark.parametrize("number", [b"NaN", b"nan", b"Infinity", b"-Infinity"])
def test_the_numbers_that_json_lacks_are_named(number: bytes) -> None:
    assert "write null" in only_error(b'{"response":"x","score":' + number + b"}").problem


def test_a_nul_character_is_named_whether_written_as_a_byte_or_as_an_escape() -> None:
    error = only_error(GOOD + b"\n" + GOOD.replace(b"Hello", b"He\0llo"))
    assert (error.line, error.field) == (2, None)
    assert "NUL byte at byte 47" in error.problem
    assert "iconv" in error.problem
    escaped = only_error(GOOD.replace(b"Hello", rb"He\u0000llo"))
    assert escaped.field == "messages[0].content"
    assert "NUL character at position 3" in escaped.problem


def test_bytes_that_are_not_utf8_are_named_with_the_remedy() -> None:
    error = only_error(GOOD + b"\n" + GOOD.replace(b"Hello", "Grüß".encode("latin-1")))
    assert error.line == 2
    assert "0xFC at byte 47, which is not UTF-8" in error.problem
    assert "iconv -f WINDOWS-1252 -t UTF-8" in error.problem


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_utf16_and_utf32_are_one_error_and_not_one_per_line(encoding: str) -> None:
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"
    error = only_error((mark + (GOOD + b"\n" + GOOD).decode()).encode(encoding))
    assert error.line == 1
    assert encoding.upper()[:6] in error.problem
    assert "iconv" in error.problem


def test_a_line_over_the_limit_is_an_error_is_never_held_and_hides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(reading.read_lines, "__defaults__", (100,))
    items = items_of(b"\n".join([GOOD, GOOD + b" " * 100, GOOD, b" " * 1000]), block=64)
    assert [place for place, _ in items] == [1, 2, 3, 4]
    assert [isinstance(item, InputError) for _, item in items] == [False, True, False, True]


def test_a_line_of_more_than_64_mb_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(GOOD + b"\n")
        file.truncate(65 * 2**20)  # zeros, without a newline
    errors: list[InputError] = []
    assert len(list(read_conversations(path, skip_bad=True, on_bad=errors.append))) == 1
    assert "longer than 64 MB" in str(errors[0])


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \r\n", codecs.BOM_UTF8, codecs.BOM_UTF8 + b"\n"])
def test_a_file_without_records_is_an_error_of_the_file(data: bytes) -> None:
    error = only_error(data)
    assert (error.file, error.line, error.field) == ("a.jsonl", None, None)
    assert "is empty" in error.problem


def test_a_line_over_the_limit_is_not_held() -> None:
    sizes = [100_000] * 100
    tracemalloc.start()
    try:
        assert list(read_lines(lambda size: bytes(sizes.pop()) if sizes else b"", 250_000)) == [None]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


LINES = st.lists(st.integers(0, 40)).map(lambda sizes: b"\n".join(b"x" * size for size in sizes))


@given(LINES, st.integers(1, 100), st.integers(0, 40))
def test_lines_are_the_same_whatever_the_blocks(data: bytes, block: int, limit: int) -> None:
    blocks = [data[i : i + block] for i in range(0, len(data), block)]
    lines = list(read_lines(lambda size: blocks.pop(0) if blocks else b"", limit))
    whole = data.removesuffix(b"\n").split(b"\n") if data else []
    assert lines == [line if len(line) <= limit else None for line in whole]


JSON_LIKE = st.lists(
    st.sampled_from([b'{"messages":[', b'{"role":"assistant","content":"x"}', b"]}", b"[", b"]", b",", b"\n", b'"'])
    | st.binary(max_size=4)
    | st.sampled_from([b"\\ud800", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b'{"response":"y"', b"}", b"NaN", GOOD])
).map(b"".join)


@given(JSON_LIKE | st.binary())
def test_any_bytes_are_conversations_or_errors_with_a_line_and_never_anything_else(data: bytes) -> None:
    items = items_of(data)
    blank = not data.replace(codecs.BOM_UTF8, b"").strip()
    for place, item in items:
        if isinstance(item, InputError):
            assert item.line == (None if blank else place)
        else:
            orjson.dumps(item.to_dict())
    assert items
