"""Personal data in conversations, replaced by stand-ins: ``[NAME 1]``, ``[PHONE 2]``.

A conversation keeps its sense: the same person, number or address has the same stand-in in all its messages. What is
found and what is not stands in docs/privacy.md; this is no guarantee of anonymity.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from psysafe.conversation.redaction.addresses import find_addresses
from psysafe.conversation.redaction.digits import find_digits
from psysafe.conversation.redaction.found import Found, plain
from psysafe.conversation.redaction.metadata import mapped, strings
from psysafe.conversation.redaction.names import Word, find_names, name_lists, ordinary, words
from psysafe.conversation.redaction.numbers import find_patterns
from psysafe.conversation.types import Conversation
from psysafe.errors import UsageError

# What a redaction is called for a person, one and many.
KINDS = {
    "NAME": ("name", "names"),
    "EMAIL": ("e-mail address", "e-mail addresses"),
    "PHONE": ("phone number", "phone numbers"),
    "ADDRESS": ("address", "addresses"),
    "NUMBER": ("number", "numbers"),
    "URL": ("link", "links"),
    "DATE": ("date of birth", "dates of birth"),
    "HANDLE": ("handle", "handles"),
    "IP": ("IP address", "IP addresses"),
}
# Rules changed: a run that was redacted by others is not resumed.
VERSION = 2

_STAND_IN = re.compile(rf"\[(?:{'|'.join(KINDS)}) \d+\]")


class Redactor:
    """Replaces personal data in conversations. Deterministic; knows English, German and Spanish, and some French.

    Raises:
        UsageError: the extra ``redact`` is not installed.
    """

    def __init__(self) -> None:
        try:
            import phonenumbers  # noqa: F401

            name_lists()
        except ImportError as problem:
            raise UsageError("--redact needs more packages: pip install 'psysafe[redact]'") from problem

    def describe(self) -> dict[str, Any]:
        """What the result depends on besides the text, JSON-ready."""
        from importlib.metadata import version

        return {"rules": VERSION, **{name: version(name) for name in ("Faker", "phonenumbers")}}

    def conversation(self, conversation: Conversation) -> tuple[Conversation, Counter[str]]:
        """A copy with stand-ins in all messages and in the keys, strings and long whole numbers of its metadata.

        The id, roles, finishes and the judged message stay. Keys of one mapping that become equal are told apart by
        a number: ``[EMAIL 1]``, ``[EMAIL 1] (2)``.

        Returns:
            the copy, and how many different things of each kind were replaced (keys: ``KINDS``).
        """
        pass_ = _Pass()
        texts = [message.content for message in conversation.messages]
        for text in [*texts, *strings(conversation.metadata)]:
            pass_.learn(text)
        messages = tuple(replace(m, content=pass_.text(m.content)) for m in conversation.messages)
        metadata = mapped(conversation.metadata, "", pass_)
        return replace(conversation, messages=messages, metadata=metadata), pass_.counts()


class _Pass:
    """One conversation: first everything is learnt, then replaced in the same order."""

    def __init__(self) -> None:
        self.taken: set[str] = set()  # stand-ins that the input holds already
        self.found: dict[str, _Spans] = {}
        self.known: dict[str, str] = {}  # a word of a name: the name it belongs to
        self.stand_ins: dict[tuple[str, str], str] = {}
        self.numbers: Counter[str] = Counter()

    def learn(self, text: str) -> None:
        """Find what is personal in a text, and remember the words of names."""
        if text in self.found:
            return
        self.taken.update(_STAND_IN.findall(text))
        spans = _Spans(text)
        spans.add(Found(*match.span(), "", "") for match in _STAND_IN.finditer(text))
        spans.add(find_patterns(text))
        spans.add(Found(a, b, "ADDRESS", plain(text[a:b])) for a, b in find_addresses(text))
        spans.add(find_digits(text))
        for start, end in list(find_names(text, spans.words, spans.free)):
            name = plain(text[start:end])
            spans.add([Found(start, end, "NAME", name)])
            self.learn_name(name)
        self.found[text] = spans

    def learn_name(self, name: str) -> None:
        """Know a casefolded name again by each of its words."""
        parts = name.split()
        owner = self.known.get(parts[0], name) if len(parts) == 1 else name
        for part in parts:
            if len(part) > 1:
                # "Anna" alone and "Anna Berg" after it are one person, as far as anybody can tell
                before = self.known.get(part)
                if before is None or (before == part and len(parts) > 1):
                    self.known[part] = owner

    def text(self, text: str) -> str:
        """A text with its stand-ins."""
        spans = self.found[text]
        for word in spans.words if self.known else ():
            if word.folded in self.known and (not ordinary(word.folded) or _again(text, word)):
                spans.add([Found(word.start, word.end, "NAME", word.folded)])
        pieces, end = [], 0
        for span in sorted(spans.found):
            if span.kind:
                pieces += [text[end : span.start], self.stand_in(span.kind, span.key)]
                end = span.end
        return "".join([*pieces, text[end:]])

    def stand_in(self, kind: str, key: str) -> str:
        """The stand-in of a thing; a new one when it was not met before."""
        if kind == "NAME":
            key = self._owner(key)
        if (kind, key) not in self.stand_ins:
            while True:
                self.numbers[kind] += 1
                stand_in = f"[{kind} {self.numbers[kind]}]"
                if stand_in not in self.taken:
                    break
            self.stand_ins[kind, key] = stand_in
        return self.stand_ins[kind, key]

    def _owner(self, name: str) -> str:
        seen = {name}
        while (owner := self.known.get(name, name)) not in seen:
            seen.add(owner)
            name = owner
        return name

    def counts(self) -> Counter[str]:
        """Different things replaced, by kind."""
        return Counter(kind for kind, _ in self.stand_ins)


def _again(text: str, word: Word) -> bool:
    """Whether a name that is an ordinary word too (Will, Hope) stands for the person here: with its capital, and
    not at the start of a sentence, unless something is his or hers."""
    before = text[max(0, word.start - 20) : word.start].rstrip()
    inside = bool(before) and before[-1] not in ".!?\n"
    return word.capital and (inside or text[word.end : word.end + 2] in ("'s", "’s"))


class _Spans:
    """What was found in a text; of two that overlap the first stays."""

    def __init__(self, text: str) -> None:
        self.found: list[Found] = []
        self.words = words(text)
        self._taken = bytearray(len(text))

    def free(self, start: int, end: int) -> bool:
        """Whether nothing was found there."""
        return self._taken.find(1, start, end) < 0

    def add(self, found: Iterable[Found]) -> None:
        """Keep what overlaps nothing."""
        for span in found:
            if self.free(span.start, span.end):
                self.found.append(span)
                self._taken[span.start : span.end] = b"\1" * (span.end - span.start)
