"""The labels that open a message of a transcript."""

from __future__ import annotations

import re

_USER = ("User", "Client", "Patient", "Human", "Caller", "Me", "You said")
_PEOPLE = ("Counselor", "Counsellor", "Therapist")
_MACHINES = ("AI", "Bot", "Chatbot", "ChatGPT", "GPT", "Claude", "Gemini", "Copilot", "LLM", "Model")
# the last ones as the pages of chatbots copy them; "You" alone is either side, so it stays unknown
_SAID = ("Assistant said", "ChatGPT said", "Claude said", "Gemini said", "Copilot said")
_ASSISTANT = ("Assistant", *_PEOPLE, *_MACHINES, *_SAID)

KNOWN = ", ".join((*_USER, *_ASSISTANT, "System"))
_ROLES = {
    **{label.lower(): "user" for label in _USER},
    **{label.lower(): "assistant" for label in _ASSISTANT},
    "system": "system",
}

COLON = "[:\uff1a]"
# At most one space before it: a line indented further, or quoted with >, never opens a message, so that
# labels in pasted text can be kept inside one.
START = r" ?(?:\#{1,6}[ ]+)?(?P<mark>[*_`]{0,3})"
_OPENING = re.compile(
    rf"{START}(?P<label>{'|'.join(_ROLES)})"
    rf"(?:(?P=mark)[ \t]*{COLON}|[ \t]*{COLON}[ \t]*(?P=mark)|(?P<open>[ \t]*{COLON}))[ \t]*(?P<text>.*)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)


def role_of(label: str) -> str | None:
    """The role that a speaker's label stands for, in any case; None if it is unknown."""
    return _ROLES.get(label.strip().lower())


def opening(line: str) -> tuple[str, str] | None:
    """The role and the text of a line that begins with a known label, plain or in Markdown; else None.

    ``User: Hi``, ``**User:** Hi``, ``**User**: Hi``, ``### User: Hi`` are the same. A mark that ends after
    the label belongs to the text: ``**User: Hi**`` says ``**Hi**``.
    """
    match = _OPENING.fullmatch(line)
    if match is None:
        return None
    mark = match["mark"] if match["open"] else ""
    return _ROLES[match["label"].lower()], mark + match["text"]
