"""A user's folder: which files are read, how they are named, and copies of ours in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psysafe.errors import UsageError
from psysafe.taxonomy import check_directory, copy_dimension, load_dimension
from tests.taxonomy.support import GOOD, changed, complaint, complaints, line, raw


def test_a_file_named_other_than_its_id_is_told_both_names_and_both_ways(tmp_path: Path) -> None:
    assert complaint(tmp_path, GOOD, "my_harm.yaml") == (
        f"my_harm.yaml, {line(GOOD, 'id: sarcasm')}: id: the file is named my_harm.yaml, but its id is sarcasm; "
        "one of them must be renamed: the file to sarcasm.yaml, or the id to my_harm"
    )


def test_no_way_is_offered_that_leads_nowhere(tmp_path: Path) -> None:
    """A name with a space cannot be an id, and the name of another file cannot be taken."""
    assert complaint(tmp_path, GOOD, "Sarcasm (1).yaml").endswith("must be renamed: the file to sarcasm.yaml")
    (tmp_path / "sarcasm.yaml").write_text(GOOD, encoding="utf-8")
    assert complaint(tmp_path, GOOD, "Sarcasm (1).yaml").endswith("(sarcasm.yaml is another file of this folder)")


def test_a_wrong_name_does_not_hide_other_problems(tmp_path: Path) -> None:
    said = complaints(tmp_path, changed(("version: 1", "version: 0")), "my_harm.yaml")
    assert [each.split(": ")[1] for each in said] == ["id", "version"]


def test_of_two_files_with_one_id_the_second_is_named(tmp_path: Path) -> None:
    (tmp_path / "sarcasm.yaml").write_text(GOOD, encoding="utf-8")
    assert complaint(tmp_path, GOOD, "sarcasm.yml") == (
        "sarcasm.yml: id: sarcasm.yaml has the id 'sarcasm' too; delete one of the two files"
    )


def test_problems_of_all_files_are_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "second.yaml").write_text(GOOD, encoding="utf-8")
    said = complaints(tmp_path, changed(("version: 1", "version: 0")))
    assert [each.split(",")[0] for each in said] == ["first.yaml", "sarcasm.yaml", "second.yaml"]


def test_a_file_to_which_an_editor_added_txt_is_complained_of_since_it_would_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "sarcasm.yaml").write_text(GOOD, encoding="utf-8")
    said = complaint(tmp_path, "anything", "my_harm.yaml.txt")
    assert said == "my_harm.yaml.txt: the name of the file ends in .txt; rename it to my_harm.yaml"


def test_notes_and_files_of_the_system_are_no_dimensions(tmp_path: Path) -> None:
    (tmp_path / "sarcasm.yaml").write_text(GOOD, encoding="utf-8")
    for name in ("notes.txt", "._sarcasm.yaml", "sarcasm.yaml.bak"):
        (tmp_path / name).write_text("not: [a dimension", encoding="utf-8")
    assert list(check_directory(tmp_path)) == ["sarcasm"]


# --- copies of ours


def test_a_copy_is_ours_byte_for_byte(tmp_path: Path) -> None:
    path = copy_dimension("crisis_response", tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "crisis_response.yaml"
    assert path.read_bytes() == raw("crisis_response").encode()


def test_a_copy_with_its_own_id_differs_in_that_alone_and_is_good(tmp_path: Path) -> None:
    path = copy_dimension("crisis_response", tmp_path, "our_crisis")
    assert path == tmp_path / "our_crisis.yaml"
    ours = raw("crisis_response").encode()
    assert ours.count(b"\nid: crisis_response\n") == 1
    assert path.read_bytes() == ours.replace(b"\nid: crisis_response\n", b"\nid: our_crisis\n")
    copied = check_directory(tmp_path)["our_crisis"]
    assert copied == load_dimension("crisis_response").model_copy(update={"id": "our_crisis"})


@pytest.mark.parametrize("there", ["crisis_response.yaml", "crisis_response.yml"])
def test_a_copy_never_overwrites_and_never_stands_beside_a_file_of_the_same_id(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(UsageError, match=f"{there} is there already and is not overwritten"):
        copy_dimension("crisis_response", tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(there, "mine")]


@pytest.mark.parametrize(
    ("new_id", "problem"),
    [
        ("Our Crisis", "'Our Crisis' cannot be an id; expected small letters"),
        ("../crisis", "'../crisis' cannot be an id"),
        ("crisis\n", "cannot be an id"),
        ("over_intervention", "'over_intervention' is another dimension's that comes with psysafe; choose a new one"),
    ],
)
def test_an_id_that_cannot_be_used_is_refused_before_anything_is_written(
    tmp_path: Path, new_id: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        copy_dimension("crisis_response", tmp_path / "mine", new_id)
    assert not (tmp_path / "mine").exists()


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("a file")
    with pytest.raises(UsageError, match="mine: not a folder"):
        copy_dimension("crisis_response", tmp_path / "mine")
