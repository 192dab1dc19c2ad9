"""Runs that judge only what labels name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging import SCOPES
from psysafe.runs import Plan
from psysafe.runs.selection import Unmatched, select
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


def test_what_the_labels_name_beyond_the_units_is_counted_by_reason() -> None:
    found = select(
        {
            ("one", INSULT.id): frozenset({1, 3}),
            ("two", INSULT.id): ANY,
            ("elsewhere", INSULT.id): frozenset({1, 3}),
            ("one", "jargon"): ANY,
            ("elsewhere", "jargon"): ANY,
        },
        CHATS, [INSULT, PRIVACY], "reply", SOURCE,
    )  # fmt: skip
    assert (found.count, found.conversations) == ({INSULT.id: 2}, 2)
    assert found.unmatched == Unmatched({"jargon": 2}, conversations=2, messages=1)
    assert str(found.unmatched) == (
        "2 on dimensions that are not chosen (jargon 2), 2 of conversations that the input does not hold, "
        "1 of messages that this scope does not judge"
    )


def test_labels_that_all_fit_leave_nothing_to_say() -> None:
    assert not select({("one", INSULT.id): ANY}, CHATS, [INSULT], "turn", SOURCE).unmatched


def test_a_label_that_names_no_message_stands_beside_one_that_does() -> None:
    """Every message is judged, each once."""
    of = plan({("one", INSULT.id): frozenset({None, 1})}, "turn")
    assert units(of) == {("one", INSULT.id, 1), ("one", INSULT.id, 3)}
    assert of.units == len(list(of.tasks())) == 4


def test_the_conversations_own_choice_of_a_message_holds() -> None:
    chosen = [replace(CHATS[0], judged_message=1)]
    assert select({("one", INSULT.id): frozenset({1})}, chosen, [INSULT], "reply", SOURCE).count == {INSULT.id: 1}
    with pytest.raises(UsageError, match="1 of messages that this scope does not judge"):
        select({("one", INSULT.id): frozenset({3})}, chosen, [INSULT], "reply", SOURCE)


def test_labels_that_name_messages_say_nothing_of_whole_conversations() -> None:
    with pytest.raises(UsageError, match="1 of messages that this scope does not judge"):
        plan({("one", INSULT.id): frozenset({3})}, "conversation")


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["one", "two", "zz"]), st.sampled_from([INSULT.id, PRIVACY.id, "jargon"])),
        st.frozensets(st.sampled_from([None, 0, 1, 3]), min_size=1),
        min_size=1,
    ),
    st.sampled_from(SCOPES),
)
def test_counts_are_those_of_the_units_that_are_made(
    wanted: dict[tuple[str, str], frozenset[int | None]], scope: str
) -> None:
    try:
        of = plan(wanted, scope)
    except UsageError:
        return
    assert of.selection is not None
    tasks = list(of.tasks())
    assert of.units == of.calls == len(tasks)
    assert of.selection.conversations == len({task.subject.conversation.id for task in tasks})
    matched = {
        (name, dimension, message)
        for (name, dimension), messages in wanted.items()
        for message in messages
        if any(
            task.subject.conversation.id == name
            and task.dimension.id == dimension
            and message in (None, task.subject.message)
            for task in tasks
        )
    }
    left = of.selection.unmatched
    labels = sum(len(messages) for messages in wanted.values())
    assert len(matched) + sum(left.dimensions.values()) + left.conversations + left.messages == labels


def test_a_judge_of_other_dimensions_than_the_labelled_ones_is_refused() -> None:
    from psysafe.judging import Single
    from psysafe.judging.baselines.screen import Screen

    over = load_dimension("over_intervention")
    screen = Screen()
    covered = [one for one in (INSULT, over) if screen.covers(one)]
    assert covered == [INSULT]
    with pytest.raises(UsageError, match="screen judges none of the dimensions that are labelled here"):
        Plan(
            conversations=lambda: iter(CHATS), source={}, count=3, judged=3, dimensions=[INSULT, over],
            mechanisms=[Single()], models=[screen],
            selection=select({("one", over.id): ANY}, CHATS, [INSULT, over], "reply", SOURCE),
        )  # fmt: skip


def test_a_classifier_with_a_model_behind_it_is_asked_in_words_about_every_dimension() -> None:
    """But for single, by which it judges what it was fitted on."""
    from psysafe.judging import Classification, Dual, Single
    from tests.judging.fakes import FakeClassifier

    crisis = load_dimension("crisis_response")
    judge = FakeClassifier(Classification(0.5))
    judge.chat = Judge()
    of = Plan(
        conversations=lambda: iter(CHATS), source={}, count=3, judged=3, dimensions=[INSULT, crisis],
        mechanisms=[Single(), Dual()], models=[judge],
    )  # fmt: skip
    kinds = {(task.mechanism.name, task.dimension.id) for task in of.tasks()}
    assert kinds == {("single", INSULT.id), ("dual", INSULT.id), ("dual", crisis.id)}
    assert of.units == len(list(of.tasks())) == 9
    assert of.not_covered == {f"{judge.name} with single": ["crisis_response"]}
