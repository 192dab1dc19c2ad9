"""One input: a file, or something that can be read only once and is kept in a temporary file."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from weakref import finalize

from psysafe.conversation.formats import SNIFFED_BYTES, SUFFIXES, Format, format_of_suffix, sniff
from psysafe.conversation.reading import BLOCK_BYTES
from psysafe.conversation.seekable import seekable
from psysafe.errors import InputError

STDIN = "-"
Stamp = tuple[int, int]  # size, time of modification


class Source:
    """An input by name. ``prepare`` must come before ``open``; it may be opened any number of times.

    Attributes:
        file: the name as the user gave it.
        format: None until ``prepare`` has found it out.
    """

    def __init__(self, given: str | Path, format: Format | None = None) -> None:
        self._given = os.fspath(given)
        self._spool: BinaryIO | None = None
        self.file = printable(self._given)
        self.format = format
        if "\0" in self._given:
            raise self.error("holds a NUL character; expected the path of a file, or - for standard input")

    @property
    def path(self) -> Path | None:
        """Where it is; None for standard input."""
        return None if self._given == STDIN else Path(self._given)

    def prepare(self) -> None:
        """Finds the format; checks that a file can be read; keeps what can be read only once.

        Raises:
            InputError: there is no such file, it is a directory, reading it is not permitted, or no format is
                known for its suffix.
        """
        if self._spool is not None:
            return
        try:
            if self._given == STDIN:
                self._keep(self._standard_input())
            elif stat.S_ISDIR(mode := os.stat(self._given).st_mode):
                raise self.error(f"is a directory; expected a file, such as those in {self.file}/*.jsonl")
            else:
                with open(self._given, "rb", buffering=0) as file:
                    if not stat.S_ISREG(mode):
                        self._keep(file)  # a pipe, such as that of <(zcat chats.jsonl.gz)
        except OSError as error:
            raise self._unreadable(error) from None
        self.format = self.format or format_of_suffix(self._given) or self._sniff()

    def open(self) -> Stream:
        """A new stream over all bytes."""
        try:
            if self._spool is not None:
                if self._spool.closed:
                    raise self.error("was closed; expected to be read before that")
                return Stream(self, self._spool, shared=True)
            return Stream(self, open(self._given, "rb", buffering=0))
        except OSError as error:
            raise self._unreadable(error) from None

    def close(self) -> None:
        """Gives up the temporary file, if there is one."""
        if self._spool is not None:
            self._spool.close()

    def error(self, problem: str) -> InputError:
        """An error about the input as a whole."""
        return InputError(self.file, None, None, problem)

    def _standard_input(self) -> BinaryIO:
        # None in a process without one, such as a service
        buffer: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            raise self.error("there is no standard input; expected the path of a file")
        return buffer

    def _keep(self, file: BinaryIO) -> None:
        import shutil
        import tempfile

        # unlinked from the start and 0600: conversations are private
        spool = tempfile.TemporaryFile(prefix="psysafe-")  # noqa: SIM115 (it lives as long as the source)
        finalize(self, spool.close)
        shutil.copyfileobj(file, spool, BLOCK_BYTES)
        spool.flush()  # or ``Stream.stamp`` would see a file without its end until the first read
        self._spool = spool

    def _sniff(self) -> Format:
        if self._spool is None:
            suffix = Path(self.file).suffix
            what = f"has the suffix {suffix}" if suffix else "has no suffix"
            remedy = "name the format (--format), or unpack a compressed file: zcat FILE | psysafe judge -"
            raise self.error(f"{what}; expected one of {SUFFIXES}. Otherwise {remedy}")
        with self.open() as stream:
            return sniff(stream.read(SNIFFED_BYTES))

    def _unreadable(self, error: OSError) -> InputError:
        if isinstance(error, FileNotFoundError):
            return self.error("there is no such file; expected the path of a file, or - for standard input")
        if isinstance(error, PermissionError):
            return self.error("reading it is not permitted; expected a file that this user may read")
        return self.error(f"cannot be read: {error.strerror}")


class Stream:
    """The bytes of a source from the beginning, with their digest.

    A kept input is one open file for all its streams, so each of them remembers its own position.
    """

    def __init__(self, source: Source, file: BinaryIO, *, shared: bool = False) -> None:
        self._source = source
        self._file = file
        self._shared = shared
        self._position = 0
        self._digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end."""
        try:
            if self._shared:
                self._file.seek(self._position)
            block = self._file.read(size)
        except OSError as error:
            raise self._source.error(f"cannot be read: {error.strerror}") from None
        self._position += len(block)
        self._digest.update(block)
        return block

    def seekable(self) -> BinaryIO:
        """A file over all bytes, apart from this stream's position and digest; ``close`` ends it too."""
        path = None if self._shared else self._source.path
        return seekable(self._file.fileno(), None if path is None else os.fspath(path))

    def sha256(self) -> str:
        """64 hex digits over the whole input; reads what the reader of a defective one left."""
        while self.read(BLOCK_BYTES):
            pass
        return self._digest.hexdigest()

    def stamp(self) -> Stamp:
        """What tells at the start that a file has changed; the digest tells at the end."""
        status = os.fstat(self._file.fileno())
        return (status.st_size, 0 if self._shared else status.st_mtime_ns)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._shared:
            self._file.close()


def printable(name: str) -> str:
    """A file name that is valid Unicode: bytes of a name that are not UTF-8 become ``\\udc..`` escapes."""
    return name.encode("utf-8", "backslashreplace").decode()
