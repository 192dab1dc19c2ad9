"""Cuts fitted on labels, written to a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psysafe.agreement.fitting import Fitted, fit, write
from psysafe.agreement.labels import read_labels
from psysafe.errors import UsageError
from psysafe.judging.calibration import load_calibration
from psysafe.runs import Store
from psysafe.taxonomy import load_dimension, load_dimensions
from tests.agreement.support import D, Said, make_run, write_labels


def fitted(tmp_path: Path, scores: list[float], truths: list[int], **manifest: Any) -> Fitted:
    verdicts = [Said(f"c{n}", float(score)) for n, score in enumerate(scores)]
    path = write_labels(tmp_path / "l.jsonl", [{"id": f"c{n}", "label": truth} for n, truth in enumerate(truths)])
    with closing(Store.open(make_run(tmp_path / "run", verdicts, **manifest))) as store:
        labels = read_labels(path)
        (found,) = fit([store], labels, load_dimensions())
        write([found], labels, [store], tmp_path / "cuts.json")
    return found


def shifted(count: int) -> tuple[list[float], list[int]]:
    """A judge whose scores are all too low: harm begins near 0.3, not at 0.5."""
    random = np.random.default_rng(0)
    truths = [n % 2 for n in range(count)]
    return [float(np.clip(0.15 + 0.3 * truth + random.normal(0, 0.08), 0, 2)) for truth in truths], truths


def test_a_shifted_judge_gets_a_cut_that_fits_it(tmp_path: Path) -> None:
    found = fitted(tmp_path, *shifted(200))
    assert found.cut is not None
    assert 0.2 < found.cut.cut < 0.4
    assert found.before == pytest.approx(0.5 + 0.5 * 0.25, abs=0.15)
    assert isinstance(found.after, float)
    assert found.after > 0.9
    low, high = found.cut.probability(0.1), found.cut.probability(0.6)
    assert low is not None
    assert high is not None
    assert low < 0.1 < 0.9 < high


def test_the_file_is_read_again_as_it_was_fitted(tmp_path: Path) -> None:
    found = fitted(tmp_path, *shifted(200))
    calibration = load_calibration(tmp_path / "cuts.json")
    assert calibration.of("m", "identity of m", "single", load_dimension(D)) == found.cut
    assert calibration.of("m", "identity of m", "dual", load_dimension(D)) is None
    assert calibration.of("other", "identity", "single", load_dimension(D)) is None


@pytest.mark.parametrize(
    ("truths", "why"), [([1] * 29 + [0] * 40, "29 positives"), ([1] * 40 + [0] * 29, "29 negatives")]
)
def test_below_thirty_of_each_no_cut_is_fitted(tmp_path: Path, truths: list[int], why: str) -> None:
    found = fitted(tmp_path, [0.1 + 0.3 * truth + n / 1000 for n, truth in enumerate(truths)], truths)
    assert found.cut is None
    assert found.why == f"{why}; no cut is fitted below 30"


def test_a_cut_that_does_no_better_on_left_out_rows_is_not_written(tmp_path: Path) -> None:
    truths = [n % 2 for n in range(80)]
    found = fitted(tmp_path, [2.0 * truth for truth in truths], truths)
    assert found.cut is None
    assert found.why is not None
    assert "does no better than the default (1.00, default 1.00)" in found.why
    assert load_calibration(tmp_path / "cuts.json").cuts == {}


def test_scores_of_another_rubric_fit_no_cut_of_this_one(tmp_path: Path) -> None:
    scores, truths = shifted(80)
    with pytest.raises(UsageError, match="judged with another rubric than the present one"):
        fitted(tmp_path, scores, truths, dimensions={D: "0" * 32})
