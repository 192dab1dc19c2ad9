"""Where conversations come from: files by suffix, standard input, pipes; and what cannot be opened."""

import hashlib
import io
import os
import threading
from pathlib import Path

import pytest

from psysafe.conversation import BadInput, Inputs, read_conversations
from psysafe.conversation.formats import Format, sniff
from psysafe.conversation.labels import labels
from psysafe.errors import InputError

RECORD = '{"id": "x", "response": "Hello"}'


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize(
    "name,text",
    [
        ("a.jsonl", RECORD),
        ("a.NDJSON", RECORD),
        ("a.json", RECORD),
        ("a.txt", "AI: Hello"),
        ("a.md", "AI: Hello"),
    ],
)
def test_the_suffix_tells_the_format(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    for source in (tmp_path / name, str(tmp_path / name)):
        assert [c.messages[-1].content for c in read_conversations(source)] == ["Hello"]


def test_an_unknown_suffix_is_an_error_unless_the_format_is_given(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(RECORD)
    with pytest.raises(InputError, match=r"\.jsonl, \.ndjson, \.json, \.txt, \.md") as caught:
        read_conversations(path)
    assert caught.value.line is None
    assert [c.id for c in read_conversations(path, format="jsonl")] == ["x"]


def test_what_cannot_be_opened_is_an_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, private = tmp_path / "good.jsonl", tmp_path / "private.jsonl"
    good.write_text("{")  # would be an error of its own if it were read first
    private.touch()
    really_open = open

    def deny(path: object, *args: object, **kwargs: object) -> object:
        if path == str(private):
            raise PermissionError(13, "Permission denied")
        return really_open(path, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", deny)
    cases = {tmp_path: "is a directory", tmp_path / "no.jsonl": "no such file", private: "not permitted"}
    for path, problem in cases.items():
        for skip_bad in (False, True):
            with pytest.raises(InputError, match=problem) as caught:
                Inputs([good, path], skip_bad=skip_bad).scan()
            assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), None, None)
            with pytest.raises(InputError, match=problem):
                read_conversations(path, skip_bad=skip_bad)
    with pytest.raises(InputError, match="NUL"):
        Inputs(["a\0.jsonl"])


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(InputError, match="is empty"):
        list(read_conversations(tmp_path / "a.jsonl"))
    with pytest.raises(BadInput, match="is empty"):
        Inputs([tmp_path / "a.jsonl"]).scan()


def test_reading_stops_at_a_bad_record_or_reports_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{RECORD}\n{{\n{RECORD}\n")
    stream = read_conversations(path)
    assert next(stream).id == "x"
    with pytest.raises(InputError, match=r"a\.jsonl:2: "):
        next(stream)
    skipped: list[InputError] = []
    assert len(list(read_conversations(path, skip_bad=True, on_bad=skipped.append))) == 2
    assert [error.line for error in skipped] == [2]
    path.write_text("{\n")
    with pytest.raises(BadInput, match=r"a\.jsonl:1: "):
        list(read_conversations(path, skip_bad=True))


def test_standard_input_can_be_read_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stdin(b'{"response": "a"}\n{"response": "b"}\n'))
    with Inputs(["-"]) as inputs:
        assert list(inputs.scan().digests) == ["-"]
        pairs = list(zip(inputs, inputs, strict=True))  # two streams over the same bytes, interleaved
        assert [(a.id, b.id) for a, b in pairs] == [("stdin:1", "stdin:1"), ("stdin:2", "stdin:2")]
    with pytest.raises(InputError, match="closed"):
        list(inputs)


def test_errors_of_standard_input_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", _Stdin(b'{"response": 1}'))
    with pytest.raises(InputError, match=r"^-:1: response: "):
        list(read_conversations("-"))
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError, match="no standard input"):
        read_conversations("-")


# below and above what a file object buffers before it writes
@pytest.mark.parametrize("size", [1, 300_000])
@pytest.mark.parametrize(
    "format,text",
    [
        ("jsonl", '{"response": "%s"}\n'),
        ("json", '[{"response": "%s"}]'),
        ("transcript", "AI: %s"),
    ],
)
def test_standard_input_of_a_named_format_is_all_there_when_it_is_checked(
    monkeypatch: pytest.MonkeyPatch, format: Format, text: str, size: int
) -> None:
    data = (text % ("x" * size)).encode()
    monkeypatch.setattr("sys.stdin", _Stdin(data))
    with Inputs(["-"], format=format) as inputs:
        assert inputs.scan().digests == {"-": hashlib.sha256(data).hexdigest()}
        assert [len(c.messages[-1].content) for c in inputs] == [size]


@pytest.mark.parametrize("format", [None, "jsonl"])
def test_a_pipe_is_kept_like_standard_input(tmp_path: Path, format: Format | None) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(RECORD,))
    writer.start()
    with Inputs([pipe], format=format) as inputs:
        assert [c.id for c in inputs] == [c.id for c in inputs] == ["x"]
    writer.join()


@pytest.mark.parametrize(
    "text,format",
    [
        (RECORD, "jsonl"),
        (f"{RECORD}\n{RECORD}\n", "jsonl"),
        (f"\ufeff\n {RECORD}\n{RECORD}", "jsonl"),
        ("{'id': 1}\n" + RECORD, "jsonl"),
        ('{\n  "id": "x",\n  "response": "y"\n}', "json"),
        ('{"id": "x",\r\n"response": "y"}', "json"),
        ('{"id":\n"x", "response": "y"}', "json"),
        (f"[{RECORD}, {RECORD}]\n", "json"),
        (f"[{RECORD},\n{RECORD}]", "json"),
        ('[{"role": "user"}]\n[{"role": "user"}]', "jsonl"),
        ('{"id": "x"', "jsonl"),
        ("[oops]\n[]", "json"),
        ("User: a\nAI: b", "transcript"),
        ("\n\nhello", "transcript"),
        ("", "transcript"),
    ],
)
def test_the_beginning_tells_the_format_of_what_has_no_suffix(text: str, format: str) -> None:
    assert sniff(text.encode()) == format


def test_tables_and_logs_in_binary_are_known_by_their_first_bytes() -> None:
    assert sniff(b"PAR1\x15\x00") == "parquet"
    assert sniff(b"PK\x03\x04\x00") == "inspect"


def test_bytes_that_are_not_utf8_do_not_hide_that_it_is_json_lines() -> None:
    assert sniff(b'{"response": "\xfc"}\n{}') == "jsonl"


def test_labels_are_the_shortest_ends_that_tell_the_paths_apart() -> None:
    paths = ["/r/a/x.json", "/r/b/x.json", "/s/b/x.json", "/r/y.json", "/r/stdin"]
    assert labels([Path(path) for path in paths]) == [
        "a/x.json",
        "r/b/x.json",
        "s/b/x.json",
        "y.json",
        "stdin",
    ]
    assert labels([None, Path("/r/stdin")]) == ["stdin", "r/stdin"]


def test_a_label_leaves_room_for_the_position_and_is_valid_unicode() -> None:
    long = ["/" + letter + "/" + "d" * 250 + "/" + "f" * 250 for letter in "ab"]
    first, second = labels([Path(path) for path in long])
    assert first != second
    assert max(len(first), len(second)) <= 400
    assert labels([Path(os.fsdecode(b"/r/\xff.json"))]) == ["\\udcff.json"]
