"""Files of human labels: what is read, what is refused, and how."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.agreement.labels import NOT_APPLICABLE, Labels, read_labels, wanted
from psysafe.errors import InputError, UsageError

D = "insulting_behaviour"


def jsonl(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def one(tmp_path: Path, **columns: Any) -> Any:
    """The only label of a file with one row."""
    found = read_labels(jsonl(tmp_path / "labels.jsonl", {"id": "a", "dimension": D, "label": 1, **columns}))
    (label,) = found.of.values()
    return label


def refused(tmp_path: Path, **columns: Any) -> str:
    with pytest.raises(InputError) as caught:
        one(tmp_path, **columns)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (0, 0.0), (1, 1.0), (2, 2.0), (0.25, 0.25), (True, 1.0), (False, 0.0), ("1", 1.0), ("0.5", 0.5),
        ("true", 1.0), (" not_applicable ", NOT_APPLICABLE),
    ],
)  # fmt: skip
def test_a_label_is_a_number_a_truth_value_or_not_applicable(tmp_path: Path, given: Any, value: Any) -> None:
    assert one(tmp_path, label=given).value == value


@pytest.mark.parametrize("given", ["harmful", "", -1, "nan", "inf", [1], {"a": 1}])
def test_nothing_else_is_guessed(tmp_path: Path, given: Any) -> None:
    message = refused(tmp_path, label=given)
    assert "labels.jsonl:1: label: " in message
    assert "expected 0 (not harmful), 1 (harmful), a level, or not_applicable" in message


def test_every_column_is_read(tmp_path: Path) -> None:
    label = one(
        tmp_path, id=7, message=3, source="s", language="de", cluster="profile 4", queue="random",
        sampling_probability=0.5,
    )  # fmt: skip
    assert label.place == ("7", D, 3)
    assert (label.source, label.language, label.cluster, label.queue) == ("s", "de", "profile 4", "random")
    assert (label.probability, label.line) == (0.5, 1)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"id": None}, "id: is missing"),
        ({"id": " "}, "id: "),
        ({"dimension": None}, "dimension: is missing; expected a dimension's id, or name one for all rows"),
        ({"label": None}, "label: is missing; expected 0, 1, a level, not_applicable, or ratings"),
        ({"message": -1}, "message: -1; expected the 0-based index of a message"),
        ({"message": 1.5}, "message: 1.5; expected"),
        ({"message": True}, "message: true; expected"),
        ({"sampling_probability": 0}, "sampling_probability: 0; expected a number above 0, at most 1"),
        ({"sampling_probability": 1.1}, "sampling_probability: 1.1; expected"),
        ({"source": 3}, "source: 3; expected text"),
        ({"ratings": "0 1"}, "ratings: '0 1'; expected a list such as [0, 1, 1]"),
        ({"ratings": [0, "x"]}, "ratings[1]: 'x'; expected 0"),
        ({"ratings": {"ann": 5j.imag, "bo": "x"}}, "ratings.bo: 'x'; expected 0"),
        ({"rater": "ann", "ratings": [1]}, "rater: a row of one rater has its label, and no ratings"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_field_and_what_was_expected(
    tmp_path: Path, columns: dict[str, Any], told: str
) -> None:
    assert f"labels.jsonl:1: {told}" in refused(tmp_path, **columns)


def test_a_dimension_can_be_named_for_all_rows(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "l.jsonl", {"id": "a", "label": 1}, {"id": "a", "dimension": "other", "label": 0})
    assert list(read_labels(path, D).of) == [("a", D, None), ("a", "other", None)]


def test_several_people_rate_one_unit_in_rows_a_list_or_an_object(tmp_path: Path) -> None:
    rows = [{"id": "a", "dimension": D, "rater": name, "label": value} for name, value in (("ann", 1), ("bo", 0))]
    by_rows = read_labels(jsonl(tmp_path / "rows.jsonl", *rows)).find("a", D, 5)
    by_object = read_labels(
        jsonl(tmp_path / "object.jsonl", {"id": "a", "dimension": D, "ratings": {"ann": 1, "bo": 0}})
    ).find("a", D, 5)
    by_list = read_labels(jsonl(tmp_path / "list.jsonl", {"id": "a", "dimension": D, "ratings": [1, None, 0]})).find(
        "a", D, 5
    )
    assert by_rows is not None
    assert by_object is not None
    assert by_list is not None
    assert by_rows.ratings == by_object.ratings == {"ann": 1.0, "bo": 0.0}
    # Raters without a name are called by their place.
    assert by_list.ratings == {"#1": 1.0, "#3": 0.0}
    assert by_rows.reference == by_list.reference == 0.5


@pytest.mark.parametrize(
    ("ratings", "reference"),
    [
        ([1, 1, 0], pytest.approx(2 / 3)),
        ([NOT_APPLICABLE, NOT_APPLICABLE, 1], NOT_APPLICABLE),
        ([NOT_APPLICABLE, 1], 1.0),  # not most of them
        ([2, 1, NOT_APPLICABLE], 1.5),
    ],
)
def test_without_a_label_the_ratings_speak(tmp_path: Path, ratings: list[Any], reference: Any) -> None:
    assert one(tmp_path, label=None, ratings=ratings).reference == reference


def test_a_label_beside_ratings_is_what_people_settled_on(tmp_path: Path) -> None:
    label = one(tmp_path, label=0, ratings=[1, 1, 1])
    assert label.reference == 0.0
    assert label.values == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"label": 1}, "id: a second label of this unit (the first: line 1); name the rater of each"),
        ({"rater": "ann", "label": 0}, "rater: 'ann' has rated this unit before, on line 1"),
        (
            {"rater": "bo", "label": 0, "queue": "flagged"},
            "queue: 'flagged', but line 1 says 'random' of the same unit",
        ),
        ({"rater": "bo", "label": 0, "queue": "random", "sampling_probability": 0.1}, "sampling_probability: 0.1, but"),
    ],
)
def test_what_contradicts_an_earlier_row_is_refused(tmp_path: Path, second: dict[str, Any], told: str) -> None:
    first = {"id": "a", "dimension": D, "rater": "ann", "label": 1, "queue": "random"}
    path = jsonl(tmp_path / "l.jsonl", first, {"id": "a", "dimension": D, **second})
    with pytest.raises(InputError) as caught:
        read_labels(path)
    assert f"l.jsonl:2: {told}" in str(caught.value)


def test_messages_of_one_conversation_are_units_of_their_own(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "l.jsonl",
        {"id": "a", "dimension": D, "message": 1, "label": 1},
        {"id": "a", "dimension": D, "message": 3, "label": 0},
    )
    labels = read_labels(path)
    first, other = labels.find("a", D, 1), labels.find("a", D, 3)
    assert first is not None
    assert other is not None
    assert (first.value, other.value, labels.find("a", D, 5)) == (1.0, 0.0, None)
    assert wanted(labels.of.values()) == {("a", D): frozenset({1, 3})}


def test_random_means_all_drawn_alike(tmp_path: Path) -> None:
    def labels(*queues: tuple[str | None, float | None]) -> Labels:
        rows = [
            {"id": f"{n}", "dimension": D, "label": 1, "queue": queue, "sampling_probability": probability}
            for n, (queue, probability) in enumerate(queues)
        ]
        return read_labels(jsonl(tmp_path / "l.jsonl", *rows))

    assert labels(("random", None), ("random", None)).random
    assert not labels(("random", None), ("flagged", None)).random
    assert not labels((None, None)).random
    assert labels(("flagged", 0.5), ("rest", 0.1)).drawn
    assert not labels(("random", 0.5), ("random", 0.1)).random
    assert not labels(("flagged", 0.5), ("rest", None)).drawn


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "l.jsonl", {"id": "a", "dimension": D, "label": 1, "labler": "ann"})
    assert read_labels(path).unread == ["labler"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_of_spreadsheets_are_read(tmp_path: Path, delimiter: str) -> None:
    text = (
        delimiter.join(["id", "dimension", "label", "queue"])
        + "\r\n"
        + delimiter.join(["a", D, "1", "random"])
        + "\r\n"
    )
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode("utf-8-sig"))
    (label,) = read_labels(path).of.values()
    assert (label.place, label.value, label.queue) == (("a", D, None), 1.0, "random")


def test_a_line_of_a_table_is_counted_through_quoted_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f'id,dimension,label,conversation\na,{D},1,"two\nlines"\nb,{D},maybe,x\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"labels.csv:4: label: 'maybe'"):
        read_labels(path)


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("l.csv", b"id,dimension,label\na,b,1,2,3\n", "l.csv:2: 2 fields more than the first line names"),
        ("l.csv", b"id,label\n\xff,1\n", "l.csv:2: not UTF-8; save the table as CSV UTF-8"),
        ("l.jsonl", b'{"id": 1\n', "l.jsonl:1: not JSON"),
        ("l.jsonl", b"[1]\n", "l.jsonl:1: found a list; expected an object with id, dimension, label"),
        ("l.xlsx", b"", "labels are read from .jsonl, .csv and .tsv"),
        ("l.jsonl", b"\n\n", "holds no label"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_labels(path)
    assert told in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*none.jsonl: No such file"):
        read_labels(tmp_path / "none.jsonl")


texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8).filter(
    lambda text: text.strip() == text != ""
)
rows = st.lists(
    st.fixed_dictionaries(
        {"id": texts, "label": st.sampled_from([0, 1, 2, 0.5, NOT_APPLICABLE])},
        optional={
            "source": texts, "language": texts, "cluster": texts, "queue": texts, "message": st.integers(0, 50),
            "sampling_probability": st.sampled_from([1.0, 0.5, 0.125]),
        },
    ),
    min_size=1, max_size=8, unique_by=lambda row: (row["id"], row.get("message")),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(rows)
def test_json_lines_and_tables_say_the_same(tmp_path_factory: pytest.TempPathFactory, given_rows: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("labels")
    whole = [{"dimension": D, **row} for row in given_rows]
    from_lines = read_labels(jsonl(folder / "l.jsonl", *whole))
    names = sorted({name for row in whole for name in row})
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    writer.writerows(whole)
    (folder / "l.csv").write_text(out.getvalue(), encoding="utf-8", newline="")
    from_table = read_labels(folder / "l.csv")

    def plain(labels: Labels) -> list[Any]:
        return [
            (one.place, one.value, one.source, one.language, one.cluster, one.queue, one.probability)
            for one in labels.of.values()
        ]

    assert plain(from_lines) == plain(from_table)
