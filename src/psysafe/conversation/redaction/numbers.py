"""What identifies a person by its form: e-mail and IP addresses, links to profiles, handles, numbers of documents and
accounts, dates of birth."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from psysafe.conversation.redaction.digits import public_number
from psysafe.conversation.redaction.found import Found

_EMAIL = re.compile(r"[\w.+%'\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
_EMAIL_SPOKEN = re.compile(
    r"\b[\w.+\-]{2,64} ?[(\[]at[)\]] ?[\w\-]{2,63}(?: ?[(\[]dot[)\]] ?|\.)[a-z]{2,10}\b", re.IGNORECASE
)
_URL = re.compile(
    r"\b(?:https?://|www\.)[^\s<>\"'`\])}]+|\b(?:[\w\-]{1,63}\.){1,5}(?:com|net|org|me|gg|io|tv|de|es)/[^\s<>\"'`\])}]+"
)
_PROFILE_HOSTS = re.compile(
    r"(?:^|\.)(?:facebook|fb|instagram|twitter|x|tiktok|linkedin|snapchat|github|gitlab|t|telegram|wa|discord|discordapp|"
    r"reddit|twitch|pinterest|tumblr|medium|vk|xing|paypal|venmo|cash|calendly|strava|onlyfans|soundcloud|linktr|ko-fi|"
    r"patreon|steamcommunity|drive\.google|docs\.google|photos\.google|dropbox|zoom|meet\.google)\."
    r"(?:com|me|net|org|gg|app|us|tv|ee|de)$"
)
_PERSONAL_PATH = re.compile(
    r"(?:/@|/~|/(?:u|user|users|profile|profiles|member|members|people|in|account)/)|\d{6,}|%40|@"
)
_IPV4 = re.compile(r"(?<![\w.])(?<![vV]ersion )\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:])[0-9A-Fa-f:]{2,39}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])")
_HANDLE = re.compile(r"(?<![\w@./])@[A-Za-z_][\w.]{1,28}\w|(?<![\w/])/?u/[\w\-]{3,20}\b|\b[\w.]{2,32}#\d{4}\b")
_HANDLE_CUE = re.compile(
    r"(?i:\b(?:user ?name|user ?id|handle|insta(?:gram)?|snap(?:chat)?|discord|gamertag|nick ?name|screen ?name|"
    r"benutzername|nutzername|(?:nombre de )?usuario|skype|telegram|tiktok|twitter|reddit|login)"
    r"(?: name| id| handle| account)?(?: is|:| =| ist| lautet| es|"
    r",)? (?:u/)?)(?P<handle>[A-Za-z][\w.\-]*[\d_.\-][\w.\-]*\w)"
)
_SSN = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")
_IBAN = re.compile(
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b|\b[a-z]{2}\d{2}(?: ?\d{4}){3,7}(?: ?\d{1,3})?\b"
)
# letters and digits in a form of their own: DNI and NIE, NINO, codice fiscale, PAN, German identity card
_ID = re.compile(
    r"\b(?:\d{8}-?[A-HJ-NP-TV-Z]|[XYZ]-?\d{7}-?[A-Z]|[A-CEGHJ-PR-TW-Z][A-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]|"
    r"[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]|[A-Z]{5}\d{4}[A-Z]|[CFGHJKLMNPRTVWXYZ]\d{2}[A-Z0-9]{6}\d?)\b|"
    r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b"
)
_ID_CUE = re.compile(
    r"(?i:\b(?:passport|licen[cs]e(?: plate)?|number plate|plate|social security|ssn|id|identity card|insurance|policy|"
    r"member(?:ship)?|account|case|patient|student|employee|medical record|mrn|tax|nhs|ausweis|personalausweis|"
    r"reisepass|versicherten|versicherungs|konto|kunden|steuer|steuer-id|kennzeichen|führerschein|aktenzeichen|"
    r"pasaporte|dni|nie|cuenta|tarjeta|matrícula|expediente|seguridad social|póliza)"
    r"[ -]?(?:number|no\.?|nr\.?|nummer|id|número|card|#|code)?(?: de \w+)?(?: is| ist| lautet| es|:| =)? ?#?)"
    r"(?P<id>(?=[\w\- ]*\d)[A-Z0-9](?:[ \-]?[A-Z0-9]){4,24})\b"
)
_MONTH = (
    r"\b(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    r"sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|"
    r"septiembre|octubre|noviembre|diciembre)\b"
)
_DATE = (
    rf"(?:\d{{1,4}}[./\-]\d{{1,2}}[./\-]\d{{1,4}}|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of |de )?{_MONTH}"
    rf"\.?,?(?: (?:de |del )?\d{{4}})?|{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?)"
)
_BIRTH = re.compile(
    r"\b(?:born|birth ?day|date of birth|birth ?date|d\.?o\.?b\.?|geboren|geburts(?:tag|datum)|geb\.|nací|nacid[oa]|"
    rf"nació|nacimiento|cumpleaños)\b[^.!?\n\d]{{0,30}}?(?P<date>{_DATE})",
    re.IGNORECASE,
)
_BORN_AFTER = re.compile(rf"(?P<date>{_DATE}) (?:in [\w ]{{1,30}} )?(?:geboren|zur Welt)", re.IGNORECASE)


def find_patterns(text: str) -> Iterator[Found]:
    """What has a form of its own, the surest kind first; finds may overlap."""
    for pattern in (_EMAIL, _EMAIL_SPOKEN):
        for match in pattern.finditer(text):
            yield _found(match, "EMAIL")
    for match in _URL.finditer(text):
        url = match.group().rstrip(".,;:!?)")
        if personal_url(url):
            yield Found(match.start(), match.start() + len(url), "URL", url.casefold())
    for match in _HANDLE_CUE.finditer(text):
        yield Found(*match.span("handle"), "HANDLE", match["handle"].casefold())
    for match in _HANDLE.finditer(text):
        yield Found(*match.span(), "HANDLE", match.group().casefold().lstrip("@"))
    for match in (*_IPV4.finditer(text), *_IPV6.finditer(text)):
        if _is_ip(match.group()):
            yield _found(match, "IP")
    if not any(character.isdigit() for character in text):
        return
    for match in (*_BIRTH.finditer(text), *_BORN_AFTER.finditer(text)):
        yield Found(*match.span("date"), "DATE", match["date"].casefold())
    for pattern in (_IBAN, _SSN, _ID):
        for match in pattern.finditer(text):
            yield _number(*match.span(), match.group())
    for match in _ID_CUE.finditer(text):
        # words of the sentence are no part of the number
        token = re.match(
            r"(?:[A-Z0-9\-]*\d[A-Z0-9\-]*(?: (?=[A-Z0-9\-]*\d))?|[A-Z]{1,3}[ -](?=[A-Z0-9]*\d))+", match["id"]
        )
        if token and sum(c.isalnum() for c in token.group()) >= 5 and not public_number(token.group()):
            yield _number(match.start("id"), match.start("id") + len(token.group().rstrip()), token.group())


def personal_url(url: str) -> bool:
    """Whether a link leads to a person: a profile, a shared document, or a query that may name somebody."""
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
    except ValueError:
        return True
    host = (parts.netloc.rpartition("@")[2]).partition(":")[0].casefold().removeprefix("www.")
    path = parts.path.strip("/")
    if "@" in parts.netloc or parts.query or _PERSONAL_PATH.search("/" + path):
        return True
    return bool(path and _PROFILE_HOSTS.search(host))


def _found(match: re.Match[str], kind: str) -> Found:
    return Found(*match.span(), kind, match.group().casefold())


def _number(start: int, end: int, text: str) -> Found:
    return Found(start, end, "NUMBER", re.sub(r"\W", "", text).casefold())


def _is_ip(text: str) -> bool:
    if len(text) < 4:
        return False
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
