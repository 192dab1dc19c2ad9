"""What a person is told whose file of a category cannot be used: file, line, place, what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from psysafe.taxonomy import TaxonomyError, check_category
from tests.taxonomy.support import line
from tests.taxonomy.test_cells import BLAMING

# The third level of the first ladder, and the cue of level 3 in the ladder of omissions.
LEVEL = re.search(r"      - level: 3\n        observed: .*\n        next: .*\n", BLAMING)[0]  # type: ignore[index]
CUE = re.findall(r"        cue: .*\n", BLAMING)[1]
LAST_LEVEL = "      - level: 5\n"
ROLE = "  instigator:\n    definition: "
NEIGHBOUR = '      instigator: "There the counselor asks'
EXAMPLE = '        level: 5\n        why: "One sentence makes'
MISS = '        why: "Level 1. It names'


def edited(before: str, after: str) -> str:
    """The good file after an edit of one place."""
    assert before in BLAMING, before
    return BLAMING.replace(before, after, 1)


def complaints(folder: Path, content: str | bytes, name: str = "blaming.yaml") -> list[str]:
    """The problems of that file, without the name of its folder."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TaxonomyError) as caught:
        check_category(path)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def complaint(folder: Path, content: str | bytes, name: str = "blaming.yaml") -> str:
    """The only problem of that file."""
    (only,) = complaints(folder, content, name)
    return only


def test_the_file_from_which_the_others_are_made_is_good(tmp_path: Path) -> None:
    path = tmp_path / "blaming.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + BLAMING.replace("\n", "\r\n").encode())  # as some editors save it
    assert check_category(path).id == check_category(str(path)).id == "blaming"


# Each edit, the line that is named (that which begins with this mark), and what is said of it.
CELL = "  perpetrator:\n"  # the line at which the cell begins
DEMANDS = {
    "a level is missing": (
        LEVEL, "", CELL,
        "cells, perpetrator: ladder: found the levels [1, 2, 4, 5]; expected 1, 2, 3, 4, 5 in order",
    ),
    "a level stands twice": (
        "      - level: 4\n", "      - level: 3\n", CELL,
        "cells, perpetrator: ladder: found the levels [1, 2, 3, 3, 5]; expected 1, 2, 3, 4, 5 in order",
    ),
    "a level that is none": (
        "      - level: 1\n", "      - level: 7\n", "      - level: 7",
        "cells, perpetrator, ladder, entry 1, level: found '7'; expected at most 5",
    ),
    "the highest level has a next": (
        LAST_LEVEL, f'{LAST_LEVEL}        next: "Worse."\n', CELL,
        "cells, perpetrator: ladder, level 5: 'next' stands at each level but the highest",
    ),
    "a lower level has no next": (
        LEVEL, LEVEL[: LEVEL.index("        next")], CELL,
        "cells, perpetrator: ladder, level 3: 'next' stands at each level but the highest",
    ),
    "a text is a number": (
        "    definition: ", "    definition: 5 #", "    definition: ",
        "cells, perpetrator, definition: found 5 without quotes, which is read as a number",
    ),
    "a text is empty": (
        "    definition: ", '    definition: "" #', "    definition: ",
        "cells, perpetrator, definition: found nothing; expected a text",
    ),
    "an unknown field of a cell": (
        CELL, f'{CELL}    colour: "red"\n', "    colour",
        "cells, perpetrator: unknown field 'colour'; delete or rename it",
    ),
    "an unknown field of a level": (
        LEVEL, f'{LEVEL}        hint: "x"\n', "        hint",
        "cells, perpetrator, ladder, entry 3: unknown field 'hint'; delete or rename it",
    ),
    "an unknown field of the category": (
        "version: 1", "version: 1\ncolour: red", "colour",
        "unknown field 'colour'; delete or rename it",
    ),
    "a field is missing": (
        "name: Blaming\n", "", "id: blaming",
        "name: this field is missing",
    ),
    "a field stands twice": (
        "name: Blaming\n", "name: Blaming\nname: Fault\n", "name: Fault",
        "the field 'name' stands here twice, first on line 4; delete one",
    ),
    "a field of a cell stands twice": (
        CELL, f'{CELL}    definition: "x"\n', '    definition: "The counselor',
        "cells, perpetrator: the field 'definition' stands here twice, first on line 8; delete one",
    ),
    "an example without a level": (
        EXAMPLE, EXAMPLE.replace("        level: 5\n", ""), CELL,
        "cells, perpetrator: examples: expected two, each with its 'level', and of different levels",
    ),
    "two examples of one level": (
        EXAMPLE, EXAMPLE.replace("5", "3"), CELL,
        "cells, perpetrator: examples: expected two, each with its 'level', and of different levels",
    ),
    "a near miss with a level": (
        MISS, f"        level: 2\n{MISS}", CELL,
        "cells, perpetrator: near_misses: they have no level; each says in 'why' what it is instead",
    ),
}  # fmt: skip


