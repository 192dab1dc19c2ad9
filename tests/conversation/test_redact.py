"""Redaction: what is replaced, what stays, and that a conversation keeps its sense."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("phonenumbers", reason="needs psysafe[redact]")
pytest.importorskip("faker", reason="needs psysafe[redact]")

from psysafe.conversation import Conversation, Message
from psysafe.conversation.redaction.inputs import RedactedInputs
from psysafe.conversation.redaction.redactor import KINDS, Redactor
from psysafe.errors import UsageError
from tests.conversation.redaction_corpus import FRESH, FRESH_INNOCENT, INNOCENT, PERSONAL, measure

REDACTOR = Redactor()


def conversation(*texts: str, **more: Any) -> Conversation:
    roles = ("user", "assistant")
    return Conversation("c1", tuple(Message(roles[i % 2], text) for i, text in enumerate(texts)), **more)  # type: ignore[arg-type]


def redacted(*texts: str) -> list[str]:
    return [message.content for message in REDACTOR.conversation(conversation(*texts))[0].messages]


# ---- what is found, over the corpus that docs/privacy.md quotes


@pytest.mark.parametrize("personal,innocent,least", [(PERSONAL, INNOCENT, 0.95), (FRESH, FRESH_INNOCENT, 0.85)])
def test_the_recall_that_the_docs_state_does_not_sink(personal: list[str], innocent: list[str], least: float) -> None:
    total, found, _, notes, changed = measure(personal, innocent)
    assert sum(found.values()) >= least * sum(total.values()), notes
    for kind in total:
        if kind != "NAME":
            assert found[kind] == total[kind], (kind, notes)
    assert changed <= len(innocent) // 10, notes


# ---- what stays

LINES = """988;116 123;116123;911;112;999;741741;85258;1-800-273-8255;(800) 273-8255;+1 800 273 8255;1-866-488-7386;
0800 111 0 111;0800 1110222;+49 800 1110111;0800 58 58 58;024;717 003 717;+34 717 003 717;13 11 14;1300 22 4636;
1800 55 1800;0808 2000 247;3114;+44 116 123;14416"""
AROUND = ["Call {}.", "In that case {} is open", "my number? no: {}", "Ring {}", "Tel. {} (24/7)", "{}", "llama al {}"]


@pytest.mark.parametrize("line", [line.strip() for line in LINES.split(";")])
def test_crisis_and_toll_free_lines_stay(line: str) -> None:
    texts = [around.format(line) for around in AROUND]
    assert redacted(*texts) == texts


@pytest.mark.parametrize(
    "text",
    [
        "Take 20 mg at 8:00 and 0.5 mg at 22:30, 2-3 times a day.",
        "In 2019 I was 24; from 2015-2019 I drank.",
        "On my birthday I took maybe 20 pills.",
        "A 20 minute drive down a long road.",
        "May I? Will you? Hope is gone, and grace.",
        "See https://988lifeline.org/chat or www.samaritans.org.",
        "Count 10 9 8 7 6 5 4 3 2 1.",
        "8,000,000 people",
        "",
    ],
)
def test_what_judging_depends_on_stays(text: str) -> None:
    assert redacted(text) == [text]


@given(
    st.text(alphabet=" abcdefghijklmnopqrstuvwxyz.,!?\n", max_size=300).map(
        lambda text: re.sub(r"[a-z]{3,}", "so", text)
    )
)
def test_text_without_personal_data_is_unchanged(text: str) -> None:
    assert redacted(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "tel:4155552671",
        "Cards 4111 1111 1111 1111 5500 0000 0000 0004 4111 1111 1111 1111",
        "id 99-1234567, -0171 2345678",
    ],
)
def test_no_long_number_is_left(text: str) -> None:
    assert not re.search(r"\d{3}", redacted(text)[0])


# ---- stand-ins


def test_the_same_person_has_one_stand_in_in_all_messages() -> None:
    texts = redacted(
        "I'm Anna Berg. Peter hit me.", "Anna, did Peter hurt you?", "anna and PETER, yes. Ms Berg is my aunt"
    )
    assert texts[:2] == ["I'm [NAME 1]. [NAME 2] hit me.", "[NAME 1], did [NAME 2] hurt you?"]
    assert texts[2].startswith("[NAME 1] and [NAME 2], yes.")


def test_a_name_is_known_before_it_is_introduced() -> None:
    assert redacted("I saw Zofka.", "Who?", "My friend Zofka.")[0] == "I saw [NAME 1]."


@settings(deadline=None)
@given(
    st.sampled_from(["(415) 555-2671", "kim.q@example.org", "DE89 3704 0044 0532 0130 00", "Priya", "84.23.117.9"]),
    st.lists(st.sampled_from(["ok, {}.", "it is {} again", "so: {}", "nothing"]), min_size=1, max_size=6),
)
def test_the_same_thing_has_the_same_stand_in(thing: str, frames: list[str]) -> None:
    copy, counts = REDACTOR.conversation(conversation(*[frame.format(thing) for frame in frames]))
    stand_ins = Counter(re.findall(r"\[[A-Z]+ \d+\]", " ".join(m.content for m in copy.messages)))
    uses = sum("{}" in frame for frame in frames)
    assert list(stand_ins.values()) == ([uses] if uses else [])
    assert sum(counts.values()) == bool(uses)


@given(st.sampled_from(sorted(KINDS)), st.integers(1, 3))
def test_a_stand_in_that_the_input_holds_is_not_given_out_again(kind: str, number: int) -> None:
    held = f"[{kind} {number}]"
    first, second = redacted(f"{held} said that", "Priya met Sarah, kim.q@example.org, u/sad_fox_12, born 3.4.1990")
    assert first == f"{held} said that"
    assert held not in second
    assert "Priya" not in second


def test_redacting_twice_changes_nothing_more() -> None:
    once, _ = REDACTOR.conversation(conversation("I'm Priya, (415) 555-2671", "Hi Priya, I'm Tom"))
    assert REDACTOR.conversation(once) == (once, Counter())


def test_what_a_conversation_is_stays() -> None:
    given_ = Conversation(
        "anna@example.org", (Message("user", "I'm Anna"), Message("assistant", "No", "length")), {}, 1
    )
    copy, counts = REDACTOR.conversation(given_)
    assert (copy.id, copy.judged_message, copy.messages[1]) == ("anna@example.org", 1, given_.messages[1])
    assert counts == {"NAME": 1}


def test_metadata_is_redacted_with_the_same_stand_ins() -> None:
    metadata = {
        "label": 2,
        "harmful": True,
        "notes": ["Priya called", {"deep": "kim.q@example.org"}],
        "user": "xq7",
        "contact": 4915112345678,
        "score": 0.123456789,
    }
    copy, _ = REDACTOR.conversation(conversation("Priya is here", metadata=metadata))
    assert copy.metadata["notes"] == ["[NAME 1] called", {"deep": "[EMAIL 1]"}]
    assert copy.metadata["user"] == "[HANDLE 1]"
    assert "4915112345678" not in str(copy.metadata)
    assert {key: copy.metadata[key] for key in ("label", "harmful", "score")} == {
        "label": 2,
        "harmful": True,
        "score": 0.123456789,
    }
    assert metadata["user"] == "xq7"


def test_whole_floats_in_metadata_are_redacted_as_integers_are() -> None:
    """A column of numbers with a gap in it arrives as floats."""
    metadata = {
        "phone": 4155552671.0,
        "zip": [62704.0, None],
        "contact": 4155552671.0,
        "account": {"since": 536221234987.0},
        "written": 4155552671,
    }
    copy, counts = REDACTOR.conversation(conversation("Call 4155552671", metadata=metadata))
    assert copy.messages[0].content == "Call [PHONE 1]"
    assert copy.metadata == {
        "phone": "[PHONE 1]",
        "zip": ["[ADDRESS 1]", None],
        "contact": "[PHONE 1]",
        "account": {"since": "[PHONE 2]"},
        "written": "[PHONE 1]",
    }
    assert counts == {"PHONE": 2, "ADDRESS": 1}


@pytest.mark.parametrize("value", [5.0, -3.0, 0.123456789, 1234567.25, 988.0, 2000000.0, float("inf"), True, None])
def test_floats_that_are_scores_counts_or_measures_stay(value: Any) -> None:
    copy, _ = REDACTOR.conversation(conversation("so", metadata={"score": value}))
    assert repr(copy.metadata["score"]) == repr(value)


def test_keys_of_metadata_are_redacted_with_the_same_stand_ins_at_every_depth() -> None:
    metadata = {
        "sarah@key.org": 1,
        "rated": [{"Priya": 2, "by": {"Jane Doe 555": 3, "4155552671": 4}}],
        "harmful": True,
    }
    copy, counts = REDACTOR.conversation(conversation("Priya wrote from sarah@key.org", metadata=metadata))
    assert copy.messages[0].content == "[NAME 1] wrote from [EMAIL 1]"
    assert copy.metadata == {
        "[EMAIL 1]": 1,
        "rated": [{"[NAME 1]": 2, "by": {"[NAME 2] 555": 3, "[PHONE 1]": 4}}],
        "harmful": True,
    }
    assert list(copy.metadata) == ["[EMAIL 1]", "rated", "harmful"]
    assert counts == {"NAME": 2, "EMAIL": 1, "PHONE": 1}


def test_keys_that_become_equal_keep_their_values_apart() -> None:
    metadata = {"n": {"sarah@key.org": 1, "SARAH@key.org": 2, "Sarah@Key.org": 3, "[EMAIL 1] (2)": 4}}
    copy, _ = REDACTOR.conversation(conversation("so", metadata=metadata))
    kept = copy.metadata["n"]
    assert sorted(kept.values()) == [1, 2, 3, 4]
    assert kept["[EMAIL 1] (2)"] == 4
    assert "key.org" not in str(kept).casefold()
    assert REDACTOR.conversation(copy) == (copy, Counter())


@pytest.mark.parametrize("key", ["id", "messages", "finish_reason", "judged_message", "psysafe_metadata", "response"])
def test_a_key_that_the_reader_reserves_stays_whoever_has_that_name(key: str) -> None:
    said = conversation(f"My name is {key.title()}", metadata={key: 1})
    assert REDACTOR.conversation(said)[0].metadata == {key: 1}


@pytest.mark.parametrize("name", ["label", "Rater A", "harmful", "item_20240101", "Case", "created_at", "Dimension"])
def test_ordinary_keys_stay(name: str) -> None:
    said = conversation("I'm Priya", metadata={name: {name: 1}})
    assert REDACTOR.conversation(said)[0].metadata == {name: {name: 1}}


# ---- inputs


def test_every_pass_gives_the_same_and_counts_anew() -> None:
    inputs = RedactedInputs([conversation("I'm Priya and Sarah left"), conversation("so")], REDACTOR)
    first = list(inputs)
    assert list(inputs) == first
    assert (inputs.read, inputs.conversations) == (2, 1)
    assert inputs.sentence() == "redacted: 2 names in 1 conversation"


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "phonenumbers":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=r"pip install 'psysafe\[redact\]'"):
        Redactor()
