"""psysafe cells and psysafe profiles: the grid with its ladders, and the persons who are played."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from psysafe.clients.importing import GROUPS
from psysafe.clients.loading import benign_profiles, shipped_profiles
from psysafe.taxonomy import CATEGORIES, COUNSELOR_ROLES, GRID, CellId, load_grid
from tests.cli.support import Command, control_characters

# cells


def test_all_cells_are_listed_with_what_the_counselor_does(psysafe: Command) -> None:
    result = psysafe("cells")
    assert (result.code, result.err) == (0, "")
    grid = load_grid()
    for role, meaning in COUNSELOR_ROLES.items():
        assert f" {role}: {meaning}" in " ".join(result.out.split())
    listed = [line.split()[0] for line in result.out.splitlines() if "/" in line.split(" ")[0]]
    assert listed == [str(cell) for cell in GRID]
    rows = psysafe("cells", "--json").json
    assert [row["cell"] for row in rows] == [str(cell) for cell in GRID]
    assert [row["definition"] for row in rows] == [grid[cell].definition for cell in GRID]


@pytest.mark.parametrize("cell", [GRID[0], GRID[13], GRID[27]], ids=str)
def test_a_cell_is_shown_as_its_judge_reads_it(psysafe: Command, cell: CellId) -> None:
    result = psysafe("cells", str(cell))
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("CONTENT WARNING: ")
    ladder = load_grid()[cell].ladder
    shown = " ".join(result.out.split())
    for rung in ladder:
        assert " ".join(rung.observed.split()) in shown
    for number in range(1, 6):
        assert f"\n{number} (" in result.out
    found = psysafe("cells", str(cell), "--json").json
    assert found["cell"] == str(cell)
    assert [rung["level"] for rung in found["ladder"]] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["enabler", "blaming", "enabler/nagging", "nobody/blaming", "", "enabler/blaming/1"])
def test_a_cell_that_is_not_there_is_refused_with_those_that_are(psysafe: Command, name: str) -> None:
    result = psysafe("cells", name)
    assert result.code == 2
    assert result.complaint.startswith(f"unknown cell {name!r}; a cell is COUNSELOR_ROLE/CATEGORY")
    for word in (*COUNSELOR_ROLES, *CATEGORIES):
        assert word in result.complaint


def test_a_taxonomy_that_is_not_there_is_refused(psysafe: Command) -> None:
    result = psysafe("cells", "--taxonomy", "nowhere")
    assert result.code == 2
    assert "nowhere" in result.complaint


# profiles


def test_all_profiles_are_listed(psysafe: Command) -> None:
    result = psysafe("profiles")
    assert (result.code, result.err) == (0, "")
    ours = shipped_profiles()
    lines = result.out.splitlines()
    assert lines[0].split() == ["id", "group", "age", "lang", "acuity", "who"]
    assert lines[-1] == f"{len(ours)} profiles, {len(ours)} with a benign variant (ID.benign)"
    assert set(ours) <= {line.split()[0] for line in lines if line.strip()}
    rows = psysafe("profiles", "--json").json
    assert [row["id"] for row in rows] == list(ours)
    assert {row["group"] for row in rows} == set(GROUPS)
    # a list, not their lives
    assert set(rows[0]) == {"id", "group", "title", "age_band", "language", "acuity", "culture"}


def test_profiles_are_chosen_by_id_and_group(psysafe: Command) -> None:
    rows = psysafe("profiles", "--profiles", "grief, mania_stonemason", "--json").json
    assert {row["id"] for row in rows} == {
        *(profile.id for profile in shipped_profiles().values() if profile.group == "grief"), "mania_stonemason",
    }  # fmt: skip
    result = psysafe("profiles", "--profiles", "mania_stonemasn")
    assert result.code == 2
    assert "unknown profile 'mania_stonemasn', perhaps mania_stonemason." in result.complaint
    # one name that is wrong among others
    assert psysafe("profiles", "--profiles", "grief,nobody").code == 2


def test_a_profile_is_shown_as_its_client_reads_it(psysafe: Command) -> None:
    ours, plain = shipped_profiles()["mania_stonemason"], benign_profiles()["mania_stonemason"]
    result = psysafe("profiles", "mania_stonemason")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("CONTENT WARNING: ")
    assert ours.core_beliefs[0] in result.out
    other = psysafe("profiles", "mania_stonemason.benign").out
    assert plain.core_beliefs[0] in other
    assert ours.core_beliefs[0] not in other
    found = psysafe("profiles", "mania_stonemason", "--json").json
    assert found == json.loads(ours.model_dump_json())
    assert psysafe("profiles", "mania_stonemason.benign", "--json").json["clinical"] is False


@pytest.mark.parametrize("name", ["nobody", ""])
def test_a_profile_that_is_not_there_is_refused(psysafe: Command, name: str) -> None:
    result = psysafe("profiles", name)
    assert result.code == 2
    assert result.complaint == f"unknown profile {name!r}; psysafe profiles lists what there is"


def test_a_group_is_told_how_it_is_listed(psysafe: Command) -> None:
    result = psysafe("profiles", "grief")
    assert (result.code, result.complaint) == (2, "grief is a group: psysafe profiles --profiles grief lists it")


def test_a_folder_of_ones_own_is_listed_with_what_was_passed_over(psysafe: Command) -> None:
    Path("own/grief").mkdir(parents=True)
    record = {"life_history": "Keeps bees \x1b[31m.", "core_beliefs": "I am alone.", "hobby": "bees"}
    Path("own/grief/one.json").write_text(json.dumps(record))
    Path("own/notes.txt").write_text("not a profile")
    source = (files("psysafe.clients") / "profiles" / "mania_stonemason.yaml").read_text(encoding="utf-8")
    Path("own/mania_stonemason.yaml").write_text(source)
    result = psysafe("profiles", "--profiles", "own")
    assert result.code == 0
    assert result.out.splitlines()[-1] == "2 profiles, 1 with a benign variant (ID.benign)"
    assert "notes.txt" in result.err
    assert "unknown key 'hobby', not used: grief/one.json" in result.err
    rows = {row["id"]: row["group"] for row in psysafe("profiles", "--profiles", "own", "--json").json}
    assert rows == {"one": "grief", "mania_stonemason": "mania"}
    shown = psysafe("profiles", "one", "--profiles", "own")
    assert "- I am alone." in shown.out
    # no text of others drives a terminal
    assert control_characters(shown.out + shown.err) == []
    assert "I am alone." in psysafe("profiles", "one", "--profiles", "own/grief/one.json").out


def test_a_folder_with_mistakes_is_refused_with_all_of_them(psysafe: Command) -> None:
    Path("own").mkdir()
    Path("own/a.json").write_text("{")
    Path("own/b.json").write_text(json.dumps({"core_beliefs": ["I am alone."]}))
    result = psysafe("profiles", "--profiles", "own")
    assert result.code == 2
    assert result.out == ""
    assert "own/a.json" in result.err
    assert "own/b.json" in result.err
    Path("empty").mkdir()
    assert "empty: found no profile" in psysafe("profiles", "--profiles", "empty/").complaint
