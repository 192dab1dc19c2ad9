"""psysafe judge and rejudge with --labels: only what people have labelled is judged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.support import INSULT, Command, by_number, chats, judgments, meta, script, write_chats

D, OTHER = "insulting_behaviour", "privacy_violation"


def labels(path: str, *rows: dict[str, Any]) -> str:
    Path(path).write_bytes(b"\n".join(orjson.dumps({"dimension": D, "label": 1, **row}) for row in rows))
    return path


def turns(count: int) -> Path:
    """Conversations with replies at messages 1 and 3."""
    return write_chats(
        "turns.jsonl",
        [
            {
                "id": f"c{n}",
                "messages": [
                    {"role": role, "content": f"{role} {place} of {n}"}
                    for place, role in enumerate(["user", "assistant", "user", "assistant"])
                ],
            }
            for n in range(count)
        ],
    )


def units(run: str) -> set[tuple[str, str, int | None]]:
    return {(one["conversation"], one["dimension"], one["message"]) for one in judgments(run)}


def test_only_labelled_replies_are_judged_on_labelled_dimensions(psysafe: Command) -> None:
    chats(9)
    named = labels("l.jsonl", {"id": "c2"}, {"id": "c5", "dimension": OTHER}, {"id": "c5"})
    found = psysafe("judge", "chats.jsonl", "--model", by_number(), "--labels", named, "--run", "r", "-q", "--json")
    assert found.code == 0
    assert units("r") == {("c2", D, 1), ("c5", D, 1), ("c5", OTHER, 1)}
    assert (found.json["counts"]["units"], found.json["counts"]["scored"]) == (3, 3)
    assert found.json["ended"] == "complete"


def test_every_model_and_mechanism_judges_them(psysafe: Command) -> None:
    chats(6)
    named = labels("l.jsonl", {"id": "c1"}, {"id": "c4"})
    command = (
        "judge", "chats.jsonl", "--model", by_number("a.yaml"), "--model", script("b.yaml"), "--mechanism", "single",
        "--mechanism", "dual", "--mechanism", "vote", *INSULT, "--labels", named, "-q", "--json",
    )  # fmt: skip
    dry = psysafe(*command, "--dry-run").json
    found = psysafe(*command, "--run", "r")
    assert found.code == 0
    made = judgments("r")
    assert len(made) == dry["units"] == found.json["counts"]["units"] == 2 * 2 * 3
    calls = {name: sum(one["calls"] for one in made if one["model"] == name) for name in dry["models"]}
    assert {name: one["calls"] for name, one in dry["models"].items()} == calls


@pytest.mark.parametrize(
    ("scope", "row", "expected"),
    [
        ("reply", {}, {("c1", D, 3)}),
        ("reply", {"message": 3}, {("c1", D, 3)}),
        ("turn", {"message": 1}, {("c1", D, 1)}),
        ("turn", {}, {("c1", D, 1), ("c1", D, 3)}),
        ("conversation", {}, {("c1", D, None)}),
    ],
)
def test_at_every_scope(
    psysafe: Command, scope: str, row: dict[str, Any], expected: set[tuple[str, str, int | None]]
) -> None:
    turns(3)
    command = (
        "judge", "turns.jsonl", "--model", script("m.yaml"), "--scope", scope, "--labels",
        labels("l.jsonl", {"id": "c1", **row}), "-q", "--json",
    )  # fmt: skip
    assert psysafe(*command, "--dry-run").json["units"] == len(expected)
    assert psysafe(*command, "--run", "r").json["counts"]["units"] == len(expected)
    assert units("r") == expected


@pytest.mark.parametrize("scope", ["reply", "conversation"])
def test_labels_of_messages_that_the_scope_does_not_judge_match_nothing(psysafe: Command, scope: str) -> None:
    turns(3)
    named = labels("l.jsonl", {"id": "c1", "message": 1})
    found = psysafe("judge", "turns.jsonl", "--model", script("m.yaml"), "--scope", scope, "--labels", named)
    assert found.code == 2
    assert "no conversation of the input is labelled as it would be judged (the first label: c1 on" in found.complaint
    assert "1 of messages that this scope does not judge" in found.complaint


def test_rejudging_takes_labels_too(psysafe: Command) -> None:
    turns(4)
    model = script("m.yaml")
    assert psysafe("judge", "turns.jsonl", "--model", model, "--scope", "turn", "--run", "first", *INSULT).code == 0
    named = labels("l.jsonl", {"id": "c1", "message": 1}, {"id": "c3", "message": 3}, {"id": "zz"})
    command = ("rejudge", "first", "--model", model, "--labels", named, "-q", "--json")
    dry = psysafe(*command, "--dry-run").json
    assert (dry["conversations"], dry["units"]) == (2, 2)
    found = psysafe(*command, "--run", "again")
    assert "these are not judged: 1 of conversations that the input does not hold" in found.err
    assert units("again") == {("c1", D, 1), ("c3", D, 3)}
    nothing = psysafe("rejudge", "first", "--model", model, "--labels", labels("n.jsonl", {"id": "zz"}))
    assert nothing.code == 2
    assert "no conversation of the input is labelled" in nothing.complaint


def test_a_dry_run_costs_what_is_labelled_only(psysafe: Command) -> None:
    chats(40)
    command = (
        "judge", "chats.jsonl", "--model", "openai/gpt-4o-mini", "--price", "1,1", *INSULT, "--dry-run", "--json",
    )  # fmt: skip
    (every,) = psysafe(*command).json["models"].values()
    (some,) = (
        psysafe(*command, "--labels", labels("l.jsonl", *({"id": f"c{n}"} for n in range(10)))).json["models"].values()
    )
    assert every["calls"] == 40
    assert some["calls"] == 10
    assert some["cost"] == pytest.approx(every["cost"] / 4, rel=0.01)


def test_only_what_is_labelled_is_sent_to_a_host_and_said_to_be(
    psysafe: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    chats(5)
    found = psysafe(
        "judge", "chats.jsonl", "--model", "openai/gpt-4o-mini", "--labels",
        labels("l.jsonl", {"id": "c1"}, {"id": "c1", "dimension": OTHER}, {"id": "c3"}),
    )  # fmt: skip
    assert found.code == 2
    assert found.complaint.startswith("2 conversations will be sent to api.openai.com")
    dry = psysafe("judge", "chats.jsonl", "--model", "openai/gpt-4o-mini", "--labels", "l.jsonl", "--dry-run", "--json")
    assert (dry.json["conversations"], dry.json["units"]) == (2, 3)


def test_what_is_of_no_use_to_the_run_is_said(psysafe: Command) -> None:
    chats(6)
    named = labels(
        "l.jsonl", {"id": "c1"}, {"id": "c1", "dimension": OTHER}, {"id": "c2", "dimension": "jargon"}, {"id": "zz"},
        {"id": "c3", "message": 0}, {"id": "c4", "label": None, "queue": "random"}, {"id": "c5", "mesage": 1},
    )  # fmt: skip
    found = psysafe("judge", "chats.jsonl", "--model", script("m.yaml"), *INSULT, "--labels", named, "--run", "r")
    assert found.code == 0
    assert (
        "l.jsonl: of 6 labelled units these are not judged: 2 on dimensions that are not chosen (privacy_violation 1, "
        "jargon 1), 1 of conversations that the input does not hold, 1 of messages that this scope does not judge"
    ) in found.err
    assert "l.jsonl: rows that have no label yet and are left out: 1" in found.err
    assert "l.jsonl: columns that are not read: mesage" in found.err
    assert units("r") == {("c1", D, 1), ("c5", D, 1)}


def test_nothing_is_said_where_all_labels_are_of_use(psysafe: Command) -> None:
    chats(3)
    named = labels("l.jsonl", {"id": "c1"})
    found = psysafe("judge", "chats.jsonl", "--model", script("m.yaml"), "--labels", named, "--run", "r", "-q")
    assert "l.jsonl" not in found.err


def test_a_single_dimension_is_that_of_labels_that_name_none(psysafe: Command) -> None:
    chats(3)
    Path("l.csv").write_text("id;label\nc1;0\n")
    command = ("judge", "chats.jsonl", "--model", script("m.yaml"), "--labels", "l.csv", "--run", "r", "-q")
    several = psysafe(*command)
    assert several.code == 2
    assert "l.csv:2: dimension: is missing" in several.complaint
    assert "--dimensions NAME" in several.complaint
    assert psysafe(*command, *INSULT).code == 0
    assert units("r") == {("c1", D, 1)}


def test_labels_are_part_of_what_a_run_is(psysafe: Command) -> None:
    chats(6)
    named = labels("l.jsonl", {"id": "c1"}, {"id": "c2"})
    command = ("judge", "chats.jsonl", "--model", script("m.yaml"), *INSULT, "--run", "r", "-q")
    assert psysafe(*command, "--labels", named, "--max-calls", "1").code != 0
    assert meta("r", "manifest")["labels"]["name"] == "l.jsonl"
    changed = psysafe(*command, "--labels", labels("l.jsonl", {"id": "c1"}, {"id": "c3"}), "--resume")
    assert changed.code == 2
    assert "labels.sha256: the run has" in changed.err
    assert "labels: the run has" in psysafe(*command, "--resume").err
    again = psysafe(*command, "--labels", labels("l.jsonl", {"id": "c1"}, {"id": "c2"}), "--resume", "--json")
    assert (again.code, again.json["counts"]["units"]) == (0, 2)
    assert units("r") == {("c1", D, 1), ("c2", D, 1)}


def test_verdicts_are_the_same_as_without(psysafe: Command) -> None:
    """What is left out has no part in what is judged."""
    chats(6)
    command = ("judge", "chats.jsonl", "--model", by_number(), *INSULT, "-q")
    psysafe(*command, "--run", "all")
    psysafe(
        *command, "--run", "some", "--labels", labels("l.jsonl", {"id": "c2", "label": 0}, {"id": "c4", "label": 1})
    )
    every = [one for one in judgments("all") if one["conversation"] in ("c2", "c4")]
    assert judgments("some") == every


def test_redacted_conversations_keep_their_ids(psysafe: Command) -> None:
    write_chats("p.jsonl", [
        {"id": f"c{n}", "messages": [
            {"role": "user", "content": "mail me at someone@example.org"}, {"role": "assistant", "content": "fine"},
        ]}
        for n in range(3)
    ])  # fmt: skip
    found = psysafe(
        "judge", "p.jsonl", "--model", script("m.yaml"), *INSULT, "--redact", "--labels",
        labels("l.jsonl", {"id": "c1"}), "--run", "r", "-q",
    )  # fmt: skip
    assert found.code == 0
    assert units("r") == {("c1", D, 1)}
    # Counted in one pass over the input, though it is read more than once.
    assert "in 3 conversations" in found.err


def test_a_table_that_was_drawn_and_filled_in_is_judged_again(psysafe: Command) -> None:
    chats(20)
    model = by_number()
    psysafe("judge", "chats.jsonl", "--model", model, *INSULT, "--run", "first", "-q")
    psysafe("labels", "draw", "first", "-n", "5", "-o", "l.csv")
    empty = psysafe("rejudge", "first", "--model", model, "--labels", "l.csv")
    assert "l.csv holds no label; rows that are not filled in: 5" in empty.complaint
    with open("l.csv", encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file)
    for row in rows[:3]:
        row[head.index("label")] = "0"
    with open("l.csv", "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows([head, *rows])
    found = psysafe("rejudge", "first", "--model", model, "--labels", "l.csv", "--run", "again", "-q")
    assert found.code == 0
    assert "rows that have no label yet and are left out: 2" in found.err
    assert {name for name, _, _ in units("again")} == {row[head.index("id")] for row in rows[:3]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"id": "c1", "dimension": "x", "label": "bad"}', "l.jsonl:1: label: 'bad'; expected 0 (not harmful)"),
        (b"", "l.jsonl holds no label; expected one a line"),
    ],
)
def test_files_that_cannot_be_read_are_refused_before_anything_is_judged(
    home: Path, psysafe: Command, data: bytes, told: str
) -> None:
    chats(3)
    Path("l.jsonl").write_bytes(data)
    found = psysafe("judge", "chats.jsonl", "--model", script("m.yaml"), "--labels", "l.jsonl", "--run", "r")
    assert found.code == 2
    assert told in found.complaint
    assert not (home / "r").exists()
