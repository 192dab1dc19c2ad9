"""Files of human labels: what is read, what is refused, and how."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psysafe.agreement.labels import NOT_APPLICABLE, Label, Labels, read_labels, wanted
from psysafe.agreement.scales import label_scale
from psysafe.conversation import Inputs
from psysafe.errors import InputError, UsageError
from psysafe.taxonomy import load_dimension

D = "insulting_behaviour"


def jsonl(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def table(path: Path, rows: Iterable[dict[str, Any]], delimiter: str = ",") -> Path:
    """The rows as the csv module writes them, with a column for every name."""
    given = list(rows)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in given for name in row)), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(given)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


def any_given(values: list[Any]) -> bool:
    return any(value is not None for value in values)


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
        ("true", 1.0), ("FALSE", 0.0), (" not_applicable ", NOT_APPLICABLE), (1e-3, 0.001), (12, 12.0),
    ],
)  # fmt: skip
def test_a_label_is_a_number_a_truth_value_or_not_applicable(tmp_path: Path, given: Any, value: Any) -> None:
    assert one(tmp_path, label=given).value == value


@pytest.mark.parametrize("given", ["harmful", "", -1, "nan", "inf", "1_0", [1], {"a": 1}])
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
        ({"message": "x"}, "message: 'x'; expected"),
        ({"sampling_probability": 1.1}, "sampling_probability: 1.1; expected"),
        ({"sampling_probability": -0.1}, "sampling_probability: -0.1; expected"),
        ({"sampling_probability": True}, "sampling_probability: true; expected"),
        ({"label": "0,5"}, "label: '0,5'; expected 0 (not harmful), 1 (harmful), a level, or not_applicable; decimals"),
        ({"id": 1.5}, "id: found 1.5; expected text or an integer"),
        ({"id": True}, "id: found true; expected text or an integer"),
        ({"dimension": 3}, "dimension: 3; expected text"),
        ({"language": " "}, "language: ' '; expected text"),
        ({"queue": 1}, "queue: 1; expected text"),
        ({"rater": 1.5}, "rater: 1.5; expected text or an integer"),
        ({"cluster": False}, "cluster: false; expected text or an integer"),
        ({"ratings": 1}, "ratings: 1; expected a list such as [0, 1, 1], or an object of raters"),
        ({"ratings": {" ": 1}}, "ratings: found the rater ''; expected a name of its own for each"),
        ({"ratings": {"ann": 1, "ann ": 0}}, "ratings: found the rater 'ann' again; expected a name of its own"),
        ({"source": 3}, "source: 3; expected text"),
        ({"ratings": "0 1"}, "ratings: '0 1'; expected a list such as [0, 1, 1]"),
        ({"ratings": [0, "x"]}, "ratings[1]: 'x'; expected 0"),
        ({"ratings": {"ann": 1, "bo": "x"}}, "ratings.bo: 'x'; expected 0"),
        ({"rater": "ann", "ratings": [1]}, "rater: a row of one rater has its label, and no ratings"),
        ({"rater": "ann", "label": None}, "rater: a row of one rater has its label, and no ratings"),
        ({"label": None, "ratings": []}, "label: is missing; expected"),
        ({"label": None, "ratings": [None]}, "label: is missing; expected"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_field_and_what_was_expected(
    tmp_path: Path, columns: dict[str, Any], told: str
) -> None:
    assert f"labels.jsonl:1: {told}" in refused(tmp_path, **columns)


def test_a_dimension_can_be_named_for_all_rows(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "l.jsonl", {"id": "a", "label": 1}, {"id": "a", "dimension": "other", "label": 0})
    assert list(read_labels(path, D).of) == [("a", D, None), ("a", "other", None)]


def test_ids_are_those_that_the_readers_of_conversations_give(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    given = [7, "7.0", " x ", "caf\u00e9", 2**60]
    chats = jsonl(tmp_path / "chats.jsonl", *({"id": one, "messages": messages} for one in given))
    with Inputs([str(chats)]) as inputs:
        ids = [conversation.id for conversation in inputs]
    rows = [{"id": one, "dimension": D, "label": 1} for one in given]
    assert [place[0] for place in read_labels(jsonl(tmp_path / "l.jsonl", *rows)).of] == ids
    assert [place[0] for place in read_labels(table(tmp_path / "l.csv", rows)).of] == ids


def test_raters_and_clusters_may_be_numbered(tmp_path: Path) -> None:
    label = one(tmp_path, rater=3, cluster=12)
    assert (label.ratings, label.cluster) == ({"3": 1.0}, "12")


def test_whoever_has_not_rated_a_unit_is_left_out_of_it(tmp_path: Path) -> None:
    assert one(tmp_path, label=None, ratings={"ann": 1, "bo": None}).ratings == {"ann": 1.0}
    assert one(tmp_path, label=None, ratings="[1, null]").ratings == {"#1": 1.0}


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
        ([NOT_APPLICABLE], NOT_APPLICABLE),
    ],
)
def test_without_a_label_the_ratings_speak(tmp_path: Path, ratings: list[Any], reference: Any) -> None:
    assert one(tmp_path, label=None, ratings=ratings).reference == reference


@pytest.mark.parametrize(("ratings", "kind"), [([1, 0], "binary"), ([0, 0, 1, 1], "binary"), ([0, 1], "levels")])
def test_a_tie_is_harm(tmp_path: Path, ratings: list[Any], kind: Any) -> None:
    label = one(tmp_path, label=None, ratings=ratings)
    assert label_scale([label], D, load_dimension(D).scale, kind).is_harmful(label.reference)


def test_the_order_of_raters_says_nothing(tmp_path: Path) -> None:
    ratings = [0.1, 0.2, 0.3, 0.7]
    means = {one(tmp_path, label=None, ratings=list(order)).reference for order in itertools.permutations(ratings)}
    assert len(means) == 1


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


@pytest.mark.parametrize(
    ("column", "first", "second"),
    [("source", "a", "b"), ("language", "en", None), ("cluster", "p1", "p2"), ("queue", None, "random"),
     ("sampling_probability", 0.5, 0.25)],
)  # fmt: skip
def test_raters_of_one_unit_agree_on_what_it_is(tmp_path: Path, column: str, first: Any, second: Any) -> None:
    rows = [
        {"id": "a", "dimension": D, "rater": rater, "label": 1, column: value}
        for rater, value in (("ann", first), ("bo", second))
    ]
    with pytest.raises(InputError, match=rf"l.jsonl:2: {column}: .*, but line 1 says .* of the same unit"):
        read_labels(jsonl(tmp_path / "l.jsonl", *rows))


@pytest.mark.parametrize(("messages", "told"), [((None, 3), "names one, line 1"), ((3, None), "names none, line 1")])
def test_a_conversation_has_all_its_messages_named_or_none(tmp_path: Path, messages: Any, told: str) -> None:
    """Else one rater's row would stand beside another's of the same reply unnoticed."""
    rows = [{"id": "a", "dimension": D, "rater": f"r{m}", "label": 1, "message": m} for m in messages]
    with pytest.raises(InputError, match=f"l.jsonl:2: message: this row {told}"):
        read_labels(jsonl(tmp_path / "l.jsonl", *rows))
    # Other dimensions and conversations are free to.
    rows[1]["dimension"] = "other"
    assert len(read_labels(jsonl(tmp_path / "l.jsonl", *rows)).of) == 2


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
    assert labels(("random", 0.1), ("random", 0.1)).random
    assert not labels(("random", 0.1), ("random", None)).random
    assert not labels(("Random", None)).random  # the word is not guessed
    assert not labels(("random", None), ("flagged", None)).random
    assert not labels((None, None)).random
    assert labels(("flagged", 0.5), ("rest", 0.1)).drawn
    assert not labels(("random", 0.5), ("random", 0.1)).random
    assert not labels(("flagged", 0.5), ("rest", None)).drawn


def test_every_dimension_is_a_draw_of_its_own(tmp_path: Path) -> None:
    """Where one was judged on fewer replies, the same number of them is drawn with a higher probability."""
    rows = [
        {"id": f"{n}", "dimension": dimension, "label": 1, "queue": "random", "sampling_probability": probability}
        for dimension, probability in ((D, 0.1), ("other", 0.5))
        for n in range(2)
    ]
    assert read_labels(jsonl(tmp_path / "l.jsonl", *rows)).random


def test_the_random_part_stands_for_itself(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "dimension": D, "label": 1, "queue": "random"},
        {"id": "b", "dimension": D, "label": 1, "queue": "flagged"},
        {"id": "a", "dimension": "two draws", "label": 1, "queue": "random", "sampling_probability": 0.1},
        {"id": "b", "dimension": "two draws", "label": 1, "queue": "random", "sampling_probability": 0.2},
        {"id": "a", "dimension": "unknown", "label": 1},
    ]
    labels = read_labels(jsonl(tmp_path / "l.jsonl", *rows))
    assert [label.place for label in labels.random_part()] == [("a", D, None)]
    assert not labels.random
    assert not labels.drawn


@pytest.mark.parametrize("rater", [None, "ann"])
def test_rows_that_wait_for_a_label_are_counted(tmp_path: Path, rater: str | None) -> None:
    waiting = {"id": "a", "dimension": D, "queue": "random", "rater": rater, "label": None}
    done = {"id": "b", "dimension": D, "queue": "random", "rater": rater, "label": 0}
    labels = read_labels(jsonl(tmp_path / "l.jsonl", waiting, done, waiting))
    assert (list(labels.of), labels.blank) == ([("b", D, None)], 2)
    labels = read_labels(table(tmp_path / "l.csv", [waiting, done, waiting]))
    assert (list(labels.of), labels.blank) == ([("b", D, None)], 2)
    with pytest.raises(UsageError, match=r"l.jsonl holds no label; rows that are not filled in: 1"):
        read_labels(jsonl(tmp_path / "l.jsonl", waiting))


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


def test_an_error_names_the_line_where_its_row_begins(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f'id,dimension,conversation,label\n\na,{D},"two\nlines",1\nb,{D},"two\nlines",maybe\n')
    with pytest.raises(InputError, match=r"labels.csv:5: label: 'maybe'"):
        read_labels(path)
    path.write_text(f'id,dimension,label\na,{D},1\nb,{D},"1\n\n\n')
    with pytest.raises(InputError, match=r"labels.csv:3: not a table .*quoted"):
        read_labels(path)


def test_a_cell_may_hold_a_long_conversation(tmp_path: Path) -> None:
    text = 'He said "no",\n' * 20_000  # more than the csv module takes unless told
    limit = csv.field_size_limit()
    labels = read_labels(table(tmp_path / "l.csv", [{"id": "a", "dimension": D, "label": 1, "conversation": text}]))
    assert list(labels.of) == [("a", D, None)]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "text",
    [
        "ID,Dimension,Label,Sampling probability\na,{D},1,0.5\n",
        '"id";"dimension";"label";"sampling_probability"\n"a";"{D}";"1";"0.5"\n',
        "\n\nid , dimension,label,sampling-probability\n\na,{D},1,0.5\n,,,\n , ,,\n",
        "id,dimension,label,sampling_probability\ra,{D},1,0.5\r",
        "id\tdimension\tlabel\tsampling_probability\tnote; with, marks\na\t{D}\t1\t0.5\n",
        "id,dimension,label,sampling_probability,,\na,{D},1,0.5,,\n",
        "id,dimension,label,sampling_probability,queue,rater\na,{D},1,0.5, ,\n",
    ],
)
def test_what_spreadsheets_make_of_a_table_says_the_same(tmp_path: Path, text: str) -> None:
    path = tmp_path / "l.csv"
    path.write_text(text.replace("{D}", D), encoding="utf-8", newline="")
    labels = read_labels(path)
    (label,) = labels.of.values()
    assert (label.place, label.value, label.probability, label.queue) == (("a", D, None), 1.0, 0.5, None)
    assert (labels.unread, labels.blank) == ([], 0)


def test_lines_of_json_may_be_blank_and_end_as_they_like(tmp_path: Path) -> None:
    row = json.dumps({"id": "a", "dimension": D, "label": 1}).encode()
    path = tmp_path / "l.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\r\n  \n" + row.replace(b'"a"', b'"b"') + b"\r\n")
    assert [(label.place[0], label.line) for label in read_labels(path).of.values()] == [("a", 1), ("b", 4)]


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("l.csv", b"id,dimension,label\na,b,1,2,3\n", "l.csv:2: 2 fields more than the first line names"),
        ("l.csv", b"id,label\na,1,2\n", "l.csv:2: 1 field more than the first line names"),
        ("l.csv", b"id,label,,\na,1,,x\n", "l.csv:2: found 'x' in a column without a name"),
        ("l.csv", b"id,label,Label\na,1,0\n", "l.csv:1: found the column 'label' twice; expected every column once"),
        ("l.csv", b"\nname,label\na,1\n", "l.csv:2: found the columns 'name', 'label'; expected id, dimension, label"),
        ("l.csv", b"id|label\na|1\n", "l.csv:1: found the columns 'id|label'; expected"),
        ("l.csv", b'id,label\na,"1"x\n', "l.csv:2: not a table"),
        ("l.csv", b"", "holds no label"),
        ("l.csv", b"id,label\n", "holds no label"),
        ("l.csv", "id,label".encode("utf-16"), "l.csv:1: not UTF-8; save the table as CSV UTF-8"),
        ("l.jsonl", b'\n{"id": "a", "dimension": "d", "label": "\xff"}\n', "l.jsonl:2: not JSON"),
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
values = st.sampled_from([0, 1, 2, 0.5, NOT_APPLICABLE])
ratings = st.one_of(
    st.lists(values | st.none(), min_size=1, max_size=4).filter(any_given), st.dictionaries(texts, values, min_size=1)
)
places = st.tuples(texts, st.integers(0, 50))


@st.composite
def written(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a file: each unit with a label, with ratings, with both, or in a row for each rater."""
    rows: list[dict[str, Any]] = []
    for name, message in draw(st.lists(places, min_size=1, max_size=6, unique=True)):
        unit = {"id": name, "dimension": D, "message": message}
        about = {"source": texts, "language": texts, "cluster": texts, "queue": texts,
                 "sampling_probability": st.sampled_from([1.0, 0.5, 0.1, 1 / 3]), "conversation": st.text()}  # fmt: skip
        unit |= draw(st.fixed_dictionaries({}, optional=about))
        match draw(st.sampled_from(["label", "ratings", "both", "raters"])):
            case "label":
                rows.append({**unit, "label": draw(values)})
            case "ratings":
                rows.append({**unit, "ratings": draw(ratings)})
            case "both":
                rows.append({**unit, "label": draw(values), "ratings": draw(ratings)})
            case _:
                raters = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
                rows += [{**unit, "rater": rater, "label": draw(values)} for rater in raters]
    return rows


