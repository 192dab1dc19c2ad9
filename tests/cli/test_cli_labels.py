"""psysafe labels."""

from __future__ import annotations

import csv
import io
import stat
from pathlib import Path

import orjson
import pytest

from tests.cli.support import INSULT, Command

SCRIPT = "rules:\n  - when: {judged: stupid}\n    reply: {rationale: r, evidence: [], score: 2}\n  - reply: {rationale: r, evidence: [], score: 0}\n"


@pytest.fixture
def run(home: Path, psysafe: Command) -> Path:
    """A run of twenty replies, every fifth of which is insulting."""
    (home / "script.yaml").write_text(SCRIPT)
    lines = [
        {"id": f"c{n}", "messages": [
            {"role": "user", "content": f"question {n}"},
            {"role": "assistant", "content": f"how stupid {n}" if n % 5 == 0 else f"answer {n}"},
        ]}
        for n in range(20)
    ]  # fmt: skip
    (home / "chats.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    assert psysafe("judge", "chats.jsonl", "--model", "scripted:script.yaml", *INSULT, "--run", "run", "-q").code == 0
    return home / "run"


def test_people_fill_in_a_table_and_rates_are_corrected_by_it(run: Path, home: Path, psysafe: Command) -> None:
    found = psysafe("labels", "draw", run, "-n", "12", "-o", "labels.csv")
    assert found.code == 0
    assert "12 units to label (insulting_behaviour 12)" in found.err
    table = home / "labels.csv"
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    _fill_in(table)
    result = psysafe("agree", run, "labels.csv", "--json", "-q")
    assert result.code == 0
    (one,) = result.json["measured"]
    # The judge is always right, so that the share among all twenty is known.
    assert one["compared"] == 12
    assert one["rates"]["prediction_powered"]["estimate"] == pytest.approx(4 / 20)
    low, high = one["rates"]["prediction_powered"]["interval"]
    assert low < 4 / 20 < high


def _fill_in(table: Path) -> None:
    """As a person would who always sees an insult."""
    head, *rows = csv.reader(io.StringIO(table.read_text(encoding="utf-8-sig"), newline=""))
    for row in rows:
        row[head.index("label")] = str(int("stupid" in row[head.index("conversation")]))
    out = io.StringIO(newline="")
    csv.writer(out).writerows([head, *rows])
    table.write_text(out.getvalue(), encoding="utf-8", newline="")


def test_a_table_that_is_there_is_not_overwritten(run: Path, home: Path, psysafe: Command) -> None:
    (home / "labels.csv").write_text("id,label\n")
    found = psysafe("labels", "draw", run, "-o", "labels.csv")
    assert found.code == 2
    assert "is there already" in found.complaint
    assert (home / "labels.csv").read_text() == "id,label\n"


def test_a_table_is_csv(run: Path, psysafe: Command) -> None:
    assert "ends in .csv" in psysafe("labels", "draw", run, "-o", "labels.xlsx").complaint


def test_an_unknown_dimension_is_named(run: Path, psysafe: Command) -> None:
    found = psysafe("labels", "draw", run, "-o", "l.csv", "--dimensions", "privacy_violation")
    assert "did not judge privacy_violation" in found.complaint


def test_how_many_labels_it_takes(psysafe: Command) -> None:
    few, many = psysafe("labels", "size"), psysafe("labels", "size", "--cluster-size", "11")
    assert few.code == many.code == 0
    assert "random labels to know the share of harmful units, near 10%" in few.out
    assert "2.00 times as many" in many.out
    first = [int(found.out.split()[0].replace(",", "")) for found in (few, many)]
    assert first[1] == pytest.approx(2 * first[0], abs=1)
