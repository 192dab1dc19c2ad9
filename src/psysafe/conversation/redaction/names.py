"""Names of persons: lists of given names and surnames, and the words that announce a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from psysafe.conversation.redaction.words import GERMAN, MORE_GIVEN, NOT_NAMES, PARTICLES, PLACES_AND_TIMES, WORDS

_LOCALES = (
    "en_US en_GB en_IN en_IE en_NZ de_DE de_AT es_ES es_MX es_AR fr_FR it_IT nl_NL pl_PL pt_BR tr_TR"
)  # fmt: skip


# How surely a cue announces a name.
_NONE, _GOOD, _STRONG, _SURELY = range(4)


class Lists(NamedTuple):
    """Given names and surnames, casefolded."""

    given: frozenset[str]
    surnames: frozenset[str]


@cache
def name_lists() -> Lists:
    """The names that Faker ships for the locales above.

    Raises:
        ImportError: Faker is not installed.
    """
    given: set[str] = set()
    surnames: set[str] = set()
    for locale in _LOCALES.split():
        provider = import_module(f"faker.providers.person.{locale}").Provider
        for attribute in dir(provider):
            if attribute.startswith(("first_names", "last_names")):
                names = getattr(provider, attribute)
                (given if attribute.startswith("first") else surnames).update(names)
    return Lists(_parts(given) | MORE_GIVEN, _parts(surnames))


def _parts(names: set[str]) -> frozenset[str]:
    return frozenset(
        part.casefold() for name in names for part in name.split() if len(part) > 1 and part[0].isupper()
    )  # fmt: skip


class Word(NamedTuple):
    """A word of a text: where it is, itself without a possessive ending, casefolded, whether with a capital."""

    start: int
    end: int
    text: str
    folded: str
    capital: bool


_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_ENDING = re.compile(r"['’](?:s|S|re|ll|d|m|ve)$")


def words(text: str) -> list[Word]:
    """The words of a text, in order."""
    found = []
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if "'" in word or "’" in word:
            word = _ENDING.sub("", word)
        found.append(Word(start, start + len(word), word, word.casefold(), word[0].isupper()))
    return found


_RELATION = (
    r"brother|sister|husband|wife|son|daughter|friend|boyfriend|girlfriend|boss|manager|therapist|counsell?or|ex|partner|"
    r"fianc[eé]e?|mother|father|mom|mum|dad|uncle|aunt|cousin|nephew|niece|neighbou?r|colleague|coworker|co-worker|"
    r"roommate|flatmate|teacher|coach|roomie|bff|stepdad|stepmom|stepfather|stepmother|crush|twin|grandson|"
    r"granddaughter|psychiatrist|sponsor"
)
_VERWANDT = (
    r"Bruder|Schwester|Mann|Frau|Sohn|Tochter|Freund|Freundin|Chef|Chefin|Partner|Partnerin|Mutter|Vater|Mama|Papa|"
    r"Cousin|Cousine|Neffe|Nichte|Nachbar|Nachbarin|Kollege|Kollegin|Therapeut|Therapeutin|Ex|Opa|Oma|Onkel|Tante"
)
_PARIENTE = (
    r"hermano|hermana|esposo|esposa|marido|mujer|hijo|hija|amigo|amiga|novio|novia|jefe|jefa|pareja|madre|padre|mamá|"
    r"papá|tío|tía|primo|prima|sobrino|sobrina|vecino|vecina|compañero|compañera|terapeuta|psicólogo|psicóloga|ex"
)
_TITLES = (
    r"Mr|Mrs|Ms|Mx|Miss|Dr|Doctor|Prof|Professor|Detective|Officer|Sergeant|Pastor|Rabbi|Judge|Uncle|Aunt|Auntie|Coach|"
    r"Herrn?|Frau|[Dd]octora?|[Ss]eñora?|[Pp]rofesora?|Onkel|Tante|Oma|Opa|Sr|Sra|Srta|Señorita|Don|Doña|Dra|Tío|Tía|Mme|Monsieur|Madame"
)
# After these, any word is the name.
_SURE = re.compile(
    r"(?i:\bmy (?:full |real |legal |first |last |given |sur)?name(?:['’]s| is|:| =) |\bfull name: |"
    r"\bich hei(?:ß|ss)e |\bmein (?:voller )?name ist |\bme llamo |\bmi nombre (?:completo )?es |\bje m['’]appelle |"
    r"\bmi chiamo )"
)
# After these, a word with a capital is one.
_CAPITAL = re.compile(
    rf"(?:\b(?:{_TITLES})\.? (?:Dr\.? )?|(?i:\bcall me |\bname (?:is|was) |\bnamed |\bnennt? mich |\bnamens |"
    rf"\bname ist |\bname war |\bse llama |\bse llamaba |\bllamad[oa] |"
    rf"\bnombre es |\bgoes by |\bsincerely,?\s+|\bregards,?\s+|"
    rf"\byours,?\s+|\bsigned,?\s+|\bmit freundlichen grüßen,?\s+|\bsaludos,?\s+|\b(?:patient|client|name|nombre): |"
    rf"\b(?:my|our|his|her|their|your) (?:\w+ )?(?:{_RELATION})s?,? |\b(?:mi|su|tu|nuestr[oa]) (?:{_PARIENTE}),? ))"
)
# After these, a word is one that is in the lists.
_LISTED = re.compile(
    rf"(?i:\b(?:i['’]m|i am|im|hi|hello|hey|dear|hola|hallo|liebe[rs]?|querid[oa]|thanks|thank you|"
    rf"danke|gracias|soy|ich bin|bonjour|bye|goodbye|love|sorry),? |"
    rf"\b(?:mein|dein|sein|ihr|unser)(?:e[mnrs]?)? (?:\w+e[nmrs]? )?(?:{_VERWANDT})[sn]?,? |\bhei(?:ß|ss)t |"
    rf"\bnamed? |\bcalled |\bcall me |\bllamo |\bllama )"
)
_ARTICLE = re.compile(r"(?i:\b(?:an?|the|der|die|das|dem|den|des|ein|eine[mnr]?|el|la|los|las|una?) )$")
_NO_CUE_HELPS = frozenset(("christian", "german", "angel"))
_SENTENCE_END = re.compile(r"(?:^|[.!?:;…\n\r\"“”„«»(\[*>\-–—•¿¡])\s*$")


def find_names(text: str, tokens: list[Word], free: Callable[[int, int], bool]) -> Iterator[tuple[int, int]]:
    """Where names stand in a text: pairs of start and end, not overlapping.

    Args:
        tokens: its ``words``.
        free: whether nothing else was found at (start, end).
    """
    tokens = [word for word in tokens if free(word.start, word.end)]
    german = sum(word.folded in GERMAN for word in tokens) * 6 > len(tokens)
    at = {word.start: index for index, word in enumerate(tokens)}
    cued: dict[int, int] = {}
    for pattern, kind in ((_LISTED, _GOOD), (_CAPITAL, _STRONG), (_SURE, _SURELY)):
        for match in pattern.finditer(text):
            index = at.get(match.end())
            if index is not None:
                cued[index] = max(kind, cued.get(index, 0))
    index = 0
    while index < len(tokens):
        if _starts_name(text, tokens, index, cued.get(index, 0), german):
            last = _end_of_name(text, tokens, index, german)
            yield tokens[index].start, tokens[last].end
            index = last
        index += 1


def ordinary(word: str) -> bool:
    """Whether a casefolded word is often no name, so that it needs a capital to be taken for one again."""
    return ordinary_name(word) or word in NOT_NAMES or len(word) < 3


def _starts_name(text: str, tokens: list[Word], index: int, cue: int, german: bool) -> bool:
    word = tokens[index]
    folded, lists = word.folded, name_lists()
    known = folded in lists.given
    if folded in NOT_NAMES and not (known and ordinary_name(folded)):
        return False
    if cue == _SURELY and len(folded) > 1:
        return True
    if cue == _STRONG and word.capital:
        shouted = word.text.isupper() and len(word.text) < 5  # "my therapist CBT"
        return known or not (shouted or (german and folded not in lists.surnames and _wife(text, word)))
    if not known:
        return False
    if not word.capital:
        return cue >= _GOOD and not ordinary(folded)
    if not ordinary(folded) or _surname_follows(text, tokens, index):
        return True
    if cue >= _GOOD:
        return folded not in _NO_CUE_HELPS
    if german or folded not in WORDS or folded in PLACES_AND_TIMES:
        return False
    return _inside_sentence(text, tokens, index)


def ordinary_name(word: str) -> bool:
    """Whether a casefolded given name is an ordinary word as well."""
    return word in WORDS or word in PLACES_AND_TIMES


def _wife(text: str, word: Word) -> bool:
    """``meine Frau Angst hat``: the title is the wife, and a noun follows."""
    return bool(re.search(r"\b[mds]eine[rn]? frau $", text[max(0, word.start - 20) : word.start].casefold()))


def _surname_follows(text: str, tokens: list[Word], index: int) -> bool:
    if index + 1 == len(tokens):
        return False
    word, after = tokens[index], tokens[index + 1]
    return (
        text[word.end : after.start] == " "
        and after.capital
        and not after.text.isupper()
        and after.folded in name_lists().surnames
        and after.folded not in NOT_NAMES
    )


def _inside_sentence(text: str, tokens: list[Word], index: int) -> bool:
    """Whether a capital means something here: not at a start, nor in a heading where all words have one."""
    word = tokens[index]
    before = text[max(0, word.start - 40) : word.start]
    if word.text.isupper() or _SENTENCE_END.search(before) or _ARTICLE.search(before):
        return False
    around = [t for t in tokens[max(0, index - 3) : index + 4] if t is not word and len(t.text) > 3]
    return not around or any(not t.capital for t in around)


def _end_of_name(text: str, tokens: list[Word], index: int, german: bool) -> int:
    """The index of the last word of the name that starts at ``index``: at most four words and particles."""
    last = index
    surnames, given = name_lists().surnames, name_lists().given
    lower = not tokens[index].capital
    for after in range(index + 1, min(index + 7, len(tokens))):
        word = tokens[after]
        gap = text[tokens[after - 1].end : word.start]
        if not (gap in (" ", "\u00a0") or (gap == ". " and len(tokens[after - 1].text) == 1)):
            break
        if word.folded in PARTICLES and not word.capital:
            continue
        if word.folded in NOT_NAMES:
            break
        listed = word.folded in surnames or word.folded in given
        if lower and not (listed and not ordinary(word.folded)):
            break
        if not lower and not (word.capital and (listed or not german)):
            break
        last = after
    return last
