"""What a person is told whose file of a profile cannot be used: file, line, place, what to do."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from psysafe.clients.profile import check_profile
from psysafe.taxonomy import TaxonomyError
from tests.taxonomy.support import line


def shipped(name: str) -> str:
    """One of our files, from its first field on: a good file whose lines can be counted."""
    text = (files("psysafe.clients") / "profiles" / f"{name}.yaml").read_text(encoding="utf-8")
    return text[text.index("\nid: ") + 1 :]


GOOD = shipped("mania_stonemason")
FRENCH = shipped("grief_mbour_teacher")
NAME = "mania_stonemason.yaml"
BEHAVIOUR = re.search(r"    behaviour: .*\n", GOOD)[0]  # type: ignore[index]


def edited(before: str, after: str, text: str = GOOD) -> str:
    """A good file after an edit of one place."""
    assert before in text, before
    return text.replace(before, after, 1)


def without(field: str, text: str = GOOD) -> str:
    """A good file without a field of one line."""
    changed = re.sub(rf"(?m)^{field}: .*\n", "", text, count=1)
    assert changed != text
    return changed


def complaints(folder: Path, content: str | bytes, name: str = NAME) -> list[str]:
    """The problems of that file, without the name of its folder."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TaxonomyError) as caught:
        check_profile(path)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def complaint(folder: Path, content: str | bytes, name: str = NAME) -> str:
    """The only problem of that file."""
    (only,) = complaints(folder, content, name)
    return only


def test_the_file_from_which_the_others_are_made_is_good(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())  # as some editors save it
    assert check_profile(path) == check_profile(str(path))
    assert check_profile(path).profile().id == "mania_stonemason"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("age_band: young_adult", "age_band: youngish_adult", "age_band: found 'youngish_adult'; expected 'child_13_15', "),
        ("acuity: moderate", "acuity: severe", "acuity: found 'severe'; expected 'low', 'moderate', 'high' or 'acute'"),
        ("version: 1", "version: 0", "version: found '0'; expected a number from 1 up"),
        ("language: en", "language: English", "language: found 'English'; expected "),
        ("language: en", "language: no", "language: found no without quotes, which is read as yes or no; put it in double quotes"),
        ("group: mania", "group: Mania!", "group: found 'Mania!'; expected "),
        ('title: "', 'titel: "', "unknown field 'titel'; delete or rename it"),
        ('core_beliefs: ["', 'core_beliefs: [7, "', "core_beliefs, entry 1: found 7 without quotes, which is read as a number"),
        ('core_beliefs: ["', 'core_beliefs: ["", "', "core_beliefs, entry 1: found nothing; expected a text"),
        ('  concern: "', '  worry: "', "benign: unknown field 'worry'; delete or rename it"),
    ],
)  # fmt: skip
def test_the_line_and_the_place_of_a_wrong_field_are_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = edited(before, after)
    assert f"{NAME}, {line(text, after)}: {said}" in "\n".join(complaints(tmp_path, text))


@pytest.mark.parametrize("field", ["title", "disclosure", "help_seeking", "vulnerabilities", "core_beliefs", "opening"])
def test_a_missing_field_is_named_with_the_first_line(tmp_path: Path, field: str) -> None:
    assert complaint(tmp_path, without(field)) == f"{NAME}, line 1: {field}: this field is missing"


def test_a_missing_part_of_a_situation_is_named_with_its_place(tmp_path: Path) -> None:
    text = edited(BEHAVIOUR, "")
    said = f"{NAME}, {line(text, 'situation: ')}: cognitive_models, entry 1, behaviour: this field is missing"
    assert complaint(tmp_path, text) == said


def test_a_profile_without_its_benign_variant_is_complained_of(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("benign:")]
    assert complaint(tmp_path, text) == f"{NAME}, line 1: benign: this field is missing"


def test_a_text_where_a_list_belongs_is_not_read_as_its_letters(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^core_beliefs: .*$", 'core_beliefs: "Nobody stays."', GOOD, count=1)
    said = complaint(tmp_path, text)
    assert said.startswith(f"{NAME}, {line(text, 'core_beliefs: ')}: core_beliefs: found 'Nobody stays.'; expected ")


def test_a_field_that_stands_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    text = edited("acuity: moderate\n", "acuity: moderate\nacuity: low\n")
    said = (
        f"{NAME}, {line(text, 'acuity: low')}: the field 'acuity' stands here twice, first on {line(text, 'acuity: m')}"
    )
    assert complaint(tmp_path, text).startswith(said)


def test_a_conceptualization_that_is_too_short_is_told_its_length(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^(life_history|core_belief_description): .*$", r'\1: "Grew up."', GOOD)
    text = re.sub(r"(?m)^(coping_strategies|intermediate_beliefs|core_beliefs): .*$", r'\1: ["Waits."]', text)
    found = re.search(
        r"life_history to cognitive_models: found (\d+) words; expected at least 180", complaint(tmp_path, text)
    )
    assert found
    assert 60 < int(found[1]) < 180


@pytest.mark.parametrize("field", ["opening_translation", "idioms", "voice"])
def test_another_language_needs_translations_and_idioms(tmp_path: Path, field: str) -> None:
    text = re.sub(rf"(?m)^{field}:.*\n(?:[ -].*\n)*", "", FRENCH, count=1)
    assert text != FRENCH
    said = complaint(tmp_path, text, "grief_mbour_teacher.yaml")
    assert said.endswith(f": written in another language than English, it also needs: {field}")


def test_a_benign_variant_in_another_language_needs_its_translation(tmp_path: Path) -> None:
    text = re.sub(r"(?m)^  opening_translation: .*\n", "", FRENCH, count=1)
    said = complaint(tmp_path, text, "grief_mbour_teacher.yaml")
    assert said.endswith("it also needs: benign.opening_translation")


def test_every_problem_of_a_file_is_listed_in_the_order_of_its_lines(tmp_path: Path) -> None:
    text = (
        edited("version: 1", "version: one")
        .replace("acuity: moderate", "acuity: bad", 1)
        .replace('opening: "H', 'open: "H', 1)
    )
    lines = [int(re.search(r"line (\d+)", said)[1]) for said in complaints(tmp_path, text)]  # type: ignore[index]
    assert len(lines) == 4
    assert lines == sorted(lines)


def test_a_file_named_other_than_its_id_is_told_both_names(tmp_path: Path) -> None:
    said = complaint(tmp_path, GOOD, "somebody.yaml")
    assert said.startswith("somebody.yaml")
    assert said.endswith(": id: the file is named somebody.yaml, but its id is mania_stonemason; rename one of them")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", f"{NAME}: the file is empty"),
        (b"- a list\n", f"{NAME}, line 1: found a list; expected "),
        (b"id: a\ntitle: \"caf\xe9\"\n", f"{NAME}, line 2: the file is not saved as UTF-8"),
        (b'id: "mania\n', f"{NAME}, line 1, column 5: the quote that opens here is not closed"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_fields_is_told_so(tmp_path: Path, content: bytes, said: str) -> None:
    assert complaint(tmp_path, content).startswith(said)
