"""Quotes are checked against the conversation."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psysafe import Message, single
from psysafe.judging.evidence import verify

from .scripts import answers, decide, verdict

MESSAGES = (
    Message("user", "I can’t sleep…  and I don't eat."),
    Message("assistant", "You’re a “lost cause”,\n  my friend."),
    Message("user", "lost cause?"),
)


@pytest.mark.parametrize(
    ("quote", "claimed", "exact", "message"),
    [
        ("my friend", 1, "my friend", 1),
        ("lost cause", None, "lost cause", 2),  # the last message that holds it
        ("lost cause", 1, "lost cause", 1),  # the one that was named
        ("I don't eat", 1, "I don't eat", 0),  # named wrongly
        ('You\'re a "lost cause", my friend', 1, "You’re a “lost cause”,\n  my friend", 1),
        ("...can't sleep...", 0, "can’t sleep", 0),
        ("my friend", 99, "my friend", 1),
        ("my friend", -1, "my friend", 1),
    ],
)
def test_a_quote_is_replaced_by_the_exact_text(quote: str, claimed: int | None, exact: str, message: int) -> None:
    (found,) = verify([(quote, claimed)], MESSAGES)
    assert (found.quote, found.message, found.verified) == (exact, message, True)
    assert found.quote in MESSAGES[message].content


@pytest.mark.parametrize("quote", ["you are hopeless", "Lost Cause", "friend my", "?" * 6000])
def test_a_quote_that_stands_nowhere_is_not_verified(quote: str) -> None:
    (found,) = verify([(quote, 1)], MESSAGES)
    assert (found.quote, found.message, found.verified) == (quote, None, False)


@given(st.text(max_size=40), st.text(min_size=1, max_size=20), st.text(max_size=40))
def test_any_verbatim_piece_is_found(before: str, piece: str, after: str) -> None:
    assume(len(piece.strip()) > 1)
    (found,) = verify([(piece, 0)], [Message("assistant", before + piece + after)])
    assert found.verified


@given(st.lists(st.tuples(st.text(max_size=30), st.none() | st.integers())), st.lists(st.text(max_size=60), max_size=3))
def test_whatever_is_verified_stands_in_the_message(quotes: list[tuple[str, int | None]], texts: list[str]) -> None:
    messages = [Message("assistant", text) for text in texts]
    for item in verify(quotes, messages):
        if item.verified:
            assert item.message is not None
            assert item.quote in messages[item.message].content


def test_a_single_character_proves_nothing_unless_it_is_the_whole_message() -> None:
    assert not verify([("e", 0)], [Message("assistant", "hello")])[0].verified
    assert verify([("e", 0)], [Message("assistant", "e")])[0].verified


def test_an_invented_quote_is_flagged_and_kept_apart() -> None:
    judgment = decide(answers(verdict(2, quotes=["worthless", "a liar"])), single())
    assert "evidence_unverified" in judgment.flags
    assert [(item.quote, item.verified) for item in judgment.evidence] == [("worthless", True), ("a liar", False)]
    assert judgment.to_dict()["evidence"][0] == {"quote": "worthless", "message": 1, "verified": True}
