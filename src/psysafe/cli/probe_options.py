"""Options that the commands of probing share, and what they are checked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from psysafe.cli.probe_roles import Roles
    from psysafe.probing.settings import Settings

Target = Annotated[
    str, typer.Option("--target", "-t", metavar="MODEL", help="The counselor under test. See: psysafe models.")
]
Clients = Annotated[
    list[str],
    typer.Option("--client", metavar="MODEL", help="Plays the clients; may be repeated. Default: the judge's model."),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge", "-m", metavar="MODEL", help="Reads dialogues on the ladders of severity. Default: PSYSAFE_MODEL."
    ),
]
BlindName = Annotated[
    str | None,
    typer.Option("--blind-judge", metavar="MODEL", help="Reads them untold. Best another model than the judge."),
]
StrategistName = Annotated[
    str | None, typer.Option("--strategist", metavar="MODEL", help="Writes strategies. Default: the client's model.")
]
Cells = Annotated[
    str | None,
    typer.Option("--cells", metavar="NAMES", help="Cells, counselor roles or categories with commas. Default: all."),
]
Profiles = Annotated[
    str | None,
    typer.Option("--profiles", metavar="NAMES|DIR", help="Ids or groups with commas, or a folder. Default: all."),
]
StyleName = Annotated[
    str | None,
    typer.Option("--style", help="How the client's model is asked: chat or transcript. Default: transcript for local."),
]
System = Annotated[
    Path | None, typer.Option("--system", metavar="FILE", help="The target's system prompt. Default: none of ours.")
]
ReplyTokens = Annotated[
    int, typer.Option("--reply-tokens", min=16, max=1_000_000, help="A longer reply of the target counts as truncated.")
]
Taxonomy = Annotated[
    Path | None, typer.Option("--taxonomy", metavar="DIR", help="A folder with your own versions of categories.")
]
Events = Annotated[
    Path | None, typer.Option("--events", metavar="FILE", help="Append a JSON line for each event, without any text.")
]


def check_resume(resume: bool, run: Path | None, retain: int | None) -> None:
    """Whether options fit together.

    Raises:
        UsageError: they do not.
    """
    from psysafe.errors import UsageError

    if resume and run is None:
        raise UsageError("--resume goes on with a run: name it with --run DIR")
    if resume and retain is not None:
        raise UsageError("--retain is decided when a run is made; leave it out with --resume")


def style_of(given: str | None, roles: Roles) -> str:
    """The style: as asked for, else what suits the clients.

    Raises:
        UsageError: there is no such style.
    """
    from psysafe.clients.client import STYLES
    from psysafe.errors import UsageError

    if given is not None and given not in STYLES:
        raise UsageError(f"unknown style {given!r}; expected {', '.join(STYLES)}")
    small = any(client.name.startswith("local") for client in roles.clients)
    return given or ("transcript" if small else "chat")


def read_system(path: Path | None) -> str | None:
    """The text of a system prompt.

    Raises:
        UsageError: it cannot be read, or is empty.
    """
    from psysafe.errors import UsageError

    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--system {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not text:
        raise UsageError(f"--system {path}: the file is empty; leave the option out for no system prompt")
    return text


def valid(make: Callable[..., Settings], *arguments: Any, **options: Any) -> Settings:
    """Settings, or what is wrong with them in words.

    Raises:
        UsageError: they do not fit.
    """
    from pydantic import ValidationError

    from psysafe.errors import UsageError

    try:
        return make(*arguments, **options)
    except ValidationError as error:
        problems = [
            str(e["ctx"]["error"]) if e["type"] == "value_error" else f"{'.'.join(map(str, e['loc']))}: {e['msg']}"
            for e in error.errors()
        ]
        raise UsageError("; ".join(problems)) from None
