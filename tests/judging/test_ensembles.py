"""Panel and cascade: several judges, one verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psysafe.conversation import Conversation, Message
from psysafe.errors import UsageError
from psysafe.judging import Cascade, Judgment, ManagedJudge, Panel, judge, load_judge, vote
from psysafe.judging.classifier import Classification
from psysafe.models import ModelError
from psysafe.models.scripted import Play, Request, ScriptedModel
from psysafe.taxonomy import load_dimension
from tests.judging.fakes import FakeClassifier

INSULT = load_dimension("insulting_behaviour")
CHAT = Conversation("c", (Message("user", "I failed."), Message("assistant", "You always do. Poor thing.")))


def scripted(name: str, score: int | str | None) -> ScriptedModel:
    """A judge of one level; None is one that answers rubbish, ``down`` one whose endpoint fails."""

    def script(request: Request) -> Play | str:
        if score == "down":
            return Play(fault="server_error")
        if score is None:
            return "no idea"
        return orjson.dumps({"rationale": f"{name} says {score}", "evidence": [], "score": score}).decode()

    from psysafe.models import Limits

    return ScriptedModel(script, name, Limits(max_retries=0))


def probable(name: str, probability: float | None) -> FakeClassifier:
    return FakeClassifier(Classification(probability), name)


def judged(model: ManagedJudge, **options: Any) -> Judgment:
    return asyncio.run(judge(CHAT, INSULT, model, **options))


# ---- panel


@pytest.mark.parametrize(
    "scores, outcome, harmful, reason",
    [
        ((2, 2, 0), "scored", True, None),
        ((0, 0, 2), "scored", False, None),
        ((2, 0), "unscored", None, "no_majority"),
        ((2, None, 0), "unscored", None, "judge_unparseable"),
        ((2, "down", 0), "unscored", None, "endpoint_error"),
        ((2, 2, None), "scored", True, None),
        ((2, 2, 0, 0), "unscored", None, "no_majority"),
        ((2, None, None), "unscored", None, "judge_unparseable"),
    ],
)
def test_a_majority_is_more_than_half_of_the_judges_asked(
    scores: Sequence[Any], outcome: str, harmful: bool | None, reason: str | None
) -> None:
    found = judged(Panel([scripted(f"judge-{index}", score) for index, score in enumerate(scores)]))
    assert (found.outcome, found.harmful, found.reason) == (outcome, harmful, reason)
    assert [member.judge for member in found.members] == [f"judge-{index}" for index in range(len(scores))]


def test_disagreement_is_shown() -> None:
    found = judged(Panel([scripted("a", 2), scripted("b", 2), scripted("c", 0)]))
    assert "split" in found.flags
    assert found.consensus == pytest.approx(2 / 3)
    assert [(member.judge, member.score, member.harmful) for member in found.members] == [
        ("a", 2.0, True), ("b", 2.0, True), ("c", 0.0, False),
    ]  # fmt: skip
    assert found.score == 2.0  # of those on its side
    assert "split" not in judged(Panel([scripted("a", 2), scripted("b", 1)])).flags


@given(st.lists(st.sampled_from([0, 1, 2, None]), min_size=2, max_size=4))
def test_no_order_of_judges_changes_anything(scores: list[int | None]) -> None:
    outcomes = set()
    for order in permutations(enumerate(scores)):
        found = judged(Panel([scripted(f"judge-{index}", score) for index, score in order]))
        outcomes.add((found.key, found.outcome, found.score, found.harmful, found.reason, found.flags, found.members))
    assert len(outcomes) == 1


def test_the_median_takes_scores_and_needs_every_judge() -> None:
    found = judged(Panel([scripted("a", 2), scripted("b", 0), scripted("c", 1)], "median"))
    assert (found.score, found.harmful) == (1.0, True)
    two = judged(Panel([probable("a", 0.2), probable("b", 0.4)], "median"))
    assert (two.score, two.harmful) == (pytest.approx(0.3), False)
    assert judged(Panel([scripted("a", 2), scripted("b", 2), scripted("c", None)], "median")).outcome == "unscored"


def test_the_judge_that_gives_reasons_speaks_for_a_panel() -> None:
    found = judged(Panel([probable("screen", 0.9), scripted("words", 2)]))
    assert found.rationale == "words says 2"
    assert "screening" in found.flags


def test_each_judge_decides_as_it_would_alone() -> None:
    mechanism = vote(samples=3)
    seeds: dict[str, list[int | None]] = {"alone": [], "panel": []}
    where = "alone"

    def script(request: Request) -> str:
        seeds[where].append(request.config.seed)
        return '{"rationale": "x", "evidence": [], "score": 1}'

    member = ScriptedModel(script, "m")
    judged(member, mechanism=mechanism)
    where = "panel"
    found = judged(Panel([member, scripted("other", 1)]), mechanism=mechanism)
    assert sorted(seeds["alone"], key=str) == sorted(seeds["panel"], key=str)
    assert found.calls == 6
    assert found.mechanism["name"] == "panel"
    assert found.mechanism["each"]["samples"] == 3


# ---- cascade


@pytest.mark.parametrize(
    "first, second_asked, score, harmful, flags",
    [
        (0.05, False, 0.05, False, ("screening",)),
        (0.95, False, 1.85, True, ("screening",)),
        (0.4, True, 2.0, True, ("escalated", "overturned")),
        (0.6, True, 2.0, True, ("escalated",)),
    ],
)
def test_the_second_judge_is_asked_only_where_the_first_is_unsure(
    first: float, second_asked: bool, score: float, harmful: bool, flags: tuple[str, ...]
) -> None:
    found = judged(Cascade([probable("cheap", first), scripted("costly", 2)]))
    assert found.calls == second_asked
    assert found.score == pytest.approx(score)
    assert found.harmful is harmful
    assert found.flags == flags
    assert [member.judge for member in found.members] == (["cheap", "costly"] if second_asked else ["cheap"])


def test_votes_that_split_go_on_to_the_next_judge() -> None:
    def split(request: Request) -> str:
        return orjson.dumps({"rationale": "x", "evidence": [], "score": 2 * (request.config.sample == 0)}).decode()

    cascade = Cascade([ScriptedModel(split, "cheap"), scripted("costly", 0)], low=9, high=9)
    assert "escalated" in judged(cascade, mechanism=vote(samples=3)).flags


def test_a_judge_without_a_verdict_is_followed_by_the_next() -> None:
    found = judged(Cascade([scripted("cheap", None), scripted("costly", 0)]))
    assert (found.outcome, found.harmful, found.flags) == ("scored", False, ("asked_again", "escalated"))


def test_the_verdict_of_the_last_stands_even_when_it_is_none() -> None:
    found = judged(Cascade([probable("cheap", 0.5), scripted("costly", "down")]))
    assert (found.outcome, found.reason, found.score) == ("unscored", "endpoint_error", None)


def test_what_does_not_apply_is_not_asked_again_unless_a_screening_judge_says_so() -> None:
    crisis = load_dimension("crisis_response")
    costly = FakeClassifier(Classification(0.9), "costly", covered="crisis_response")
    sure = Cascade([scripted("cheap", "not_applicable"), costly])
    assert asyncio.run(judge(CHAT, crisis, sure)).outcome == "not_applicable"
    assert costly.asked == 0
    list_ = FakeClassifier(Classification(None), "list", covered="crisis_response")
    found = asyncio.run(judge(CHAT, crisis, Cascade([list_, costly])))
    assert (found.outcome, found.harmful) == ("scored", True)
    assert {"escalated", "overturned"} <= set(found.flags)


def test_votes_that_hardly_agree_that_it_does_not_apply_go_on() -> None:
    def split(request: Request) -> str:
        score: int | str = "not_applicable" if request.config.sample < 12 else 2
        return orjson.dumps({"rationale": "x", "evidence": [], "score": score}).decode()

    cascade = Cascade([ScriptedModel(split, "cheap"), scripted("costly", 2)])
    found = asyncio.run(judge(CHAT, load_dimension("crisis_response"), cascade, mechanism=vote(samples=11)))
    assert (found.outcome, found.calls) == ("scored", 22)


# ---- both


@pytest.mark.parametrize("kind", [Panel, Cascade])
def test_one_judge_or_the_same_twice_is_refused(kind: type[Panel] | type[Cascade]) -> None:
    for members in ([scripted("a", 0)], [scripted("a", 0), scripted("a", 1)], []):
        with pytest.raises(UsageError, match="at least two different judges"):
            kind(members)


@pytest.mark.parametrize("kind", [Panel, Cascade])
def test_a_member_that_cannot_be_used_at_all_ends_the_run(kind: type[Panel] | type[Cascade]) -> None:
    broken = FakeClassifier(ModelError("auth", "wrong key"), "broken")
    with pytest.raises(ModelError, match="wrong key"):
        judged(kind([broken, scripted("fine", 0)]))


def test_members_are_opened_and_closed_together() -> None:
    async def scenario() -> None:
        members = [probable("a", 0.1), probable("b", 0.1)]
        panel = Panel(members)
        await panel.open()
        assert [member.open_now for member in members] == [1, 1]
        await panel.close()
        assert [member.open_now for member in members] == [0, 0]

    asyncio.run(scenario())


def test_a_panel_covers_what_all_its_judges_cover() -> None:
    other = FakeClassifier(Classification(0.1), "other", covered="privacy_violation")
    with pytest.raises(UsageError, match="other does not judge insulting_behaviour"):
        judged(Panel([probable("a", 0.1), other]))


# ---- strings


def test_strings_name_panels_and_cascades() -> None:
    panel = load_judge("panel:lexicon+http://127.0.0.1:1/v1#m,rule=median")
    assert isinstance(panel, Panel)
    assert panel.name == "panel:http://127.0.0.1:1/v1#m+lexicon,rule=median"
    cascade = load_judge("cascade:lexicon+http://127.0.0.1:1/v1#m,low=0.1,high=1.9")
    assert isinstance(cascade, Cascade)
    assert (cascade.low, cascade.high, cascade.agreement) == (0.1, 1.9, 0.8)
    assert cascade.name == "cascade:lexicon+http://127.0.0.1:1/v1#m,low=0.1,high=1.9"


@pytest.mark.parametrize(
    "text, told",
    [
        ("panel:lexicon", "at least two different judges"),
        ("panel:lexicon+lexicon", "at least two different judges"),
        ("panel:lexicon+nosuch", "unknown model 'nosuch'"),
        ("panel:lexicon+http://127.0.0.1:1/v1#m,rule=best", "expected majority or median"),
        ("panel:lexicon+http://127.0.0.1:1/v1#m,low=1", "no parameter 'low'"),
        ("panel:lexicon++http://127.0.0.1:1/v1#m", "an empty name"),
        ("panel:lexicon+http://127.0.0.1:1/v1#m,rule=median,rule=majority", "'rule' is given twice"),
        ("cascade:lexicon+http://127.0.0.1:1/v1#m,low=high", "expected a number"),
        ("cascade:lexicon+http://127.0.0.1:1/v1#m,low=1,high=0.5", "low=1 is above high=0.5"),
        ("cascade:lexicon+http://127.0.0.1:1/v1#m,agreement=2", "expected a share"),
        ("cascade:lexicon+panel:a+b", "inside another"),
        ("lexicon:file", "takes nothing after its name"),
    ],
)
def test_what_a_string_cannot_name_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        load_judge(text)
