"""All inputs of a command: checked as a whole before the first model call, then read as a stream."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from pathlib import Path
from types import TracebackType

from psysafe.conversation.formats import Format, check_format, read_items
from psysafe.conversation.labels import labels
from psysafe.conversation.problems import BadInput, join, shown
from psysafe.conversation.reading import Item, Job, Place
from psysafe.conversation.record import MAX_MESSAGE_CHARS
from psysafe.conversation.repeats import IdHashes, id_hash
from psysafe.conversation.scan import KEPT_ERRORS, Scan, Tally
from psysafe.conversation.source import Source, Stamp
from psysafe.conversation.types import Conversation
from psysafe.errors import InputError, UsageError

_CHANGED = "has changed since it was checked; expected a file that stays as it is, so run again"


class Inputs:
    """The conversations of several sources, one after the other.

    Iterating yields the good ones in order, as often as wanted, and holds one at a time (a JSON document is
    held while it is read). It scans first if ``scan`` was not called. Use it in a ``with`` block, or call
    ``close``, to give up the temporary file of standard input early.

    Args:
        sources: paths; ``-`` is standard input.
        format: of all sources; None: by suffix, and by content for standard input and pipes.
        skip_bad: leave bad records out instead of refusing the input; ``Scan.bad`` lists them.
        max_message_chars: a longer message makes its record bad.
        need_reply: False reads conversations without an assistant message too, such as a prompt alone.

    Raises:
        UsageError: no source, the same one twice, or an unknown format.
    """

    def __init__(
        self,
        sources: Sequence[str | Path],
        *,
        format: Format | None = None,
        skip_bad: bool = False,
        max_message_chars: int = MAX_MESSAGE_CHARS,
        need_reply: bool = True,
    ) -> None:
        check_format(format)
        # a lone string is a sequence of strings too, but never meant as one
        given = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
        if not given:
            raise UsageError("no input; expected at least one file, or - for standard input")
        self._sources = [Source(source, format) for source in given]
        self._jobs = [
            Job(source.file, label, max_message_chars, need_reply)
            for source, label in zip(self._sources, labels([s.path for s in self._sources]), strict=True)
        ]
        self._skip_bad = skip_bad
        self._need_reply = need_reply
        self._stamps: list[Stamp] = []
        self._digests: dict[str, str] = {}
        # positions, among all items, of conversations whose id was used before
        self._repeats = array("Q")
        self._scanned = False

    def scan(self) -> Scan:
        """Reads everything once, and again only if ids are repeated; holds 8 bytes per conversation.

        Raises:
            InputError: a source cannot be opened, or changes while it is read.
            BadInput: there are bad records and ``skip_bad`` is off, or no good one is left.
        """
        for source in self._sources:
            source.prepare()
        self._scanned, self._stamps, self._digests, self._repeats = False, [], {}, array("Q")
        tally, ids = Tally(), IdHashes()
        bad: list[tuple[int, InputError]] = []
        count = 0
        for position, (_, (_, item)) in enumerate(self._items(fresh=True)):
            if isinstance(item, Conversation):
                tally.add(item)
                ids.add(item.id)
                continue
            count += 1
            if len(bad) < KEPT_ERRORS:
                bad.append((position, item))
        repeated = self._find_repeats(ids.repeated(), tally)
        count += len(self._repeats)
        first = islice(merge(bad, repeated, key=lambda pair: pair[0]), KEPT_ERRORS)
        errors = [error for _, error in first]
        if not tally.conversations or (count and not self._skip_bad):
            raise BadInput(errors, count, nothing_left=not tally.conversations, need_reply=self._need_reply)
        self._scanned = True
        return tally.scan(dict(self._digests), errors, count)

    def __iter__(self) -> Iterator[Conversation]:
        if not self._scanned:
            self.scan()
        repeats = iter(self._repeats)
        repeat = next(repeats, None)
        for position, (job, (_, item)) in enumerate(self._items()):
            if position == repeat:
                repeat = next(repeats, None)
            elif isinstance(item, Conversation):
                yield item
            elif not self._skip_bad:
                raise job.error(None, _CHANGED)  # the scan found none

    def close(self) -> None:
        """Gives up the temporary files; the sources behind them cannot be read again."""
        for source in self._sources:
            source.close()

    def __enter__(self) -> Inputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _items(self, *, fresh: bool = False) -> Iterator[tuple[Job, Item]]:
        """Everything in order; an error if a source is not what it was, unless it is read ``fresh``."""
        for index, (source, job) in enumerate(zip(self._sources, self._jobs, strict=True)):
            assert source.format is not None  # prepare() has set it
            with source.open() as stream:
                if fresh:
                    self._stamps.append(stream.stamp())
                elif stream.stamp() != self._stamps[index]:
                    raise source.error(_CHANGED)
                for item in read_items(source.format, stream, job):
                    yield job, item
                # the stamp is coarse on some file systems, and a file may grow while it is read
                digest = stream.sha256()
                same = digest == self._digests.setdefault(job.file, digest)
                if not same or stream.stamp() != self._stamps[index]:
                    raise source.error(_CHANGED)

    def _find_repeats(self, hashes: set[int], tally: Tally) -> list[tuple[int, InputError]]:
        """A second pass over the ids that may be repeated; holds those ids only."""
        errors: list[tuple[int, InputError]] = []
        seen: dict[str, str] = {}
        for position, (job, (place, item)) in enumerate(self._items() if hashes else ()):
            if isinstance(item, InputError) or id_hash(item.id) not in hashes:
                continue
            first = seen.setdefault(item.id, here := _where(job, place))
            if first is here:
                continue
            self._repeats.append(position)
            tally.add(item, -1)
            if len(errors) < KEPT_ERRORS:
                field = _field(place)
                problem = f"id {shown(item.id)} was already used at {first}; expected every id once"
                errors.append((position, InputError(job.file, _line(place), field, problem)))
        return errors


def _line(place: Place) -> int | None:
    return place if isinstance(place, int) else None


def _field(place: Place) -> str:
    if isinstance(place, int):
        return "id"
    return f"{place}, id" if " " in place else join(place, "id")  # a row or sample is no path


def _where(job: Job, place: Place) -> str:
    return f"{job.file}:{place}" if isinstance(place, int) else f"{job.file}: {place}" if place else job.file
