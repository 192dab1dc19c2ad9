"""How a defect of the input is named: what was found, where, what was expected."""

from __future__ import annotations

from collections.abc import Sequence

from psysafe.errors import InputError, UsageError

_SHOWN_CHARS = 60
_LISTED = 10


class Problem(Exception):
    """A defect inside one record, named by a path relative to it; readers turn it into an ``InputError``.

    It is separate from ``InputError`` because the code that finds it knows neither file nor line, and because
    an ``InputError`` that was raised would keep the record alive through its traceback.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(field, problem)

    def under(self, parent: str) -> Problem:
        """The same defect, seen from the object that holds the record or message at ``parent``."""
        return Problem(join(parent, self.field), self.problem)

    def at(self, file: str, line: int | None, path: str = "") -> InputError:
        """The error to report. ``path`` is where the record stands in its document."""
        return InputError(file, line, join(path, self.field) or None, self.problem)


class BadInput(UsageError):
    """Inputs that hold records which cannot be read.

    ``str(error)`` lists the first ten, one a line, and says what can be done.

    Attributes:
        errors: what is wrong, in input order; at most the first 1,000.
        count: how many there are.
    """

    def __init__(
        self, errors: Sequence[InputError], count: int, *, nothing_left: bool = False, need_reply: bool = True
    ) -> None:
        self.errors = list(errors)
        self.count = count
        lines = [f"{count:,} {'record' if count == 1 else 'records'} cannot be read:"]
        lines += [f"  {error}" for error in self.errors[:_LISTED]]
        if count > _LISTED:
            lines.append(f"  ... and {count - _LISTED:,} more")
        if nothing_left:
            lines.append(f"No conversation is left{' to judge' if need_reply else ''}; correct the input.")
        else:
            goes_on = "judges" if need_reply else "goes on with"
            lines.append(f"Correct them; or --skip-bad (skip_bad=True) {goes_on} the rest and lists these.")
        super().__init__("\n".join(lines))


def join(parent: str, child: str) -> str:
    """``messages[3]`` and ``role`` make ``messages[3].role``; an index follows without a dot."""
    if not parent or not child or child.startswith("["):
        return parent + child
    return f"{parent}.{child}"


def shown(value: object) -> str:
    """A value in an error message: one line, at most 60 characters of it, since conversations are private."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = repr(value[:_SHOWN_CHARS])
        if len(value) > _SHOWN_CHARS or len(text) > _SHOWN_CHARS:
            text = text[: _SHOWN_CHARS - 4] + "..." + text[0]
        return text
    if isinstance(value, int):
        # str() of an integer with more than 4,300 digits raises
        return str(value) if value.bit_length() < 128 else "a very large number"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    return f"a Python {type(value).__name__}"
