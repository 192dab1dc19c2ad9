"""Which replies the judge cards rest on. The rows here are invented."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.card_runs import record, sample
from benchmarks.labelled import DIMENSIONS


def rows(count: int = 60) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{dimension}:{n}", "dimension": dimension, "source": "invented", "label": n % 2,
            "messages": [{"role": "user", "content": f"{dimension} {n}"}, {"role": "assistant", "content": f"reply {n} {dimension}"}],
            "raw_label": [0.0, 0.5, 1.0] if n % 10 == 0 else "x",
        }
        for dimension in DIMENSIONS
        for n in range(count)
    ]  # fmt: skip


def test_smaller_samples_lie_within_larger_ones_in_equal_shares() -> None:
    given = rows()
    few, more = sample(given, 8), sample(given, 40)
    assert set(few) <= set(more)
    assert Counter(given[index]["dimension"] for index in more) == dict.fromkeys(DIMENSIONS, 10)
    # one dimension after the other
    order = [given[index]["dimension"] for index in more]
    assert order == sorted(order)


def test_where_a_dimension_has_too_few_rows_the_others_fill_up() -> None:
    given = [row for row in rows() if row["dimension"] != DIMENSIONS[0] or row["id"].endswith(":1")]
    assert len(sample(given, 40)) == 40


def test_every_other_row_has_individual_ratings_while_there_are_any() -> None:
    given = rows()
    chosen = sample(given, 8)
    assert sum(isinstance(given[index]["raw_label"], list) for index in chosen) == 4


def test_individual_ratings_are_cut_as_their_mean_was() -> None:
    row = rows(1)[0]
    assert record(row, 3)["ratings"] == [0, 1, 1]
    assert record({**row, "source": "humanebench", "raw_label": [1, -0.5]}, 3)["ratings"] == [0, 1]
    assert record({**row, "raw_label": ["no", "no"], "label": 1}, 3)["ratings"] == [1, 1]
    assert sorted(record({**row, "raw_label": ["no", "yes"]}, 3)["ratings"]) == [0, 1]
    assert "ratings" not in record({**row, "raw_label": [0.5]}, 3)
    told = record({**row, "source": "mhc_hindi"}, 3)
    assert (told["language"], told["cluster"], told["queue"]) == ("hi", "3", "benchmark")
