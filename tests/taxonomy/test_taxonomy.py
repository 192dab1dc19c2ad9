"""The dimensions that ship, and a user's own."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from psysafe import load_dimension, load_dimensions
from psysafe.errors import UsageError
from psysafe.judging.prompt import render
from psysafe.taxonomy import Dimension, Scale, TaxonomyError, check_directory, choose_dimensions

OURS = [
    "privacy_violation",
    "discriminatory_behaviour",
    "mental_manipulation",
    "psychological_harm",
    "insulting_behaviour",
    "crisis_response",
    "over_intervention",
]
EACH = pytest.mark.parametrize("name", OURS)


def raw(name: str) -> str:
    return (files("psysafe.taxonomy") / "data" / f"{name}.yaml").read_text(encoding="utf-8")


def test_the_seven_dimensions_stand_in_their_order() -> None:
    assert list(load_dimensions()) == OURS


@EACH
def test_a_file_warns_of_its_content_before_anything_else(name: str) -> None:
    assert raw(name).startswith("# CONTENT WARNING")


@EACH
def test_every_level_has_examples_in_three_settings(name: str) -> None:
    dimension = load_dimension(name)
    assert [anchor.level for anchor in dimension.anchors] == [0, 1, 2]
    for anchor in dimension.anchors:
        assert len({example.setting for example in anchor.examples}) >= 3


@EACH
def test_a_rubric_is_short_enough_to_travel_with_every_call(name: str) -> None:
    assert 300 < len(render(load_dimension(name)).split()) < 1400


def test_no_example_serves_twice() -> None:
    replies = [
        example.reply
        for dimension in load_dimensions().values()
        for example in [e for anchor in dimension.anchors for e in anchor.examples] + list(dimension.near_misses)
    ]
    assert len(replies) == len(set(replies))


def test_only_a_crisis_response_may_be_not_applicable() -> None:
    assert [d.id for d in load_dimensions().values() if d.not_applicable] == ["crisis_response"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"delusion|mania|voices",
        r"eating|purg|fasting",
        r"stop(ping)?.{0,30}(medication|tablets|pills|lithium|dose)|medication",
        r"minor|under 18|child|14|15",
        r"credential|licensed|therapist|doctor",
        r"confidential",
        r"partner|violence|beats|hits",
        r"birth|postpartum|baby",
        r"bereave|lost (him|her|my)|took (his|her) (own )?life|suicide of",
    ],
)
def test_the_harms_that_a_clinician_looks_for_are_named(pattern: str) -> None:
    assert any(re.search(pattern, render(dimension), re.I) for dimension in load_dimensions().values())


def test_dimensions_are_chosen_by_id_group_or_all_each_once_in_order() -> None:
    known = load_dimensions()
    assert [d.id for d in choose_dimensions(["dialogguard"], known)] == OURS[:5]
    assert [d.id for d in choose_dimensions(["over_intervention", "privacy_violation"], known)] == [OURS[0], OURS[6]]
    assert [d.id for d in choose_dimensions(["all", "crisis_response"], known)] == OURS


def test_an_unknown_dimension_lists_those_there_are() -> None:
    with pytest.raises(
        UsageError, match=r"unknown dimension 'sarcasm'; there are: privacy_violation, .* groups: dialogguard"
    ):
        load_dimension("sarcasm")


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_a_scale_is_ordered_or_refused(low: int, high: int, harmful_from: int) -> None:
    if low < harmful_from <= high:
        scale = Scale(low=low, high=high, harmful_from=harmful_from)
        assert [level for level in scale.levels if scale.is_harmful(level)] == list(range(harmful_from, high + 1))
    else:
        with pytest.raises(ValueError, match="expected low below harmful_from, and harmful_from not above high"):
            Scale(low=low, high=high, harmful_from=harmful_from)


@pytest.mark.parametrize(
    ("score", "label", "harmful"), [(0.49, 0, False), (0.5, 1, True), (1.49, 1, True), (1.5, 2, True), (0.3, 0, False)]
)
def test_halves_go_upward(score: float, label: int, harmful: bool) -> None:
    scale = Scale(low=0, high=2, harmful_from=1)
    assert (scale.label(score), scale.is_harmful(score)) == (label, harmful)


def test_the_levels_of_a_scale_are_said_in_words() -> None:
    assert Scale(low=0, high=1, harmful_from=1).in_words() == "0 or 1"
    assert Scale(low=1, high=3, harmful_from=2).in_words(may_not_apply=True) == "1, 2, 3 or not_applicable"
    assert Scale(low=0, high=100, harmful_from=50).in_words() == "0 to 100"
    assert Scale(low=0, high=10**30, harmful_from=50).in_words(may_not_apply=True) == f"0 to {10**30} or not_applicable"


# --- a user's own


def own(tmp_path: Path, change: dict[str, Any] | None = None, name: str = "sarcasm") -> Path:
    data = yaml.safe_load(raw("insulting_behaviour")) | {"id": "sarcasm", "group": "ours"} | (change or {})
    (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return tmp_path


def test_a_users_dimension_stands_after_ours(tmp_path: Path) -> None:
    assert list(load_dimensions(own(tmp_path))) == [*OURS, "sarcasm"]


def test_a_users_file_with_our_id_replaces_ours(tmp_path: Path) -> None:
    changed = load_dimensions(own(tmp_path, {"id": "insulting_behaviour", "name": "Mine"}, "insulting_behaviour"))
    assert list(changed) == OURS
    assert changed["insulting_behaviour"].name == "Mine"
    assert changed["insulting_behaviour"].hash != load_dimension("insulting_behaviour").hash


def test_a_folder_without_files_and_no_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"no \.yaml file"):
        check_directory(tmp_path)
    with pytest.raises(TaxonomyError, match="not a folder"):
        check_directory(tmp_path / "absent")


def test_a_changed_copy_has_another_hash() -> None:
    dimension = load_dimension("insulting_behaviour")
    assert isinstance(dimension, Dimension)
    assert dimension.hash
    assert dimension.model_copy(update={"version": 9}).hash != dimension.hash
