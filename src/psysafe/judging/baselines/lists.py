"""The lists of the lexicon: from a YAML file to phrases that can be looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from psysafe.errors import UsageError
from psysafe.judging.baselines.phrases import PhraseError, Phrases
from psysafe.judging.baselines.words import Language, Text
from psysafe.taxonomy.source import Unreadable, parse

T = TypeVar("T")
_Complain = Callable[[Sequence[str | int], str], None]
_Phrases = Annotated[tuple[str, ...], Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Cue(_Strict):
    """Something in the user's text on which signs may depend. ``unless``: phrases that undo it in their sentence."""

    phrases: _Phrases
    unless: tuple[str, ...] = ()


class Sign(_Strict):
    """One kind of sign.

    Attributes:
        weight: probability of harm that this sign alone would mean, above 0 and below 1.
        unless: phrases that, in the same sentence, undo it. unless_in_reply: that undo it anywhere in the message.
        user_says, user_does_not_say: cues; the sign is looked for only if all of the one and none of the other
            stand in the user's messages so far.
        missing: it is a sign that *none* of the phrases stands there.
    """

    name: str
    weight: Annotated[float, Field(gt=0, lt=1)]
    phrases: _Phrases
    unless: tuple[str, ...] = ()
    unless_in_reply: tuple[str, ...] = ()
    user_says: tuple[str, ...] = ()
    user_does_not_say: tuple[str, ...] = ()
    missing: bool = False


class Signs(_Strict):
    """The signs of one dimension. ``applies_when_user_says``: the cue without which there is nothing to score."""

    applies_when_user_says: str | None = None
    unless: tuple[str, ...] = ()
    signs: Annotated[tuple[Sign, ...], Field(min_length=1)]


class Lists(_Strict):
    """The whole file."""

    version: Annotated[int, Field(ge=1)]
    short_forms: dict[str, str]
    negations: tuple[str, ...]
    negates_nothing: tuple[str, ...] = ()
    sets: dict[str, _Phrases] = {}
    cues: dict[str, Cue] = {}
    unless: tuple[str, ...] = ()
    dimensions: dict[str, Signs]


# What a found phrase means: it stands for a cue or sign, or undoes it (None: every sign) in its sentence or altogether.
Meaning = Literal["stands", "undoes_in_sentence", "undoes"]
SignPhrases = Phrases[tuple[Meaning, int | None]]
CuePhrases = Phrases[tuple[Meaning, str]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Lists that can be searched with.

    Attributes:
        digest: of the file, 64 hex digits.
        negates_nothing: phrases in which a negation is none.
        cues: by name. signs: by dimension, then by their number in it.
    """

    lists: Lists
    digest: str
    language: Language
    negates_nothing: Phrases[None]
    cues: CuePhrases
    signs: dict[str, SignPhrases]

    def read(self, original: str) -> Text:
        """A text as words."""
        text = self.language.read(original)
        for _, first, last in self.negates_nothing.find(text):
            text.negates[first : last + 1] = [False] * (last + 1 - first)
        return text


def load_lists(path: Path | None = None) -> Compiled:
    """The lists of a file, or those that ship with psysafe.

    Raises:
        UsageError: the file cannot be read; a line for each problem: file, line, place, what was expected.
    """
    return _shipped() if path is None else _compiled(path)


@cache
def _shipped() -> Compiled:
    return _compiled(files("psysafe.judging") / "data" / "lexicon.yaml")


def _compiled(path: Path | Traversable) -> Compiled:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror or error}; expected the lists of a lexicon"
        ) from None
    try:
        source = parse(content)
    except Unreadable as error:
        raise UsageError(error.problem.at(path)) from None
    problems = [(problem.line, problem.at(path)) for problem in source.losses]

    def complain(loc: Sequence[str | int], said: str) -> None:
        line = source.find(loc)[0]
        where = " > ".join(str(part + 1) if isinstance(part, int) else part for part in loc)
        problems.append((line, ": ".join(filter(None, [f"{path}, line {line}" if line else f"{path}", where, said]))))

    try:
        lists = Lists.model_validate(source.data)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            complain(entry["loc"], entry["msg"])
    else:
        compiled = _compile(lists, sha256(content).hexdigest(), complain)
        if not problems:
            return compiled
    raise UsageError("\n".join(said for _, said in sorted(problems, key=lambda problem: problem[0] or 0)))


def _compile(lists: Lists, digest: str, complain: _Complain) -> Compiled:
    language = Language(lists.short_forms, lists.negations)

    def add(phrases: Phrases[T], texts: Sequence[str], meaning: T, *loc: str | int) -> None:
        for number, text in enumerate(texts):
            try:
                phrases.add(text, meaning)
            except PhraseError as error:
                complain([*loc, number], str(error))

    negates_nothing: Phrases[None] = Phrases(language, lists.sets)
    add(negates_nothing, lists.negates_nothing, None, "negates_nothing")
    cues: CuePhrases = Phrases(language, lists.sets)
    for name, cue in lists.cues.items():
        add(cues, cue.phrases, ("stands", name), "cues", name, "phrases")
        add(cues, cue.unless, ("undoes_in_sentence", name), "cues", name, "unless")
    signs: dict[str, SignPhrases] = {}
    for name, dimension in lists.dimensions.items():
        here: SignPhrases = Phrases(language, lists.sets)
        add(here, lists.unless, ("undoes_in_sentence", None), "unless")
        add(here, dimension.unless, ("undoes_in_sentence", None), "dimensions", name, "unless")
        for number, sign in enumerate(dimension.signs):
            loc = ("dimensions", name, "signs", number)
            add(here, sign.phrases, ("stands", number), *loc, "phrases")
            add(here, sign.unless, ("undoes_in_sentence", number), *loc, "unless")
            add(here, sign.unless_in_reply, ("undoes", number), *loc, "unless_in_reply")
        signs[name] = here
        for place, cue_name in _named_cues(name, dimension):
            if cue_name not in lists.cues:
                complain(place, f"'{cue_name}' is not listed under 'cues'")
    return Compiled(lists, digest, language, negates_nothing, cues, signs)


def _named_cues(name: str, dimension: Signs) -> Iterator[tuple[list[str | int], str]]:
    if dimension.applies_when_user_says is not None:
        yield ["dimensions", name, "applies_when_user_says"], dimension.applies_when_user_says
    for number, sign in enumerate(dimension.signs):
        for field in ("user_says", "user_does_not_say"):
            for cue in getattr(sign, field):
                yield ["dimensions", name, "signs", number, field], cue
