"""psysafe agree, calibrate and compare, and judging with fitted cuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import psysafe.cli.people as people
from psysafe.taxonomy import load_dimensions
from tests.agreement.support import D, Said, make_run, write_labels
from tests.cli.support import INSULT, Command

# Scores by what a reply holds: a judge that sees something in everything.
SCRIPT = """
rules:
  - when: {judged: terrible}
    reply: {rationale: plain, evidence: [], score: 2}
  - when: {judged: mild}
    reply: {rationale: some, evidence: [], score: 1}
  - reply: {rationale: none, evidence: [], score: 0}
"""


@pytest.fixture
def run(home: Path) -> Path:
    """Forty units, four of five verdicts right."""
    return make_run(home / "run", [Said(f"c{n}", 2 * (n % 2 ^ (n // 2 % 5 == 0))) for n in range(40)])


@pytest.fixture
def labels(home: Path) -> Path:
    return write_labels(home / "labels.jsonl", [{"id": f"c{n}", "label": n % 2, "note": "x"} for n in range(40)])


def test_agreement_is_shown_with_what_it_rests_on(run: Path, labels: Path, psysafe: Command) -> None:
    found = psysafe("agree", run, labels)
    assert found.code == 0
    for part in (
        D,
        ".80 [",
        "no ceiling: no unit has two individual ratings",
        "corrected rates: undefined",
        "a verdict takes 1.0 calls",
    ):
        assert part in found.out, part
    assert "columns that are not read: note" in found.err
    assert "Most confident disagreements" in found.out


def test_json_is_one_object_with_every_figure(run: Path, labels: Path, psysafe: Command) -> None:
    found = psysafe("agree", run, labels, "--json", "--quiet")
    assert set(found.json) == {"labels", "runs", "measured", "not_labelled", "not_judged", "mechanisms"}
    (one,) = found.json["measured"]
    assert (one["model"], one["mechanism"], one["dimension"]) == ("m", "single", D)
    assert set(one["figures"]) >= {
        "sensitivity",
        "specificity",
        "roc_auc",
        "cohen_kappa",
        "krippendorff_alpha",
        "gwet_ac1",
    }
    assert psysafe("agree", run, labels, "--json", "--quiet").out == found.out


def test_cards_are_written_in_both_forms(run: Path, labels: Path, home: Path, psysafe: Command) -> None:
    found = psysafe("agree", run, labels, "--card", "card.md", "--card", "card.html", "-q")
    assert found.code == 0
    assert "judge card written to card.html" in found.err
    assert (home / "card.md").read_text().startswith("# Judge card: m")
    assert (home / "card.html").read_text().lstrip().startswith("<!doctype html>")


def test_a_run_that_is_not_finished_is_measured_and_said_to_be_so(labels: Path, home: Path, psysafe: Command) -> None:
    run = make_run(home / "cut", [Said("c0", 0), Said("c1", 2)])
    from psysafe.runs import Store

    store = Store.open(run)
    store.put("state", None)
    store.close()
    assert "cut is not finished" in psysafe("agree", "cut", labels).err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("agree", "labels.jsonl"), "expected RUN... LABELS: at least one directory of a run"),
        (("agree", "labels.jsonl", "run"), "run is a directory; the last argument is the file of labels"),
        (("agree", "nowhere", "labels.jsonl"), "nowhere holds no run"),
        (("agree", "run", "none.jsonl"), "cannot read none.jsonl"),
        (("agree", "run", "labels.jsonl", "--label-scale", "stars"), "--label-scale stars: expected binary (0, 1) or levels"),
        (("agree", "run", "labels.jsonl", "--card", "card.pdf", "-q"), "expected a name that ends in .md or .html"),
        (("compare", "run"), "nothing to compare it with"),
        (("compare", "run", "run"), "a run is given twice"),
        (("calibrate", "run", "labels.jsonl", "-o", "cuts.json"), "no cut was fitted, cuts.json is not written: 20 positives"),
    ],
)  # fmt: skip
def test_wrong_use_is_told_in_a_line(
    run: Path, labels: Path, psysafe: Command, arguments: tuple[str, ...], told: str
) -> None:
    found = psysafe(*arguments)
    assert found.code == 2
    assert told in found.err.splitlines()[-1]


@pytest.mark.parametrize("command", [("agree",), ("compare",), ("calibrate", "-o", "x.json")])
def test_a_missing_extra_is_named(
    run: Path, labels: Path, psysafe: Command, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(people, "find_spec", lambda name: None)
    found = psysafe(*command, run, labels)
    assert found.complaint == "agreement needs scipy and scikit-learn: pip install 'psysafe[stats]'"


def test_labels_of_another_scale_have_to_be_told(home: Path, psysafe: Command) -> None:
    """On a rubric from 1 to 5 a label of 1 may mean harmful, or the lowest level."""
    psysafe("taxonomy", "copy", D, "own")
    (path,) = (home / "own").glob("*.yaml")
    text = path.read_text(encoding="utf-8")
    assert "scale: {low: 0, high: 2, harmful_from: 1}" in text
    path.write_text(text.replace("harmful_from: 1", "harmful_from: 2"), encoding="utf-8")
    rubrics = {D: load_dimensions(home / "own")[D].hash}
    run = make_run(home / "run", [Said(f"c{n}", 2 * (n % 2)) for n in range(20)], dimensions=rubrics)
    labels = write_labels(home / "l.jsonl", [{"id": f"c{n}", "label": n % 2} for n in range(20)])
    assert "give its --taxonomy DIR" in psysafe("agree", run, labels, "-q").err
    refused = psysafe("agree", run, labels, "--taxonomy", "own", "-q")
    assert "say with --label-scale whether they are binary" in refused.err
    told = psysafe("agree", run, labels, "--taxonomy", "own", "--label-scale", "binary", "--json", "-q")
    assert told.json["measured"][0]["figures"]["sensitivity"]["value"] == 1.0
    levels = psysafe("agree", run, labels, "--taxonomy", "own", "--label-scale", "levels", "--json", "-q")
    assert levels.json["measured"][0]["figures"]["prevalence"]["value"] == 0.0


def test_compare_shows_what_changed(run: Path, labels: Path, home: Path, psysafe: Command) -> None:
    make_run(home / "after", [Said(f"c{n}", 2 * (n % 2)) for n in range(40)])
    found = psysafe("compare", run, "after", "--labels", labels)
    assert found.code == 0
    assert "baseline: m single" in found.out
    assert "+0.20 [" in found.out  # of balanced accuracy
    plain = psysafe("compare", run, "after", "--json").json
    assert plain["compared"][0]["changed"] == {"to_harmful": 4, "to_not_harmful": 4}
    assert plain["compared"][0]["differences"]["flagged"]["value"] == 0.0


# -- judging with fitted cuts


def chats(home: Path, count: int = 90) -> list[dict[str, Any]]:
    """A third each terrible, mild and kind; people find only the terrible ones harmful."""
    words = ("terrible", "mild", "kind")
    rows = [
        {
            "id": f"c{n}",
            "messages": [{"role": "user", "content": f"q{n}"}, {"role": "assistant", "content": f"{words[n % 3]} {n}"}],
            "label": int(n % 3 == 0), "dimension": D,
        }
        for n in range(count)
    ]  # fmt: skip
    (home / "chats.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    (home / "script.yaml").write_text(SCRIPT)
    return rows


JUDGE = ("judge", "chats.jsonl", "--model", "scripted:script.yaml", *INSULT, "-q")


@pytest.fixture
def cuts(home: Path, psysafe: Command) -> Path:
    chats(home, 120)
    assert psysafe(*JUDGE, "--run", "first").code == 0
    found = psysafe("calibrate", "first", "chats.jsonl", "-o", "cuts.json")
    assert found.code == 0, found.err
    assert "1.50" in found.out
    return home / "cuts.json"


def test_a_fitted_cut_decides_what_is_harmful(cuts: Path, psysafe: Command) -> None:
    plain = psysafe(*JUDGE, "--run", "plain", "--json").json["dimensions"][D]["single"]
    fitted = psysafe(*JUDGE, "--run", "fitted", "--calibration", cuts, "--json").json["dimensions"][D]["single"]
    assert (plain["harmful_count"], fitted["harmful_count"]) == (80, 40)
    assert plain["mean_score"] == fitted["mean_score"]
    assert fitted["flags"] == {"calibrated": 120}
    lines = psysafe("export", "fitted").out.splitlines()
    records = [orjson.loads(line) for line in lines]
    assert {(record["score"], record["harmful"]) for record in records} == {(2.0, True), (1.0, False), (0.0, False)}
    assert {record["key"] for record in records}.isdisjoint(
        orjson.loads(line)["key"] for line in psysafe("export", "plain").out.splitlines()
    )


def test_the_manifest_names_the_cuts_and_a_resume_needs_them(cuts: Path, home: Path, psysafe: Command) -> None:
    assert psysafe(*JUDGE, "--run", "fitted", "--calibration", cuts).code == 0
    without = psysafe(*JUDGE, "--run", "fitted", "--resume")
    assert without.code == 2
    assert "calibration: the run has {'name': 'cuts.json'" in without.err
    assert psysafe(*JUDGE, "--run", "fitted", "--calibration", cuts, "--resume").code == 0


def test_rejudging_takes_cuts_too(cuts: Path, psysafe: Command) -> None:
    found = psysafe(
        "rejudge", "first", "--model", "scripted:script.yaml", "--calibration", cuts, "--run", "r", "--json", "-q"
    )
    assert found.json["dimensions"][D]["single"]["harmful_count"] == 40


@pytest.mark.parametrize("field", ["identity", "rubric", "prompt_version"])
def test_cuts_of_another_judge_rubric_or_prompt_are_refused(cuts: Path, psysafe: Command, field: str) -> None:
    content = orjson.loads(cuts.read_bytes())
    content["cuts"][0][field] = "another"
    cuts.write_bytes(orjson.dumps(content))
    found = psysafe(*JUDGE, "--calibration", cuts)
    assert found.code == 2
    assert "was fitted with another" in found.complaint
    assert "fit it anew with psysafe calibrate" in found.complaint


def test_cuts_that_fit_nothing_here_are_refused(cuts: Path, psysafe: Command) -> None:
    found = psysafe(*JUDGE, "--mechanism", "dual", "--calibration", cuts)
    assert "cuts.json holds no cut for these models, mechanisms and dimensions" in found.complaint


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"{", "not JSON"),
        (b"{}", "expected a file made by psysafe calibrate"),
        (b'{"psysafe": "run"}', "expected a file made by psysafe calibrate"),
    ],
)
def test_files_that_hold_no_cuts_are_refused(home: Path, psysafe: Command, data: bytes, told: str) -> None:
    chats(home, 3)
    (home / "cuts.json").write_bytes(data)
    found = psysafe(*JUDGE, "--calibration", "cuts.json")
    assert found.code == 2
    assert told in found.complaint


def test_judging_only_what_labels_name(home: Path, psysafe: Command) -> None:
    chats(home, 30)
    write_labels(home / "some.jsonl", [{"id": "c3", "label": 1}, {"id": "c4", "label": 0}, {"id": "zz", "label": 0}])
    dry = psysafe(*JUDGE, "--labels", "some.jsonl", "--dry-run", "--json").json
    assert (dry["units"], dry["models"]["scripted:scripted"]["calls"]) == (2, 2)
    found = psysafe(*JUDGE, "--labels", "some.jsonl", "--run", "some", "--json")
    assert found.json["counts"]["units"] == 2
    again = psysafe(*JUDGE, "--run", "some", "--resume")
    assert "labels: the run has {'name': 'some.jsonl'" in again.err
    nothing = psysafe(*JUDGE, "--labels", write_labels(home / "none.jsonl", [{"id": "zz", "label": 0}]))
    assert "no conversation of the input is labelled" in nothing.complaint


def test_results_do_not_overwrite_what_is_something_else(
    run: Path, labels: Path, cuts: Path, home: Path, psysafe: Command
) -> None:
    before = labels.read_bytes()
    found = psysafe("calibrate", "first", "chats.jsonl", "-o", labels)
    assert found.code == 2
    assert "is there and holds something else: name another file" in found.complaint
    (home / "notes.md").write_text("# mine\n")
    assert "holds something else" in psysafe("agree", run, labels, "--card", "notes.md", "-q").complaint
    assert labels.read_bytes() == before
    # older ones of the same kind may be replaced
    assert psysafe("calibrate", "first", "chats.jsonl", "-o", cuts).code == 0
    for _ in range(2):
        assert psysafe("agree", run, labels, "--card", "card.md", "-q").code == 0


def test_labels_are_not_drawn_from_a_run_that_is_not_finished(home: Path, psysafe: Command) -> None:
    chats(home, 30)
    assert psysafe(*JUDGE, "--run", "cut", "--max-calls", "10").code == 4
    found = psysafe("labels", "draw", "cut", "-o", "l.csv")
    assert "is not finished: what is drawn now would not speak for what is judged later" in found.complaint


def test_another_rubric_or_cut_is_told_where_systems_are_compared(cuts: Path, psysafe: Command) -> None:
    assert psysafe(*JUDGE, "--run", "fitted", "--calibration", cuts).code == 0
    found = psysafe("compare", "first", "fitted")
    assert "judged with another calibration: the differences may be due to that" in found.out
