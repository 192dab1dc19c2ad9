"""The grid of 28 cells: what stands in it, how a cell is named, and what a judge reads of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from psysafe.errors import UsageError
from psysafe.judging.prompt import levels, prompt_hash, render
from psysafe.taxonomy import (
    CATEGORIES,
    COUNSELOR_ROLES,
    GRID,
    LADDER_SCALE,
    LEVEL_NAMES,
    CellId,
    Grid,
    TaxonomyError,
    load_grid,
)
from psysafe.taxonomy.cell import Rung
from tests.support.overlap import overlaps, runs_of_words

FOLDER = files("psysafe.taxonomy") / "categories"
_SHIPPED = (FOLDER / "blaming.yaml").read_text(encoding="utf-8")
# Without the remarks before its fields: a good file whose lines can be counted.
BLAMING = "# CONTENT WARNING: blame\n" + _SHIPPED[_SHIPPED.index("\nid: ") + 1 :]
MOST_SHARED = 0.2
# Words that name a place on the grid: two ladders may have those in common.
NAMING = {
    *COUNSELOR_ROLES,
    *(word for category in CATEGORIES for word in category.split("_")),
    *("dismissiveness", "counselor", "client", "level", "levels"),
    *LEVEL_NAMES,
}


@pytest.fixture(scope="module")
def grid() -> Grid:
    return load_grid()


def rungs(grid: Grid) -> Iterator[tuple[str, Rung]]:
    for cell in GRID:
        for rung in grid[cell].ladder:
            yield f"{cell} {rung.level}", rung


def compared(rung: Rung) -> str:
    return " ".join(part for part in (rung.observed, rung.next, rung.cue) if part)


def test_the_28_cells_are_4_counselor_roles_by_7_categories(grid: Grid) -> None:
    assert len(GRID) == len(set(GRID)) == 28
    assert {cell.role for cell in GRID} == {"perpetrator", "instigator", "facilitator", "enabler"}
    assert list(grid.categories) == list(CATEGORIES)
    assert all(grid[cell].definition for cell in GRID)


def test_no_file_of_ours_is_left_unread() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {f"{name}.yaml" for name in CATEGORIES}


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_file_with_harmful_examples_says_so_in_its_first_line(category: str) -> None:
    first, *_ = (FOLDER / f"{category}.yaml").read_text(encoding="utf-8").split("\n")
    assert first.startswith("# CONTENT WARNING: ")
    assert len(first) > len("# CONTENT WARNING: a few words")


def test_every_ladder_goes_from_1_to_5_and_harm_begins_at_2(grid: Grid) -> None:
    assert len(list(rungs(grid))) == 140
    assert (LADDER_SCALE.low, LADDER_SCALE.high, LADDER_SCALE.harmful_from) == (1, 5, 2)
    for cell in GRID:
        assert [rung.level for rung in grid[cell].ladder] == [1, 2, 3, 4, 5], cell


def test_each_level_but_the_highest_says_what_separates_it_from_the_next(grid: Grid) -> None:
    for name, rung in rungs(grid):
        assert (rung.next is None) == (rung.level == 5), name


def test_each_level_of_an_omission_names_the_cue_that_was_passed_over(grid: Grid) -> None:
    for name, rung in rungs(grid):
        if name.startswith("enabler/") and rung.level > 1:
            assert rung.cue, name


def test_levels_are_long_enough_to_tell_what_is_seen(grid: Grid) -> None:
    short = {name: len(rung.observed.split()) for name, rung in rungs(grid) if len(rung.observed.split()) < 25}
    assert short == {}


def test_the_two_examples_of_a_cell_are_harmful_and_of_different_levels(grid: Grid) -> None:
    for cell in GRID:
        low, high = sorted(example.level or 0 for example in grid[cell].examples)
        assert 2 <= low < high <= 5, cell


def test_no_exchange_stands_in_two_places(grid: Grid) -> None:
    said = [(e.client, e.counselor) for cell in GRID for e in (*grid[cell].examples, *grid[cell].near_misses)]
    assert len(said) == len(set(said))


# How a cell is named


@pytest.mark.parametrize("cell", GRID, ids=str)
def test_a_cell_is_read_back_from_its_own_name(cell: CellId) -> None:
    assert CellId.parse(str(cell)) == cell


@pytest.mark.parametrize(
    "written",
    [
        "enabler/toxic_language",
        "ENABLER/Toxic_Language",
        "  enabler / toxic language\n",
        "Enabler/toxic-language",
        "enabler x toxic language",
        "enabler × toxic language",
    ],
)
def test_case_spaces_and_hyphens_of_a_name_do_not_matter(written: str) -> None:
    assert CellId.parse(written) == CellId("enabler", "toxic_language")


@pytest.mark.parametrize(
    "written",
    [
        "enabler/silent_treatment",  # made up
        "bystander/blaming",
        "blaming/enabler",
        "enabler",
        "/blaming",
        "enabler/",
        "enabler/blaming/gaslighting",
        "the cell enabler/blaming",
        "enabler/blam",
        "fit",
        "",
    ],
)
def test_of_a_name_that_is_made_up_it_is_said_what_there_is(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        CellId.parse(written)
    said = str(caught.value)
    assert said.startswith(f"unknown cell {written!r}; ")
    assert all(name in said for name in (*COUNSELOR_ROLES, *CATEGORIES))


# What a judge reads


@pytest.mark.parametrize("cell", GRID, ids=str)
def test_a_judge_reads_the_whole_cell(grid: Grid, cell: CellId) -> None:
    held = grid[cell]
    rubric = render(grid.ladder(cell))
    lines = rubric.split("\n")
    for rung in held.ladder:
        (line,) = [each for each in lines if each.startswith(f"{rung.level} ({LEVEL_NAMES[rung.level - 1]}): ")]
        assert rung.observed in line
        assert rung.next is None or rung.next in line
        assert rung.cue is None or f"Passed over: {rung.cue}" in line
    for shown in (*held.examples, *held.near_misses):
        (line,) = [each for each in lines if shown.counselor in each]
        assert shown.client in line
        assert line.endswith(f"-> {shown.level or 1}: {shown.why}")
    assert held.definition in rubric
    assert COUNSELOR_ROLES[cell.role] in rubric
    assert grid.categories[cell.category].definition in rubric
    assert all(f"- {role}: {text}" in lines for role, text in held.differs.items())


def test_examples_stand_beneath_their_own_level(grid: Grid) -> None:
    for cell in GRID:
        rubric = render(grid.ladder(cell))
        heads = [rubric.index(f"\n{level} ({LEVEL_NAMES[level - 1]}): ") for level in range(1, 6)]
        heads.append(rubric.index("\n# Near misses"))
        for example in grid[cell].examples:
            assert example.level is not None
            at = rubric.index(example.counselor, heads[0])
            assert heads[example.level - 1] < at < heads[example.level], cell


def test_a_ladder_is_asked_for_1_to_5_and_each_is_a_rubric_of_its_own(grid: Grid) -> None:
    ladders = [grid.ladder(cell) for cell in GRID]
    assert {levels(ladder) for ladder in ladders} == {"1, 2, 3, 4 or 5"}
    assert len({ladder.id for ladder in ladders}) == 28
    assert len({prompt_hash(ladder, "single") for ladder in ladders}) == 28


def test_a_cell_has_a_name_for_people(grid: Grid) -> None:
    assert grid.name(CellId("facilitator", "blaming")) == "Blaming, as facilitator"


# A user's own


def test_a_folder_replaces_the_category_of_which_it_holds_a_file_and_no_other(grid: Grid, tmp_path: Path) -> None:
    text = BLAMING.replace("name: Blaming", "name: Finding fault", 1)
    (tmp_path / "blaming.yaml").write_text(text, encoding="utf-8")
    changed = load_grid(tmp_path)
    assert changed.categories["blaming"].name == "Finding fault"
    assert list(changed.categories) == list(CATEGORIES)
    for name in set(CATEGORIES) - {"blaming"}:
        assert changed.categories[name] == grid.categories[name]
    assert "Finding fault, as enabler" in render(changed.ladder(CellId("enabler", "blaming")))
    assert load_grid().categories["blaming"].name == "Blaming"


def test_a_grid_with_other_content_has_another_hash(grid: Grid, tmp_path: Path) -> None:
    path = tmp_path / "blaming.yaml"
    path.write_text(BLAMING, encoding="utf-8")
    assert load_grid(tmp_path).hash == load_grid().hash == grid.hash
    path.write_text(BLAMING.replace("the counselor hands out no guilt", "the counselor hands out no blame", 1))
    assert load_grid(tmp_path).hash != grid.hash


def test_problems_of_all_files_of_a_folder_are_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "blaming.yaml").write_text(BLAMING.replace("version: 1", "version: 0\ncolour: red", 1))
    (tmp_path / "gaslighting.yaml").write_text("", encoding="utf-8")
    (tmp_path / "invalidation.yaml").write_bytes(b"id: invalidation\nname: \xe9\n")
    with pytest.raises(TaxonomyError) as caught:
        load_grid(tmp_path)
    said = [problem.replace(f"{tmp_path}/", "") for problem in caught.value.problems]
    assert [each.split(": ")[0] for each in said] == [
        "gaslighting.yaml", "invalidation.yaml, line 2", "blaming.yaml, line 3", "blaming.yaml, line 4",
    ]  # fmt: skip


def test_a_folder_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mine: not a folder; expected one that holds a YAML file per category"):
        load_grid(tmp_path / "mine")


@pytest.mark.parametrize("name", ["blaming.yml", "Blaming.yaml", "blaming.yaml.txt"])
def test_a_file_that_is_nearly_named_as_a_category_is_read_or_complained_of(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BLAMING.replace("version: 1", "version: 0", 1), encoding="utf-8")
    with pytest.raises(UsageError):
        load_grid(tmp_path)


# No level is another's text with a few words changed


def test_no_two_levels_are_written_from_one_template(grid: Grid) -> None:
    texts = {name: compared(rung) for name, rung in rungs(grid)}
    assert len(texts) == 140
    assert overlaps(texts, MOST_SHARED, NAMING) == {}


def test_the_comparison_finds_a_level_that_was_copied_from_another_cell(grid: Grid) -> None:
    texts = {name: compared(rung) for name, rung in rungs(grid)}
    words = texts["perpetrator/blaming 3"].split()
    copied = [*words[: len(words) // 3], *texts["enabler/gaslighting 4"].split()]
    texts["enabler/gaslighting 4"] = " ".join(copied)
    assert list(overlaps(texts, MOST_SHARED, NAMING)) == [("perpetrator/blaming 3", "enabler/gaslighting 4")]


def test_the_share_is_that_of_the_shorter_text() -> None:
    """Nine words in a row are five runs: of 25 in the longer text, of 10 in the shorter."""
    nine = "one two three four five six seven eight nine"
    longer = f"{nine} {' '.join(f'a{n}' for n in range(20))}"
    shorter = f"{' '.join(f'b{n}' for n in range(5))} {nine}"
    assert (len(runs_of_words(longer)), len(runs_of_words(shorter))) == (25, 10)
    assert overlaps({"longer": longer, "shorter": shorter}, 0.2) == {("longer", "shorter"): 0.5}
    assert overlaps({"longer": longer, "shorter": shorter}, 0.5) == {}


def test_words_that_name_the_cell_case_and_punctuation_hide_no_copy() -> None:
    one = "At level 3 the perpetrator says, twice, that the client earned what came."
    other = "At level 4 the ENABLER says twice that the client earned what came"
    assert overlaps({"one": one, "other": other}, 0.2, {*NAMING, "3", "4"}) == {("one", "other"): 1.0}
    assert overlaps({"one": one, "other": "Somebody else wrote this line and it is about tea."}, 0.0, NAMING) == {}
