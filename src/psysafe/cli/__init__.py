"""The command line: one file per command. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys

import typer
import typer.exceptions

from psysafe.cli import (
    agree,
    anchors,
    bench,
    calibrate,
    cells,
    compare,
    dimensions,
    doctor,
    export,
    judge,
    labels,
    models,
    probe,
    profiles,
    rejudge,
    replay,
    reply,
    runs,
    taxonomy,
)
from psysafe.cli.console import error
from psysafe.cli.exits import INTERNAL, INTERRUPTED, USAGE

app = typer.Typer(
    name="psysafe",
    help="Measures how safe a conversational AI is for the people who confide in it.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("judge")(judge.judge)
app.command("rejudge")(rejudge.rejudge)
app.command("probe")(probe.probe)
app.command("replay")(replay.replay)
app.command("reply")(reply.reply)
app.command("agree")(agree.agree)
app.command("calibrate")(calibrate.calibrate)
app.command("compare")(compare.compare)
app.command("anchors")(anchors.anchors)
app.command("export")(export.export)
app.command("doctor")(doctor.doctor)
app.command("models")(models.models)
app.command("dimensions")(dimensions.dimensions)
app.command("cells")(cells.cells)
app.command("profiles")(profiles.profiles)
app.add_typer(taxonomy.app, name="taxonomy")
app.add_typer(runs.app, name="runs")
app.add_typer(labels.app, name="labels")
app.add_typer(bench.app, name="bench")


def _version(value: bool) -> None:
    if value:
        from psysafe import __version__

        typer.echo(f"psysafe {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass


def run(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    from psysafe.errors import PsysafeError, UsageError
    from psysafe.models import ModelError

    arguments = sys.argv[1:] if arguments is None else arguments
    # Read when numpy is loaded. The screen's many small products are hindered by more threads, on a busy machine badly.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = typer.main.get_command(app).main(arguments or ["--help"], prog_name="psysafe", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.exceptions.TyperException as problem:
        context = getattr(problem, "ctx", None)
        error(f"{problem.format_message()} (see {context.command_path if context else 'psysafe'} --help)")
        return USAGE
    except (typer.Abort, KeyboardInterrupt):
        error("interrupted")
        return INTERRUPTED
    except (UsageError, ModelError) as problem:
        error(str(problem))
        return USAGE
    except PsysafeError as problem:
        error(str(problem))
        return INTERNAL
    except SystemExit:
        # So typer ends when the reader of our output has gone (psysafe dimensions | head): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as problem:
        if os.environ.get("PSYSAFE_DEBUG"):
            raise
        error(
            f"internal error: {type(problem).__name__}: {str(problem)[:300]}. What was committed is kept. "
            "Set PSYSAFE_DEBUG=1 for the traceback and report it, please."
        )
        return INTERNAL


def main() -> None:
    """The ``psysafe`` command."""
    sys.exit(run())
