"""Other people's profiles in folders: which group and which id each gets, and what is not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from psysafe.clients.importing import GROUPS, load_profiles
from psysafe.clients.loading import shipped_profiles
from tests.clients.foreign_profiles import DIAGRAM, OURS, PATIENT, SMALL, loaded, one, put, remarks

# Groups


@pytest.mark.parametrize(
    ("file", "value", "group"),
    [
        ("depression/a.json", SMALL, "depression"),
        ("Eating Disorder/a.json", SMALL, "eating_disorder"),
        ("my-ptsd/a.json", SMALL, "my_ptsd"),
        ("psychosis/batch 1/a.json", SMALL, "psychosis"),
        ("psychosis/a.json", DIAGRAM, "psychosis"),
        ("a.json", DIAGRAM, "depression"),
        ("a.json", PATIENT, "depression"),
        ("a.json", {**SMALL, "Intermediate beliefs during Social Phobia": ["No."]}, "social_phobia"),
        ("a.json", SMALL, "unknown"),
    ],
)
def test_the_group_is_the_folder_else_the_disorder_of_the_beliefs_else_unknown(
    tmp_path: Path, file: str, value: Any, group: str
) -> None:
    assert one(tmp_path / "clients", value, file).group == group


def test_the_name_of_the_given_folder_counts_if_it_is_that_of_a_group(tmp_path: Path) -> None:
    path = put(tmp_path / "psychosis" / "a.json", DIAGRAM)
    assert {each.group for given in (path, path.parent) for each in load_profiles(given).profiles.values()} == {
        "psychosis"
    }
    path = put(tmp_path / "downloads" / "a.json", DIAGRAM)
    assert {each.group for given in (path, path.parent) for each in load_profiles(given).profiles.values()} == {
        "depression"
    }


def test_the_groups_that_a_folder_may_name_are_those_of_our_clients() -> None:
    assert set(GROUPS) == {profile.group for profile in shipped_profiles().values()}


def test_beliefs_during_another_disorder_than_the_folders_are_kept_and_it_is_said_so(tmp_path: Path) -> None:
    found = loaded(tmp_path, DIAGRAM, "psychosis/one.json")
    assert found.profiles["one"].intermediate_beliefs_in_episode == ("Getting up is for others.",)
    (note,) = remarks(found)
    assert note.startswith("'intermediate_beliefs_during_depression' in the group psychosis, kept")
    assert note.endswith(": psychosis/one.json")


def test_beliefs_during_two_disorders_are_both_kept(tmp_path: Path) -> None:
    found = loaded(tmp_path, {**DIAGRAM, "intermediate_beliefs_during_mania": ["Sleep is late."]})
    assert found.profiles["one"].intermediate_beliefs_in_episode == ("Getting up is for others.", "Sleep is late.")
    (note,) = remarks(found)
    assert "during_mania' in the group depression" in note


# Ids


def test_the_folder_stands_before_an_id_where_two_would_be_the_same(tmp_path: Path) -> None:
    for name in ("anxiety/1.json", "depression/1.json", "depression/2.json"):
        put(tmp_path / name, SMALL)
    assert list(load_profiles(tmp_path).profiles) == ["anxiety/1", "depression/1", "2"]


@pytest.mark.parametrize(
    "names",
    [
        ("x/a/1.json", "y/a/1.json"),
        ("a/1.json", "b/a/1.json", "b/1.json", "1.json"),
    ],
)
def test_no_profile_takes_the_place_of_another(tmp_path: Path, names: tuple[str, ...]) -> None:
    for number, name in enumerate(names):
        put(tmp_path / name, {**SMALL, "life_history": f"Life {number}."})
    found = load_profiles(tmp_path).profiles
    assert {each.life_history for each in found.values()} == {f"Life {number}." for number in range(len(names))}
    assert {(name, each.id, each.person) for name, each in found.items()} == {(name, name, name) for name in found}


def test_a_numbered_entry_and_a_file_of_that_name_are_two(tmp_path: Path) -> None:
    put(tmp_path / "a.json", [{**SMALL, "life_history": "Entry."}])
    put(tmp_path / "a-1.json", {**SMALL, "life_history": "File."})
    assert sorted(each.life_history for each in load_profiles(tmp_path).profiles.values()) == ["Entry.", "File."]


def test_files_that_differ_in_their_ending_alone_are_two(tmp_path: Path) -> None:
    (tmp_path / "mania_stonemason.yaml").write_text(OURS, encoding="utf-8")
    put(tmp_path / "mania_stonemason.json", SMALL)
    assert list(load_profiles(tmp_path).profiles) == ["mania_stonemason.json", "mania_stonemason.yaml"]


def test_ids_do_not_depend_on_the_order_in_which_files_were_made(tmp_path: Path) -> None:
    for name in ("c.json", "a.json", "b.json"):
        put(tmp_path / name, SMALL)
    assert list(load_profiles(tmp_path).profiles) == ["a", "b", "c"]


def test_files_that_are_not_read_are_named(tmp_path: Path) -> None:
    put(tmp_path / "a.json", {**SMALL, "language": "en"})
    for name in ("README.md", "table.csv", ".hidden.json", ".git/config.json", "more/x.jsonl"):
        put(tmp_path / name, SMALL)
    put(tmp_path.parent / f"{tmp_path.name}-elsewhere" / "b.json", SMALL)
    (tmp_path / "link").symlink_to(tmp_path.parent / f"{tmp_path.name}-elsewhere")
    found = load_profiles(tmp_path)
    assert list(found.profiles) == ["a"]
    (note,) = found.notes
    assert note.startswith("not read, ")
    assert note.endswith(": .git, .hidden.json, README.md, link, more/x.jsonl and 1 more")
