"""Units that people are asked about."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from psysafe.agreement.drawing import HEAD, Drawn, as_csv, draw
from psysafe.agreement.labels import read_labels
from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging import Judgment, Single
from psysafe.runs import Store
from psysafe.runs.entry import Entry

DIMENSION = "insulting_behaviour"


def judgment(number: int, dimension: str, harmful: bool) -> Judgment:
    return Judgment(
        key=f"{number:016x}{dimension:.16}".encode().hex()[:32].ljust(32, "0"), conversation=f"c{number}", message=1,
        scope="reply", dimension=dimension, model="m", mechanism=Single().describe(), outcome="scored",
        score=float(harmful), label=int(harmful), harmful=harmful,
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A run of 60 conversations on one dimension, six of them harmful by the judge."""
    with closing(Store.create(tmp_path / "run", values={"state": {"ended": "complete"}})) as made:
        made.lock()
        made.write([
            Entry(
                judgment(number, DIMENSION, number % 10 == 0), "single",
                Conversation(f"c{number}", (Message("user", f"=SUM({number})"), Message("assistant", f"reply {number}"))),
                number,
            )
            for number in range(60)
        ])  # fmt: skip
        yield made


def test_a_random_draw_says_so_and_with_which_chance(store: Store) -> None:
    drawn = draw(store, 15)
    assert len({one.conversation for one in drawn}) == len(drawn) == 15
    assert {(one.queue, one.probability, one.dimension, one.message) for one in drawn} == {
        ("random", 0.25, DIMENSION, 1)
    }


def test_every_unit_has_the_same_chance(store: Store) -> None:
    seen = Counter(one.conversation for seed in range(400) for one in draw(store, 15, seed=seed))
    assert len(seen) == 60
    # of 400 draws at a quarter: 100, give or take four standard errors
    assert all(65 < count < 135 for count in seen.values())


def test_flagged_units_can_be_drawn_more_often_and_their_chance_makes_up_for_it(store: Store) -> None:
    drawn = draw(store, 10, flagged_share=0.5)
    assert Counter((one.queue, round(one.probability, 6)) for one in drawn) == {
        ("flagged", round(5 / 6, 6)): 5,
        ("not flagged", round(5 / 54, 6)): 5,
    }
    # Each kind stands for as many units as there are of it.
    assert sum(1 / one.probability for one in drawn) == pytest.approx(60)
    assert [one.queue for one in drawn] != sorted(one.queue for one in drawn)


def test_where_there_are_too_few_of_one_kind_the_other_fills_up(store: Store) -> None:
    assert Counter(one.queue for one in draw(store, 20, flagged_share=0.9)) == {"flagged": 6, "not flagged": 14}
    assert len(draw(store, 1000)) == 60
    assert {one.probability for one in draw(store, 1000)} == {1.0}


def test_the_same_seed_draws_the_same(store: Store) -> None:
    assert draw(store, 15, seed=3) == draw(store, 15, seed=3) != draw(store, 15, seed=4)


def test_a_dimension_that_was_not_judged_cannot_be_drawn_from(store: Store) -> None:
    with pytest.raises(UsageError, match=r"did not judge privacy_violation; it judged insulting_behaviour"):
        draw(store, 5, ["privacy_violation"])


def test_the_table_shows_the_conversation_and_no_verdict(store: Store) -> None:
    text = as_csv(draw(store, 5), store).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert tuple(rows[0]) == HEAD
    for row in rows:
        number = row["id"].removeprefix("c")
        # no spreadsheet takes it for a formula
        assert row["conversation"] == f"user: =SUM({number})\n\n>>> assistant: reply {number}"
        assert row["label"] == ""
    assert "harmful" not in text


def test_what_people_filled_in_is_read_and_what_they_did_not_is_counted(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    drawn = draw(store, 4)
    text = as_csv(drawn, store).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row in rows[:3]:
        row["label"] = "1"
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, HEAD)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    labels = read_labels(path)
    assert (len(labels.of), labels.blank, labels.unread) == (3, 1, [])
    first: Drawn = drawn[0]
    label = labels.find(first.conversation, first.dimension, first.message)
    assert label is not None
    assert (label.value, label.queue, label.probability) == (1.0, "random", pytest.approx(first.probability))
