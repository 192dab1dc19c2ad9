"""psysafe runs"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from psysafe.cli.console import note, out, print_json, printable
from psysafe.errors import UsageError

app = typer.Typer(help="List and show runs, and delete runs or single conversations in them.")


@app.command("list")
def list_runs(
    folder: Annotated[Path | None, typer.Argument(help="Default: PSYSAFE_RUNS, or ./runs.")] = None,
    json: Annotated[bool, typer.Option("--json")] = False,
) -> int:
    """List the runs in a folder."""
    from rich.table import Table

    from psysafe.cli.setup import runs_folder
    from psysafe.runs import Store, summarise

    folder = folder or runs_folder()
    sweep(folder)
    rows = []
    for head in sorted(folder.glob("*/run.json")):
        try:
            store = Store.open(head.parent)
        except UsageError as problem:
            note(str(problem))
            continue
        summary = summarise(store)
        state = store.get("state") or {}
        rows.append(
            {
                "run": str(head.parent),
                "created": store.get("created"),
                "expires": store.get("expires"),
                "ended": state.get("ended", "not finished"),
                "units": summary.units,
                "unscored": summary.outcomes["unscored"],
                "models": list((store.get("manifest") or {}).get("models", ())),
            }
        )
        store.close()
    if json:
        print_json(rows)
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "created", "ended", "units", "unscored", "models"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            printable(row["run"]),
            row["created"],
            row["ended"],
            str(row["units"]),
            str(row["unscored"]),
            printable(", ".join(row["models"])),
        )
    out().print(table if rows else f"no runs in {folder}")
    return 0


@app.command("show")
def show_run(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    json: Annotated[bool, typer.Option("--json")] = False,
) -> int:
    """Show the result of a run again, as far as it has come."""
    from psysafe.cli.console import results
    from psysafe.cli.table import print_summary
    from psysafe.runs import Store, summarise

    store = Store.open(run)
    try:
        summary = summarise(store)
        state = store.get("state") or {}
        with results():
            if json:
                print_json({**summary.as_dict(str(run)), "ended": state.get("ended")})
            elif summary.units:
                print_summary(summary, store)
            else:
                out().print(f"{run} holds no verdict yet")
    finally:
        store.close()
    return 0


@app.command("delete")
def delete_run(
    run: Annotated[Path, typer.Argument(metavar="RUN")],
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Only this conversation.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> int:
    """Delete a run, or one conversation and its judgments, for good.

    Files made by psysafe export and the response cache are not touched: delete those yourself.
    """
    import sys

    from psysafe.cli.setup import confirmed
    from psysafe.runs import Store

    store = Store.open(run)
    try:
        store.lock()
        what = f"conversation {conversation!r} in {run}" if conversation is not None else f"the whole run {run}"
        if not yes:
            if not sys.stdin.isatty():
                raise UsageError(f"delete {what}: add --yes to confirm (there is no terminal to ask on)")
            if not confirmed(f"Delete {what} for good?"):
                raise UsageError("not confirmed; nothing was deleted")
        if conversation is None:
            store.delete()
            note(f"deleted {run}")
        else:
            gone = store.delete_conversation(conversation)
            note(f"deleted conversation {conversation!r} and {gone} judgments")
    finally:
        store.close()
    return 0


def sweep(folder: Path) -> None:
    """Delete the runs of a folder whose time (``--retain``) has passed."""
    from psysafe.runs import Store

    for head in folder.glob("*/run.json"):
        try:
            store = Store.open(head.parent)
        except UsageError:
            continue  # listed as unreadable by runs list; never deleted on a guess
        try:
            expires = store.get("expires")
            if expires and datetime.fromisoformat(expires) <= datetime.now(UTC):
                store.lock()
                store.delete()
                note(f"deleted {head.parent}: kept until {expires}, as --retain asked")
        except UsageError as problem:
            note(str(problem))
        finally:
            store.close()
