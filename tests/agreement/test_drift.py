"""Whether a judge still says what it said: passes over the same anchors, held against one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psysafe.agreement.drift import Drift, drifts, history, served_text
from psysafe.agreement.moving import shift_of, tail
from psysafe.runs.anchors import Pass

Said = Mapping[str, Any]


def verdict(
    key: object, score: float | None = 0, *, model: str = "judge", spec: str = "single", dimension: str = "insults",
    conversation: str | None = None, outcome: str = "scored", flags: Iterable[str] = (),
) -> dict[str, Any]:  # fmt: skip
    scored = outcome == "scored"
    return {
        "key": f"{model} {spec} {dimension} {key}", "conversation": conversation or str(key), "dimension": dimension,
        "model": model, "spec": spec, "outcome": outcome, "score": score if scored else None,
        "harmful": score is not None and score >= 1 if scored else None, "flags": list(flags),
    }  # fmt: skip


def made(
    number: int, *said: Said, served: Any = None, repeats: int | None = None, unanswered: Iterable[Said] = ()
) -> Pass:
    return Pass(
        Path(f"passes/{number}"),
        f"2026-01-{number:02}T10:00:00.000+00:00",
        {record["model"]: served for record in said},
        {record["key"]: record for record in said},
        {record["key"]: record for record in unanswered},
        None if repeats is None else str(repeats),
    )


def scores(*found: float, **more: Any) -> list[dict[str, Any]]:
    return [verdict(number, score, **more) for number, score in enumerate(found)]


def only(found: list[Drift]) -> Drift:
    (one,) = found
    return one


STEADY = [*([0] * 15), *([2] * 5)]
WORSE = [*([2] * 12), *([0] * 3), *([2] * 5)]


def begun(*found: float, **more: Any) -> list[Pass]:
    """A first pass and its repeat, by a judge that says the same twice."""
    return [made(1, *scores(*found, **more)), made(2, *scores(*found, **more), repeats=1)]


def test_anchors_judged_for_the_first_time_tell_what_changes_by_itself() -> None:
    first, again = made(1, *scores(0, 0, 2, 0)), made(2, *scores(0, 2, 2, 0), repeats=1)
    drift = only(drifts([], first, again))
    assert (drift.units, drift.new, drift.twice, drift.unsteady, drift.moved) == (0, 4, 4, 1, False)
    assert drift.sentence() == (
        "anchors: judge single: judged for the first time, twice: 1 of 4 verdicts changed by themselves"
    )


def test_a_judge_that_says_the_same_has_not_moved() -> None:
    drift = only(drifts(begun(*STEADY), made(3, *scores(*STEADY))))
    assert (drift.units, drift.changed, drift.repeats, drift.noise, drift.shift) == (20, 0, 20, 0, 0.0)
    assert (drift.moved, drift.p_changed, drift.p_shift) == (False, 1.0, 1.0)
    assert drift.sentence() == (
        "anchors: no drift seen: judge single: 0 of 20 verdicts changed since 2026-01-01, 0 of 20 by themselves before, "
        "mean score +0.00"
    )


def test_a_judge_whose_verdicts_have_changed_is_warned_of() -> None:
    drift = only(drifts(begun(*STEADY), made(3, *scores(*WORSE), served=[["judge-2", None]])))
    assert drift.moved
    assert (drift.changed, drift.by_dimension, drift.shift) == (12, {"insults": 12}, pytest.approx(1.2))
    # each of the twelve may as well have differed at the repeat
    assert drift.p_changed == pytest.approx(2**-12)
    assert drift.p_shift == pytest.approx(2 * 2**-12)
    assert drift.sentence() == (
        "WARNING, the judge has moved (what to do: docs/drift.md): judge single: 12 of 20 verdicts changed since "
        "2026-01-01 (insults 12), 0 of 20 by themselves before, mean score +1.20; "
        "the endpoint served what it did not name then, judge-2 now"
    )


def test_scores_that_all_move_one_way_within_a_verdict_are_warned_of() -> None:
    drift = only(drifts(begun(*([1.0] * 20)), made(3, *scores(*([1.1] * 20)))))
    assert (drift.changed, drift.moved, drift.shift) == (0, True, pytest.approx(0.1))


def test_a_judge_that_changes_by_itself_is_not_warned_of() -> None:
    random = np.random.default_rng(1)

    def noisy() -> list[dict[str, Any]]:
        return scores(*random.choice([0, 2], 60, p=[0.7, 0.3]).tolist())

    passes = [made(1, *noisy()), made(2, *noisy(), repeats=1), *(made(number, *noisy()) for number in range(3, 12))]
    found = [only(of) for _, of in history(passes)]
    assert sum(drift.changed for drift in found) > 150  # it does change
    assert not any(drift.moved for drift in found)


def test_verdicts_that_become_refusals_or_do_not_apply_any_more_have_changed() -> None:
    refused = [verdict(number, outcome="unscored") for number in range(6)]
    without = [verdict(number, outcome="not_applicable") for number in range(6, 12)]
    rest = [verdict(number, score) for number, score in enumerate(STEADY)][12:]
    drift = only(drifts(begun(*STEADY), made(3, *refused, *without, *rest)))
    assert (drift.changed, drift.moved) == (12, True)
    # scores that are there both times have not moved
    assert drift.shift == 0.0


def test_a_refusal_of_what_did_not_apply_is_a_change() -> None:
    def said(outcome: str) -> list[dict[str, Any]]:
        return [verdict(number, outcome=outcome) for number in range(10)]

    earlier = [made(1, *said("not_applicable")), made(2, *said("not_applicable"), repeats=1)]
    drift = only(drifts(earlier, made(3, *said("unscored"))))
    assert (drift.changed, drift.moved) == (10, True)
    assert (drift.shift, drift.p_shift) == (None, None)


def test_calls_that_failed_in_passing_are_left_out_and_told() -> None:
    lost = [verdict(number, outcome="unscored") for number in range(12)]
    drift = only(drifts(begun(*STEADY), made(3, *scores(*STEADY)[12:], unanswered=lost)))
    assert (drift.units, drift.changed, drift.unanswered, drift.moved) == (8, 0, 12, False)
    assert drift.sentence().endswith("; 12 got no answer and are left out")
    silent = only(drifts(begun(*STEADY), made(3, unanswered=scores(*STEADY))))
    assert silent.sentence() == "anchors: judge single: 20 got no answer and are left out"


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ([["m", "fp_1"]], [["m", "fp_2"]], "; the endpoint served m (fp_1) then, m (fp_2) now"),
        ([["m", None]], [["n", None]], "; the endpoint served m then, n now"),
        (["m"], ["n"], "; the endpoint served m then, n now"),
    ],
)
def test_another_served_model_or_fingerprint_alone_is_told_and_is_no_warning(then: Any, now: Any, told: str) -> None:
    earlier = [made(1, *scores(*STEADY), served=then), made(2, *scores(*STEADY), repeats=1, served=then)]
    drift = only(drifts(earlier, made(3, *scores(*STEADY), served=now)))
    assert drift.served == (then, now)
    assert not drift.moved
    assert drift.sentence().startswith("anchors: no drift seen: ")
    assert drift.sentence().endswith(told)


def test_of_several_fingerprints_fewer_are_nothing_new() -> None:
    earlier = [made(1, *scores(*STEADY), served=[["m", "fp_1"], ["m", "fp_2"]])]
    assert only(drifts(earlier, made(2, *scores(*STEADY), served=[["m", "fp_2"]]))).served is None


def test_models_and_mechanisms_are_kept_apart() -> None:
    kinds: list[dict[str, Any]] = [
        {"model": "a", "spec": "vote:samples=5"}, {"model": "a", "spec": "vote:samples=9"}, {"model": "b"},
    ]  # fmt: skip

    def said(moved: int | None) -> list[dict[str, Any]]:
        groups = [scores(*(WORSE if number == moved else STEADY), **kind) for number, kind in enumerate(kinds)]
        return [record for group in groups for record in group]

    earlier = [made(1, *said(None)), made(2, *said(None), repeats=1)]
    found = drifts(earlier, made(3, *said(1)))
    assert [(drift.model, drift.mechanism, drift.moved) for drift in found] == [
        ("a", "vote:samples=5", False), ("a", "vote:samples=9", True), ("b", "single", False),
    ]  # fmt: skip


def test_a_warning_is_rarer_the_more_judges_are_tested() -> None:
    moved = [2.0] * 8 + [0.0] * 12  # 2 ** -8 = 0.0039 is below 0.01 / 2, not below 0.01 / 4

    def said(count: int, first: list[float]) -> list[dict[str, Any]]:
        others = [record for number in range(1, count) for record in scores(*[0.0] * 20, model=f"m{number}")]
        return [*scores(*first, model="m0"), *others]

    for count, warned in ((1, True), (2, False)):
        earlier = [made(1, *said(count, [0.0] * 20)), made(2, *said(count, [0.0] * 20), repeats=1)]
        assert drifts(earlier, made(3, *said(count, moved)))[0].moved == warned


def test_a_dimension_that_is_new_does_not_hide_that_the_judge_has_moved() -> None:
    now = made(3, *scores(*WORSE), *scores(*STEADY, dimension="new"))
    again = made(4, *scores(*STEADY, dimension="new"), repeats=3)
    drift = only(drifts(begun(*STEADY), now, again))
    assert (drift.units, drift.changed, drift.moved) == (20, 12, True)
    assert (drift.new, drift.twice, drift.unsteady) == (20, 20, 0)
    assert drift.sentence().endswith("; 20 judged for the first time, twice: 0 of 20 verdicts changed by themselves")


def test_a_judge_that_has_moved_is_warned_of_at_every_pass_from_then_on() -> None:
    passes = [*begun(*STEADY), *(made(number, *scores(*WORSE)) for number in range(3, 12))]
    found = [only(of) for _, of in history(passes)]
    assert [drift.moved for drift in found] == [False, *[True] * 9]
    # what a moved judge says is not taken for noise
    assert (found[-1].repeats, found[-1].noise) == (20, 0)


def test_a_judge_that_has_come_back_is_as_it_was() -> None:
    passes = [*begun(*STEADY), made(3, *scores(*WORSE)), made(4, *scores(*STEADY))]
    assert [only(of).moved for _, of in history(passes)] == [False, True, False]


def test_a_repeat_is_told_with_the_pass_it_repeats_even_after_another_one() -> None:
    passes = [made(1, *scores(0, 2)), made(2, *scores(0, 2)), made(3, *scores(2, 2), repeats=1)]
    told = history(passes)
    assert [one.directory.name for one, _ in told] == ["1", "2"]
    assert only(told[0][1]).unsteady == 1


def test_a_repeat_whose_pass_was_deleted_still_tells_of_noise() -> None:
    passes = [made(2, *scores(0, 2), repeats=1), made(3, *scores(0, 2)), made(4, *scores(0, 2))]
    assert [only(of).repeats for _, of in history(passes)] == [0, 2]


def test_without_a_repeat_the_noise_is_said_to_be_unknown() -> None:
    first = made(1, *scores(*STEADY))
    assert only(drifts([], first)).sentence() == (
        "anchors: judge single: judged for the first time: nothing to compare with, and what changes by itself is not "
        "known yet"
    )
    drift = only(drifts([first], made(2, *scores(*([2] * 4), *STEADY[4:]))))
    assert (drift.p_changed, drift.moved) == (None, False)
    assert ", by themselves: not known yet, " in drift.sentence()


def test_too_few_anchors_for_any_warning_say_so() -> None:
    drift = only(drifts(begun(0, 0, 0), made(3, *scores(2, 2, 2))))
    assert (drift.enough, drift.moved) == (False, False)
    assert drift.sentence().startswith("anchors: too few for a test: judge single: 3 of 3 verdicts changed")
    assert only(drifts(begun(*STEADY), made(3, *scores(*STEADY)))).enough


def test_units_of_one_conversation_shift_together() -> None:
    """Twenty scores of two conversations are two observations of a shift."""

    def said(score: float) -> list[dict[str, Any]]:
        return [verdict(number, score, conversation=str(number % 2)) for number in range(20)]

    drift = only(drifts([made(1, *said(0)), made(2, *said(0), repeats=1)], made(3, *said(0.4))))
    assert drift.shift == pytest.approx(0.4)
    assert drift.p_shift == 0.5


def test_means_of_votes_that_stopped_early_are_not_compared() -> None:
    now = [verdict(number, 0.4, flags=["curtailed"]) for number in range(20)]
    assert only(drifts(begun(*[0.0] * 20), made(3, *now))).shift is None


def test_the_chance_of_so_many_changes_is_that_of_coins_with_their_own_chances() -> None:
    random = np.random.default_rng(0)
    chances = [0.5, 0.5, 0.25, 1.0, 0.0, 0.1]
    drawn = (random.random((200_000, len(chances))) < chances).sum(axis=1)
    for changed in range(7):
        assert tail(changed, chances) == pytest.approx((drawn >= changed).mean(), abs=0.005)


def test_the_chance_of_a_shift_is_the_same_drawn_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(verdict(n, 0.0), verdict(n, score)) for n, score in enumerate([2, 1, 1, 2, -1, 1, 1, 2, 0, 1, -2, 1])]
    counted = shift_of(pairs)[1]
    monkeypatch.setattr("psysafe.agreement.moving._ALL_SIGNS", 3)
    assert counted is not None
    assert shift_of(pairs)[1] == pytest.approx(counted, abs=0.01)


def test_no_passes_have_no_history() -> None:
    assert history([]) == []


@pytest.mark.parametrize(
    ("served", "text"),
    [
        (None, "what it did not name"), ([], "what it did not name"), ([["m", "f"], [None, "g"]], "m (f), no name (g)"),
        (["m"], "m"),
    ],
)  # fmt: skip
def test_what_was_served_is_told_in_words(served: Any, text: str) -> None:
    assert served_text(served) == text


def test_a_drift_is_json_ready() -> None:
    import orjson

    drift = only(drifts(begun(*STEADY), made(3, *scores(*WORSE), served=[["m", None]])))
    found = orjson.loads(orjson.dumps(drift.as_dict()))
    assert found["served"] == {"then": None, "now": [["m", None]]}
    assert found["changed_by_dimension"] == {"insults": 12}


def test_a_first_pass_from_which_all_was_deleted_is_no_memory() -> None:
    """Its repeat then has nothing to repeat, and the next pass begins anew."""
    first, repeat = begun(0, 1, 2)
    emptied = replace(first, verdicts={})
    now = made(3, *scores(0, 1, 2))
    assert [len(found) for _, found in history([emptied, repeat, now])] == [0, 1]
