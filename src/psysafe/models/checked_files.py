"""Large files whose SHA-256 is found once and remembered, and written by one process at a time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson

from psysafe.errors import UsageError
from psysafe.models.base import Stopped

_CHUNK = 2**22


def cache_folder() -> Path:
    """Where psysafe keeps what it can make again; it need not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "psysafe"


def folder() -> Path:
    """Where joined weights and the digests of checked files are kept; it need not exist."""
    return cache_folder() / "models"


def digest_of(path: Path, stopped: Callable[[], bool] = lambda: False) -> str:
    """SHA-256 of a file in hex digits; remembered as long as its size and its time of change stay the same.

    Raises:
        Stopped: ``stopped`` said so. OSError: it cannot be read.
    """
    digest = remembered(path)
    if digest is None:
        stamp = _stamp(path)
        whole = hashlib.sha256()
        for chunk in chunks(path, stopped):
            whole.update(chunk)
        digest = whole.hexdigest()
        remember(path, digest, stamp)
    return digest


def chunks(path: Path, stopped: Callable[[], bool]) -> Iterator[bytes]:
    """The bytes of a file; ``stopped`` is asked before each chunk."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if stopped():
                raise Stopped("told to stop while weights were read")
            yield chunk


def remembered(path: Path) -> str | None:
    """The digest that was found for the file as it is now, or None."""
    try:
        stamp, digest = orjson.loads(_record(path).read_bytes())
        return str(digest) if stamp == _stamp(path) else None
    except (OSError, ValueError, TypeError):
        return None


def remember(path: Path, digest: str, stamp: list[int] | None = None) -> None:
    """Keep a digest. A folder that cannot be written costs time at the next start, no more."""
    record = _record(path)
    new = record.with_name(f"{record.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        record.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(orjson.dumps([stamp or _stamp(path), digest]))
        new.replace(record)


def _record(path: Path) -> Path:
    place = hashlib.blake2b(os.fsencode(path.absolute()), digest_size=4).hexdigest()
    return folder() / f"{path.name}.{place}.checked"


def _stamp(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns]


@contextlib.contextmanager
def file_errors(what: str, advice: str | None = None) -> Iterator[None]:
    """A file system that says no, as a UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}{f'; {advice}' if advice else ''}") from error


@contextlib.contextmanager
def locked(target: Path, stopped: Callable[[], bool]) -> Iterator[None]:
    """One process at a time beside ``target``, in a folder that is made; the lock ends with the process.

    Raises:
        Stopped: ``stopped`` said so while another process held it. OSError: it cannot be written there.
    """
    import fcntl

    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f"{target.name}.lock").open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if stopped():
                    raise Stopped("told to stop while another process joins the weights") from None
                time.sleep(0.1)
        yield
