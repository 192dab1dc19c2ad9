"""Other people's profiles: their two JSON shapes with all irregularities, our own format, and notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from psysafe.clients.importing import load_profiles
from psysafe.clients.loading import shipped_profiles
from psysafe.clients.persona import describe
from psysafe.clients.profile import CognitiveModel, Profile
from tests.clients.foreign_profiles import DIAGRAM, OURS, PATIENT, SMALL, loaded, one, put, remarks

# The shape of Client-Psi-CM


def test_a_conceptualization_is_read_whole(tmp_path: Path) -> None:
    found = loaded(tmp_path, DIAGRAM)
    assert list(found.profiles) == ["one"]
    assert found.benign == {}
    assert remarks(found) == []
    assert found.profiles["one"] == Profile(
        id="one",
        group="depression",
        life_history="Grew up above a bakery and lost it in a flood.",
        core_beliefs=("I ruin things.", "Nobody stays."),
        core_belief_description="It began with the flood.",
        intermediate_beliefs=("If I plan nothing, nothing fails.",),
        intermediate_beliefs_in_episode=("Getting up is for others.",),
        coping_strategies=("Sleeps by day.", "Bakes at night."),
        cognitive_models=(
            CognitiveModel(situation="An oven goes out.", automatic_thoughts="My fault.", emotion="shame", behaviour="Leaves."),
            CognitiveModel(situation="A call.", automatic_thoughts="Bad news.", emotion="fear", behaviour="Lets it ring."),
        ),
        clinical=True,
        person="one",
        source="depression/one.json",
    )  # fmt: skip


LISTS = {
    "core_beliefs": "core_beliefs",
    "intermediate_beliefs": "intermediate_beliefs",
    "intermediate_beliefs_during_depression": "intermediate_beliefs_in_episode",
    "coping_strategies": "coping_strategies",
}


@pytest.mark.parametrize("key", LISTS)
def test_a_text_where_a_list_belongs_is_one_entry_and_not_one_for_each_letter(tmp_path: Path, key: str) -> None:
    """Case 18."""
    assert getattr(one(tmp_path, {**DIAGRAM, key: " I am a burden. "}), LISTS[key]) == ("I am a burden.",)


def test_a_list_where_a_text_belongs_is_joined_by_a_space(tmp_path: Path) -> None:
    moment = {
        "situation": ["At", "noon."],
        "automatic_thoughts": ["Oh.", "No."],
        "emotion": ["shame", "fear"],
        "behavior": ["Goes."],
    }
    changed = {"life_history": ["Was born.", "Moved."], "core_belief_description": ["Early.", "Loud."]}
    found = one(tmp_path, {**DIAGRAM, **changed, "cognitive_models": [moment]})
    assert (found.life_history, found.core_belief_description) == ("Was born. Moved.", "Early. Loud.")
    (model,) = found.cognitive_models
    assert (model.situation, model.automatic_thoughts, model.behaviour) == ("At noon.", "Oh. No.", "Goes.")
    assert model.emotion == "shame, fear"  # a list of words


def test_one_situation_without_its_list_is_one(tmp_path: Path) -> None:
    found = one(tmp_path, {**DIAGRAM, "cognitive_models": DIAGRAM["cognitive_models"][0]})
    assert [model.situation for model in found.cognitive_models] == ["An oven goes out."]


def test_only_a_life_history_and_core_beliefs_are_required(tmp_path: Path) -> None:
    found = one(tmp_path, SMALL)
    assert (found.life_history, found.core_beliefs, found.cognitive_models) == ("Keeps bees.", ("I am alone.",), ())


def test_case_spaces_and_hyphens_of_keys_do_not_matter(tmp_path: Path) -> None:
    spelled = {key.replace("_", " ").title(): value for key, value in DIAGRAM.items()}
    spelled["cognitive-models"] = [{k.upper(): v for k, v in m.items()} for m in spelled.pop("Cognitive Models")]
    put(tmp_path / "plain" / "depression" / "one.json", DIAGRAM)
    put(tmp_path / "spelled" / "depression" / "one.json", spelled)
    found = load_profiles(tmp_path / "spelled")
    assert found.profiles == load_profiles(tmp_path / "plain").profiles
    assert remarks(found) == []


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path, mark: bytes, end: bytes) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(mark + json.dumps(DIAGRAM, indent=2).encode().replace(b"\n", end))
    assert load_profiles(path).profiles["one"].core_beliefs == ("I ruin things.", "Nobody stays.")


# The shape of Patient-Psi and EmoAgent


def test_beliefs_by_kind_and_the_one_situation_are_read_whole(tmp_path: Path) -> None:
    found = one(tmp_path, PATIENT)
    assert found.life_history == "Repairs clocks and lives with an aunt."
    assert found.core_beliefs == ("I am stuck.", "I am no use.")
    assert found.intermediate_beliefs == ("If I am quiet I am left alone.",)
    assert found.intermediate_beliefs_in_episode == ("Even quiet is too loud.",)
    assert found.coping_strategies == ("Counts the ticking.",)
    assert found.speech == "reserved, tangential"
    assert found.cognitive_models == (
        CognitiveModel(
            situation="The aunt asks how the day was.", automatic_thoughts="She wants me gone.",
            emotion="sad, tense", behaviour="Goes to the workshop.",
        ),
    )  # fmt: skip


def test_the_name_of_a_person_is_not_kept_and_it_is_said_so(tmp_path: Path) -> None:
    found = loaded(tmp_path, PATIENT)
    (profile,) = found.profiles.values()
    assert "Quillon" not in profile.model_dump_json() + describe(profile) + "".join(found.notes)
    assert remarks(found) == [
        "'name' is not kept, since a client has no name here: depression/one.json",
        "'id' is not used, since ids are made from the names of files: depression/one.json",
    ]


def test_as_many_thoughts_as_situations_are_a_situation_each(tmp_path: Path) -> None:
    several = {
        "situation": ["Noon.", "Night."],
        "auto_thought": ["A.", "B."],
        "emotion": ["c", "d"],
        "behavior": ["E.", "F."],
    }
    models = one(tmp_path, {**PATIENT, **several}).cognitive_models
    assert [tuple(model.model_dump().values()) for model in models] == [
        ("Noon.", "A.", "c", "E."),
        ("Night.", "B.", "d", "F."),
    ]


def test_lists_of_different_lengths_are_one_situation(tmp_path: Path) -> None:
    several = {
        "situation": ["Noon.", "Rain."],
        "auto_thought": ["A."],
        "emotion": ["c", "d", "e"],
        "behavior": ["E.", "F."],
    }
    (model,) = one(tmp_path, {**PATIENT, **several}).cognitive_models
    assert tuple(model.model_dump().values()) == ("Noon. Rain.", "A.", "c, d, e", "E. F.")


def test_a_description_of_beliefs_is_no_disorder(tmp_path: Path) -> None:
    found = loaded(tmp_path, {**SMALL, "intermediate_belief_description": "Rules."}, "one.json")
    assert found.profiles["one"].group == "unknown"
    assert remarks(found) == ["unknown key 'intermediate_belief_description', not used: one.json"]


def test_a_situation_told_in_two_texts_stays_one(tmp_path: Path) -> None:
    (model,) = one(
        tmp_path, {**PATIENT, "situation": ["Noon.", "Rain."], "auto_thought": ["A.", "B."]}
    ).cognitive_models
    assert (model.situation, model.automatic_thoughts) == ("Noon. Rain.", "A. B.")


@pytest.mark.parametrize("empty", [[], "", None, [""]])
def test_a_kind_of_core_belief_that_the_person_does_not_have_may_be_empty(tmp_path: Path, empty: Any) -> None:
    found = one(tmp_path, {**PATIENT, "helpless_belief": empty, "unlovable_belief": empty})
    assert found.core_beliefs == ("I am no use.",)


def test_beliefs_marked_as_current_are_beliefs(tmp_path: Path) -> None:
    changed = {f"{key}_current" if key.endswith("less_belief") else key: value for key, value in PATIENT.items()}
    assert one(tmp_path, changed).core_beliefs == ("I am stuck.", "I am no use.")


def test_two_keys_of_one_list_are_put_together(tmp_path: Path) -> None:
    found = one(tmp_path, {**PATIENT, "core_beliefs": "I break clocks.", "Core Belief": "I am late."})
    assert found.core_beliefs == ("I am stuck.", "I am no use.", "I break clocks.", "I am late.")


# Several in a file


def test_a_list_is_numbered_by_its_entries(tmp_path: Path) -> None:
    found = loaded(tmp_path, [SMALL, {**SMALL, "core_beliefs": "Two."}], "anxiety/clients.json")
    assert {name: each.core_beliefs for name, each in found.profiles.items()} == {
        "clients-1": ("I am alone.",),
        "clients-2": ("Two.",),
    }


def test_an_object_of_profiles_is_read_by_its_keys(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"bee keeper": SMALL, "p2": PATIENT}, "clients.json")
    assert list(found.profiles) == ["bee keeper", "p2"]
    assert {each.person for each in found.profiles.values()} == {"bee keeper", "p2"}


# Our own format


def test_a_profile_in_our_format_comes_with_its_benign_variant(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "mania_stonemason.yaml").write_text(OURS, encoding="utf-8")
    found = load_profiles(tmp_path)
    assert found.notes == ()
    ours = shipped_profiles()["mania_stonemason"]
    assert found.profiles["mania_stonemason"] == ours.model_copy(update={"source": "deep/er/mania_stonemason.yaml"})
    assert found.profiles["mania_stonemason"].hash == ours.hash
    day = found.benign["mania_stonemason"]
    assert (day.id, day.person, day.clinical) == ("mania_stonemason.benign", "mania_stonemason", False)
    assert day.life_history != ours.life_history


def test_a_benign_variant_keeps_to_its_person_when_two_have_one_id(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mania_stonemason.yml").write_text(OURS, encoding="utf-8")
    put(tmp_path / "theirs" / "mania_stonemason.json", SMALL)
    found = load_profiles(tmp_path)
    assert list(found.profiles) == ["mine/mania_stonemason", "theirs/mania_stonemason"]
    assert list(found.benign) == ["mine/mania_stonemason"]
    assert found.benign["mine/mania_stonemason"].id == "mine/mania_stonemason.benign"
    assert found.benign["mine/mania_stonemason"].person == found.profiles["mine/mania_stonemason"].person


# Notes: nothing is dropped in silence


def test_unknown_keys_are_listed_with_the_files_that_have_them(tmp_path: Path) -> None:
    moment = {**DIAGRAM["cognitive_models"][0], "Intensity": 90}
    put(tmp_path / "a.json", {**DIAGRAM, "Gender": "f", "age": 40, "cognitive_models": [moment, moment]})
    put(tmp_path / "b.json", [SMALL, {**SMALL, "Gender": None}])
    assert remarks(load_profiles(tmp_path)) == [
        "unknown key 'cognitive_models, Intensity', not used: a.json",
        "unknown key 'Gender', not used: a.json, b.json (entry 2)",
        "unknown key 'age', not used: a.json",
    ]


def test_a_note_on_many_files_stays_one_line(tmp_path: Path) -> None:
    for number in range(12):
        put(tmp_path / f"{number:02}.json", {**SMALL, "age": 1})
    (note,) = remarks(load_profiles(tmp_path))
    assert note.endswith(": 00.json, 01.json, 02.json, 03.json, 04.json and 7 more")


def test_that_a_client_will_write_english_is_said_unless_the_file_says_a_language(tmp_path: Path) -> None:
    put(tmp_path / "a.json", {**SMALL, "Language": "pt-BR"})
    put(tmp_path / "b.json", SMALL)
    found = load_profiles(tmp_path)
    assert {name: each.language for name, each in found.profiles.items()} == {"a": "pt-BR", "b": "en"}
    assert found.notes == ("no 'language', so the client writes in English: b.json",)
