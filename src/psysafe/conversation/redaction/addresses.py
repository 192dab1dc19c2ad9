"""Postal addresses: a street with a house number, and what follows it; post codes that stand alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STEM = r"[A-ZÀ-ÖØ-Þ](?:[^\W\d_]|['’.\-])*"
_CAP = rf"{_STEM}(?!\w)"
_EN_STREET = (
    r"Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Square|Sq|Terrace|Close|Crescent|"
    r"Highway|Hwy|Parkway|Pkwy|Circle|Trail|Grove|Gardens|Mews|Hill|Alley"
)
# a flat, then a town, then a state, then a post code, each of them optional
_UK_CODE = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_EN_TAIL = (
    r"(?:,? (?:Apt|Apartment|Unit|Suite|Flat|Ste|#)\.? ?#?\w{1,5})?"
    rf"(?:,\s*(?:in )?{_CAP}(?: {_CAP}){{0,2}})?(?:,? [A-Z]{{2}}\b)?(?:,? (?:\d{{5}}(?:-\d{{4}})?\b|{_UK_CODE}\b))?"
)
_EN = re.compile(
    rf"\b(?:(?:Flat|Apt|Apartment|Unit) ?#?\w{{1,5}},? )?\d{{1,5}}[A-Za-z]? "
    rf"(?:(?:{_CAP}|\d+(?:st|nd|rd|th)) ){{1,4}}(?:{_EN_STREET})\b\.?{_EN_TAIL}"
)
_EN_LOWER = re.compile(
    r"(?<=[a-z:,] )\d{1,5} (?!(?:min|hour|mile|km|day|more|year|week|kilomet|met|feet|block)\w* )"
    rf"(?:[a-z]+ ){{1,2}}(?:street|road|avenue|lane|boulevard|crescent)\b{_EN_TAIL}"
)
# "Ring 13 11 14" asks to call a number, so a bare Ring is no street, and no row of digits follows
_DE = re.compile(
    rf"\b(?:{_CAP}[ -]){{0,3}}(?:(?:{_STEM}(?:stra(?:ß|ss)e|str\.|weg|gasse|platz|allee|ring|damm|ufer|chaussee))|"
    rf"{_CAP}[ -](?:Stra(?:ß|ss)e|Str\.|Weg|Gasse|Platz|Allee|Damm|Ufer|Chaussee))"
    rf" ?\d{{1,4}}(?!\d)(?! \d{{1,3}}\b) ?(?:[a-h]\b)?(?:,? (?:in )?(?:[DA]-)?\d{{4,5}} {_CAP}(?:[ -]{_CAP})?)?"
)
# any place with a house number, a post code and a town: Am Alten Markt 5a, 50667 Köln
_DE_CODE = re.compile(
    rf"\b(?:{_CAP}(?: (?:den|der|dem))?[ -]){{1,4}}\d{{1,4}} ?[a-h]?,? (?:in )?(?:[DA]-)?\d{{5}} {_CAP}(?:[ -]{_CAP})?"
)
_ES = re.compile(
    rf"\b(?:[Cc]alle|C/|[Aa]venida|Avda\.?|Av\.|[Pp]laza|[Pp]aseo|[Cc]amino|[Cc]arretera|[Rr]onda|[Tt]ravesía) ?"
    rf"(?:(?:de|del|la|las|los|el) ){{0,3}}{_CAP}(?: (?:(?:de|del|la|las|los|y) ){{0,2}}{_CAP}){{0,3}},? "
    rf"(?:(?:n[ºo°]\.?|número|núm\.|#) ?)?\d{{1,4}}\b(?:,? ?\d{{1,2}}[ºª]? ?[A-Z]?\b)?"
    rf"(?:,? (?:en )?(?:\d{{5}} )?{_CAP}(?: {_CAP})?)?"
)
_FR = re.compile(
    rf"\b\d{{1,4}},? (?:bis |ter )?(?:rue|avenue|boulevard|place|allée|chemin|impasse) "
    rf"(?:(?:de|des|du|la|les) |l'|d'){{0,3}}{_CAP}(?:[ -]{_CAP}){{0,3}}(?:,? \d{{5}} {_CAP})?"
)
_CODE = re.compile(rf"\b{_UK_CODE}\b|\b[A-Z]{{2}},? \d{{5}}(?:-\d{{4}})?\b")
_BOX = re.compile(r"\b(?:P\.?O\.? Box|Postfach|Apartado(?: de correos)?) \d{1,6}\b", re.IGNORECASE)
# After these, a post code with a town is one too.
_LIVES = re.compile(
    rf"(?i:\bwohne(?: ich)? in |\bwohnt in |\badresse(?: ist|:) |\bvivo en |\bvive en |\bdirección(?: es|:) |"
    rf"\blive in |\baddress(?: is|:) |\bzip code(?: is|:)? |\bpost ?code(?: is|:)? |"
    rf"\bPLZ:? )(?P<place>\d{{5}}(?: {_CAP})?)"
)


def find_addresses(text: str) -> Iterator[tuple[int, int]]:
    """Where addresses stand: pairs of start and end; they may overlap."""
    for pattern in (_EN, _EN_LOWER, _DE, _ES, _FR, _DE_CODE, _BOX, _CODE):
        for match in pattern.finditer(text):
            yield match.start(), match.start() + len(match.group().rstrip(" ,."))
    for match in _LIVES.finditer(text):
        yield match.span("place")
