"""Finding listed phrases in a text: words, not characters, so that spelling, punctuation and negation can be seen to.

How a phrase is written (people who edit ``data/lexicon.yaml`` read the same there):

- ``you are a burden``: these words, next to each other, whatever their case, in one sentence
- ``worthless*``: any ending of the word. ``loser(s)``: with or without these letters
- ``stop|quit taking``: one of the words. ``just relax|move_on``: an underscore joins the words of one choice
- ``you are ... nothing``: up to three words between, none of them a negation, no comma
- ``{group}``: one of the entries of a named set

Every step of a search is bounded by the phrases, so its time grows with the length of the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Generic, TypeVar

from psysafe.judging.baselines.words import Language, Text

GAP = 3  # words that ``...`` may stand for
_MOST_GAPS = 2

T = TypeVar("T")


class PhraseError(ValueError):
    """A phrase that cannot be read; says what is wrong with it."""


class _Node(Generic[T]):
    """A state of the search: what may follow, and which phrases end here. Equal beginnings of phrases share it."""

    __slots__ = ("beginnings", "children", "ends", "gap", "lengths", "words")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.words: dict[str, list[_Node[T]]] = {}
        self.beginnings: dict[str, list[_Node[T]]] = {}
        self.lengths: list[int] = []
        self.gap: _Node[T] | None = None
        self.ends: list[T] = []

    def after(self, word: str) -> list[_Node[T]]:
        found = self.words.get(word, [])
        for length in self.lengths:
            if length <= len(word) and (nodes := self.beginnings.get(word[:length])):
                found = found + nodes
        return found

    def step(self, element: str, options: Sequence[Sequence[str]]) -> _Node[T]:
        """The node behind an element of a phrase, which stands for any of some rows of words."""
        if element == "...":
            self.gap = self.gap or _Node()
            return self.gap
        if element not in self.children:
            target: _Node[T] = _Node()
            self.children[element] = target
            for *before, last in options:
                node = self
                for word in before:
                    node = node.step(word, [[word]])
                node._lead(last, target)
        return self.children[element]

    def _lead(self, word: str, target: _Node[T]) -> None:
        if not word.endswith("*"):
            self.words.setdefault(word, []).append(target)
            return
        if len(word) - 1 not in self.lengths:
            self.lengths.append(len(word) - 1)
        self.beginnings.setdefault(word[:-1], []).append(target)


class Phrases(Generic[T]):
    """Phrases, each with something that it stands for.

    Args:
        sets: the named sets of words and phrases.
    """

    def __init__(self, language: Language, sets: Mapping[str, Sequence[str]] | None = None) -> None:
        self._language = language
        self._sets = sets or {}
        self._root: _Node[T] = _Node()

    def add(self, phrase: str, meaning: T) -> None:
        """Add one.

        Raises:
            PhraseError: it cannot be read.
        """
        elements = phrase.split()
        if not elements or "..." in (elements[0], elements[-1]):
            raise PhraseError(f"'{phrase}' begins or ends with '...', or is empty; expected a word there")
        if elements.count("...") > _MOST_GAPS:
            raise PhraseError(f"'{phrase}' holds '...' more than {_MOST_GAPS} times; write two phrases")
        read = [(element, self._readings(element, phrase)) for element in elements]
        node = self._root
        for element, options in read:
            node = node.step(element.casefold(), options)
        if meaning not in node.ends:
            node.ends.append(meaning)

    def _readings(self, element: str, phrase: str) -> list[tuple[str, ...]]:
        """What one element of a phrase may stand for, each a row of words."""
        if element == "...":
            return [("...",)]
        found: list[tuple[str, ...]] = []
        for option in element.split("|"):
            if named := re.fullmatch(r"\{(\w+)\}", option):
                if named[1] not in self._sets:
                    raise PhraseError(f"'{phrase}' names the set {option}, which is not listed under 'sets'")
                for entry in self._sets[named[1]]:
                    if "{" in entry or "..." in entry.split():
                        raise PhraseError(f"the set {option} holds '{entry}'; expected plain words")
                    parts = [self._readings(word, entry) for word in entry.split()]
                    found += [tuple(word for part in row for word in part) for row in product(*parts)]
                continue
            shape = re.fullmatch(r"([^*(){}|]+)(?:(\*)|\(([^*(){}|]+)\))?", option)
            words = self._language.words(shape[1]) if shape else []
            if not shape or not words:
                raise PhraseError(
                    f"'{phrase}' holds '{element}'; expected a word, word*, word(s), word|word, {{set}} or ..."
                )
            found.append((*words[:-1], words[-1] + (shape[2] or "")))
            if shape[3]:
                found.append((*words[:-1], words[-1] + shape[3].casefold()))
        return list(dict.fromkeys(found))

    def find(self, text: Text) -> Iterator[tuple[T, int, int]]:
        """Every place where a phrase stands: its meaning, its first and its last word."""
        words, sentence = text.words, text.sentence
        for first, word in enumerate(words):
            open_ends = [(node, first + 1) for node in self._root.after(word)]
            while open_ends:
                node, index = open_ends.pop()
                for meaning in node.ends:
                    yield meaning, first, index - 1
                if index < len(words) and sentence[index] == sentence[first]:
                    open_ends += [(follower, index + 1) for follower in node.after(words[index])]
                    if node.gap is not None:
                        open_ends += self._across(node.gap, text, index)

    @staticmethod
    def _across(gap: _Node[T], text: Text, index: int) -> Iterator[tuple[_Node[T], int]]:
        for k in range(index, min(index + GAP + 1, len(text.words))):
            if text.opens[k]:
                return
            for follower in gap.after(text.words[k]):
                yield follower, k + 1
            if text.negates[k]:
                return
