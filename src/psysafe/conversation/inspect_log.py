"""Logs of Inspect: each sample is a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Literal, TypeVar

from psysafe.conversation.inspect_sample import read_sample
from psysafe.conversation.problems import Problem, shown
from psysafe.conversation.reading import BLOCK_BYTES, Item, Job
from psysafe.conversation.table import row_error
from psysafe.errors import UsageError

HEAD_BYTES = 4096
_ZIP = b"PK"
_JSON_HEAD = re.compile(rb'\s*\{\s*"version":\s*\d+,\s*"status":\s*"\w+",')
# What is large in a sample and not read.
_UNREAD = {"events", "store", "timelines"}
_T = TypeVar("_T")


def looks_like_log(head: bytes) -> bool:
    """Whether a JSON document begins as a log of Inspect does."""
    return _JSON_HEAD.match(head) is not None


def read_inspect(file: BinaryIO, job: Job) -> Iterator[Item]:
    """The samples of a log in order, with the sample and epoch as their place, and the conversation or its error.

    An ``.eval`` file is read sample by sample, which takes Inspect more than linear time in the number of
    samples: beyond some thousand it is slow. A log in JSON is held in memory as a whole.

    Raises:
        UsageError: inspect-ai is not installed.
    """
    from concurrent.futures import ThreadPoolExecutor

    try:
        import inspect_ai.log as logs
    except ImportError:
        raise UsageError("reading logs of Inspect needs inspect-ai: pip install 'psysafe[inspect]'") from None
    head = file.read(HEAD_BYTES)
    file.seek(0)
    kind: Literal["eval", "json"] = "eval" if head.startswith(_ZIP) else "json"
    count = 0
    # In a thread of its own: within a running event loop, Inspect would patch asyncio to enter it once more.
    with ExitStack() as stack:
        apart = stack.enter_context(ThreadPoolExecutor(1, "psysafe-inspect"))

        def call(function: Callable[..., _T], *args: Any, **options: Any) -> _T:
            return apart.submit(function, *args, **options).result()

        try:
            if kind == "json":
                log = call(logs.read_eval_log, file, format="json", resolve_attachments=True)
                samples: Iterator[Any] = iter(log.samples or ())
            else:
                path = _path(file, stack)
                log = call(logs.read_eval_log, path, header_only=True, format="eval")
                wanted = call(logs.read_eval_log_sample_summaries, path, format="eval")
                samples = (
                    call(
                        logs.read_eval_log_sample, path, summary.id, summary.epoch,
                        resolve_attachments=True, format="eval", exclude_fields=_UNREAD,
                    )
                    for summary in wanted
                )  # fmt: skip
            head_data = {"task": log.eval.task, "model": log.eval.model}
            for sample in samples:
                count += 1
                place = f"sample {shown(sample.id)}, epoch {sample.epoch}"
                try:
                    yield place, read_sample(sample, head_data, job.max_message_chars, need_reply=job.need_reply)
                except Problem as problem:
                    yield place, row_error(job, place, problem.field, problem.problem)
        except Exception as error:  # of zip, JSON, pydantic and Inspect itself
            if isinstance(error, (UsageError, MemoryError)):
                raise
            text = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
            after = f" after {count:,} samples" if count else ""
            yield "", job.error(None, f"cannot be read as a log of Inspect{after}: {text}; expected a whole log")
            return
    if not count:
        yield "", job.error(None, "found no samples; expected a log of Inspect with at least one")


def _path(file: BinaryIO, stack: ExitStack) -> str:
    """A path to the file; where it has none, that of a copy for this user alone, which goes with the stack."""
    name = getattr(file, "name", None)
    if isinstance(name, str):
        return name
    import shutil
    import tempfile

    copy = tempfile.NamedTemporaryFile(prefix="psysafe-", suffix=".eval")  # noqa: SIM115 (the stack closes it)
    stack.callback(copy.close)
    shutil.copyfileobj(file, copy, BLOCK_BYTES)
    copy.flush()
    return copy.name
