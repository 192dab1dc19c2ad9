"""Systems beside each other, unit by unit."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from psysafe.agreement.comparing import Comparison, compare
from psysafe.agreement.labels import read_labels
from psysafe.errors import UsageError
from psysafe.runs import Store
from psysafe.stats.undefined import Undefined
from psysafe.taxonomy import load_dimensions
from tests.agreement.support import D, Said, make_run, write_labels


def compared(tmp_path: Path, *runs: Iterable[Said], labels: Iterable[dict[str, Any]] | None = None) -> Comparison:
    with ExitStack() as stack:
        stores = []
        for number, verdicts in enumerate(runs):
            stores.append(Store.open(make_run(tmp_path / f"run{number}", verdicts)))
            stack.callback(stores[-1].close)
        found = None if labels is None else read_labels(write_labels(tmp_path / "labels.jsonl", labels))
        return compare(stores, found, load_dimensions(), draws=400)


def test_two_runs_are_paired_by_unit(tmp_path: Path) -> None:
    before = [Said(f"c{n}", 0) for n in range(40)] + [Said("gone", 2)]
    after = [Said(f"c{n}", 2 if n < 10 else 0) for n in reversed(range(40))] + [Said("new", 2)]
    (one,) = compared(tmp_path, before, after).compared
    assert (one.units, one.both, one.harmful, one.changed) == (40, 40, (0, 10), (0, 10))
    assert one.flagged.value == pytest.approx(0.25)
    assert one.score.value == pytest.approx(0.5)
    assert isinstance(one.flagged.p_value, float)
    assert one.flagged.p_value < 0.01
    assert not isinstance(one.mcnemar, Undefined)
    assert one.mcnemar.p_value == pytest.approx(2 / 2**10)


def test_mechanisms_and_models_of_one_run_are_systems_too(tmp_path: Path) -> None:
    verdicts = [
        Said(f"c{n}", 2 * (n % 2), model=model, mechanism=mechanism)
        for n in range(20)
        for model in ("a", "b")
        for mechanism in ("single", "dual")
    ]
    found = compared(tmp_path, verdicts)
    assert found.baseline[1:] in {("a", "single"), ("a", "dual")}
    assert len(found.compared) == 3
    for one in found.compared:
        assert one.flagged.value == 0.0
        assert one.flagged.p_value == Undefined("the two never differ")
        assert one.adjusted == {}


def test_outcomes_that_moved_are_told_and_in_no_difference(tmp_path: Path) -> None:
    before = [Said(f"c{n}", 0) for n in range(20)]
    after = [Said(f"c{n}", "unscored" if n < 5 else 0) for n in range(20)]
    (one,) = compared(tmp_path, before, after).compared
    assert (one.units, one.both) == (20, 15)
    assert one.moved == {"scored -> unscored": 5}
    assert one.as_dict()["moved"] == {"scored -> unscored": 5}


def test_conversations_that_read_otherwise_are_counted(tmp_path: Path) -> None:
    before = [Said(f"c{n}", 0) for n in range(20)]
    after = [Said(f"c{n}", 0, text="another answer" if n < 7 else None) for n in range(20)]
    (one,) = compared(tmp_path, before, after).compared
    assert one.other_text == 7


def test_labels_add_agreement_with_people(tmp_path: Path) -> None:
    truths = [n % 2 for n in range(60)]
    before = [Said(f"c{n}", 2 * (truth ^ (n % 3 == 0))) for n, truth in enumerate(truths)]
    after = [Said(f"c{n}", 2 * truth) for n, truth in enumerate(truths)]
    labels = [{"id": f"c{n}", "label": truth} for n, truth in enumerate(truths)]
    (one,) = compared(tmp_path, before, after, labels=labels).compared
    assert one.accuracy is not None
    assert one.area is not None
    assert one.accuracy.value == one.area.value == pytest.approx(1 / 3)
    assert one.labelled == 60
    (alone,) = compared(tmp_path / "again", before, after).compared if (tmp_path / "again").mkdir() is None else ()
    assert alone.accuracy is alone.area is None


def test_all_tests_are_corrected_together(tmp_path: Path) -> None:
    baseline = [Said(f"c{n}", 0, dimension=dimension) for n in range(30) for dimension in (D, "privacy_violation")]
    other = [
        Said(f"c{n}", 2 if n < 4 else 0, dimension=dimension)
        for n in range(30)
        for dimension in (D, "privacy_violation")
    ]
    found = compared(tmp_path, baseline, other)
    raw = [d.p_value for one in found.compared for d in one.differences().values()]
    adjusted = [p for one in found.compared for p in one.adjusted.values()]
    assert len(raw) == len(adjusted) == 4
    assert all(a > p for a, p in zip(adjusted, raw, strict=True) if isinstance(p, float))


def test_scores_of_votes_cut_short_are_left_out_of_the_mean(tmp_path: Path) -> None:
    before = [Said(f"c{n}", 0) for n in range(20)]
    after = [Said(f"c{n}", 2, more={"flags": ("curtailed",)} if n < 15 else {}) for n in range(20)]
    (one,) = compared(tmp_path, before, after).compared
    assert one.flagged.value == pytest.approx(1.0)
    assert one.score.value == pytest.approx(2.0)  # of five units
    assert one.both == 20


def test_one_system_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to compare it with: give two runs"):
        compared(tmp_path, [Said("c0", 0)])


def test_runs_without_a_common_unit_are_refused_or_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no unit of .* was judged by another system"):
        compared(tmp_path, [Said("c0", 0)], [Said("other", 0)])
    tmp_path = tmp_path / "three"
    tmp_path.mkdir()
    found = compared(tmp_path, [Said("c0", 0)], [Said("c0", 0)], [Said("other", 0)])
    assert [system[0] for system in found.alone] == [str(tmp_path / "run2")]
