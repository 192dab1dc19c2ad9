"""psysafe replay"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from psysafe.cli import options as o
from psysafe.cli import probe_options as p


def replay(
    source: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of the probe whose elites are replayed.")],
    target: p.Target,
    client: Annotated[
        list[str], typer.Option("--client", metavar="MODEL", help="Plays the clients. Default: those of RUN.")
    ] = [],  # noqa: B006
    judge: p.JudgeName = None,
    blind_judge: p.BlindName = None,
    times: Annotated[int, typer.Option(min=1, max=100, help="Dialogues of each elite's strategy.")] = 3,
    system: p.System = None,
    run: o.Run = None,
    resume: o.Resume = False,
    dry_run: o.DryRun = False,
    json: o.Json = False,
    events: p.Events = None,
    yes: o.Yes = False,
    taxonomy: p.Taxonomy = None,
    profiles: p.Profiles = None,
    seed: o.Seed = 0,
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, max=4096, help="Dialogues in flight.")] = 16,
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
    """Play a probe's worst strategies, as they are, against another target: a regression suite.

    Clients and judges are those of RUN unless named; the comparison is with RUN's own reproductions.
    """
    from psysafe.cli.probe_perform import ProbeWishes, perform_probe
    from psysafe.cli.probe_source import open_probe
    from psysafe.cli.replay_table import print_replay
    from psysafe.cli.setup import load_budget, load_limits, load_price, run_directory
    from psysafe.errors import UsageError
    from psysafe.probing.replaying import compared
    from psysafe.probing.stages import repetitions
    from psysafe.runs.probe_plan import ProbePlan

    p.check_resume(resume, run, retain)
    with open_probe(source, taxonomy, profiles) as probe:
        limits = load_limits(4 * concurrency, rpm, tpm, timeout, retries)
        roles = probe.roles(target, client, None, judge, blind_judge, limits, load_price(price), cache, not dry_run)
        tasks = repetitions("replay", probe.archive, times)
        if not tasks:
            raise UsageError(f"{source}: no cell was hit, so there is no strategy to replay")
        changed = {"in_flight": concurrency, "seed": seed, "refinements": 0}
        given_system = p.read_system(system)
        plan = ProbePlan(
            cast=probe.cast(roles),
            settings=probe.settings.model_copy(
                update={**changed, **({"system": given_system} if given_system is not None else {})}
            ),
            profiles=probe.players.profiles,
            again=0,
            given={"replay": tasks},
            source={"replay": probe.store.id, "times": times},
            roles=roles.as_dict(),
        )
        if dry_run:
            from psysafe.cli.probe_estimate import show_probe_estimate

            return show_probe_estimate(plan, as_json=json)

        def show(trials: Any) -> tuple[dict[str, Any], Any]:
            found = compared(probe.trials, trials, probe.settings.descriptor)
            return {"replay": found.as_dict()}, lambda: print_replay(found.as_dict())

        bounds = load_budget(max_calls, max_cost, max_seconds, roles.models)
        directory = run_directory(run, "replay")
        wishes = ProbeWishes(directory, resume, bounds, max_unscored, yes, json, quiet, retain, events)
        return perform_probe(plan, wishes, show)
