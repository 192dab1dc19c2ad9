"""The clients that come with psysafe: who is among them, how much is known of each, and that no two are alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files

import pytest

from psysafe.clients.loading import benign_profiles, shipped_profiles
from psysafe.clients.persona import describe
from psysafe.clients.profile import ACUITIES, AGE_BANDS, LEAST_WORDS, Profile, ProfileFile
from psysafe.taxonomy.typed import read_typed
from tests.support.overlap import overlaps

FOLDER = files("psysafe.clients") / "profiles"
MOST_SHARED = 0.2
GROUPS = {
    "depression", "anxiety", "psychosis", "delusion", "mania", "ocd", "eating_disorder", "substance_use", "trauma",
    "grief", "loneliness", "postpartum", "self_harm_risk", "partner_violence", "adolescence", "old_age", "carers",
}  # fmt: skip
# What no ordinary day is about.
CLINICAL = re.compile(
    r"\b(depress|panic|suicid|self-harm|kill|overdos|hallucinat|delusion|psychos|psychiatr|diagnos|relaps|manic|mania"
    r"|bipolar|anorex|bulimi|binge|purg|vomit|flashback|trauma|therap|medication|rape|strangl|threaten|withdrawal)",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def held() -> dict[str, ProfileFile]:
    """All files, by the id that their name says."""
    paths = sorted(FOLDER.iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(".yaml"): read_typed(path, ProfileFile) for path in paths}


def texts_of(value: object) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        yield from texts_of(list(value.values()))


def counted(profile: Profile) -> int:
    """Words of the conceptualization, counted apart from the loader."""
    fields = (
        profile.life_history, profile.core_beliefs, profile.core_belief_description, profile.intermediate_beliefs,
        profile.intermediate_beliefs_in_episode, profile.coping_strategies,
        [model.model_dump() for model in profile.cognitive_models],
    )  # fmt: skip
    return sum(len(text.split()) for text in texts_of(fields))


# Who is among them


def test_there_are_at_least_64_clients_each_in_a_file_of_its_name(held: dict[str, ProfileFile]) -> None:
    assert len(held) >= 64
    assert {name: found.id for name, found in held.items()} == {name: name for name in held}
    assert list(shipped_profiles()) == sorted(held)


def test_every_group_is_there_with_several_clients(held: dict[str, ProfileFile]) -> None:
    assert {profile.group for profile in shipped_profiles().values()} == GROUPS
    few = {group: n for group, n in Counter(found.group for found in held.values()).items() if n < 3}
    assert few == {}


def test_an_id_begins_with_its_group(held: dict[str, ProfileFile]) -> None:
    assert [name for name, found in held.items() if not name.startswith(f"{found.group}_")] == []


def test_all_ages_and_all_acuities_are_there(held: dict[str, ProfileFile]) -> None:
    assert {found.age_band for found in held.values()} == set(AGE_BANDS)
    assert {found.acuity for found in held.values()} == set(ACUITIES)


def test_every_file_begins_with_a_warning() -> None:
    firsts = {path.name: path.read_text(encoding="utf-8").split("\n")[0] for path in FOLDER.iterdir()}
    assert {name: line for name, line in firsts.items() if not re.match(r"# CONTENT WARNING: .{20,}", line)} == {}


# How much is known of each


def test_each_conceptualization_has_at_least_180_words() -> None:
    assert LEAST_WORDS == 180
    short = {name: counted(profile) for name, profile in shipped_profiles().items() if counted(profile) < 180}
    assert short == {}


def test_the_conceptualization_is_whole_in_what_is_played() -> None:
    for name, profile in shipped_profiles().items():
        told = describe(profile)
        for text in texts_of([m.model_dump() for m in profile.cognitive_models]):
            assert text in told, name
        for text in (profile.life_history, profile.core_belief_description, *profile.core_beliefs):
            assert text in told, name


def test_a_profile_is_one_person_from_us_and_its_hash_is_of_its_content() -> None:
    profiles = shipped_profiles()
    assert {(profile.person, profile.source) for profile in profiles.values()} == {
        (name, "psysafe") for name in profiles
    }
    assert len({profile.hash for profile in profiles.values()}) == len(profiles)
    one = next(iter(profiles.values()))
    assert one.model_copy(update={"source": "elsewhere"}).hash == Profile(**one.model_dump()).hash
    assert Profile(**{**one.model_dump(), "speech": "Shouts."}).hash != one.hash


def test_no_client_has_a_label_of_the_group_in_the_first_line_that_it_writes(held: dict[str, ProfileFile]) -> None:
    """The counselor must find out: nobody begins with the name of a disorder."""
    said = {name: f"{found.opening} {found.opening_translation or ''}".casefold() for name, found in held.items()}
    labels = {group.replace("_", " ") for group in GROUPS - {"grief", "carers", "trauma"}} | {
        "bipolar",
        "schizophrenia",
    }
    assert {name for name, text in said.items() if any(re.search(rf"\b{label}\b", text) for label in labels)} == set()


# Languages


def test_at_least_eight_languages_besides_english(held: dict[str, ProfileFile]) -> None:
    assert len({found.language for found in held.values()} - {"en"}) >= 8


def others(held: dict[str, ProfileFile]) -> dict[str, ProfileFile]:
    return {name: found for name, found in held.items() if found.language != "en"}


def test_who_writes_in_another_language_has_idioms_a_voice_and_translations(held: dict[str, ProfileFile]) -> None:
    for name, found in others(held).items():
        assert len(found.idioms) >= 3, name
        assert len(found.voice) >= 4, name
        pairs = [(line.text, line.translation) for line in found.voice]
        pairs += [(idiom.phrase, idiom.literal) for idiom in found.idioms]
        pairs += [(idiom.phrase, idiom.meaning) for idiom in found.idioms]
        pairs += [(found.opening, found.opening_translation or "")]
        pairs += [(found.benign.opening, found.benign.opening_translation or "")]
        for text, translation in pairs:
            assert translation.isascii() or re.search(r"[a-z]{3}", translation), (name, translation)
            assert text.casefold() != translation.casefold(), (name, text)
        assert len(set(pairs)) == len(pairs), name


# A letter range that a text in the language must have, and where the script is another, no Latin word.
SCRIPTS = {"ar": "[؀-ۿ]", "hi": "[ऀ-ॿ]", "ja": "[぀-ヿ]", "uk": "[Ѐ-ӿ]", "zh": "[一-鿿]"}


def test_who_writes_in_another_script_writes_in_it_throughout(held: dict[str, ProfileFile]) -> None:
    written = {name: found for name, found in held.items() if found.language in SCRIPTS}
    assert written
    for name, found in written.items():
        lines = [found.opening, found.benign.opening, *(line.text for line in found.voice)]
        lines += [idiom.phrase for idiom in found.idioms]
        for line in lines:
            assert re.search(SCRIPTS[found.language], line), (name, line)
            assert not re.search(r"[A-Za-z]{4}", line), (name, line)


def test_english_lines_need_no_translation(held: dict[str, ProfileFile]) -> None:
    for name, found in held.items():
        if found.language == "en":
            assert (found.opening_translation, found.idioms, found.voice) == (None, (), ()), name


# The same person on an ordinary day


def test_every_client_has_a_benign_variant_that_is_the_same_person() -> None:
    profiles, benign = shipped_profiles(), benign_profiles()
    assert list(benign) == list(profiles)
    for name, day in benign.items():
        ill = profiles[name]
        assert (day.id, day.person) == (f"{name}.benign", ill.person)
        for field in ("group", "age_band", "setting", "culture", "language", "speech", "protective_factors"):
            assert getattr(day, field) == getattr(ill, field), (name, field)
        assert (ill.clinical, day.clinical) == (True, False)


def test_a_benign_variant_has_nothing_of_the_illness() -> None:
    profiles = shipped_profiles()
    for name, day in benign_profiles().items():
        ill, told = profiles[name], describe(day)
        assert day.acuity == "low"
        for field in ("disclosure", "help_seeking", "vulnerabilities", "core_belief_description", "coping_strategies"):
            assert not getattr(day, field), (name, field)
        for field in ("intermediate_beliefs", "intermediate_beliefs_in_episode", "idioms", "voice"):
            assert not getattr(day, field), (name, field)
        of_the_file = {"id", "person", "source", "group", "acuity", "language"}
        ill_only = set(texts_of(ill.model_dump(exclude=of_the_file))) - set(texts_of(day.model_dump())) - {""}
        assert [text for text in ill_only if text in told] == [], name


def test_a_benign_variant_speaks_of_no_disorder_and_no_danger(held: dict[str, ProfileFile]) -> None:
    found = {name: CLINICAL.findall(" ".join(texts_of(each.benign.model_dump()))) for name, each in held.items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_the_words_that_no_ordinary_day_is_about_are_those_of_bad_days(held: dict[str, ProfileFile]) -> None:
    """Else the test above could not fail."""
    ill = [CLINICAL.findall(" ".join(texts_of(each.model_dump(exclude={"benign"})))) for each in held.values()]
    assert sum(bool(words) for words in ill) > 20


def test_a_benign_variant_is_a_life_and_not_a_stub(held: dict[str, ProfileFile]) -> None:
    assert {name for name, found in held.items() if len(found.benign.life_history.split()) < 40} == set()


# No two alike


def test_no_two_profiles_are_written_from_one_template(held: dict[str, ProfileFile]) -> None:
    texts = {name: " ".join(texts_of(found.model_dump())) for name, found in held.items()}
    assert overlaps(texts, MOST_SHARED) == {}


def test_the_comparison_finds_a_profile_with_the_history_of_another(held: dict[str, ProfileFile]) -> None:
    texts = {name: " ".join(texts_of(found.model_dump())) for name, found in held.items()}
    one, other, *_ = texts
    texts[one] += " " + " ".join(texts[other].split()[:300])
    assert list(overlaps(texts, MOST_SHARED)) == [(one, other)]
