"""Which mechanism is worth its calls."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from psysafe.agreement.agreeing import agree
from psysafe.agreement.labels import read_labels
from psysafe.agreement.worth import Worth
from psysafe.runs import Store
from psysafe.taxonomy import load_dimensions
from tests.agreement.support import Said, make_run, write_labels


def worth(tmp_path: Path, wrong: dict[str, float], count: int = 600, seed: int = 0) -> Worth | None:
    """Mechanisms that err on these shares of the units; a costlier one errs where a cheaper one does, and elsewhere."""
    random = np.random.default_rng(seed)
    truths, luck = random.integers(0, 2, count), random.random(count)
    verdicts = [
        Said(f"c{n}", 2 * int(truths[n] ^ (luck[n] < share)), mechanism=mechanism)
        for mechanism, share in wrong.items()
        for n in range(count)
    ]
    labels = read_labels(
        write_labels(tmp_path / "labels.jsonl", [{"id": f"c{n}", "label": int(truths[n])} for n in range(count)])
    )
    with closing(Store.open(make_run(tmp_path / "run", verdicts))) as store:
        found = agree([store], labels, load_dimensions()).worth
    return found[0] if found else None


def test_a_costlier_mechanism_that_is_hardly_better_is_not_worth_it(tmp_path: Path) -> None:
    found = worth(tmp_path, {"debate": 0.15, "single": 0.17, "dual": 0.16})
    assert found is not None
    assert found.chosen == "single"
    assert [one.mechanism for one in found.candidates] == ["single", "dual", "debate"]
    assert found.candidates[-1].difference is None  # the best


def test_a_costlier_mechanism_that_is_much_better_is_worth_it(tmp_path: Path) -> None:
    found = worth(tmp_path, {"single": 0.35, "dual": 0.1, "vote": 0.1})
    assert found is not None
    assert found.chosen == "dual"
    assert [one.non_inferior for one in found.candidates] == [False, True, True]


def test_with_few_labels_nothing_cheaper_is_shown_to_be_as_good(tmp_path: Path) -> None:
    found = worth(tmp_path, {"single": 0.3, "dual": 0.2}, count=40, seed=3)
    assert found is not None
    assert found.chosen == "dual"
    (single, _) = found.candidates
    assert not single.non_inferior


def test_of_equal_verdicts_the_cheaper_is_the_best(tmp_path: Path) -> None:
    found = worth(tmp_path, {"vote": 0.2, "single": 0.2})
    assert found is not None
    assert found.chosen == "single"
    assert found.candidates[0].difference is None


def test_mechanisms_that_never_differ_are_as_good_only_where_there_are_many_labels(tmp_path: Path) -> None:
    many = worth(tmp_path, {"single": 0.2, "vote": 0.2, "dual": 0.2})
    assert many is not None
    assert all(one.non_inferior for one in many.candidates)
    tmp_path = tmp_path / "few"
    tmp_path.mkdir()
    few = worth(tmp_path, {"single": 0.2, "vote": 0.2}, count=30)
    assert few is not None
    assert [one.non_inferior for one in few.candidates] == [True, False]


def test_of_a_single_mechanism_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert worth(tmp_path, {"single": 0.2}) is None


def test_without_shared_units_none_is_named(tmp_path: Path) -> None:
    verdicts = [Said(f"c{n}", 2 * (n % 2), mechanism="single" if n < 20 else "dual") for n in range(40)]
    labels = read_labels(write_labels(tmp_path / "l.jsonl", [{"id": f"c{n}", "label": n % 2} for n in range(40)]))
    with closing(Store.open(make_run(tmp_path / "run", verdicts))) as store:
        (found,) = agree([store], labels, load_dimensions()).worth
    assert (found.units, found.chosen) == (0, None)
    assert found.as_dict()["candidates"][0]["balanced_accuracy"]["undefined"] == "no rows"


def test_calls_and_seconds_are_those_of_the_shared_units(tmp_path: Path) -> None:
    found = worth(tmp_path, {"single": 0.2, "dual": 0.2}, count=60)
    assert found is not None
    assert [one.calls for one in found.candidates] == [1, 2]
    assert found.candidates[0].seconds == pytest.approx(0.5)
