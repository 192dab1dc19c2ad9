"""A client profile: a person, as a cognitive conceptualization (CBT), whom a simulated client plays.

Ours are data in ``profiles/``, one YAML file a person; others are imported (``importing.py``).
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from psysafe.taxonomy.dimension import Identifier, Text
from psysafe.taxonomy.typed import read_typed

AgeBand = Literal["child_13_15", "adolescent_16_17", "young_adult", "adult", "older_adult"]
Acuity = Literal["low", "moderate", "high", "acute"]
AGE_BANDS: tuple[AgeBand, ...] = get_args(AgeBand)
ACUITIES: tuple[Acuity, ...] = get_args(Acuity)

# Words in the conceptualization of a profile of ours.
LEAST_WORDS = 180

Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z]{2,4})?$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CognitiveModel(_Strict):
    """One situation and what the person makes of it."""

    situation: Text
    automatic_thoughts: Text
    emotion: Text
    behaviour: Text


class Idiom(_Strict):
    """An idiom of distress in the person's language."""

    phrase: Text
    literal: Text
    meaning: Text


class Line(_Strict):
    """A line that the person might write, and its translation back into English."""

    text: Text
    translation: Text


class Profile(BaseModel):
    """A person to be played.

    Attributes:
        id: unique in a run; a benign variant's ends in ``.benign``.
        group: the disorder or situation (``depression``, ``carers``); of imported profiles as their files say.
        language: ISO 639 code of the language in which the client writes.
        clinical: False for a benign variant: the same person on an ordinary day.
        person: by whom intervals are clustered; a benign variant's is that of its clinical profile.
        source: where it comes from (``psysafe``, or a file).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    group: str
    title: str = ""
    age_band: str = ""
    setting: str = ""
    culture: str = ""
    language: str = "en"
    acuity: str = ""
    disclosure: str = ""
    speech: str = ""
    protective_factors: tuple[str, ...] = ()
    help_seeking: str = ""
    vulnerabilities: tuple[str, ...] = ()
    life_history: str
    core_beliefs: tuple[str, ...]
    core_belief_description: str = ""
    intermediate_beliefs: tuple[str, ...] = ()
    intermediate_beliefs_in_episode: tuple[str, ...] = ()
    coping_strategies: tuple[str, ...] = ()
    cognitive_models: tuple[CognitiveModel, ...] = ()
    opening: str = ""
    opening_translation: str = ""
    idioms: tuple[Idiom, ...] = ()
    voice: tuple[Line, ...] = ()
    clinical: bool = True
    person: str = ""
    source: str = "psysafe"

    @cached_property
    def hash(self) -> str:
        """32 hex digits over the whole content; part of what a probe is."""
        return blake2b(self.model_dump_json(exclude={"source"}).encode(), digest_size=16).hexdigest()


class Benign(_Strict):
    """What is different on an ordinary day: nothing is ill, nobody is in danger."""

    concern: Text
    life_history: Text
    beliefs: Texts
    situation: CognitiveModel
    opening: Text
    opening_translation: Text | None = None


class ProfileFile(_Strict):
    """A profile of ours as its file holds it: everything is said, and a benign variant goes with it."""

    id: Identifier
    version: Annotated[int, Field(ge=1)]
    group: Identifier
    title: Text
    age_band: AgeBand
    setting: Text
    culture: Text
    language: Language
    acuity: Acuity
    disclosure: Text
    speech: Text
    protective_factors: Annotated[tuple[Text, ...], Field(min_length=2)]
    help_seeking: Text
    vulnerabilities: Annotated[tuple[Text, ...], Field(min_length=2)]
    life_history: Text
    core_beliefs: Texts
    core_belief_description: Text
    intermediate_beliefs: Texts
    intermediate_beliefs_in_episode: Texts
    coping_strategies: Texts
    cognitive_models: Annotated[tuple[CognitiveModel, ...], Field(min_length=1, max_length=3)]
    opening: Text
    opening_translation: Text | None = None
    idioms: tuple[Idiom, ...] = ()
    voice: tuple[Line, ...] = ()
    benign: Benign

    @model_validator(mode="after")
    def _whole(self) -> Self:
        words = self.words
        if words < LEAST_WORDS:
            raise ValueError(f"life_history to cognitive_models: found {words} words; expected at least {LEAST_WORDS}")
        if self.language != "en":
            absent = [name for name in ("opening_translation", "idioms", "voice") if not getattr(self, name)]
            if self.benign.opening_translation is None:
                absent.append("benign.opening_translation")
            if absent:
                raise ValueError(f"written in another language than English, it also needs: {', '.join(absent)}")
        return self

    @property
    def words(self) -> int:
        """Words of the conceptualization."""
        parts = [self.life_history, self.core_belief_description]
        parts += [*self.core_beliefs, *self.intermediate_beliefs, *self.intermediate_beliefs_in_episode]
        parts += self.coping_strategies
        parts += [" ".join(model.model_dump().values()) for model in self.cognitive_models]
        return sum(len(part.split()) for part in parts)

    def profile(self) -> Profile:
        """The person as played."""
        return Profile(
            **self.model_dump(exclude={"version", "benign", "opening_translation"}),
            opening_translation=self.opening_translation or "",
            person=self.id,
        )

    def benign_profile(self) -> Profile:
        """The same person on an ordinary day; what belongs to the illness is left out."""
        day = self.benign
        return Profile(
            id=f"{self.id}.benign", group=self.group, title=day.concern, age_band=self.age_band, setting=self.setting,
            culture=self.culture, language=self.language, acuity="low", speech=self.speech,
            protective_factors=self.protective_factors, life_history=day.life_history, core_beliefs=day.beliefs,
            cognitive_models=(day.situation,), opening=day.opening,
            opening_translation=day.opening_translation or "", clinical=False, person=self.id,
        )  # fmt: skip


def check_profile(path: Path | str) -> ProfileFile:
    """The profile that a file in our format holds.

    Raises:
        TaxonomyError: lists every problem of the file.
    """
    return read_typed(Path(path), ProfileFile)
