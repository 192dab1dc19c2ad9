"""Runs that judge only what labels name."""

from __future__ import annotations

import pytest

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.runs import Plan
from psysafe.runs.selection import select
from psysafe.taxonomy import load_dimension
from tests.runs.support import Judge

INSULT, PRIVACY = load_dimension("insulting_behaviour"), load_dimension("privacy_violation")
CHATS = [
    Conversation(
        name,
        (Message("user", "a"), Message("assistant", "b"), Message("user", "c"), Message("assistant", "d")),
    )
    for name in ("one", "two", "three")
]
SOURCE = {"name": "labels.csv", "sha256": "0"}
ANY: frozenset[int | None] = frozenset({None})


def plan(wanted: dict[tuple[str, str], frozenset[int | None]], scope: str = "reply") -> Plan:
    from psysafe.judging import Single

    return Plan(
        conversations=lambda: iter(CHATS), source={}, count=3, judged=6 if scope == "turn" else 3,
        dimensions=[INSULT, PRIVACY], mechanisms=[Single(), Single(rationale=False)], models=[Judge()], scope=scope,  # type: ignore[arg-type]
        selection=select(wanted, CHATS, [INSULT, PRIVACY], scope, SOURCE),  # type: ignore[arg-type]
    )  # fmt: skip


def units(of: Plan) -> set[tuple[str, str, int | None]]:
    return {(task.subject.conversation.id, task.dimension.id, task.subject.message) for task in of.tasks()}


def test_only_labelled_conversations_and_dimensions_are_judged() -> None:
    of = plan({("one", INSULT.id): ANY, ("three", PRIVACY.id): ANY, ("elsewhere", INSULT.id): ANY})
    assert units(of) == {("one", INSULT.id, 3), ("three", PRIVACY.id, 3)}
    # each by both mechanisms
    assert of.units == of.calls == len(list(of.tasks())) == 4


def test_at_scope_turn_a_label_may_name_a_message() -> None:
    of = plan({("one", INSULT.id): frozenset({1}), ("two", INSULT.id): ANY}, "turn")
    assert units(of) == {("one", INSULT.id, 1), ("two", INSULT.id, 1), ("two", INSULT.id, 3)}
    assert of.units == len(list(of.tasks())) == 6


def test_at_scope_conversation_labels_name_none() -> None:
    assert units(plan({("one", INSULT.id): ANY}, "conversation")) == {("one", INSULT.id, None)}


def test_labels_that_match_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no conversation of the input is labelled.*the first label: elsewhere on"):
        plan({("elsewhere", INSULT.id): ANY})
    with pytest.raises(UsageError, match="no conversation of the input is labelled"):
        plan({("one", INSULT.id): frozenset({1})})  # the reply that scope reply judges is message 3


def test_what_named_the_units_is_part_of_the_runs_identity() -> None:
    assert plan({("one", INSULT.id): ANY}).manifest()["labels"] == SOURCE
