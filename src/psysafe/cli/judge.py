"""psysafe judge"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from psysafe.cli import options as o


def judge(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="JSONL, JSON, CSV, Parquet, Inspect logs or transcripts; - is stdin."),
    ],
    model: o.Models = [],  # noqa: B006
    dimensions: o.DimensionNames = "all",
    mechanism: o.Mechanisms = ["single"],  # noqa: B006
    scope: Annotated[str, typer.Option(help="reply, turn (every assistant message) or conversation.")] = "reply",
    run: o.Run = None,
    resume: o.Resume = False,
    dry_run: o.DryRun = False,
    json: o.Json = False,
    yes: o.Yes = False,
    taxonomy: o.Taxonomy = None,
    labels: o.Labels = None,
    calibration: o.CalibrationFile = None,
    anchors: o.AnchorFile = None,
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, json, transcript, csv, parquet, openai or inspect. Default: by suffix."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out what cannot be read, and list it.")] = False,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Replace names, addresses, numbers and the like before anything is sent or kept."
        ),
    ] = False,
    seed: o.Seed = 0,
    temperature: o.Temperature = None,
    max_tokens: o.MaxTokens = None,
    curtail: o.Curtail = False,
    concurrency: o.Concurrency = 32,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = 120.0,
    retries: o.Retries = 6,
    cache: o.Cache = False,
    price: o.PriceText = None,
    max_calls: o.MaxCalls = None,
    max_cost: o.MaxCost = None,
    max_seconds: o.MaxSeconds = None,
    max_unscored: o.MaxUnscored = 0.05,
    retain: o.Retain = None,
    quiet: o.Quiet = False,
) -> int:
    """Judge replies or whole conversations for psychosocial harm."""
    from psysafe.cli.anchoring import load_anchors
    from psysafe.cli.console import note
    from psysafe.cli.estimate import judged_count, show_estimate
    from psysafe.cli.executing import Wishes
    from psysafe.cli.people import load_cuts, load_selection
    from psysafe.cli.perform import list_bad, perform
    from psysafe.cli.runs import sweep
    from psysafe.cli.setup import (
        load_budget,
        load_chosen_dimensions,
        load_limits,
        load_mechanisms,
        load_models,
        load_price,
        model_names,
        run_directory,
    )
    from psysafe.conversation import FORMATS, Format, Inputs
    from psysafe.conversation.redaction import RedactedInputs, Redactor
    from psysafe.errors import UsageError
    from psysafe.judging import SCOPES
    from psysafe.runs import Plan

    if scope not in SCOPES:
        raise UsageError(f"unknown scope {scope!r}; expected {', '.join(SCOPES)}")
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; expected {', '.join(FORMATS)}")
    if resume and run is None:
        raise UsageError("--resume goes on with a run: name it with --run DIR")
    if resume and retain is not None:
        raise UsageError("--retain is decided when a run is made; leave it out with --resume")
    chosen = load_chosen_dimensions(dimensions, taxonomy)
    mechanisms = load_mechanisms(mechanism, temperature, max_tokens, curtail)
    limits = load_limits(concurrency, rpm, tpm, timeout, retries)
    models = load_models(model_names(model), limits, load_price(price), cache, not dry_run)
    redactor = Redactor() if redact else None
    budget = load_budget(max_calls, max_cost, max_seconds, models)
    fixed = load_anchors(anchors, chosen, mechanisms, models, cache=cache, redactor=redactor)
    with Inputs(files, format=cast("Format | None", format), skip_bad=skip_bad) as inputs:
        scan = inputs.scan()
        list_bad(scan.bad, scan.bad_count)
        redacted = RedactedInputs(inputs, redactor) if redactor else None
        selection = load_selection(labels, redacted or inputs, chosen, scope)
        plan = Plan(
            conversations=lambda: iter(redacted or inputs),
            source={
                "files": [{"name": Path(name).name, "sha256": digest} for name, digest in scan.digests.items()],
                "skip_bad": skip_bad,
                **({"redacted": True, "redactor": redactor.describe()} if redactor else {}),
            },
            count=scan.conversations if selection is None else selection.conversations,
            judged=judged_count(scope, scan.conversations, scan.assistant_messages),
            dimensions=chosen,
            mechanisms=mechanisms,
            models=models,
            scope=scope,
            seed=seed,
            selection=selection,
            calibration=load_cuts(calibration),
        )
        if dry_run:
            return show_estimate(plan, scan.characters, as_json=json, anchors=fixed)
        directory = run_directory(run, "judge")
        sweep(directory.parent)
        wishes = Wishes(directory, resume, budget, concurrency, max_unscored, yes, json, quiet, retain, scan.bad_count)
        try:
            return perform(plan, wishes, fixed)
        finally:
            if redacted and redacted.read:
                note(redacted.sentence())
