"""Judge cards: what they say, and what they never hold."""

from __future__ import annotations

import re
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest

from psysafe.agreement.agreeing import Agreement, agree
from psysafe.agreement.card import render_card
from psysafe.agreement.labels import read_labels
from psysafe.errors import UsageError
from psysafe.runs import Store
from psysafe.taxonomy import load_dimensions
from tests.agreement.support import D, Said, make_run, write_labels

SECRET = "what somebody confided"
KINDS: tuple[Literal["markdown", "html"], ...] = ("markdown", "html")


def agreement(tmp_path: Path, models: tuple[str, ...] = ("m",), **label: Any) -> Agreement:
    verdicts = [
        Said(
            f"c{n}", 2 * (n % 2 ^ (n % 7 == 0)), model=model, mechanism=mechanism, user=f"{SECRET} {n}", text=f"{SECRET}! {n}",
            more={"rationale": SECRET},
        )
        for model in models
        for mechanism in ("single", "dual")
        for n in range(80)
    ]  # fmt: skip
    labels = [{"id": f"c{n}", "label": n % 2, "source": "abc"[n % 3], **label} for n in range(80)]
    with closing(Store.open(make_run(tmp_path / "run", verdicts))) as store:
        return agree([store], read_labels(write_labels(tmp_path / "labels.jsonl", labels)), load_dimensions())


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_says_what_was_measured_and_how_well(tmp_path: Path, kind: Literal["markdown", "html"]) -> None:
    card = render_card(agreement(tmp_path), kind)
    for part in (
        "Judge card: m", "identity of m", "labels.jsonl", "balanced accuracy", "Which mechanism is worth its calls",
        "Blind spots", "Cost and latency", "no random sample", D, "dual", "2026-11-01",
    ):  # fmt: skip
        assert part in card, part


@pytest.mark.parametrize("kind", KINDS)
def test_a_card_holds_no_word_of_what_was_judged(tmp_path: Path, kind: Literal["markdown", "html"]) -> None:
    found = agreement(tmp_path)
    assert any(item["rationale"] == SECRET for one in found.measured for item in one.disagreements)
    assert SECRET not in render_card(found, kind)


def test_blind_spots_are_said_in_sentences(tmp_path: Path) -> None:
    card = render_card(agreement(tmp_path), "markdown")
    spots = card.split("## Blind spots")[1]
    assert "no unit has several individual ratings" in spots
    assert "The labels name no language, or one" in spots
    assert "no random sample" in spots


def test_a_card_is_of_one_judge(tmp_path: Path) -> None:
    found = agreement(tmp_path, ("a", "b"))
    with pytest.raises(UsageError, match=r"the runs hold a, b: name one with --model"):
        render_card(found, "markdown")
    with pytest.raises(UsageError, match="the runs hold no judge c; there are: a, b"):
        render_card(found, "markdown", "c")
    card = render_card(found, "markdown", "b")
    assert "Judge card: b" in card
    assert "identity of a" not in card


class Tags(HTMLParser):
    """Collects the tags of a page, and whether they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_names_from_outside_stay_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>|x"
    found = agreement(tmp_path, (hostile,), source=hostile, language="x|y")
    page = Tags()
    card = render_card(found, "html")
    page.feed(card)
    assert page.open == []
    assert "script" not in page.seen
    assert "http" not in re.sub(r"example\.org", "", card)  # one file, no network
    table = render_card(found, "markdown")
    rows = [line for line in table.splitlines() if line.startswith("|")]
    for block in re.split(r"\n(?!\|)", table):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        # every row of a table has as many cells as its head
        assert len({len(re.findall(r"(?<!\\)\|", line.rstrip())) for line in lines}) <= 1, lines[:3]
    assert rows


def test_markdown_tables_have_no_empty_lines_in_them(tmp_path: Path) -> None:
    card = render_card(agreement(tmp_path), "markdown")
    assert "|\n\n|" not in card
    assert "\n\n\n\n" not in card


def test_markdown_shows_hostile_names_as_text(tmp_path: Path) -> None:
    found = agreement(tmp_path, ("m",), source="<b>\x1b[31m](http://e)\n# head", language="x")
    found.measured[0].parts["source"] = {"<b>\x1b[31m](http://e)\n# head": found.measured[0].figures}
    for kind in KINDS:
        card = render_card(found, kind)
        assert "<b>" not in card
        assert "\x1b" not in card
        assert "\n# head" not in card
        assert "](http" not in render_card(found, "markdown")
