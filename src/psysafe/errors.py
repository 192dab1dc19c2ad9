"""The errors that psysafe raises. Every message says what is wrong, where, what was expected and what to do."""


class PsysafeError(Exception):
    """The parent of all errors that psysafe raises on purpose."""


class UsageError(PsysafeError):
    """Something the caller gave cannot be used: an option, a name, a file, a key. The CLI exits with 2."""


class InputError(UsageError):
    """A place in an input that cannot be read as a conversation.

    ``str(error)`` is one line: ``chats.jsonl:12: messages[1].role: unknown role 'bot'; expected ...``.

    Attributes:
        file: the name of the input as the user gave it (``-`` is standard input).
        line: 1-based line number, or None where the format has no lines (a JSON document).
        field: path of the field, such as ``messages[1].role``, or None for the whole record.
        problem: what is wrong and what was expected, one line.
    """

    def __init__(self, file: str, line: int | None, field: str | None, problem: str) -> None:
        self.file = file
        self.line = line
        self.field = field
        self.problem = problem
        where = file if line is None else f"{file}:{line}"
        super().__init__(f"{where}: {field}: {problem}" if field else f"{where}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; the default would call __init__ with the message alone.
        return type(self), (self.file, self.line, self.field, self.problem)
