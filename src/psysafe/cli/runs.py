"""psysafe runs"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psysafe.cli.console import note, out, print_json, printable
from psysafe.errors import UsageError

if TYPE_CHECKING:
    from psysafe.runs import Store

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
    from psysafe.runs.trials import is_probe, trial_count

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
        models = (store.get("manifest") or {}).get("models", {})
        probe = is_probe(store)
        if probe:  # by model role
            models = dict.fromkeys(name for names in models.values() for name in names)
        rows.append(
            {
                "run": str(head.parent),
                "created": store.get("created"),
                "expires": store.get("expires"),
                "ended": state.get("ended", "not finished"),
                "kind": "probe" if probe else "judge",
                "units": trial_count(store) if probe else summary.units,
                "unscored": trial_count(store, "unscored") if probe else summary.outcomes["unscored"],
                "models": list(models),
            }
        )
        store.close()
    if json:
        print_json(rows)
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "kind", "created", "ended", "units", "unscored", "models"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(
            printable(row["run"]),
            row["kind"],
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
    from psysafe.runs.trials import is_probe

    store = Store.open(run)
    try:
        if is_probe(store):
            _show_probe(run, store, as_json=json)
            return 0
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


def _show_probe(run: Path, store: Store, *, as_json: bool) -> None:
    from psysafe.cli.console import results
    from psysafe.cli.probe_perform import beside
    from psysafe.cli.probe_table import print_probe
    from psysafe.cli.replay_table import print_replay
    from psysafe.probing.headline import headline
    from psysafe.probing.settings import Settings
    from psysafe.runs.trials import read_trials

    settings = Settings.model_validate(store.get("manifest")["probe"])
    found = headline(list(read_trials(store)), settings.descriptor, settings.grid)
    ended = (store.get("state") or {}).get("ended")
    shown = store.get("shown") or {}
    with results():
        if as_json:
            print_json({"run": str(run), "ended": ended, **found.as_dict(), **shown, **beside(store)})
        elif "replay" in shown:
            print_replay(shown["replay"])
        elif found.kinds:
            print_probe(found, store)
        else:
            spent = store.unstored().calls
            beside_it = f"; {spent:,} calls were spent on trials that were not kept" if spent else ""
            out().print(f"{run} holds no trial yet{beside_it}")


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
