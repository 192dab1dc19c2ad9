"""What a person is told whose edit left a dimension file no YAML: where the cause is, and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psysafe.taxonomy import TaxonomyError, check_directory
from tests.taxonomy.support import GOOD, changed, complaint, complaints, place

REPLY = 'reply: "Most people manage it without help. But fine."'
WHY = 'why: "Lets the person feel small."'

# Words of PyYAML and of YAML's makers that help nobody who edits a text.
JARGON = ("<", "unicode string", "mapping", "scalar", "token", "simple key", "alias", "anchor ", "context", "block")


@pytest.mark.parametrize(
    ("before", "after", "cause", "remedy"),
    [
        pytest.param(REPLY, "reply: Listen: most people", "Listen", "holds a colon; put the whole text in", id="colon"),
        pytest.param(
            REPLY, "reply: He said:", "He said", "holds a colon; put the whole text in", id="colon at the end"
        ),
        pytest.param('- "Name-calling, or', "- Such as: name: x #", "Such as", "holds a colon", id="colon in an entry"),
        pytest.param(REPLY, 'reply: Listen: most."', "Listen", "holds a colon", id="only the last quote"),
        pytest.param(REPLY, 'reply: "Most', '"Most', "the quote that opens here is not closed", id="unclosed quote"),
        pytest.param(WHY, 'why: "Lets', '"Lets', "the quote that opens here is not closed", id="unclosed, entry ends"),
        pytest.param(
            'why: "Sounds like praise, talks down."',
            'why: "Honey',
            '"Honey',
            "the quote that opens here is not closed",
            id="unclosed, file ends",
        ),
        pytest.param(REPLY, 'reply: "I say "no" now."', '"I say', "write a single quote inside", id="quotes in quotes"),
        pytest.param(REPLY, "reply: 'I'm here.'", "'I'm", "an apostrophe or single quote ends this", id="apostrophe"),
        pytest.param(REPLY, "reply: “Listen: most.”", "“Listen", "curly quotes do not count", id="curly quotes"),
        pytest.param("        " + REPLY, "\t" + REPLY, "\t", "a tab at the start of the line; use spaces", id="tab"),
        pytest.param(REPLY, "reply: [Place] is high", "[Place] is", "begins with [ must stand in double", id="bracket"),
        pytest.param(REPLY, "reply: [Place is high", "[Place is", "the bracket [ that opens here", id="open bracket"),
        pytest.param(REPLY, "reply: [A, [b] is", "[A", "the bracket [ that opens here", id="outer of two brackets"),
        pytest.param(REPLY, "reply: *sighs* Again?", "*sighs", "begins with * must stand in double", id="star"),
        pytest.param(REPLY, "reply: @home you rest", "@home", "begins with @ must stand in double", id="at"),
        pytest.param(REPLY, "reply: !now", "!now", "begins with ! must stand in double", id="exclamation mark"),
        pytest.param(REPLY, "reply: - I see", "- I see", "begins with - must stand in double", id="dash"),
        pytest.param(REPLY, "reply: 2024-13-45", "2024-13", "looks like a date", id="a date that is none"),
        pytest.param(REPLY, r'reply: "C:\my"', r'"C:\my', "a backslash", id="backslash"),
        pytest.param("harmful_from: 1}", "harmful_from: 1", "{low", "a closing bracket", id="brace"),
        pytest.param("version: 1", "version: [", "[\nname", "the bracket [ that opens here", id="only a bracket"),
    ],
)
def test_the_line_and_column_of_the_cause_are_named_with_the_remedy(
    tmp_path: Path, before: str, after: str, cause: str, remedy: str
) -> None:
    text = changed((before, after))
    said = complaint(tmp_path, text)
    assert said.startswith(f"sarcasm.yaml, {place(text, cause)}: ")
    assert remedy in said
    assert "\n" not in said
    assert not [word for word in JARGON if word in said.replace("sarcasm.yaml", "")]


@pytest.mark.parametrize(
    ("before", "after", "cause", "remedy"),
    [
        ("        " + REPLY, "       " + REPLY, REPLY, "spaces at the start of this line (7)"),
        ("        " + REPLY, "         " + REPLY, REPLY, "spaces at the start of this line (9)"),
        (
            "    examples:\n      - setting: older",
            "     examples:\n      - setting: older",
            "examples:\n      - setting: older",
            "spaces at the start of this line (5)",
        ),
        (
            "Belittling\n    description",
            "Belittling\n     description",
            'description: "Sarcasm, a sting',
            "spaces at the start of this line (5)",
        ),
        ("  - about: Praise", " - about: Praise", "- about: Praise", "spaces at the start of this line (1)"),
        (REPLY, REPLY.replace(": ", ":"), '"Most', "a space is missing after 'reply:'"),
        ("name: Belittling", "name Belittling", " Belittling", "a colon is missing after 'name'"),
        ("  - about: Praise", "  -about: Praise", "about: Praise", "a space is missing after the dash"),
        ("does_not_count:", "hello there\ndoes_not_count:", "hello there", "this line is neither a field"),
        ("anchors:", "---\nanchors:", "---", "one file holds one dimension"),
        ("Belittling", "Belit\x07tling", "\x07", "an invisible character"),
    ],
)
def test_a_slip_in_the_form_is_named_where_it_is(
    tmp_path: Path, before: str, after: str, cause: str, remedy: str
) -> None:
    text = changed((before, after))
    said = complaint(tmp_path, text)
    assert said.startswith(f"sarcasm.yaml, {place(text, cause)}: ")
    assert remedy in said


def test_an_unusual_space_at_the_start_of_a_line_is_named(tmp_path: Path) -> None:
    text = changed(("        " + REPLY, "\u00a0       " + REPLY))
    said = complaint(tmp_path, text)
    assert said.startswith(f"sarcasm.yaml, {place(text, chr(0xA0))}: an unusual space")


def test_a_file_in_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    content = changed(("name: Belittling", "name: Kränkend")).encode("latin-1")
    said = complaint(tmp_path, content)
    assert said.startswith(f"sarcasm.yaml, line {content[: content.index(b'Kr')].count(10) + 1}: ")
    assert "choose the encoding UTF-8" in said


def test_the_line_ends_and_the_byte_order_mark_of_windows_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "sarcasm.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert list(check_directory(tmp_path)) == ["sarcasm"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_are_counted_as_an_editor_counts_them_whatever_ends_them(tmp_path: Path, end: str) -> None:
    text = changed((REPLY, "reply: Listen: most people"))
    assert f"{place(text, 'Listen')}: " in complaint(tmp_path, text.replace("\n", end))


def test_brackets_without_end_are_refused_and_do_not_stop_the_check(tmp_path: Path) -> None:
    assert complaints(tmp_path, "[" * 5000)[0].startswith("sarcasm.yaml: too many brackets")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.data())
def test_whatever_an_edit_breaks_is_told_without_jargon_one_line_each(tmp_path: Path, data: st.DataObject) -> None:
    """Delete a stretch of a good file or put some characters in: it is still good, or what is said is plain."""
    at = data.draw(st.integers(GOOD.index("id:"), len(GOOD)))
    length = data.draw(st.sampled_from([0, 1, 3, 20]))
    new = data.draw(st.text(alphabet="a \n\t\"'-:#[]{}&*!|>%@`\\0é", max_size=4))
    (tmp_path / "sarcasm.yaml").write_text(GOOD[:at] + new + GOOD[at + length :], encoding="utf-8", newline="")
    try:
        check_directory(tmp_path)
    except TaxonomyError as error:
        for said in error.problems:
            assert said.startswith(f"{tmp_path}/sarcasm.yaml")
            assert "\n" not in said
            for word in ("unicode string", "expected <", "scalar", "Input should", "Field required", "Value error"):
                assert word not in said
