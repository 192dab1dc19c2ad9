"""psysafe reply"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.cli.answering import Answering
    from psysafe.conversation import Conversation
    from psysafe.models import ManagedModel

_TURNS = ("last", "all")


def reply(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Conversations or prompts, as judge reads them; - is stdin.")
    ],
    target: Annotated[str, typer.Option("--target", "-t", metavar="MODEL", help="The bot. See: psysafe models.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout.")] = None,
    turns: Annotated[
        str, typer.Option(help="last: answer the last user message. all: every one, without the replies of the input.")
    ] = "last",
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, json, transcript, csv, parquet, openai or inspect. Default: by suffix."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and list it.")] = False,
    yes: o.Yes = False,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Default: 0.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Of one reply. Default: 1024.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**63 - 1, help="Sent where the bot takes one.")] = None,
    concurrency: o.Concurrency = 32,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = 120.0,
    retries: o.Retries = 6,
    quiet: o.Quiet = False,
) -> int:
    """Let a bot answer conversations; what comes out is judged with: psysafe judge -"""
    import asyncio

    from psysafe.cli.answering import Answering, check
    from psysafe.cli.console import error, keep_stdout, stdout
    from psysafe.cli.exits import INTERRUPTED
    from psysafe.cli.perform import list_bad
    from psysafe.cli.setup import confirm_hosts, load_limits
    from psysafe.conversation import FORMATS, Format, Inputs
    from psysafe.errors import UsageError
    from psysafe.models import Sampling, load_model

    if turns not in _TURNS:
        raise UsageError(f"--turns {turns}: expected last or all")
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; expected {', '.join(FORMATS)}")
    if output is not None and any(name != "-" and Path(name).resolve() == output.resolve() for name in files):
        raise UsageError(f"--output {output} is an input; name another file")
    keep_stdout([target])
    model = load_model(target, load_limits(concurrency, rpm, tpm, timeout, retries))
    given = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    wanted = {name: value for name, value in given.items() if value is not None}
    _check_options(model, list(wanted))
    config = Sampling(**wanted)  # type: ignore[arg-type]
    with Inputs(files, format=cast("Format | None", format), skip_bad=skip_bad, need_reply=False) as inputs:
        scan = inputs.scan()
        list_bad(scan.bad, scan.bad_count)
        count = scan.conversations
        check(inputs, count, every_turn=turns == "all")
        confirm_hosts([model], count, yes)
        answering = Answering(model, config, every_turn=turns == "all", window=4 * concurrency, quiet=quiet)
        try:
            if output is None:
                asyncio.run(_write(answering, inputs, count, stdout().buffer))
            else:
                with open(output, "wb", opener=_private) as out:
                    asyncio.run(_write(answering, inputs, count, out))
        except BrokenPipeError:  # whoever read it has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout().fileno())
        except KeyboardInterrupt:
            error("interrupted; what was written is whole")
            return INTERRUPTED
        except OSError as problem:
            raise UsageError(f"cannot write {output or 'the output'}: {problem.strerror or problem}") from problem
    return _code(answering, count)


async def _write(answering: Answering, conversations: Iterable[Conversation], count: int, out: BinaryIO) -> None:
    """One line for each conversation as soon as those before it are there."""
    import orjson

    try:
        await answering.model.open()
        async with aclosing(answering.answer(conversations, count)) as answered:
            async for conversation in answered:
                out.write(orjson.dumps(conversation.to_dict()) + b"\n")
                out.flush()
    finally:
        _report(answering, count)
        await answering.model.close()
        _report_end(answering.model)


def _report(answering: Answering, count: int) -> None:
    from psysafe.cli.console import note

    tally = answering.tally
    counts = [f"{count:,} {what}" for what, count in sorted({**tally.finishes, **tally.failures}.items())]
    odd = f" ({', '.join(counts)})" if counts else ""
    note(
        f"{tally.conversations:,} of {count:,} conversations, {tally.replies:,} replies, "
        f"{tally.failures.total():,} failed{odd}"
    )


def _report_end(model: ManagedModel) -> None:
    """What a model tells only when it is over."""
    from psysafe.cli.console import note

    details = model.info.details
    if lost := details.get("not_sent"):
        note(f"{model.name} was not given: {', '.join(map(str, lost))} (it takes none)")
    if failed := details.get("resets_failed"):
        note(f"{model.name}: {failed:,} sessions could not be reset")


def _code(answering: Answering, count: int) -> int:
    from psysafe.cli.console import error
    from psysafe.cli.exits import DONE, UNSCORED

    if count and not answering.tally.replies and answering.tally.failures:
        error("no reply at all")
        return UNSCORED
    return DONE


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)  # conversations are private


def _check_options(model: ManagedModel, wanted: Sequence[str]) -> None:
    """What was asked for and cannot be handed on is an error, not left out."""
    from psysafe.errors import UsageError

    options = model.info.details.get("options")
    if isinstance(options, list) and (lost := [name for name in wanted if name not in options]):
        raise UsageError(f"{model.name} takes no {lost[0]}: leave out --{lost[0].replace('_', '-')}")