@settings(max_examples=100, deadline=None)
@given(written(), st.sampled_from([",", ";", "\t"]))
def test_json_lines_and_tables_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], delimiter: str
) -> None:
    folder = tmp_path_factory.mktemp("labels")
    from_lines = read_labels(jsonl(folder / "l.jsonl", *rows))
    cells = [{name: json.dumps(value) if name == "ratings" else value for name, value in row.items()} for row in rows]
    from_table = read_labels(table(folder / "l.csv", cells, delimiter))

    def plain(labels: Labels) -> list[Label]:
        return [replace(label, line=0) for label in labels.of.values()]

    assert plain(from_lines) == plain(from_table)
    assert len({(row["id"], row["message"]) for row in rows}) == len(from_lines.of)
    said = [value for row in rows for value in _said(row)]
    # Nothing is lost: every label and every rating is there.
    assert len(said) == sum(len(label.ratings) + (label.value is not None) for label in from_lines.of.values())


def _said(row: dict[str, Any]) -> list[Any]:
    found = row.get("ratings", [])
    every = [row.get("label"), *(found.values() if isinstance(found, dict) else found)]
    return [value for value in every if value is not None]


def test_a_probability_that_a_spreadsheet_has_written_again_is_read(tmp_path: Path) -> None:
    assert one(tmp_path, sampling_probability="0,05").probability == 0.05
    assert one(tmp_path, sampling_probability="1,0").probability == 1.0
    assert "expected a number above 0" in refused(tmp_path, sampling_probability="5,05")


def test_an_id_that_was_quoted_for_spreadsheets_is_the_one_of_the_run(tmp_path: Path) -> None:
    assert one(tmp_path, id="'=1+1").place[0] == "=1+1"
    assert one(tmp_path, id="'twas").place[0] == "'twas"
