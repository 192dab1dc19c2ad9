"""What a person is told whose dimension file is YAML but no dimension: place in words, found, expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from psysafe.taxonomy import check_directory
from tests.taxonomy.support import GOOD, changed, complaint, complaints, line, raw

# The first example of level 1, and the first near miss.
EXAMPLE = '        reply: "Slowly now, dear.'
MISS = '    level: 0\n    why: "Repeats'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("id: sarcasm", "id: My Harm", "id: found 'My Harm'; expected small letters a-z, digits and _"),
        ("group: dialogguard", "group: 7", "group: found '7'; expected small letters"),
        ("version: 1", "version: 0", "version: found '0'; expected a whole number from 1"),
        ("version: 1", "version: one", "version: found 'one'; expected a whole number from 1"),
        ("high: 2", "high: two", "scale, high: found 'two'; expected a whole number"),
        ("scale: {", "scale: 3 # {", "scale: found '3'; expected the fields low, high, harmful_from"),
        (
            "scale: {low: 0, high: 2, harmful_from: 1}",
            "scale: {low: 0, high: 2, harmful_from: 3}",
            "scale: found low 0, harmful_from 3, high 2; expected low below harmful_from",
        ),
        ("name: Belittling", "name:", "level 1, name: found nothing; expected a text"),
        ("name: Belittling", 'name: "  "', "level 1, name: found nothing; expected a text"),
        ("name: Belittling", "name: No", 'level 1, name: found No without quotes, which is read as yes or no; put it in double quotes: "No"'),
        ("name: Belittling", "name: 12", "level 1, name: found 12 without quotes, which is read as a number"),
        ("name: Belittling", "name: 2024-01-02", "level 1, name: found 2024-01-02 without quotes, which is read as a date"),
        ("name: Belittling", "name: [Place]", "level 1, name: a text that begins with [ must stand in double quotes"),
        ('"Mockery or sarcasm about what the user shared."', "Mockery: bad", "counts, entry 3: a text without quotes holds a colon; put the whole"),
        ('"Mockery or sarcasm about what the user shared."', "a: x\n    b: y", "counts, entry 3: found fields; expected a text"),
        ("  - level: 1\n", "  - level: one\n", "entry 2 of anchors, level: found 'one'; expected 0, 1 or 2"),
        ("      - setting: older", "      - older\n      - setting: older", "level 1, example 1: found 'older'; expected the fields setting"),
        (MISS, MISS.replace("0", "nothing"), "near miss 1, level: found 'nothing'; expected 0, 1 or 2"),
        (MISS, MISS.replace("0", "7"), "near miss 1, level: found 7; expected 0, 1 or 2"),
        (MISS, MISS.replace("0", "not_applicable"), "near miss 1, level: found not_applicable; expected 0, 1 or 2, because this dimension has no field 'not_applicable'"),
        ("question:", "qestion:", "unknown field 'qestion'; rename it to 'question', which is missing"),
        ("does_not_count:", "does not count:", "unknown field 'does not count'; rename it to 'does_not_count'"),
        (EXAMPLE, EXAMPLE.replace("reply", "replay"), "level 1, example 1: unknown field 'replay'; rename it to 'reply', which is missing"),
        ("version: 1", "version: 1\nnames: x", "unknown field 'names'; the closest known field is 'name'"),
        ("version: 1", "version: 1\nyes: x", "unknown field 'yes'; the fields here are id, version"),
    ],
)  # fmt: skip
def test_the_line_and_place_of_a_wrong_field_are_named_with_what_is_expected(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    text = changed((before, after))
    assert complaint(tmp_path, text).startswith(f"sarcasm.yaml, {_edited_line(text)}: {said}")


def _edited_line(text: str) -> str:
    """The first line that differs from the good file and is not one the edit put before the wrong one."""
    pairs = zip(text.split("\n"), GOOD.split("\n"), strict=False)
    number = next(n for n, (new, old) in enumerate(pairs, 1) if new != old)
    return f"line {number}"


def test_a_missing_field_is_named_with_the_entry_that_lacks_it(tmp_path: Path) -> None:
    text = changed((EXAMPLE, "        #"))
    assert complaint(tmp_path, text) == (
        f"sarcasm.yaml, {line(text, 'setting: older')}: level 1, example 1, reply: this field is missing"
    )


def test_every_missing_field_of_a_file_is_named(tmp_path: Path) -> None:
    said = complaints(tmp_path, "id: sarcasm\nversion: 1\n")
    assert [each.split(": ")[1] for each in said if each.endswith("this field is missing")] == [
        "name", "group", "question", "definition", "scale", "counts", "does_not_count", "anchors", "near_misses",
    ]  # fmt: skip


@pytest.mark.parametrize("field", ["anchors", "near_misses"])
def test_a_missing_list_is_one_problem_and_not_several(tmp_path: Path, field: str) -> None:
    start = GOOD.index(f"{field}:")
    end = GOOD.index("near_misses:") if field == "anchors" else len(GOOD)
    assert complaint(tmp_path, GOOD[:start] + GOOD[end:]).endswith(f": {field}: this field is missing")


def test_an_entry_whose_level_is_missing_is_named_by_its_number(tmp_path: Path) -> None:
    text = changed(("  - level: 1\n    name", "  - name"))
    assert complaint(tmp_path, text) == (
        f"sarcasm.yaml, {line(text, 'name: Belittling')}: entry 2 of anchors, level: this field is missing"
    )


def test_where_not_applicable_is_allowed_it_is_among_what_is_expected(tmp_path: Path) -> None:
    text = raw("crisis_response").replace("level: not_applicable", "level: n/a", 1)
    said = complaint(tmp_path, text, "crisis_response.yaml")
    assert said.endswith("level: found 'n/a'; expected 0, 1, 2 or not_applicable")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("  - level: 1\n", "  - level: 3\n", "anchors: found the levels 0, 3, 2; expected one entry for each level from 0 to 2"),
        ("setting: coaching app", "setting: Therapy practice bot", "level 1, examples: found 2 different settings; expected at least 3"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert f": {said}" in complaint(tmp_path, changed((before, after)))


def test_too_few_entries_are_counted_as_they_stand_in_the_file(tmp_path: Path) -> None:
    start, end = GOOD.index("does_not_count:"), GOOD.index("anchors:")
    text = GOOD[:start] + 'does_not_count:\n  - "One."\n  - 2\n\n' + GOOD[end:]
    said = complaints(tmp_path, text)
    assert [each.split(": ", 1)[1] for each in said] == [
        "does_not_count: found 2; expected at least 3",
        'does_not_count, entry 2: found 2 without quotes, which is read as a number; put it in double quotes: "2"',
    ]


def test_a_list_that_is_empty_or_none_is_named(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("anchors:")] + "anchors: []\nnear_misses: none\n"
    said = complaints(tmp_path, text)
    assert [each.split(": ", 1)[1] for each in said] == [
        "anchors: found no level; expected one entry for each level from 0 to 2, in order",
        "near_misses: found 'none'; expected a list, with a dash and a space before each entry",
    ]


def test_a_field_that_stands_twice_is_named_since_one_text_would_be_lost(tmp_path: Path) -> None:
    text = changed(("    name: Belittling", "    name: Belittling\n    name: Cutting"))
    assert complaint(tmp_path, text) == (
        f"sarcasm.yaml, {line(text, 'name: Cutting')}: level 1: the field 'name' stands here twice, "
        f"first on {line(text, 'name: Belittling')}; delete one, or begin a new entry with a dash"
    )


def test_of_a_field_that_stands_twice_the_one_that_counts_is_complained_of(tmp_path: Path) -> None:
    text = changed(("    name: Belittling", "    name: Belittling\n    name: 12"))
    assert {each.split(":")[0] for each in complaints(tmp_path, text)} == {f"sarcasm.yaml, {line(text, 'name: 12')}"}


def test_a_text_that_ends_at_a_hash_sign_is_named_since_the_rest_would_be_lost(tmp_path: Path) -> None:
    text = changed(("about: Praise with a sting", "about: Praise #1 with a sting"))
    said = complaint(tmp_path, text)
    assert said.startswith(
        f"sarcasm.yaml, {line(text, 'about: Praise')}: near miss 7, about: the text ends before the #"
    )


def test_remarks_where_no_text_is_lost_are_no_problem(tmp_path: Path) -> None:
    text = changed(
        ("version: 1", "version: 1  # the first"), ("id: sarcasm", "id: sarcasm # mine"), ("counts:", "counts: # all")
    )
    text = text.replace('need it."', 'need it." # really', 1)
    (tmp_path / "sarcasm.yaml").write_text(text, encoding="utf-8")
    assert list(check_directory(tmp_path)) == ["sarcasm"]


def test_problems_of_different_kinds_are_all_listed_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = changed(
        ("version: 1", "version: one"),
        ("setting: coaching app", "setting: therapy practice bot"),
        (MISS, MISS.replace("0", "9")),
        ("about: Praise with a sting", "abuot: Praise with a sting"),
    )
    said = complaints(tmp_path, text)
    assert [each.split(": ")[1] for each in said] == [
        "version",
        "level 1, examples",
        "near miss 1, level",
        "near miss 7",
    ]
    numbers = [int(each.split(":")[0].split()[-1]) for each in said]
    assert numbers == sorted(numbers)


def test_a_long_text_is_quoted_in_short(tmp_path: Path) -> None:
    said = complaint(tmp_path, changed((MISS, MISS.replace("0", "word " * 50))))
    assert len(said) < 150
    assert "…" in said


@pytest.mark.parametrize("text", ["", "# only a remark\n", "---\n"])
def test_a_file_with_nothing_in_it_is_said_to_be_empty(tmp_path: Path, text: str) -> None:
    assert complaint(tmp_path, text) == "sarcasm.yaml: the file is empty; expected a dimension"


@pytest.mark.parametrize("text, found", [("hello", "'hello'"), ("- a", "a list")])
def test_a_file_that_is_something_else_is_told_the_fields(tmp_path: Path, text: str, found: str) -> None:
    assert complaint(tmp_path, text).startswith(f"sarcasm.yaml, line 1: found {found}; expected the fields id, version")
