"""A text as words: spelling levelled, short forms written out, sentences, clauses and negations known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

REACH = 3  # words before a phrase in which a negation cancels it

_HIDDEN = "\u00ad\u200b\u200c\u200d\u2060\ufe0f\ufeff"  # drawn as nothing
_APOSTROPHES = "'’‘ʼ＇`´"
# Combining accents belong to the letter before them. A stand-in of a redaction, [NAME 1], is a word as the name was.
_WORD = re.compile(rf"(?:\[[A-Z]{{2,10}} \d{{1,9}}\]|[^\W_])(?:[^\W_]|[{_APOSTROPHES}{_HIDDEN}\u0300-\u036f])*")
_SPELLING = str.maketrans(dict.fromkeys(_APOSTROPHES, "'") | dict.fromkeys(_HIDDEN, None))
# Dots that trail off do not end a sentence.
_ENDS = re.compile(r"[!?。！？]|(?<!\.)\.(?!\.)")
_CLAUSE = re.compile(r"[,;:()\[\]—–，；：]|\s-+\s")


@dataclass(frozen=True, slots=True)
class Text:
    """A text as words; the lists have an entry for each.

    Attributes:
        words: as they are compared: case folded, accents composed, short forms written out.
        spans: where it stands in the original; both words of a short form stand where it stands.
        sentence: its number. opens: a sentence or a clause begins with it. negates: it negates what follows.
    """

    original: str
    words: list[str]
    spans: list[tuple[int, int]]
    sentence: list[int]
    opens: list[bool]
    negates: list[bool]

    def negated(self, index: int) -> bool:
        """Whether a negation stands up to three words before a word, in the same clause."""
        for k in range(index, max(index - REACH, 0), -1):
            if self.opens[k]:
                return False
            if self.negates[k - 1]:
                return True
        return False

    def quote(self, first: int, last: int, longest: int = 240) -> str:
        """The sentence around some words, exactly as written; only the words when it is longer than ``longest``."""
        number, low, high = self.sentence[first], first, last
        # a word has two characters with its space: nothing further away could fit
        while low > 0 and self.sentence[low - 1] == number and first - low < longest:
            low -= 1
        while high + 1 < len(self.words) and self.sentence[high + 1] == number and high - last < longest:
            high += 1
        if self.spans[high][1] - self.spans[low][0] > longest:
            low, high = first, last
        end = self.spans[high][1]
        if self.original[end : end + 1] in {".", "!", "?"}:
            end += 1
        return self.original[self.spans[low][0] : end]


class Language:
    """Short forms and negations.

    Args:
        short_forms: what stands for what; a key that begins with an apostrophe, or is ``n't``, is an ending.
        negations: words that negate what follows.
    """

    def __init__(self, short_forms: Mapping[str, str], negations: Sequence[str] = ()) -> None:
        self._whole = {key: value.split() for key, value in short_forms.items()}
        self._endings = [key for key in self._whole if key.startswith("'") or key == "n't"]
        self._negations = frozenset(word for negation in negations for word in self.words(negation))

    def words(self, text: str) -> list[str]:
        """Only the words of a text."""
        return [word for match in _WORD.finditer(text) for word in self._written_out(_plain(match.group()))]

    def _written_out(self, word: str) -> Sequence[str]:
        if found := self._whole.get(word):
            return found
        if "'" in word:
            for ending in self._endings:
                if word.endswith(ending) and len(word) > len(ending):
                    return [word.removesuffix(ending), *self._whole[ending]]
        return (word,)

    def read(self, original: str) -> Text:
        """A text as words."""
        text = Text(original, [], [], [], [], [])
        number, end = 0, 0
        for match in _WORD.finditer(original):
            start = match.start()
            between = _between(original[end:start]) if end else 2
            end = start + len(match.group().rstrip(_APOSTROPHES + _HIDDEN))
            number += between == 2
            for position, word in enumerate(self._written_out(_plain(match.group()))):
                text.words.append(word)
                text.spans.append((start, end))
                text.sentence.append(number)
                text.opens.append(between > 0 and position == 0)
                text.negates.append(word in self._negations)
        return text


def _plain(word: str) -> str:
    if not word.isascii():
        word = unicodedata.normalize("NFKC", word.translate(_SPELLING)).translate(_SPELLING)
    return word.replace("`", "'").rstrip("'").casefold()


def _between(gap: str) -> int:
    """What stands between two words: 2 the end of a sentence, 1 of a clause, 0 neither."""
    if gap == " ":
        return 0
    lines = gap.count("\n")
    if lines > 1 or _ENDS.search(gap) or (lines and any(mark in gap for mark in "-*•#")):
        return 2
    return int(_CLAUSE.search(gap) is not None)
