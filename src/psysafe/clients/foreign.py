"""A profile in the JSON of another system: the two shapes in use, with the irregularities that they have in the wild.

Client-Psi-CM: ``life_history``, ``core_beliefs``, ``core_belief_description``, ``intermediate_beliefs``,
``intermediate_beliefs_during_<disorder>``, ``coping_strategies`` and ``cognitive_models``, a list of moments.
Patient-Psi and EmoAgent: ``history``, three ``..._belief`` fields by kind, ``intermediate_belief``,
``intermediate_belief_<disorder>``, ``coping_strategies``, ``type`` (how the person talks), and one moment beside them.
Either may have ``language``, the code of the language in which the client writes. Case, spaces and hyphens of keys do
not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psysafe.clients.profile import CognitiveModel
from psysafe.taxonomy.problem import Problem, short

_SINGLE = {
    "life_history": "life_history",
    "history": "life_history",
    "core_belief_description": "core_belief_description",
    "core_belief_descriptions": "core_belief_description",
    "type": "speech",
    "language": "language",
}
_SEVERAL = {
    "core_belief": "core_beliefs",
    "core_beliefs": "core_beliefs",
    "intermediate_belief": "intermediate_beliefs",
    "intermediate_beliefs": "intermediate_beliefs",
    "coping_strategy": "coping_strategies",
    "coping_strategies": "coping_strategies",
}
_MOMENT = {
    "situation": "situation",
    "auto_thought": "automatic_thoughts",
    "auto_thoughts": "automatic_thoughts",
    "automatic_thought": "automatic_thoughts",
    "automatic_thoughts": "automatic_thoughts",
    "emotion": "emotion",
    "emotions": "emotion",
    "behavior": "behaviour",
    "behaviors": "behaviour",
    "behaviour": "behaviour",
    "behaviours": "behaviour",
}
_PARTS = ("situation", "automatic_thoughts", "emotion", "behaviour")
# Fields whose lists are of words, not of sentences.
_WORDS = ("emotion", "speech")
# Core beliefs by kind: an empty one says that the person has none of that kind.
_BY_KIND = re.compile(r"(?:helpless|unlovable|worthless)_beliefs?(?:_current)?")
_EPISODE = re.compile(r"intermediate_beliefs?_(?:during_)?(?!(?:descriptions?|current)$)(?P<disorder>.+)")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z]{2,4})?")  # as in our own format
_NOT_KEPT = ("id", "name")


@dataclass(slots=True)
class Record:
    """What one object says of a person.

    Attributes:
        fields: of ``Profile``, without those that the file's place decides.
        disorders: those that ``..._during_<disorder>`` keys name, by key, as plain words joined by ``_``.
        unknown, not_kept: keys as written, those of a moment with ``cognitive_models`` before them.
        problems: what keeps it from being a profile; then ``fields`` are not complete.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    disorders: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    not_kept: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def plain(key: str) -> str:
    """``Life History`` as ``life_history``."""
    return "_".join(re.findall(r"[^\s_-]+", key.casefold()))


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether an object has a key that only a profile has: more than ``id``, ``name``, ``type``, ``language``."""
    return any(
        name in _SEVERAL
        or name in _MOMENT
        or (name in _SINGLE and name not in ("type", "language"))
        or name == "cognitive_models"
        or _BY_KIND.fullmatch(name)
        or _EPISODE.fullmatch(name)
        for name in map(plain, value)
    )


def read_record(value: Mapping[str, Any], place: str = "") -> Record:
    """What an object says of a person, and everything that is wrong with it.

    Args:
        place: of the object in its file, for the problems.
    """
    return _Reading(place).read(value)


class _Reading:
    def __init__(self, place: str) -> None:
        self.found = Record()
        self._place = place

    def read(self, value: Mapping[str, Any]) -> Record:
        keys: dict[str, str] = {}  # as written, by field that takes one value only
        several: dict[str, list[str]] = {}
        moment: dict[str, tuple[str, Any]] = {}
        models: list[CognitiveModel] = []
        beliefs = False  # whether there is a field of core beliefs that is not empty
        for key, item in value.items():
            name = plain(key)
            episode = _EPISODE.fullmatch(name)
            single = _SINGLE.get(name) or _MOMENT.get(name) or (name if name == "cognitive_models" else "")
            if single and self._twice(keys, single, key, key):
                continue
            if name in _MOMENT:
                moment[single] = key, item
            elif single == "cognitive_models":
                models += self._models(item, key)
            elif single:
                self.found.fields[single] = text = self._text(item, key, single)
                if text and single == "language" and not _LANGUAGE.fullmatch(text):
                    self._complain(key, f"found '{short(text)}'; expected the code of a language, such as en or pt-BR")
            elif name in _SEVERAL:
                beliefs |= _SEVERAL[name] == "core_beliefs"
                several.setdefault(_SEVERAL[name], []).extend(self._texts(item, key))
            elif _BY_KIND.fullmatch(name):
                kind = several.setdefault("core_beliefs", [])
                if item not in (None, "", [], [""]):
                    beliefs = True
                    kind.extend(self._texts(item, key))
            elif episode:
                self.found.disorders[key] = episode["disorder"]
                several.setdefault("intermediate_beliefs_in_episode", []).extend(self._texts(item, key))
            else:
                (self.found.not_kept if name in _NOT_KEPT else self.found.unknown).append(key)
        if moment:
            models += self._beside(moment)
        fields = self.found.fields
        fields |= {name: tuple(texts) for name, texts in several.items()}
        if models:
            fields["cognitive_models"] = tuple(models)
        self._required(value, {*keys, *several}, beliefs)
        return self.found

    def _required(self, value: Mapping[str, Any], given: set[str], beliefs: bool) -> None:
        keys = ", ".join(f"'{short(key)}'" for key in value) or "none"
        if "life_history" not in given:
            self._complain("life_history", f"this field is missing ('history' would do, too); found the keys {keys}")
        if "core_beliefs" not in given:
            said = "this field is missing (or 'helpless_belief', 'unlovable_belief', 'worthless_belief'); "
            self._complain("core_beliefs", f"{said}found the keys {keys}")
        elif not beliefs:
            self._complain("core_beliefs", "all fields of beliefs are empty; expected at least one core belief")

    def _twice(self, keys: dict[str, str], name: str, key: str, place: str) -> bool:
        if name in keys:
            self._complain(place, f"'{short(keys[name])}' and '{short(key)}' are the same field; delete one of them")
            return True
        keys[name] = key
        return False

    def _models(self, value: Any, key: str) -> list[CognitiveModel]:
        entries = value if isinstance(value, list) else [value]  # one alone, without its list
        if not entries:
            self._complain(key, "found an empty list; expected at least one situation, or no such field")
        models = []
        for number, entry in enumerate(entries, 1):
            place = f"{key}, entry {number}"
            if not isinstance(entry, dict):
                self._complain(place, f"found {_what(entry)}; expected an object with the fields {', '.join(_PARTS)}")
                continue
            keys: dict[str, str] = {}
            texts: dict[str, str] = {}
            for inner, item in entry.items():
                name = _MOMENT.get(plain(inner))
                if name is None:
                    self.found.unknown.append(f"cognitive_models, {inner}")
                elif not self._twice(keys, name, inner, f"{place}, {inner}"):
                    texts[name] = self._text(item, f"{place}, {inner}", name)
            models += self._model(texts, place)
        return models

    def _beside(self, moment: Mapping[str, tuple[str, Any]]) -> list[CognitiveModel]:
        """The moment, or moments, whose parts stand beside the other fields."""
        lists = [item for _, item in moment.values() if isinstance(item, list)]
        count = len(lists[0]) if lists else 0
        if count > 1 and len(lists) == len(_PARTS) and all(len(items) == count for items in lists):
            models = []
            for index in range(count):
                texts = {
                    name: self._text(item[index], f"{key}, entry {index + 1}", name)
                    for name, (key, item) in moment.items()
                }
                models += self._model(texts, "")
            return models
        return self._model({name: self._text(item, key, name) for name, (key, item) in moment.items()}, "")

    def _model(self, texts: Mapping[str, str], place: str) -> list[CognitiveModel]:
        for name in _PARTS:
            if name not in texts:
                self._complain(f"{place}, {name}" if place else name, "this field is missing")
        return [CognitiveModel(**texts)] if len(texts) == len(_PARTS) and all(texts.values()) else []

    def _text(self, value: Any, place: str, name: str) -> str:
        """A text; a list is joined. "" after a complaint."""
        return (", " if name in _WORDS else " ").join(self._texts(value, place))

    def _texts(self, value: Any, place: str) -> Sequence[str]:
        """The texts of a list; one text is one entry. Less than there are after a complaint."""
        if isinstance(value, list):
            if not value:
                self._complain(place, "found an empty list; expected at least one text")
            return [
                text for number, item in enumerate(value, 1) for text in self._one(item, f"{place}, entry {number}")
            ]
        return self._one(value, place, " or a list of texts")

    def _one(self, value: Any, place: str, other: str = "") -> Sequence[str]:
        if isinstance(value, str) and value.strip():
            return [value.strip()]
        self._complain(place, f"found {_what(value)}; expected a text{other}")
        return []

    def _complain(self, place: str, said: str) -> None:
        place = " ".join((f"{self._place}, {place}" if self._place else place).split())
        self.found.problems.append(Problem(said, place=place))


def _what(value: Any) -> str:
    if isinstance(value, str):
        return f"'{short(value)}'" if value.strip() else "an empty text"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"{value}".lower()
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else f"the number {short(str(value))}"
