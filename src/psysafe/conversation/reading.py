"""What the readers of all formats share: bounded lines, and a name for every trouble with an encoding."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from psysafe.conversation.record import MAX_MESSAGE_CHARS
from psysafe.conversation.types import Conversation
from psysafe.errors import InputError

MAX_LINE_BYTES = 64 * 1024 * 1024
BLOCK_BYTES = 256 * 1024
UTF8_BOM = codecs.BOM_UTF8

Read = Callable[[int], bytes]  # at most so many bytes, none at the end

# A conversation or why there is none, and where: its line, or its path in a JSON document. Errors are handed
# on instead of raised, so that a reader can go on after them.
Place = int | str
Item = tuple[Place, Conversation | InputError]

_TO_UTF8 = "expected UTF-8, so convert it (for example: iconv -f {} -t UTF-8 OLD > NEW)"
# UTF-32 first: its little-endian mark begins with that of UTF-16
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """How one source is read.

    Attributes:
        file: its name in errors.
        label: what default ids begin with.
        max_message_chars: a longer message is an error.
        need_reply: a conversation without an assistant message is an error. Without it, one that waits for a
            reply is read; all else is the same.
    """

    file: str
    label: str
    max_message_chars: int = MAX_MESSAGE_CHARS
    need_reply: bool = True

    def error(self, line: int | None, problem: str) -> InputError:
        """An error about a place as a whole, not about a field of a record."""
        return InputError(self.file, line, None, problem)

    def nothing(self, kind: str) -> InputError:
        """The error of a source without a single record."""
        return self.error(None, f"is empty; expected {kind}")


def read_lines(read: Read, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """Lines without their newline; None stands for a line of more than ``limit`` bytes, which is never held.

    A last line without a newline counts; nothing comes after a last newline.
    """
    held: list[bytes] = []  # the beginning of a line that runs over the end of a block
    size = 0
    while block := read(BLOCK_BYTES):
        first, *rest = block.split(b"\n")
        size += len(first)
        if size > limit:
            held.clear()
        else:
            held.append(first)
        if not rest:
            continue
        yield b"".join(held) if size <= limit else None
        tail = rest.pop()
        for line in rest:
            yield line if len(line) <= limit else None
        held, size = [tail], len(tail)
    if size > limit:
        yield None
    elif size:
        yield b"".join(held)


def without_marks(line: bytes) -> bytes:
    """A line without the UTF-8 byte order marks at its start, where files were joined."""
    while line.startswith(UTF8_BOM):
        line = line[len(UTF8_BOM) :]
    return line


def wide_encoding(start: bytes) -> str | None:
    """The problem with a file whose first bytes are the mark of UTF-16 or UTF-32, or None."""
    for mark, name in _WIDE_MARKS:
        if start.startswith(mark):
            return f"found the byte order mark of {name}; {_TO_UTF8.format(name)}"
    return None


def encoding_problem(data: bytes | bytearray) -> tuple[int, str] | None:
    """Why bytes are not UTF-8 text, after the number of newlines before that place; None if they are.

    The problem names the 1-based byte within its line.
    """
    if (offset := data.find(b"\0")) >= 0:
        problem = f"found a NUL byte at byte {{:,}}; {_TO_UTF8.format('UTF-16')}, or remove it"
    else:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            offset = error.start
            found = f"found 0x{data[offset]:02X} at byte {{:,}}, which is not UTF-8"
            problem = f"{found}; {_TO_UTF8.format('WINDOWS-1252')}"
        else:
            return None
    return data.count(b"\n", 0, offset), problem.format(offset - data.rfind(b"\n", 0, offset))
