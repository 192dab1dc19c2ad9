"""The simple way to read one input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from psysafe.conversation.formats import Format, check_format, read_items
from psysafe.conversation.labels import labels
from psysafe.conversation.problems import BadInput
from psysafe.conversation.reading import Job
from psysafe.conversation.record import MAX_MESSAGE_CHARS
from psysafe.conversation.scan import KEPT_ERRORS
from psysafe.conversation.source import Source
from psysafe.conversation.types import Conversation
from psysafe.errors import InputError


def read_conversations(
    source: str | Path,
    *,
    format: Format | None = None,
    skip_bad: bool = False,
    max_message_chars: int = MAX_MESSAGE_CHARS,
    on_bad: Callable[[InputError], object] | None = None,
    need_reply: bool = True,
) -> Iterator[Conversation]:
    """The conversations of one input in order, as a stream.

    It reads once and does not look for repeated ids; ``Inputs`` checks everything beforehand.

    >>> for conversation in read_conversations("chats.jsonl"):   # doctest: +SKIP
    ...     print(conversation.id, len(conversation.messages))

    Args:
        source: a path, or ``-`` for standard input.
        format: None: by suffix, and by content for standard input and pipes.
        skip_bad: go on after a bad record instead of raising its error.
        max_message_chars: a longer message makes its record bad.
        on_bad: with ``skip_bad``, is called with the error of each record that is left out.
        need_reply: False reads conversations without an assistant message too, such as a prompt alone.

    Raises:
        UsageError: at once, for an unknown format.
        InputError: at once for an input that cannot be opened, at its turn for a bad record.
        BadInput: at the end, if ``skip_bad`` left nothing.
    """
    check_format(format)
    opened = Source(source, format)
    opened.prepare()
    job = Job(opened.file, labels([opened.path])[0], max_message_chars, need_reply)
    return _stream(opened, job, skip_bad, on_bad)


def _stream(
    source: Source, job: Job, skip_bad: bool, on_bad: Callable[[InputError], object] | None
) -> Iterator[Conversation]:
    assert source.format is not None  # prepare() has set it
    good, count, errors = 0, 0, list[InputError]()
    with source.open() as stream:
        for _, item in read_items(source.format, stream, job):
            if isinstance(item, Conversation):
                good += 1
                yield item
                continue
            if not skip_bad:
                raise item
            count += 1
            if on_bad:
                on_bad(item)
            if not good and len(errors) < KEPT_ERRORS:
                errors.append(item)
    if not good:
        raise BadInput(errors, count, nothing_left=True, need_reply=job.need_reply)
