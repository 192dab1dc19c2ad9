"""What is measured of a judge against people, and what is not."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psysafe.agreement.agreeing import Agreement, agree
from psysafe.agreement.labels import read_labels
from psysafe.errors import UsageError
from psysafe.runs import Store
from psysafe.taxonomy import load_dimensions
from tests.agreement.support import D, Said, make_run, write_labels


def measured(
    tmp_path: Path,
    *runs: Iterable[Said],
    labels: Iterable[dict[str, Any]],
    elsewhere: Iterable[Said] = (),
    **options: Any,
) -> Agreement:
    """The agreement of some runs with labels."""
    with ExitStack() as stack:
        stores = []
        for number, verdicts in enumerate(runs):
            stores.append(Store.open(make_run(tmp_path / f"run{number}", verdicts)))
            stack.callback(stores[-1].close)
        if others := list(elsewhere):
            options["elsewhere"] = Store.open(make_run(tmp_path / "elsewhere", others))
            stack.callback(options["elsewhere"].close)
        found = read_labels(write_labels(tmp_path / "labels.jsonl", labels))
        return agree(stores, found, load_dimensions(), **options)


def figures(found: Agreement) -> dict[str, Any]:
    (one,) = found.as_dict()["measured"]
    return one  # type: ignore[no-any-return]


def balanced(count: int = 40) -> tuple[list[Said], list[dict[str, Any]]]:
    """Half of the units are harmful; of both halves every fifth verdict is wrong."""
    verdicts, labels = [], []
    for n in range(count):
        truth, wrong = n % 2, n // 2 % 5 == 0
        verdicts.append(Said(f"c{n}", 2 * (truth ^ wrong)))
        labels.append({"id": f"c{n}", "label": truth})
    return verdicts, labels


def test_figures_rest_on_units_that_both_gave_a_number(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    one = figures(measured(tmp_path, verdicts, labels=labels))
    assert (one["labelled"], one["compared"], one["clusters"]) == (40, 40, 40)
    for name in ("sensitivity", "specificity", "balanced_accuracy", "accuracy"):
        assert one["figures"][name]["value"] == pytest.approx(0.8)
        low, high = one["figures"][name]["interval"]
        assert 0.5 < low < 0.8 < high < 1
    assert one["figures"]["cohen_kappa"]["value"] == pytest.approx(0.6)
    assert one["figures"]["roc_auc"]["value"] == pytest.approx(0.8)
    assert one["spending"] == {
        "units": 40,
        "calls": 1.0,
        "cost": pytest.approx(0.001),
        "seconds": {"median": 0.5, "p95": 0.5},
    }


def test_what_has_no_verdict_is_counted_and_in_no_figure(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    # All that is left without a verdict would have been right, or wrong, if it were counted.
    for n, outcome in enumerate(("unscored", "unscored", "not_applicable", "reply_failed")):
        verdicts.append(Said(f"x{n}", outcome))
        labels.append({"id": f"x{n}", "label": 1})
    labels.append({"id": "c0x", "label": 1})
    one = figures(measured(tmp_path, verdicts, labels=labels))
    assert (one["labelled"], one["compared"]) == (44, 40)
    assert one["outcomes"] == {"scored": 40, "unscored": 2, "not_applicable": 1, "reply_failed": 1}
    assert one["by_reason"] == {"judge_refused": 2}
    assert one["harmful_without_verdict"] == {"unscored": 2, "not_applicable": 1, "reply_failed": 1}
    assert one["labels_without_judgment"] == 1
    assert one["figures"]["sensitivity"]["value"] == pytest.approx(0.8)


def test_what_people_call_not_applicable_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    verdicts += [Said("n1", 2), Said("n2", "not_applicable")]
    labels += [{"id": "n1", "label": "not_applicable"}, {"id": "n2", "label": "not_applicable"}]
    one = figures(measured(tmp_path, verdicts, labels=labels))
    assert one["compared"] == 40
    assert one["not_applicable"] == {"people": 2, "both": 1}


def test_a_vote_cut_short_counts_as_a_verdict_but_not_as_a_score(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    curtailed = [
        Said(one.id, one.verdict, more={"flags": ("curtailed",)}) if n < 10 else one for n, one in enumerate(verdicts)
    ]
    one = figures(measured(tmp_path, curtailed, labels=labels))
    assert one["figures"]["accuracy"]["n"] == 40
    assert one["figures"]["roc_auc"]["n"] == one["figures"]["spearman"]["n"] == one["figures"]["pearson"]["n"] == 30


def test_people_among_themselves_stand_beside_the_judge_on_the_same_units(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    for n in range(20):
        truth = labels[n].pop("label")
        # Two raters; they differ on every fourth unit.
        labels[n]["ratings"] = {"ann": truth, "bo": 1 - truth if n % 4 == 0 else truth}
    one = figures(measured(tmp_path, verdicts, labels=labels))
    ceiling = one["ceiling"]
    assert ceiling["units"] == 20
    assert ceiling["humans"]["raw_agreement"]["value"] == pytest.approx(0.75)
    judge = {said.id: int(said.verdict >= 0.5) for said in verdicts}
    same = [judge[label["id"]] == rating for label in labels[:20] for rating in label["ratings"].values()]
    assert ceiling["judge"]["raw_agreement"]["value"] == pytest.approx(np.mean(same))
    assert set(ceiling["humans"]) == {"raw_agreement", "krippendorff_alpha", "gwet_ac1"}


def test_a_tie_of_raters_is_harm(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    verdicts.append(Said("tie", 2))
    labels.append({"id": "tie", "ratings": [0, 1]})
    one = figures(measured(tmp_path, verdicts, labels=labels))
    assert one["figures"]["prevalence"]["value"] == pytest.approx(21 / 41)


def test_sources_and_languages_are_told_apart(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    for n, label in enumerate(labels):
        label |= {"source": "old" if n < 20 else "new", "language": "de"}
    one = figures(measured(tmp_path, verdicts, labels=labels))
    assert set(one["parts"]) == {"source"}  # of one language there is nothing to tell apart
    assert {name: part["sensitivity"]["n"] for name, part in one["parts"]["source"].items()} == {"new": 10, "old": 10}


def test_equal_words_and_named_clusters_are_one_piece_of_evidence(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    # Ten replies to one question, ten equal replies, and two of one profile.
    verdicts = [
        Said(one.id, one.verdict, user="the same" if n < 10 else None, text="Alike!" if 10 <= n < 20 else None)
        for n, one in enumerate(verdicts)
    ]
    labels[38]["cluster"] = labels[39]["cluster"] = "profile"
    assert figures(measured(tmp_path, verdicts, labels=labels))["clusters"] == 1 + 1 + 18 + 1


def test_too_few_clusters_leave_the_figure_without_interval(tmp_path: Path) -> None:
    verdicts = [Said(f"c{n}", 2 * (n % 2)) for n in range(4)]
    one = figures(measured(tmp_path, verdicts, labels=[{"id": f"c{n}", "label": n % 2} for n in range(4)]))
    assert one["figures"]["accuracy"]["value"] == 1.0
    assert one["figures"]["accuracy"]["interval_undefined"] == "too few clusters: 4, at least 5 are needed"


def test_one_class_of_labels_is_undefined_and_says_why(tmp_path: Path) -> None:
    verdicts = [Said(f"c{n}", 0) for n in range(20)]
    one = figures(measured(tmp_path, verdicts, labels=[{"id": f"c{n}", "label": 0} for n in range(20)]))
    for name, why in (("sensitivity", "no positive labels"), ("precision", "no positive verdicts")):
        assert one["figures"][name] == {"value": None, "interval": None, "n": 0, "undefined": why}
    assert "one and the same" in one["figures"]["cohen_kappa"]["undefined"]


def test_dimensions_without_labels_and_labels_without_judge_are_named(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    verdicts.append(Said("c0", 0, dimension="privacy_violation"))
    labels.append({"id": "c0", "dimension": "mental_manipulation", "label": 1})
    found = measured(tmp_path, verdicts, labels=labels)
    assert found.not_labelled == ["privacy_violation"]
    assert found.not_judged == {"mental_manipulation": 1}


def test_levels_are_harmful_where_the_rubric_says(tmp_path: Path) -> None:
    verdicts = [Said(f"c{n}", n % 3) for n in range(30)]
    one = figures(measured(tmp_path, verdicts, labels=[{"id": f"c{n}", "label": n % 3} for n in range(30)]))
    assert one["labels"] == "levels"
    assert one["figures"]["prevalence"]["value"] == pytest.approx(2 / 3)
    assert one["figures"]["spearman"]["value"] == pytest.approx(1.0)


def test_a_label_outside_its_scale_is_refused(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    with pytest.raises(UsageError, match=r"a label of insulting_behaviour is 3; expected 0 to 2"):
        measured(tmp_path, verdicts, labels=[*labels[:-1], {"id": "c39", "label": 3}])


def test_runs_that_hold_the_same_are_not_mixed(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    with pytest.raises(UsageError, match="two of the runs hold insulting_behaviour by m with single"):
        measured(tmp_path, verdicts, verdicts, labels=labels)


def test_labels_of_another_run_match_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no unit of the run is labelled: .*the first: other on insulting_behaviour"):
        measured(tmp_path, [Said("c0", 0)], labels=[{"id": "other", "label": 0}])


def test_of_several_judged_messages_a_label_has_to_name_one(tmp_path: Path) -> None:
    verdicts = [Said("c0", 0, message=1), Said("c0", 2, message=3), Said("c1", 0)]
    with pytest.raises(UsageError, match="the run judged 2 messages of this conversation, and the label names none"):
        measured(tmp_path, verdicts, labels=[{"id": "c0", "label": 1}])
    tmp_path = tmp_path / "named"
    tmp_path.mkdir()
    labels = [{"id": "c0", "message": 1, "label": 0}, {"id": "c0", "message": 3, "label": 1}]
    assert figures(measured(tmp_path, verdicts, labels=labels))["figures"]["accuracy"]["value"] == 1.0


def test_the_most_confident_disagreements_come_first(tmp_path: Path) -> None:
    verdicts, labels = [], []
    for n in range(30):
        score = n / 15
        verdicts.append(Said(f"c{n}", score, more={"rationale": f"because {n}", "harmful": score >= 0.5}))
        labels.append({"id": f"c{n}", "label": int(score < 0.5)})  # people always disagree
    one = figures(measured(tmp_path, verdicts, labels=labels))
    told = one["disagreements"]
    assert len(told) == 10
    assert told[0]["id"] == "c0"  # score 0 where people say harmful
    assert told[0]["rationale"] == "because 0"
    assert told[0]["people"] == "harmful"
    confidence = [item["confidence"] for item in told]
    assert confidence == sorted(confidence, reverse=True)
    assert {"c29", "c0", "c1"} <= {item["id"] for item in told}


def population(count: int = 400, prevalence: float = 0.25) -> tuple[list[Said], list[int]]:
    """Units of which a quarter are harmful; the judge misses a fifth of these and flags a tenth of the others."""
    verdicts, truths = [], []
    for n in range(count):
        truth = int(n % round(1 / prevalence) == 0)
        place = n // round(1 / prevalence)
        wrong = place % 5 == 0 if truth else place % 10 == n % 3 * 3
        verdicts.append(Said(f"c{n}", 2 * (truth ^ wrong)))
        truths.append(truth)
    return verdicts, truths


def test_rates_are_corrected_by_labels_that_were_drawn_at_random(tmp_path: Path) -> None:
    verdicts, truths = population()
    drawn = np.random.default_rng(1).permutation(400)[:160]
    labels = [{"id": f"c{n}", "label": truths[n], "queue": "random"} for n in drawn]
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    assert set(rates) == {"labels", "prediction_powered", "rogan_gladen"}
    for rate in rates.values():
        low, high = rate["interval"]
        assert low < 0.25 < high
        assert abs(rate["estimate"] - 0.25) < 0.08
    width = {name: rate["interval"][1] - rate["interval"][0] for name, rate in rates.items()}
    assert width["prediction_powered"] < width["labels"]


def test_known_unequal_chances_are_weighed(tmp_path: Path) -> None:
    verdicts, truths = population()
    flagged = [n for n, said in enumerate(verdicts) if said.verdict]
    others = [n for n, said in enumerate(verdicts) if not said.verdict]
    random = np.random.default_rng(2)
    labels = [
        {"id": f"c{n}", "label": truths[n], "queue": queue, "sampling_probability": 60 / len(of)}
        for queue, of in (("flagged", flagged), ("not flagged", others))
        for n in random.permutation(of)[:60]
    ]
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    for name in ("labels", "prediction_powered"):
        low, high = rates[name]["interval"]
        assert low < 0.25 < high
    assert "unequal probabilities" in rates["rogan_gladen"]["undefined"]
    # half of the labels are of flagged units, so that their plain mean would be far too high
    assert np.mean([label["label"] for label in labels]) > 0.4


def test_of_mixed_queues_the_random_labels_alone_correct(tmp_path: Path) -> None:
    verdicts, truths = population()
    drawn = np.random.default_rng(1).permutation(400)
    labels = [{"id": f"c{n}", "label": truths[n], "queue": "random"} for n in drawn[:100]]
    labels += [{"id": f"c{n}", "label": truths[n], "queue": "flagged"} for n in drawn[100:] if verdicts[n].verdict]
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    assert rates["labels"]["labelled"] == 100
    assert f"by 100 random labels of {len(labels)}" in rates["labels"]["note"]
    low, high = rates["prediction_powered"]["interval"]
    assert low < 0.25 < high


@pytest.mark.parametrize("queue", [{}, {"queue": "flagged"}])
def test_other_labels_correct_nothing(tmp_path: Path, queue: dict[str, str]) -> None:
    verdicts, labels = balanced()
    rates = figures(measured(tmp_path, verdicts, labels=[{**label, **queue} for label in labels]))["rates"]
    for rate in rates.values():
        assert rate["estimate"] is None
        assert rate["undefined"].startswith("the labels are not a random sample")


def test_another_runs_rate_rests_on_an_assumption_that_is_said(tmp_path: Path) -> None:
    verdicts, labels = balanced(200)
    other = [Said(f"o{n}", 2 * int(n % 10 < 4)) for n in range(200)]
    rate = figures(measured(tmp_path, verdicts, labels=labels, elsewhere=other))["rates"]["transported"]
    # (.4 + .8 - 1) / (.8 + .8 - 1)
    assert rate["estimate"] == pytest.approx(1 / 3, abs=0.01)
    assert rate["note"].startswith("ASSUMED: sensitivity and specificity there are as measured on these labels")


def test_a_judge_that_is_no_better_than_a_coin_corrects_nothing(tmp_path: Path) -> None:
    verdicts = [Said(f"c{n}", 2 * (n // 2 % 2)) for n in range(80)]
    labels = [{"id": f"c{n}", "label": n % 2, "queue": "random"} for n in range(80)]
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    assert rates["rogan_gladen"]["estimate"] is None
    assert "standard error" in rates["rogan_gladen"]["undefined"]


def test_probabilities_are_held_against_what_came_true(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    stated = [Said(one.id, one.verdict, more={"probability": 0.8 if one.verdict else 0.2}) for one in verdicts]
    one = figures(measured(tmp_path, stated, labels=labels))
    assert one["probabilities"]["brier"]["value"] == pytest.approx(0.16)
    tmp_path = tmp_path / "none"
    tmp_path.mkdir()
    assert figures(measured(tmp_path, verdicts, labels=labels))["probabilities"] is None


def test_the_dimension_of_a_run_must_be_known(tmp_path: Path) -> None:
    verdicts, labels = balanced()
    found = read_labels(write_labels(tmp_path / "l.jsonl", labels))
    store = Store.open(make_run(tmp_path / "run", verdicts))
    with pytest.raises(UsageError, match="insulting_behaviour is no dimension that psysafe knows"):
        agree([store], found, {})
    store.close()
    assert D in load_dimensions()


def test_labels_that_are_levels_count_how_far_a_verdict_is_off(tmp_path: Path) -> None:
    people = [n % 3 for n in range(60)]
    near = [Said(f"c{n}", min(2, level + (n % 5 == 0))) for n, level in enumerate(people)]
    far = [Said(f"c{n}", 2 - level if n % 5 == 0 else level) for n, level in enumerate(people)]
    labels = [{"id": f"c{n}", "ratings": [level, min(2, level + (n % 4 == 0))]} for n, level in enumerate(people)]
    found = {}
    for name, verdicts in (("near", near), ("far", far)):
        (tmp_path / name).mkdir()
        found[name] = figures(measured(tmp_path / name, verdicts, labels=labels))
    for figure in ("weighted_kappa", "alpha_ordinal", "alpha_interval"):
        assert found["near"]["figures"][figure]["value"] > found["far"]["figures"][figure]["value"] + 0.1
    humans = found["near"]["ceiling"]["humans"]
    assert set(humans) == {"raw_agreement", "krippendorff_alpha", "gwet_ac1", "alpha_ordinal", "alpha_interval"}
    # Raters differ on every fourth unit where a level is left above, by one level.
    assert 0.8 < humans["alpha_interval"]["value"] < 1.0
    assert "weighted_kappa" not in figures(measured(tmp_path, *[balanced()[0]], labels=balanced()[1]))["figures"]


def rare(count: int = 1200) -> tuple[list[Said], list[int]]:
    """A twentieth is harmful; the judge finds half of it and flags few others."""
    verdicts, truths = [], []
    for n in range(count):
        truth = int(n % 20 == 0)
        flagged = n % 40 == 0 if truth else n % 33 == 1
        verdicts.append(Said(f"c{n}", 2 * int(flagged)))
        truths.append(truth)
    return verdicts, truths


def test_labels_of_a_flagged_draw_do_not_flatter_the_judge(tmp_path: Path) -> None:
    """Half of what was drawn is flagged, so that unweighted labels would find nearly all harm flagged."""
    from psysafe.agreement.drawing import draw

    verdicts, truths = rare()
    store = Store.open(make_run(tmp_path / "drawn", verdicts))
    drawn = draw(store, 300, flagged_share=0.5)
    store.close()
    labels = [
        {
            "id": one.conversation, "message": one.message, "queue": one.queue,
            "sampling_probability": one.probability, "label": truths[int(one.conversation[1:])],
        }
        for one in drawn
    ]  # fmt: skip
    one = figures(measured(tmp_path, verdicts, labels=labels))
    low, high = one["figures"]["sensitivity"]["interval"]
    assert low < 0.5 < high
    assert one["figures"]["prevalence"]["value"] == pytest.approx(0.05, abs=0.03)
    for name in ("cohen_kappa", "spearman"):
        assert "unequal probabilities" in one["figures"][name]["undefined"]
    unweighted = [{**label, "sampling_probability": None} for label in labels]
    (tmp_path / "flat").mkdir()
    flat = figures(measured(tmp_path / "flat", verdicts, labels=unweighted))
    assert flat["figures"]["sensitivity"]["value"] > one["figures"]["sensitivity"]["value"] + 0.15


def test_what_does_not_apply_is_no_harm_in_a_rate(tmp_path: Path) -> None:
    """Half of the units do not apply; the judge flags them all, and is right on the rest, of which a tenth is harmful."""
    verdicts, labels = [], []
    for n in range(600):
        harmful = n % 20 == 0
        verdicts.append(Said(f"c{n}", 2 * int(harmful or n % 2)))
        if n % 3 != 0:
            labels.append({"id": f"c{n}", "label": "not_applicable" if n % 2 else int(harmful), "queue": "random"})
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    for rate in rates.values():
        low, high = rate["interval"]
        assert low < 0.05 < high
        assert rate["estimate"] == pytest.approx(0.05, abs=0.02)


def test_labels_drawn_from_a_part_of_the_run_correct_nothing(tmp_path: Path) -> None:
    verdicts, truths = population()
    labels = [{"id": f"c{n}", "label": truths[n], "queue": "random", "sampling_probability": 0.5} for n in range(100)]
    rates = figures(measured(tmp_path, verdicts, labels=labels))["rates"]
    assert "drawn from other units than the run holds: 100 of 400" in rates["labels"]["undefined"]


def test_labels_hold_for_the_words_that_people_saw(tmp_path: Path) -> None:
    from psysafe.agreement.drawing import HASH_DIGITS
    from tests.agreement.support import conversation

    verdicts, labels = balanced()
    for said, label in zip(verdicts, labels, strict=True):
        label["text_hash"] = conversation(said).content_hash()[:HASH_DIGITS]
    other = [Said(one.id, one.verdict, text="other words" if n < 8 else None) for n, one in enumerate(verdicts)]
    one = figures(measured(tmp_path, other, labels=labels))
    assert (one["compared"], one["labels_of_other_words"]) == (32, 8)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"prompt_version": "1"}, "another prompt"),
        ({"models": {"m": "another identity"}}, "another model"),
        ({"calibration": {"name": "cuts.json", "sha256": "1"}}, "another calibration"),
    ],
)
def test_sensitivity_is_not_carried_to_a_run_judged_otherwise(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    verdicts, labels = balanced(200)
    store = Store.open(make_run(tmp_path / "run", verdicts))
    other = Store.open(make_run(tmp_path / "other", [Said(f"o{n}", 2 * (n % 3 == 0)) for n in range(90)], **change))
    found = read_labels(write_labels(tmp_path / "l.jsonl", labels))
    (one,) = agree([store], found, load_dimensions(), elsewhere=other).as_dict()["measured"]
    assert told in one["rates"]["transported"]["undefined"]
    store.close()
    other.close()


def test_an_impossible_share_elsewhere_is_undefined_and_not_zero(tmp_path: Path) -> None:
    verdicts, labels = balanced(200)
    nothing = [Said(f"o{n}", 0) for n in range(200)]  # with a specificity of .8 a fifth would be flagged
    rate = figures(measured(tmp_path, verdicts, labels=labels, elsewhere=nothing))["rates"]["transported"]
    assert rate["estimate"] is None
    assert "outside what its sensitivity and specificity here allow" in rate["undefined"]
