"""Inputs: everything is checked before the first model call; then the good conversations stream, in order."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from psysafe.conversation import BadInput, Conversation, Inputs, read_conversations
from psysafe.conversation import inputs as module
from psysafe.errors import InputError, UsageError


def record(identifier: str | None, text: str = "Hello") -> str:
    id_part = {} if identifier is None else {"id": identifier}
    return json.dumps(
        id_part | {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}]}
    )


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))
    return path


def ids(inputs: Inputs) -> list[str]:
    return [conversation.id for conversation in inputs]


def test_a_scan_counts_everything_and_iteration_yields_it_as_often_as_wanted(tmp_path: Path) -> None:
    one = write(tmp_path / "a.jsonl", record("x"), record("y", "été"))
    two = tmp_path / "b.txt"
    two.write_text("AI: z\n")
    inputs = Inputs([one, str(two)])
    scan = inputs.scan()
    assert (scan.conversations, scan.messages, scan.assistant_messages) == (3, 5, 3)
    assert scan.characters == len("HiHelloHiétéz")
    assert scan.digests == {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in (one, two)}
    assert (scan.bad, scan.bad_count) == ([], 0)
    assert ids(inputs) == ids(inputs) == ["x", "y", "b.txt:1"]


def test_iterating_scans_first(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x"), "{")
    with pytest.raises(BadInput):
        next(iter(Inputs([path])))


def test_a_bad_last_line_of_a_long_file_is_found_before_the_first_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *[record(str(i)) for i in range(5000)], '{"messages": [3]}')
    inputs = Inputs([path])
    seen: list[Conversation] = []
    with pytest.raises(BadInput) as caught:
        seen.extend(inputs)
    assert seen == []
    assert (caught.value.count, caught.value.errors[0].line) == (1, 5001)


def test_bad_records_are_listed_ten_at_a_time_with_the_way_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x"), *["{"] * 12)
    with pytest.raises(BadInput) as caught:
        Inputs([path]).scan()
    lines = str(caught.value).splitlines()
    assert isinstance(caught.value, UsageError)
    assert lines[0].startswith("12 records")
    assert [line.strip().split(": ")[0] for line in lines[1:11]] == [f"{path}:{i}" for i in range(2, 12)]
    assert "2 more" in lines[11]
    assert "--skip-bad" in lines[12]


def test_skip_bad_yields_the_rest_and_lists_what_it_skipped(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x"), "{", record("y"), "[]", record("x"), record("y"))
    inputs = Inputs([path], skip_bad=True)
    scan = inputs.scan()
    assert [error.line for error in scan.bad] == [2, 4, 5, 6]
    assert (scan.bad_count, scan.conversations, scan.messages, scan.characters) == (4, 2, 4, 14)
    assert ids(inputs) == ["x", "y"]


def test_the_list_of_errors_is_bounded_and_their_number_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_ERRORS", 3)
    path = write(tmp_path / "a.jsonl", record("x"), "{", record("x"), "{", "{", record("x"), "{")
    scan = Inputs([path], skip_bad=True).scan()
    assert [error.line for error in scan.bad] == [2, 3, 4]
    assert scan.bad_count == 6


def test_nothing_left_is_an_error_even_with_skip_bad(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "{")
    with pytest.raises(BadInput, match="No conversation is left") as caught:
        Inputs([path], skip_bad=True).scan()
    assert "--skip-bad" not in str(caught.value)


def test_a_repeated_id_is_an_error_at_its_second_place_that_names_the_first(tmp_path: Path) -> None:
    one = write(tmp_path / "a.jsonl", record("u"), "", record("x"))
    two = tmp_path / "b.json"
    two.write_text(f"[{record('y')}, {record('x')}, {record('y')}]")
    with pytest.raises(BadInput) as caught:
        Inputs([one, two]).scan()
    first, second = caught.value.errors
    assert (first.file, first.line, first.field) == (str(two), None, "[1].id")
    assert f"id 'x' was already used at {one}:3" in first.problem
    assert f"id 'y' was already used at {two}: [0]" in second.problem


def test_ids_with_equal_hashes_are_not_taken_for_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psysafe.conversation.repeats.id_hash", len)
    monkeypatch.setattr(module, "id_hash", len)
    inputs = Inputs([write(tmp_path / "a.jsonl", *[record(x) for x in ("a", "b", "cc", "a", "d")])], skip_bad=True)
    assert [error.line for error in inputs.scan().bad] == [4]
    assert ids(inputs) == ["a", "b", "cc", "d"]


def test_two_files_of_one_name_have_distinct_ids_that_do_not_depend_on_their_order(tmp_path: Path) -> None:
    one = write(tmp_path / "p" / "a.jsonl", record(None))
    two = write(tmp_path / "q" / "a.jsonl", record(None))
    three = write(tmp_path / "q" / "b.jsonl", record(None))
    assert ids(Inputs([one, two, three])) == ["p/a.jsonl:1", "q/a.jsonl:1", "b.jsonl:1"]
    assert ids(Inputs([two, one])) == ["q/a.jsonl:1", "p/a.jsonl:1"]
    assert ids(Inputs([one])) == ["a.jsonl:1"]


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x"))
    (tmp_path / "b.jsonl").symlink_to(path)
    for again in (path, tmp_path / "b.jsonl", tmp_path / "." / "a.jsonl"):
        with pytest.raises(UsageError, match="2 times"):
            Inputs([path, again])
    with pytest.raises(UsageError, match="2 times"):
        Inputs(["-", "-"])


def test_no_source_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no input"):
        Inputs([])
    for read in (lambda f: Inputs(["a"], format=f), lambda f: read_conversations("a", format=f)):
        with pytest.raises(UsageError, match="jsonl, json, transcript"):
            read("xml")


def test_a_lone_name_is_one_source(tmp_path: Path) -> None:
    assert ids(Inputs(str(write(tmp_path / "a.jsonl", record("x"))))) == ["x"]


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_file_that_changes_after_the_scan_is_an_error(tmp_path: Path, keep_time: bool) -> None:
    path = write(tmp_path / "a.jsonl", record("x", "good"))
    before = path.stat()
    inputs = Inputs([path])
    inputs.scan()
    write(path, record("x", "evil"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + (0 if keep_time else 10**9)))
    with pytest.raises(InputError, match="has changed"):
        ids(inputs)
    inputs.scan()
    assert ids(inputs) == ["x"]


def test_a_changed_file_is_noticed_before_its_first_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x"))
    inputs = Inputs([path])
    inputs.scan()
    os.utime(path, (1, 1))
    with pytest.raises(InputError, match="has changed"):
        next(iter(inputs))


def test_the_digest_covers_also_what_a_reader_left_unread(tmp_path: Path) -> None:
    good, bad = write(tmp_path / "a.jsonl", record("x")), tmp_path / "b.jsonl"
    bad.write_text("\n" * 500_000, encoding="utf-16")
    scan = Inputs([good, bad], skip_bad=True).scan()
    assert scan.digests[str(bad)] == hashlib.sha256(bad.read_bytes()).hexdigest()


def test_a_file_that_grows_while_it_is_scanned_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.jsonl", record("x"))

    def grow(*_: object) -> None:
        with path.open("a") as file:
            file.write("\n")

    monkeypatch.setattr("psysafe.conversation.scan.Tally.add", grow)
    with pytest.raises(InputError, match="has changed"):
        Inputs([path]).scan()


def test_a_message_over_the_given_limit_is_bad(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record("x", "y" * 11), record("z"))
    scan = Inputs([path], max_message_chars=10, skip_bad=True).scan()
    assert [error.field for error in scan.bad] == ["messages[1].content"]
