"""The plan: what identifies a run, and how two runs differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from psysafe.judging import parse_mechanism
from psysafe.runs import Plan, manifest_difference
from psysafe.runs import plan as plan_module
from psysafe.taxonomy import load_dimensions
from tests.runs.support import Judge, chats, plan

KNOWN = load_dimensions()


def base() -> Plan:
    return plan(chats(3), Judge(), mechanisms=("single", "vote:samples=5"))


def changed(**parts: Any) -> list[str]:
    """The difference between the plan and one that was changed in a part."""
    return manifest_difference(base().manifest(), replace(base(), **parts).manifest())


def test_equal_plans_have_equal_manifests() -> None:
    assert changed() == []


def test_another_input_is_named_with_both_digests() -> None:
    other = {"files": [{"name": "chats.jsonl", "sha256": "1" * 64}], "skip_bad": False}
    (line,) = changed(source=other)
    assert line.startswith("source.files: the run has [{'name': 'chats.jsonl', 'sha256': '000")
    assert "asked for [{'name': 'chats.jsonl', 'sha256': '111" in line


def test_leaving_bad_records_out_is_another_input() -> None:
    other = base().source | {"skip_bad": True}
    assert changed(source=other) == ["source.skip_bad: the run has False, asked for True"]


def test_another_scope_is_named() -> None:
    assert changed(scope="conversation") == ["scope: the run has reply, asked for conversation"]


def test_dimensions_that_come_or_go_are_named() -> None:
    harm, insult = KNOWN["psychological_harm"], KNOWN["insulting_behaviour"]
    assert changed(dimensions=[insult, harm]) == [
        f"dimensions.psychological_harm: the run has none, asked for {harm.hash}"
    ]
    assert changed(dimensions=[harm]) == [
        f"dimensions.insulting_behaviour: the run has {insult.hash}, asked for none",
        f"dimensions.psychological_harm: the run has none, asked for {harm.hash}",
    ]


def test_a_rubric_of_which_one_word_changed_is_named() -> None:
    insult = KNOWN["insulting_behaviour"]
    edited = insult.model_validate(insult.model_dump() | {"definition": insult.definition + " Truly."})
    assert changed(dimensions=[edited]) == [
        f"dimensions.insulting_behaviour: the run has {insult.hash}, asked for {edited.hash}"
    ]


@pytest.mark.parametrize(
    "specs", [("single",), ("vote:samples=5", "single"), ("single", "vote:samples=6"), ("single:temperature=0.1",)]
)
def test_other_mechanisms_or_parameters_are_named(specs: tuple[str, ...]) -> None:
    (line,) = changed(mechanisms=[parse_mechanism(spec) for spec in specs])
    assert line.startswith("mechanisms: the run has [{'name': 'single'")


def test_another_model_is_named() -> None:
    assert changed(models=[Judge(name="scripted:other")]) == [
        "models.scripted:judge: the run has scripted, asked for none",
        "models.scripted:other: the run has none, asked for scripted",
    ]


def test_another_seed_is_named() -> None:
    assert changed(seed=1) == ["seed: the run has 0, asked for 1"]


def test_other_prompts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = base().manifest()
    monkeypatch.setattr(plan_module, "PROMPT_VERSION", "0.9")
    (line,) = manifest_difference(stored, base().manifest())
    assert line.startswith("prompt_version: the run has ")
    assert line.endswith(", asked for 0.9")


def test_a_part_that_only_one_version_of_psysafe_knows_is_named() -> None:
    assert manifest_difference({"seed": 0}, {"seed": 0, "redact": True}) == ["redact: the run has none, asked for True"]
    assert manifest_difference({"seed": 0, "redact": True}, {"seed": 0}) == ["redact: the run has True, asked for none"]


def test_a_long_value_is_cut() -> None:
    (line,) = manifest_difference({"models": ["x" * 1000]}, {"models": []})
    assert len(line) < 300


def test_every_part_of_a_plan_that_changes_a_judgment_is_in_the_manifest() -> None:
    assert set(base().manifest()) == {
        "source", "scope", "dimensions", "mechanisms", "models", "seed", "prompt_version",
    }  # fmt: skip


def test_units_and_calls_are_the_products() -> None:
    wanted = plan(
        chats(4),
        [Judge(name="scripted:a"), Judge(name="scripted:b")],
        dimensions=("insulting_behaviour", "crisis_response", "over_intervention"),
        mechanisms=("single", "dual", "vote:samples=5"),
    )
    assert wanted.units == len(list(wanted.tasks())) == 4 * 3 * 3 * 2
    assert wanted.calls == 4 * 3 * 2 * (1 + 2 + 5)
    assert len({task.key for task in wanted.tasks()}) == wanted.units
