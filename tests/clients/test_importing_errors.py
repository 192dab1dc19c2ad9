"""What a person is told whose folder of profiles cannot be read: every problem of every file, and what is expected."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.clients.importing import load_profiles
from psysafe.errors import UsageError
from psysafe.taxonomy import TaxonomyError
from tests.clients.foreign_profiles import DIAGRAM, OURS, PATIENT, SMALL, put
from tests.taxonomy.support import line


def problems(path: Path) -> list[str]:
    """All that is wrong with a folder or file, without the name of the folder."""
    with pytest.raises(TaxonomyError) as caught:
        load_profiles(path)
    folder = path if path.is_dir() else path.parent
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def problem(folder: Path, value: Any) -> str:
    """The only problem of this document."""
    put(folder / "a.json", value)
    (only,) = problems(folder)
    return only


def without(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}


def moment(**changes: Any) -> dict[str, Any]:
    """The first situation, changed; None takes a part away."""
    changed = {**DIAGRAM["cognitive_models"][0], **changes}
    return {**DIAGRAM, "cognitive_models": [{key: value for key, value in changed.items() if value is not None}]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (without(DIAGRAM, "life_history"), "life_history: this field is missing ('history' would do, too); found the keys 'core_beliefs', "),
        (without(DIAGRAM, "core_beliefs"), "core_beliefs: this field is missing (or 'helpless_belief', "),
        (without(PATIENT, "history"), "life_history: this field is missing ('history' would do, too); found the keys 'name', "),
        (without(PATIENT, "helpless_belief", "unlovable_belief", "worthless_belief"), "core_beliefs: this field is missing"),
        (without(PATIENT, "helpless_belief", "worthless_belief"), "core_beliefs: all fields of beliefs are empty; expected at least one"),
        (without(PATIENT, "emotion"), "emotion: this field is missing"),
        (moment(emotion=None), "cognitive_models, entry 1, emotion: this field is missing"),
        (moment(behavior=None), "cognitive_models, entry 1, behaviour: this field is missing"),
    ],
)  # fmt: skip
def test_a_missing_field_is_named(tmp_path: Path, value: Any, said: str) -> None:
    assert problem(tmp_path, value).startswith(f"a.json: {said}")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({**DIAGRAM, "life_history": 7}, "life_history: found the number 7; expected a text or a list of texts"),
        ({**DIAGRAM, "life_history": 7.50}, "life_history: found the number 7.5; expected a text or a list of texts"),
        ({**DIAGRAM, "life_history": True}, "life_history: found true; expected a text or a list of texts"),
        ({**DIAGRAM, "life_history": {"text": "x"}}, "life_history: found an object; expected a text or a list of texts"),
        ({**DIAGRAM, "life_history": ""}, "life_history: found an empty text; expected a text or a list of texts"),
        ({**DIAGRAM, "life_history": " \n"}, "life_history: found an empty text; expected a text or a list of texts"),
        ({**DIAGRAM, "core_beliefs": None}, "core_beliefs: found null; expected a text or a list of texts"),
        ({**DIAGRAM, "core_beliefs": []}, "core_beliefs: found an empty list; expected at least one text"),
        ({**DIAGRAM, "core_beliefs": ["x", ""]}, "core_beliefs, entry 2: found an empty text; expected a text"),
        ({**DIAGRAM, "core_beliefs": ["x", 2]}, "core_beliefs, entry 2: found the number 2; expected a text"),
        ({**DIAGRAM, "core_beliefs": [["x"]]}, "core_beliefs, entry 1: found a list; expected a text"),
        ({**DIAGRAM, "coping_strategies": ""}, "coping_strategies: found an empty text; expected a text or a list of texts"),
        ({**DIAGRAM, "Intermediate Beliefs": []}, "Intermediate Beliefs: found an empty list; expected at least one text"),
        ({**DIAGRAM, "intermediate_beliefs_during_depression": 3}, "intermediate_beliefs_during_depression: found the number 3; expected a text"),
        ({**DIAGRAM, "cognitive_models": []}, "cognitive_models: found an empty list; expected at least one situation, or no such field"),
        ({**DIAGRAM, "cognitive_models": "An oven."}, "cognitive_models, entry 1: found 'An oven.'; expected an object with the fields situation, "),
        (moment(emotion=5), "cognitive_models, entry 1, emotion: found the number 5; expected a text or a list of texts"),
        (moment(situation=""), "cognitive_models, entry 1, situation: found an empty text; expected a text"),
        (moment(behaviour="Stays."), "cognitive_models, entry 1, behaviour: 'behavior' and 'behaviour' are the same field; delete one of them"),
        ({**PATIENT, "worthless_belief": 0}, "worthless_belief: found the number 0; expected a text or a list of texts"),
        ({**PATIENT, "emotion": []}, "emotion: found an empty list; expected at least one text"),
        ({**PATIENT, "life_history": "Another."}, "life_history: 'history' and 'life_history' are the same field; delete one of them"),
        ({**SMALL, "Life History": "Another."}, "Life History: 'life_history' and 'Life History' are the same field; delete one of them"),
        ({**SMALL, "language": "Portuguese"}, "language: found 'Portuguese'; expected the code of a language, such as en or pt-BR"),
    ],
)  # fmt: skip
def test_what_was_found_and_what_is_expected_is_told_with_the_place(tmp_path: Path, value: Any, said: str) -> None:
    assert problem(tmp_path, value).startswith(f"a.json: {said}")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([], "an empty list"),
        ({}, "an empty object"),
        ("Keeps bees.", "a text"),
        (3, "a number"),
        (None, "null"),
        (True, "yes or no"),
        ({"colour": "red", "size": 3}, "an object with the keys 'colour', 'size'"),
        ({"name": "x", "id": 1, "type": "plain"}, "an object with the keys 'name', 'id', 'type'"),
        ({"clients": [SMALL]}, "an object with the keys 'clients'"),
    ],
)
def test_of_an_unknown_shape_it_is_said_what_it_is(tmp_path: Path, value: Any, found: str) -> None:
    said = f"a.json: found {found}; expected a profile, a list of profiles, or profiles by id"
    assert problem(tmp_path, value) == said


def test_entries_that_are_no_profiles_are_named(tmp_path: Path) -> None:
    put(tmp_path / "a.json", [SMALL, "x", {}, {"colour": "red"}])
    put(tmp_path / "b.json", {"p1": SMALL, "about": "Made by hand.", " ": SMALL, "p1.benign": SMALL})
    said = problems(tmp_path)
    assert said[:2] == [
        "a.json: entry 2: found a text; expected a profile",
        "a.json: entry 3: found an empty object; expected a profile",
    ]
    assert [each.split("; ")[0] for each in said[2:4]] == [
        "a.json: entry 4, life_history: this field is missing ('history' would do, too)",
        "a.json: entry 4, core_beliefs: this field is missing (or 'helpless_belief', 'unlovable_belief', 'worthless_belief')",
    ]
    assert said[4] == "b.json: about: found a text; expected a profile"
    assert said[5].startswith("b.json: entry 3: this key cannot be an id; expected one line of text")
    assert said[6].startswith("b.json: p1.benign: this key cannot be an id; ")
    assert len(said) == 7


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{\n"life_history": "x",\n', "a.json, line 3: malformed JSON at column 1: "),
        (b"{'life_history': 'x'}", "a.json, line 1: malformed JSON at column 2: "),
        (b'{"life_history": NaN}', "a.json, line 1: found NaN or Infinity at column 18; expected JSON"),
        (b'{"life_history": "caf\xe9"}', "a.json, line 1: found 0xE9 at byte 22, which is not UTF-8"),
        (json.dumps(SMALL).encode("utf-16"), "a.json: found the byte order mark of UTF-16; expected UTF-8"),
        (b"", "a.json: the file is empty"),
        (b"\xef\xbb\xbf \r\n", "a.json: the file is empty"),
        (b"[" * 5000 + b"]" * 5000, "a.json"),
        (b'{"core_beliefs": ["x"], "core_beliefs": ["y"], "history": "z"}', "a.json: the key 'core_beliefs' stands twice in one object"),
    ],
)  # fmt: skip
def test_broken_json_is_told_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    (only,) = problems(tmp_path)
    assert only.startswith(said)


def test_every_problem_of_every_file_is_listed_at_once(tmp_path: Path) -> None:
    put(
        tmp_path / "a.json",
        {**without(moment(emotion=5, situation=None), "life_history"), "coping_strategies": [1, ""]},
    )
    put(tmp_path / "b" / "good.json", SMALL)
    (tmp_path / "c.yaml").write_text("id: c\nversion: 0\n", encoding="utf-8")
    (tmp_path / "d.json").write_text("{", encoding="utf-8")
    (tmp_path / "mania_stonemason.yaml").write_text(
        OURS.replace("acuity: moderate", "acuity: bad", 1), encoding="utf-8"
    )
    said, bad = problems(tmp_path), line(OURS, "acuity: ")
    assert [each.split(": ")[1] for each in said if each.startswith("a.json")] == [
        "coping_strategies, entry 1", "coping_strategies, entry 2", "cognitive_models, entry 1, emotion",
        "cognitive_models, entry 1, situation", "life_history",
    ]  # fmt: skip
    assert "c.yaml, line 2: version: found '0'; expected a number from 1 up" in said
    assert sum(each.startswith("d.json, line 1: malformed JSON") for each in said) == 1
    assert sum(each.startswith(f"mania_stonemason.yaml, {bad}: acuity: found 'bad'; ") for each in said) == 1
    assert not any("good.json" in each for each in said)


def test_two_empty_kinds_and_another_problem_are_both_told(tmp_path: Path) -> None:
    put(tmp_path / "a.json", {**PATIENT, "helpless_belief": [], "worthless_belief": "", "history": 1})
    assert [each.split(": ")[1] for each in problems(tmp_path)] == ["history", "core_beliefs"]


@pytest.mark.parametrize("names", [(), ("README.md",), ("more/notes.txt", ".hidden.json")])
def test_a_folder_without_profiles_is_told_what_is_expected(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        put(tmp_path / name, SMALL)
    (only,) = problems(tmp_path)
    assert only.startswith(f"{tmp_path}: found no profile; ")
    assert "expected profiles: YAML files in psysafe's format, or JSON files with 'life_history'" in only
    assert all(name in only for name in names)


@pytest.mark.parametrize("name", ["absent", "absent.json"])
def test_a_path_that_is_not_there_is_told_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="there is no such file or folder; expected profiles"):
        load_profiles(tmp_path / name)


def test_a_file_of_another_kind_is_told_which_are_read(tmp_path: Path) -> None:
    path = put(tmp_path / "clients.csv", SMALL)
    assert problems(path)[0].startswith(
        "clients.csv: its name ends in none of .yaml, .yml and .json; expected profiles"
    )


def test_a_name_that_marks_benign_variants_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "bee.benign.json", SMALL)
    (only,) = problems(tmp_path)
    assert only.startswith("bee.benign.json: the name of a file must not end in .benign")


def test_an_unreadable_file_is_told_so(tmp_path: Path) -> None:
    put(tmp_path / "good.json", SMALL)
    (tmp_path / "gone.json").symlink_to(tmp_path / "nowhere.json")
    assert problems(tmp_path) == ["gone.json: cannot be read: No such file or directory"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)
_KEYS = st.sampled_from([*DIAGRAM, *PATIENT, *DIAGRAM["cognitive_models"][0], "language", "Life History", "x", ""])
_CHANGES = st.dictionaries(_KEYS, _VALUES | st.sampled_from([*DIAGRAM.values()]), max_size=4)
_RECORDS = st.builds(
    lambda base, changes: {**base, **changes}, st.sampled_from([{}, SMALL, DIAGRAM, PATIENT]), _CHANGES
)
_DOCUMENTS = (
    _VALUES | _RECORDS | st.lists(_RECORDS, max_size=3) | st.dictionaries(st.text(max_size=4), _RECORDS, max_size=3)
)


@settings(max_examples=300, deadline=None)
@given(document=_DOCUMENTS)
def test_of_every_document_each_object_is_a_profile_or_there_are_problems(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    path = put(tmp_path_factory.mktemp("any") / "a.json", document)
    try:
        found = load_profiles(path)
    except TaxonomyError as error:
        assert error.problems
        assert all(problem.startswith(f"{path}") and "\n" not in problem for problem in error.problems)
        assert max(Counter(error.problems).values()) == 1
    else:
        assert len(found.profiles) == (1 if "a" in found.profiles else len(document))
        assert all(profile.life_history and profile.core_beliefs for profile in found.profiles.values())
