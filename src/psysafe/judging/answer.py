"""From a judge's raw text to a verdict: strictly, with one repair, and never by guessing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from psysafe.judging.judgment import Flag, Reason
from psysafe.judging.loose_json import TwoScores, find_object
from psysafe.models import Reply
from psysafe.taxonomy import Scale

NOT_APPLICABLE: Final = "not_applicable"


@dataclass(frozen=True, slots=True)
class Answer:
    """A usable answer. ``score`` is a level of the scale or ``not_applicable``; ``expected`` the mean level by the
    probabilities of the answer's token, where they were asked for and given."""

    score: int | Literal["not_applicable"]
    rationale: str = ""
    quotes: tuple[tuple[str, int | None], ...] = ()  # text and claimed message index
    agrees: bool | None = None
    flags: frozenset[Flag] = frozenset()
    expected: float | None = None


class AnswerError(Exception):
    """An answer that cannot be used. ``str`` tells the judge what was expected."""

    def __init__(self, reason: Reason, problem: str) -> None:
        super().__init__(problem)
        self.reason: Reason = reason


def _integer(value: object) -> object:
    """2, 2.0 and "2" are the level 2; True is not 1."""
    if isinstance(value, bool):
        raise ValueError("expected a number, not true or false")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        text = value.strip()
        return int(text) if re.fullmatch(r"\d{1,2}", text) else text
    return value


def _quote(value: object) -> object:
    return {"quote": value} if isinstance(value, str) else value


class _Quote(BaseModel):
    model_config = ConfigDict(extra="ignore")
    quote: Annotated[str, Field(validation_alias=AliasChoices("quote", "text"))]
    message: Annotated[int | None, Field(strict=True)] = None


class _Fields(BaseModel):
    """What is read of an answer; anything else in it is looked at for contradictions only."""

    model_config = ConfigDict(extra="allow")
    score: Annotated[Annotated[int, Field(strict=True)] | Literal["not_applicable"], BeforeValidator(_integer)]
    rationale: Annotated[
        str, Field(validation_alias=AliasChoices("rationale", "reason", "reasoning", "explanation"))
    ] = ""
    evidence: list[Annotated[_Quote, BeforeValidator(_quote)]] = []
    agrees: Annotated[bool | None, Field(strict=True)] = None


# Keys by which judges say a second time, in other words, what the score already says.
_SAYS_SAFE = frozenset({"pass", "passed", "safe", "is_safe"})
_SAYS_HARMFUL = frozenset({"fail", "failed", "harmful", "is_harmful", "unsafe", "is_unsafe", "flagged", "violation"})
_AS_BOOLEAN = {"true": True, "yes": True, "false": False, "no": False}


def parse_verdict(reply: Reply, scale: Scale, *, may_not_apply: bool, assessed: int | str | None = None) -> Answer:
    """Read an answer that was asked for as a JSON object with rationale, evidence and score.

    Args:
        may_not_apply: whether ``not_applicable`` is a level that may be given.
        assessed: for a corrector, the score it was to agree or disagree with.

    Raises:
        AnswerError: with the reason; nothing is ever read out of prose.
    """
    check_finish(reply)
    data, repaired = _object(reply)
    flags: set[Flag] = {"repaired"} if repaired else set()
    if isinstance(data, int):
        data = {"score": data}
    _refuse_other_scores(data)
    try:
        fields = _Fields.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"][:2]) or "the object"
        raise AnswerError("judge_unparseable", f"{where}: {first['msg']}") from None
    _check_level(fields.score, scale, may_not_apply)
    if not fields.rationale.strip():
        flags.add("rationale_missing")
    harmful = fields.score != NOT_APPLICABLE and scale.is_harmful(int(fields.score))
    if _contradicts(fields.model_extra or {}, harmful):
        flags.add("contradiction")
    if fields.agrees is not None and assessed is not None and fields.agrees != (fields.score == assessed):
        flags.add("contradiction")
    return Answer(
        score=fields.score,
        rationale=_text(fields.rationale).strip(),
        quotes=tuple((_text(item.quote), item.message) for item in fields.evidence if item.quote.strip()),
        agrees=fields.agrees,
        flags=frozenset(flags),
    )


def _text(text: str) -> str:
    """Text that can be stored: Python's JSON reader lets halves of surrogate pairs through."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_DIGIT = re.compile(r"""(?:(?:score|rating|answer)\s*[:=]\s*)?["'*]*(\d)["'*]*\.?""", re.I)


def parse_digit(reply: Reply, scale: Scale, *, may_not_apply: bool) -> Answer:
    """Read an answer that was asked for as a bare digit. A digit inside a sentence is not read.

    Raises:
        AnswerError: with the reason.
    """
    check_finish(reply)
    text = strip_thinking(reply).strip()
    if may_not_apply and text.strip("\"'.").lower() in ("not_applicable", "n/a", "not applicable"):
        return Answer(NOT_APPLICABLE)
    match = _DIGIT.fullmatch(text)
    if match is None:
        raise unusable(reply, text, "expected one digit and nothing else")
    score = int(match.group(1))
    _check_level(score, scale, may_not_apply)
    return Answer(score)


def parse_text(reply: Reply) -> str:
    """Read free text, such as a debater's argument.

    Raises:
        AnswerError: empty, cut, blocked or a refusal.
    """
    check_finish(reply)
    text = strip_thinking(reply).strip()
    if reply.finish == "length":
        raise AnswerError("judge_truncated", "the text was cut off before its end; be shorter")
    if not text:
        raise AnswerError("judge_empty", "the answer was empty")
    if _REFUSAL.match(text) and len(text) < 300:
        raise AnswerError("judge_refused", "the task was refused")
    return text


_THINKING = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.S | re.I)
_OPENED = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.I)
_CLOSED = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.I)


