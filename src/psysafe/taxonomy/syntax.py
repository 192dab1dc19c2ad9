"""What to do about a file that is no YAML: the place of the likely cause, and the remedy in plain words.

PyYAML tells where it could not go on, which is often after the cause; the cause is looked for in the lines themselves.
"""

from __future__ import annotations

import re

import yaml
from yaml.reader import ReaderError

from psysafe.taxonomy.dimension import Anchor, Dimension, Example, NearMiss, Scale

_FIELDS = {name for model in (Dimension, Scale, Anchor, Example, NearMiss) for name in model.model_fields}
_LINE = re.compile(r"(?P<indent>\s*)(?:-[ ]+)*(?:(?P<key>[^\s:\"'\[{]+):(?:[ ]+|$))?(?P<value>.*)")

_QUOTE = "put the whole text in double quotes"
_COLON = f"a text without quotes holds a colon; {_QUOTE}"
_CURLY = 'curly quotes do not count as quotes here; use straight ones (")'
_INNER = {
    '"': "a double quote inside a text in double quotes; write a single quote inside: 'no'",
    "'": "an apostrophe or single quote ends this text; put the whole text in double quotes instead",
}
_OPEN = "the quote that opens here is not closed where the text ends; put a quote at the end of the text"
_ANY = "this line cannot be read; look for a colon in a text without quotes, for a quote that is not closed, "
_ANY += "or for a wrong number of spaces at the start of the line"


def explain(text: str, error: yaml.YAMLError) -> tuple[int, str]:
    """The place of the likely cause in ``text``, and what to do."""
    if isinstance(error, ReaderError):
        return error.position, "an invisible character that no text may hold; delete it"
    mark = getattr(error, "problem_mark", None)
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return 0, _ANY
    at = min(mark.index, len(text))
    problem, context = error.problem or "", error.context or ""
    opened = error.context_mark.index if error.context_mark else at
    if "document" in problem:
        return at, "a line of --- or ... divides the file in two; delete that line (one file holds one dimension)"
    if context.startswith("while scanning a quoted scalar"):
        return opened, _OPEN
    quote, bracket = _open(text, at)
    if quote is not None:
        return quote, _OPEN
    if "simple key" in context:
        at = opened
    elif context.startswith("while parsing a flow") and bracket is not None:
        begin = text[bracket]
        return bracket, (
            f"the bracket {begin} that opens here needs a comma between its parts and a closing bracket; "
            f"if a text begins with {begin}, {_QUOTE}"
        )
    return _in_line(text, at, problem)


def _in_line(text: str, at: int, problem: str) -> tuple[int, str]:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0]
    found = _LINE.match(line)
    assert found is not None  # every part of the pattern may be empty
    indent, key, value = found["indent"], found["key"], found["value"]
    value_at = start + found.start("value")
    if "\t" in indent:
        return start + indent.index("\t"), "a tab at the start of the line; use spaces instead"
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    for begin in (start, before):
        if re.match(r" *[^\S\n\t ]", text[begin:]):
            return begin, "an unusual space at the start of the line; delete the spaces there and type them anew"
    if at >= value_at and value:
        said = _in_value(value, problem)
        if said:
            return value_at, said
    if problem.startswith("mapping values") and key not in _FIELDS:
        return at, _COLON
    unspaced = re.match(r"\s*(?:- +)*(\w+):(?=[^ ])", line)
    if unspaced and unspaced[1] in _FIELDS:
        return start + unspaced.end(), f"a space is missing after '{unspaced[1]}:'"
    undashed = re.match(r"\s*-(?=[^\s-])", line)
    if undashed:
        return start + undashed.end(), "a space is missing after the dash"
    word = re.match(r"\s*(?:- +)*(\w+)(?=\s|$)", line)
    if word and word[1] in _FIELDS:
        return start + word.end(), f"a colon is missing after '{word[1]}'"
    if problem.startswith("could not find expected ':'"):
        return at, "this line is neither a field (name: text) nor an entry (- text); delete it or complete it"
    if problem.startswith(("expected <block end>", "mapping values", "sequence entries")):
        return start + len(indent), (
            f"too many or too few spaces at the start of this line ({len(indent)}) or of the line before; "
            "lines that belong together begin under each other"
        )
    return at, _ANY


def _in_value(value: str, problem: str) -> str | None:
    """What is wrong with the text of a field or entry, when that is plain to see."""
    begin = value[0]
    if "escape" in problem:
        return "a backslash (\\) in a text in double quotes; leave it out or write two"
    if begin in _INNER:
        return _INNER[begin]
    if begin in "“”„‟":
        return _CURLY
    if begin in "[]{}*&!%@`|>,":
        return f"a text that begins with {begin} must stand in double quotes"
    if problem.startswith(("sequence entries", "mapping keys")):
        return f"a text that begins with {begin} must stand in double quotes"
    if problem == "no such value":
        return f"a text that looks like a date or a number; {_QUOTE}"
    if problem.startswith("mapping values") and re.search(r":(\s|$)", value):
        return _COLON
    return None


def _open(text: str, at: int) -> tuple[int | None, int | None]:
    """What opens before the problem and does not close as it should.

    The place of a text in quotes that runs over the end of its line and ends on the line of the problem; the place of
    a bracket without its other half.
    """
    quoted = None
    brackets: list[int] = []
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if token.start_mark.index >= at:
                break
            if isinstance(token, yaml.ScalarToken) and token.style in ("'", '"'):
                quoted = token
            elif isinstance(token, (yaml.FlowSequenceStartToken, yaml.FlowMappingStartToken)):
                brackets.append(token.start_mark.index)
            elif isinstance(token, (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)) and brackets:
                brackets.pop()
    except yaml.YAMLError:
        pass
    bracket = brackets[-1] if brackets else None
    if quoted and quoted.start_mark.line < quoted.end_mark.line and "\n" not in text[quoted.end_mark.index : at]:
        return quoted.start_mark.index, bracket
    return None, bracket