@pytest.mark.parametrize("demand", DEMANDS)
def test_the_line_and_the_place_of_what_is_wrong_are_named(tmp_path: Path, demand: str) -> None:
    before, after, mark, said = DEMANDS[demand]
    text = edited(before, after)
    assert complaint(tmp_path, text).startswith(f"blaming.yaml, {line(text, mark)}: {said}")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (CUE, "", "cells, enabler, ladder, entry 3: 'cue' is missing: the client's words that were passed over"),
        (NEIGHBOUR, NEIGHBOUR.replace("instigator", "perpetrator"), "cells, perpetrator, differs: expected exactly enabler, facilitator, instigator"),
        (ROLE, ROLE.replace("instigator", "bystander"), "cells: found 'bystander'"),
        (NEIGHBOUR, NEIGHBOUR.replace("instigator", "bystander"), "cells, perpetrator, differs: found 'bystander'"),
    ],
    ids=["an omission without its cue", "itself among its neighbours", "an unknown role", "an unknown neighbour"],
)  # fmt: skip
def test_what_is_wrong_between_cells_is_named_with_its_place(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert re.fullmatch(rf"blaming\.yaml, line \d+: {re.escape(said)}.*", complaint(tmp_path, edited(before, after)))


def test_a_cell_that_is_missing_is_named(tmp_path: Path) -> None:
    text = BLAMING[: BLAMING.index("  enabler:\n    definition")]
    said = "cells: expected one for each counselor role; missing: enabler"
    assert re.fullmatch(rf"blaming\.yaml, line \d+: {said}", complaint(tmp_path, text))


@pytest.mark.parametrize(
    ("before", "after", "mark"),
    [
        (CUE, "", "  enabler:\n    definition"),
        (NEIGHBOUR, NEIGHBOUR.replace("instigator", "perpetrator"), "  perpetrator:\n    definition"),
    ],
)
def test_what_is_wrong_between_cells_is_named_with_a_line_of_the_cell(
    tmp_path: Path, before: str, after: str, mark: str
) -> None:
    text = edited(before, after)
    found = re.match(r"blaming\.yaml, line (\d+)", complaint(tmp_path, text))
    assert found
    begin = text[: text.index(mark)].count("\n") + 1
    end = begin + text[text.index(mark) :].split("\n    near_misses")[0].count("\n")
    assert begin <= int(found[1]) <= end


def test_of_an_unknown_role_it_is_said_which_there_are_and_which_was_found(tmp_path: Path) -> None:
    said = complaint(tmp_path, edited(ROLE, ROLE.replace("instigator", "bystander")))
    assert "'perpetrator', 'instigator', 'facilitator' or 'enabler'" in said
    assert "found nothing" not in said
    assert "[key]" not in said


def test_a_wrong_entry_is_one_problem_and_its_list_is_none(tmp_path: Path) -> None:
    text = edited(EXAMPLE, EXAMPLE.replace("5", "1"))
    assert len(complaints(tmp_path, text)) == 1


def test_every_problem_of_a_file_is_listed_in_the_order_of_its_lines(tmp_path: Path) -> None:
    text = edited(LEVEL, "").replace("version: 1", "version: 0\ncolour: red", 1)
    said = complaints(tmp_path, text)
    assert [each.split(": ")[0] for each in said] == [f"blaming.yaml, line {number}" for number in (3, 4, 8)]


def test_a_file_named_other_than_its_id_is_told_both_names(tmp_path: Path) -> None:
    said = complaint(tmp_path, BLAMING, "gaslighting.yaml")
    assert said.startswith("gaslighting.yaml")
    assert said.endswith(": id: the file is named gaslighting.yaml, but its id is blaming; rename one of them")


def test_a_file_named_other_than_its_id_is_told_the_line_of_the_id(tmp_path: Path) -> None:
    assert complaint(tmp_path, BLAMING, "gaslighting.yaml").startswith("gaslighting.yaml, line 2: id: ")


def test_of_a_category_that_is_none_it_is_said_which_there_are(tmp_path: Path) -> None:
    said = complaint(tmp_path, edited("id: blaming", "id: scolding"), "scolding.yaml")
    assert said.startswith("scolding.yaml, line 2: id: unknown id 'scolding'; expected one of toxic_language, ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "blaming.yaml: the file is empty"),
        (b" \r\n\n", "blaming.yaml: the file is empty"),
        (b"# only a remark\n", "blaming.yaml: the file is empty"),
        ("id: blaming\nname: Schuld ist bl\xf6d\n".encode("latin-1"), "blaming.yaml, line 2: the file is not saved as UTF-8; save it again and choose the encoding UTF-8"),
        (b"- a list\n", "blaming.yaml, line 1: found a list; expected "),
        (b"only words\n", "blaming.yaml, line 1: found 'only words'; expected "),
        (b'id: "blaming\n', "blaming.yaml, line 1, column 5: the quote that opens here is not closed"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_fields_is_told_so(tmp_path: Path, content: bytes, said: str) -> None:
    assert complaint(tmp_path, content).startswith(said)


def test_a_file_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"blaming\.yaml: cannot be read: No such file or directory"):
        check_category(tmp_path / "blaming.yaml")