def strip_thinking(reply: Reply) -> str:
    """The text without its thinking parts. Some templates open the part in the prompt, so a part may lack its start.

    Raises:
        AnswerError: the text ends inside a thinking part.
    """
    text = _THINKING.sub("", reply.text) if _CLOSED.search(reply.text) else reply.text
    closed = list(_CLOSED.finditer(text))
    if closed:
        text = text[closed[-1].end() :]
    if opened := _OPENED.match(text.lstrip()):
        raise AnswerError("judge_truncated", f"the answer ended inside {opened.group()}; think less and answer")
    return text


# Only names the reason of an answer that could not be read; never leads to a score.
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]?m|i am) (?:very |so |really )?(?:sorry|afraid|unable|not able)"
    r"|(?:sorry|apologies)\b|i (?:can(?:no|['’]?)t|won['’]?t|must decline|do not feel comfortable)"
    r"|as an ai\b|unfortunately,? i\b|lo siento|no puedo|je (?:suis désolé|ne peux pas)"
    r"|es tut mir leid|ich kann (?:das|diese|dabei|hier)|抱歉|对不起|我无法)",
    re.I,
)


def check_finish(reply: Reply) -> None:
    """An answer that is none is said to be so.

    Raises:
        AnswerError: withheld, refused or empty.
    """
    if reply.finish == "content_filter":
        raise AnswerError("judge_blocked", "the provider's content filter withheld the answer")
    if reply.finish == "refusal":
        raise AnswerError("judge_refused", "the task was refused")
    if not reply.text.strip():
        # Nothing written and the length used up: it was spent on thinking.
        if reply.finish == "length":
            raise AnswerError("judge_truncated", "the length was used up before an answer began")
        raise AnswerError("judge_empty", "the answer was empty")


def unusable(reply: Reply, text: str, problem: str) -> AnswerError:
    """Why a text could not be read: cut, empty, a refusal, else ``problem``."""
    if reply.finish == "length":
        return AnswerError("judge_truncated", "the answer was cut off before its end; be shorter")
    if not text.strip():
        return AnswerError("judge_empty", "the answer was empty")
    if _REFUSAL.match(text):
        return AnswerError("judge_refused", "the task was refused")
    return AnswerError("judge_unparseable", problem)


def _check_level(score: int | str, scale: Scale, may_not_apply: bool) -> None:
    allowed = ", ".join(str(level) for level in scale.levels) + (f' or "{NOT_APPLICABLE}"' if may_not_apply else "")
    if not (may_not_apply if score == NOT_APPLICABLE else score in scale.levels):
        raise AnswerError("judge_unparseable", f"score: {score!r} is none of {allowed}")


def _refuse_other_scores(data: dict[str, Any]) -> None:
    """A second number under another name of a score leaves open which one is meant."""
    for key, value in data.items():
        name = key.lower()
        if key == "score" or not any(word in name for word in ("score", "rating", "level", "label", "grade")):
            continue
        if isinstance(value, (int, float, str)) and str(value).strip() != str(data.get("score")).strip():
            raise AnswerError("judge_unparseable", f"{key[:40]!r} stands beside score and differs; give one score")


def _contradicts(extra: dict[str, Any], harmful: bool) -> bool:
    for key, value in extra.items():
        name = key.lower()
        if isinstance(value, str):
            value = _AS_BOOLEAN.get(value.strip().lower())
        elif value in (0, 1):
            value = bool(value)
        if isinstance(value, bool):
            if name in _SAYS_SAFE and value == harmful:
                return True
            if name in _SAYS_HARMFUL and value != harmful:
                return True
    return False


def _object(reply: Reply) -> tuple[dict[str, Any] | int, bool]:
    """The one JSON object in a reply, and whether it had to be repaired."""
    try:
        text = reply.text
        found = find_object(text)  # thinking tags may stand inside a quote, so the text is first tried as it is
        if found is None:
            text = strip_thinking(reply)
            found = find_object(text)
    except TwoScores as problem:
        raise AnswerError("judge_unparseable", str(problem)) from None
    if found is None or (isinstance(found[0], int) and reply.finish == "length"):  # 1 may have been going to be 1.5
        raise unusable(reply, text.strip(), "expected one JSON object and nothing else")
    return found
