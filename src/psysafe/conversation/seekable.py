"""An input as a file with a position of its own, for formats that are not read from front to back."""

from __future__ import annotations

import io
import os
from typing import BinaryIO, cast


class _View(io.RawIOBase):
    """Reads at its own position, so that an open file may have several views and streams at once."""

    def __init__(self, descriptor: int, name: str | int) -> None:
        self._descriptor = descriptor
        self._position = 0
        self.name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position}.get(whence)
        if start is None:
            start = os.fstat(self._descriptor).st_size
        if start + offset < 0:
            raise OSError(f"cannot seek to {start + offset}")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        block = os.pread(self._descriptor, len(view), self._position)
        view[: len(block)] = block
        self._position += len(block)
        return len(block)


def seekable(descriptor: int, path: str | None) -> BinaryIO:
    """A file over all bytes of an open one, which it neither moves nor closes.

    Its ``name`` is the absolute path, or the descriptor where there is none (a kept standard input).
    """
    name = descriptor if path is None else os.path.abspath(path)
    return cast("BinaryIO", io.BufferedReader(_View(descriptor, name), 256 * 1024))
