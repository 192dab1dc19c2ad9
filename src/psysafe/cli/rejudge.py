"""psysafe rejudge"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.taxonomy import Dimension


def rejudge(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of the run whose conversations are judged.")],
    model: o.Models = [],  # noqa: B006
    dimensions: Annotated[
        str | None, typer.Option("--dimensions", "-d", metavar="NAMES", help="Default: those of RUN.")
    ] = None,
    mechanism: o.Mechanisms = ["single"],  # noqa: B006
    blind_judge: Annotated[
        str | None, typer.Option("--blind-judge", metavar="MODEL", help="Of a probe: reads its dialogues untold.")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="Default: that of RUN.")] = None,
    profiles: Annotated[
        str | None, typer.Option("--profiles", metavar="DIR", help="Of a probe: those that it was done with.")
    ] = None,
    run: o.Run = None,
    resume: o.Resume = False,
    dry_run: o.DryRun = False,
    json: o.Json = False,
    yes: o.Yes = False,
    taxonomy: o.Taxonomy = None,
    labels: o.Labels = None,
    calibration: o.CalibrationFile = None,
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
    """Judge a run's stored conversations again, with another judge or mechanism; the target is not called."""
    from psysafe.cli.console import note
    from psysafe.cli.estimate import judged_count, show_estimate
    from psysafe.cli.executing import Wishes
    from psysafe.cli.people import load_cuts, load_selection
    from psysafe.cli.perform import perform
    from psysafe.cli.probe_perform import ProbeWishes
    from psysafe.cli.rejudge_probe import rejudge_probe
    from psysafe.cli.setup import (
        load_budget,
        load_limits,
        load_mechanisms,
        load_models,
        load_price,
        model_names,
        run_directory,
    )
    from psysafe.errors import UsageError
    from psysafe.judging import SCOPES, Scope
    from psysafe.runs import Budget, Plan, Store
    from psysafe.runs.trials import is_probe

    if resume and run is None:
        raise UsageError("--resume goes on with a run: name it with --run DIR")
    if resume and retain is not None:
        raise UsageError("--retain is decided when a run is made; leave it out with --resume")
    store = Store.open(source)
    try:
        manifest = store.get("manifest") or {}
        if is_probe(store):
            of_judgments = {
                "--dimensions": dimensions, "--scope": scope, "--labels": labels, "--calibration": calibration,
                "--temperature": temperature, "--max-tokens": max_tokens, "--curtail": curtail or None,
            }  # fmt: skip
            if unfit := [name for name, value in of_judgments.items() if value is not None]:
                raise UsageError(f"{source} is a probe, whose ladders and sampling are fixed: leave out {unfit[0]}")
            return rejudge_probe(
                source, model, mechanism, blind_judge, load_limits(concurrency, rpm, tpm, timeout, retries),
                load_price(price), (max_calls, max_cost, max_seconds),
                ProbeWishes(run_directory(run, "rejudge"), resume, Budget(), max_unscored, yes, json, quiet, retain),
                taxonomy=taxonomy, profiles=profiles, cache=cache, concurrency=concurrency, seed=seed, dry_run=dry_run,
            )  # fmt: skip
        if profiles is not None:
            raise UsageError(f"--profiles is for probes, and {source} is none")
        if blind_judge is not None:
            raise UsageError(f"--blind-judge is for probes, and {source} is none")
        wanted = scope or manifest.get("scope", "reply")
        if wanted not in SCOPES:
            raise UsageError(f"unknown scope {wanted!r}; expected {', '.join(SCOPES)}")
        names = dimensions or ",".join(manifest.get("dimensions", {"all": ""}))
        count = messages = characters = 0
        for conversation in store.conversations():
            count += 1
            messages += len(conversation.assistant_indices())
            characters += sum(len(message.content) for message in conversation.messages)
        if not count:
            raise UsageError(f"{source} holds no conversation yet")
        limits = load_limits(concurrency, rpm, tpm, timeout, retries)
        models = load_models(model_names(model), limits, load_price(price), cache, not dry_run)
        chosen = _dimensions(names, taxonomy, source)
        selection = load_selection(labels, store.conversations(), chosen, cast("Scope", wanted))
        plan = Plan(
            conversations=store.conversations,
            source={"run": store.id, "conversations": count},
            count=count if selection is None else selection.conversations,
            judged=judged_count(wanted, count, messages),
            dimensions=chosen,
            mechanisms=load_mechanisms(mechanism, temperature, max_tokens, curtail),
            models=models,
            scope=cast("Scope", wanted),
            seed=seed,
            selection=selection,
            calibration=load_cuts(calibration),
        )
        _check_rubrics(plan.dimensions, manifest.get("dimensions", {}), dimensions, source)
        ended = (store.get("state") or {}).get("ended")
        if ended != "complete":
            note(f"{source} is not finished ({ended or 'cut off'}): the {count:,} conversations in it are judged")
        if dry_run:
            return show_estimate(plan, characters, as_json=json)
        budget = load_budget(max_calls, max_cost, max_seconds, models)
        directory = run_directory(run, "rejudge")
        return perform(plan, Wishes(directory, resume, budget, concurrency, max_unscored, yes, json, quiet, retain))
    finally:
        store.close()


def _check_rubrics(chosen: Sequence[Dimension], stored: dict[str, str], named: str | None, source: Path) -> None:
    """A rubric that has changed since would be compared with its former self unnoticed."""
    from psysafe.errors import UsageError

    changed = [d.id for d in chosen if d.id in stored and stored[d.id] != d.hash]
    if changed and named is None:
        raise UsageError(
            f"{source} was judged with another rubric for {', '.join(changed)}: give its --taxonomy DIR, or name the "
            f"dimensions with --dimensions to judge with the present ones"
        )


def _dimensions(names: str, taxonomy: Path | None, source: Path) -> list[Dimension]:
    from psysafe.cli.setup import load_chosen_dimensions
    from psysafe.errors import UsageError

    try:
        return load_chosen_dimensions(names, taxonomy)
    except UsageError as problem:
        if taxonomy is None:
            raise UsageError(f"{problem}; if {source} was judged with --taxonomy DIR, give it here too") from None
        raise
