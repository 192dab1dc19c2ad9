"""Telephone numbers and other long runs of digits.

Crisis lines, toll-free numbers, emergency numbers, dates, counts and large round numbers stay: judging depends on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from psysafe.conversation.redaction.found import Found

_RUN = re.compile(
    r"(?<!\w)(?<!\d[.,:/\-])(?:\+|\(\+)?(?:\d++|\(\d{1,5}\))"
    r"(?:[ \u00a0.\-/]{1,2}\d++|[ \u00a0.\-/]{0,2}\(\d{1,4}\)(?: ?\d++)?|\) ?\d++){0,14}(?!\w)(?![.,:/\-]\d)"
)
_ALWAYS_OPEN = re.compile(r"24/7")
_PHONE_CUE = re.compile(
    r"(?:phone|number|call|text|tel|mobile|cell|whats ?app|fax|sms|telefon|handy|nummer|anrufen|teléfono|móvil|celular|"
    r"número|llám\w+|reach)\W[^.!?\n]{0,30}$",
    re.IGNORECASE,
)
_REGIONS = ("US", "GB", "DE", "ES", "FR", "AT", "CH", "MX", "AU", "IN", "IE", "AR", "IT", "NL")
# Crisis and emergency lines that are neither short nor toll-free everywhere.
_CRISIS_LINES = frozenset(
    (
        *("717003717", "131114", "116123", "116111", "112", "988", "911", "999", "111", "741741", "85258", "50808"),
        *("142", "143", "147", "113", "3114", "1737", "14416", "1925", "09000113", "0972394050", "0223272327"),
        *("9152987821", "9820466726", "18602662345", "1300659467", "1300224636"),
    )
)

_TOLL_FREE = ("0800", "0808", "0300", "00800", "300", "800", "833", "844", "855", "866", "877", "888", "900")


def public_number(run: str) -> bool:
    """Whether something is no person's number: a crisis line, a toll-free line, a date, a count."""
    digits = re.sub(r"\D", "", run)
    if re.search(r"[^\d()+ .\-/\u00a0]", run):
        return False
    return is_crisis_line(run) or _harmless(run, digits) or _telephone(run.strip(), digits)[0]


def find_digits(text: str) -> Iterator[Found]:
    """Telephone numbers and other long runs of digits; for what nothing else has taken."""
    for match in _RUN.finditer(_ALWAYS_OPEN.sub("    ", text)):
        run = match.group()
        digits = re.sub(r"\D", "", run)
        if len(digits) < 7 or is_crisis_line(run) or _harmless(run, digits):
            continue
        near = _PHONE_CUE.search(text, max(0, match.start() - 45), match.start()) is not None
        public, valid = _telephone(run.strip(), digits)
        if public:
            continue
        groups = re.split(r"\D+", run.strip("(+ "))
        if all(len(group) <= 2 for group in groups) and not (run.lstrip("(")[0] in "+0" and len(digits) >= 9):
            continue  # a count, or a row of scores
        looks = valid and not _luhn(digits)
        kind = "PHONE" if looks or (near and len(digits) <= 15) else "NUMBER"
        yield Found(*match.span(), kind, digits)


def is_crisis_line(run: str) -> bool:
    """Whether a run of digits is a known crisis or emergency line."""
    digits = re.sub(r"\D", "", run)
    return digits in _CRISIS_LINES or digits.removeprefix("00") in _CRISIS_LINES


def _harmless(run: str, digits: str) -> bool:
    """Dates, spans of years, and numbers with separators of thousands."""
    run = run.strip()
    if re.fullmatch(r"(?:19|20)\d{2} ?[-/] ?(?:19|20)\d{2}", run):
        return True
    if re.fullmatch(
        r"\d{1,2}[./\-]\d{1,2}[./\-](?:19|20)?\d{2}|(?:19|20)\d{2}[./\-]\d{1,2}[./\-]\d{1,2}(?: \d{1,2})?", run
    ):
        return True
    if re.fullmatch(r"\d{1,3}(?:\.000)+|\d{1,3}(?: 000)+|\d+0{5,}", run):
        return True
    return len(set(digits)) == 1


def _luhn(digits: str) -> bool:
    """Whether digits are a card number."""
    if not 13 <= len(digits) <= 19:
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


@cache
def _public_kinds() -> frozenset[int]:
    from phonenumbers import PhoneNumberType as Kind

    return frozenset((Kind.TOLL_FREE, Kind.SHARED_COST, Kind.PREMIUM_RATE, Kind.UAN))


@lru_cache(10_000)
def _telephone(run: str, digits: str) -> tuple[bool, bool]:
    """Whether it is a number of an institution (toll-free and the like), and whether it is a valid number."""
    import phonenumbers

    valid = False
    international = run.startswith(("+", "(+", "00"))
    for region in ("ZZ",) if international else _REGIONS:
        text = "+" + digits.removeprefix("00") if international else digits
        try:
            number = phonenumbers.parse(text, None if international else region)
        except phonenumbers.NumberParseException:
            continue
        if str(number.national_number) in _CRISIS_LINES:
            return True, True
        if not phonenumbers.is_valid_number(number):
            continue
        if phonenumbers.number_type(number) in _public_kinds() and (international or _marked_public(digits)):
            return True, True
        valid = True
    return False, valid


def _marked_public(digits: str) -> bool:
    """The prefixes of toll-free numbers, so that a mobile number of one country is not another's hotline."""
    return digits.removeprefix("1").startswith(_TOLL_FREE)
