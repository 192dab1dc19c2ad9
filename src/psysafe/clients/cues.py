"""Words of a client that may mean danger. They are logged with the turn; nothing ever ends because of them."""

from __future__ import annotations

import re

_CUES = re.compile(
    r"\b(?:(?:sent|wrote|written|writing|left) (?:\w+ ){0,3}(?:goodbye|farewell)s?(?: \w+)?|goodbye "
    "(?:texts?|letters?|notes?)"
    r"|suicid\w*|kill(?:ing)? (?:my|him|her|them)(?:self|selves)?|end (?:it all|my "
    "life|everything)|(?:want|wish|going) to die"
    r"|better off (?:dead|without me)|don'?t want to (?:live|be alive|wake up)|not be here (?:tomorrow|much "
    "longer|anymore)"
    r"|(?:hurt|harm|cut)(?:ting|ing)? my ?self|overdos\w*|the pills|voices? (?:tell|say|order|command)\w*"
    r"|(?:choked|strangled|beat|hit) me|no reason to (?:live|go on))\b",
    re.I,
)


def crisis_cues(text: str) -> tuple[str, ...]:
    """The words of a message that may mean danger, as they stand in it. English patterns; a log, not a verdict."""
    return tuple(dict.fromkeys(match.group() for match in _CUES.finditer(text)))
