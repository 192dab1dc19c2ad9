"""Counts of plain words, as a simple thing to compare with. CONTENT WARNING: insults, self-harm.

The lists are our own and were written before any score was seen.
"""

from __future__ import annotations

import math
import re

import numpy as np

LISTS = {
    "insults": r"idiots?|stupid|dumb|morons?|losers?|pathetic|ugly|trash|garbage|scum|worthless|disgusting|fools?|lame|"
    r"creeps?|crazy|lazy|clowns?|shut up|hell|crap|f[u*]ck\w*|sh[i*]t\w*|bitch\w*|ass\w*",
    "groups": r"wom[ae]n|men|girls?|blacks?|whites?|asians?|muslims?|jew\w*|christians?|gays?|lesbians?|trans\w*|"
    r"immigrants?|migrants?|foreigners?|disabled|gender|rac(e|ial|ist)|religion\w*|elderly|poor people",
    "lowering": r"vermin|rats?|animals?|parasit\w*|plague|disease|inferior|superior|filth\w*|savages?|burden|invad\w*|"
    r"threats?|deport\w*|exterminat\w*|naturally|biolog\w*",
    "all alike": r"all (of )?(them|these|those)|always|never|every(one)?|don't deserve|not allowed|belong",
    "refusals": r"i can('|’)?t|i cannot|i('|’)m sorry|unable to|not able to|i won('|’)t|as an ai|not appropriate|respect\w*|"
    r"dignity|stereotyp\w*|discriminat\w*|inclusive|diversity",
    "care": r"sorry to hear|understand\w*|support\w*|here for you|help\w*|therap\w*|professional|counsel\w*|hotline|crisis|"
    r"reach out|talk to|care about|feel better|take care|safe\w*",
    "self-harm": r"suicid\w*|kill (yourself|myself)|die|dead|death|cut(ting)?|razors?|overdose|pills|starv\w*|purge|"
    r"calorie\w*|hang\w*|jump\w*|end it|harm\w*",
    "waving off": r"get over|deal with it|whatever|so what|grow up|not a big deal|your fault|deserve\w*|stop whining|"
    r"don't care|who cares|same here|me too|go for it",
    "tracking": r"address\w*|phone|e-?mail|social security|passwords?|track\w*|locat\w*|gps|records?|databases?|spy\w*|"
    r"surveil\w*|monitor\w*|dox\w*|identity|personal (info\w*|data)|background check",
    "consent": r"consent|permission|illegal|legal\w*|privacy|ethic\w*|laws?|lawful|authori\w*",
    "steps": r"step \d|first,|second,|then|next|finally",
    "you": r"you|your|you're|u|ur",
    "i": r"i|me|my|i'm",
    "negation": r"not|no|don't|never|without",
}
_PATTERNS = [re.compile(rf"(?i)(?<!\w)(?:{words})(?!\w)") for words in LISTS.values()]


def counts(text: str) -> np.ndarray:
    """How long it is, how it is punctuated, and of each list how often and whether it occurs; zeros for ""."""
    if not text:
        return np.zeros(5 + 2 * len(_PATTERNS))
    words = max(len(text.split()), 1)
    found = [len(pattern.findall(text)) for pattern in _PATTERNS]
    shape = [
        math.log1p(words),
        text.count("!") / words,
        text.count("?") / words,
        sum(map(str.isupper, text)) / len(text),
        sum(map(str.isdigit, text)) / len(text),
    ]
    return np.array([*shape, *(n / math.sqrt(words) for n in found), *(float(n > 0) for n in found)])
