"""psysafe probe"""

from __future__ import annotations

from typing import Annotated

import typer

from psysafe.cli import options as o
from psysafe.cli import probe_options as p


def probe(
    target: p.Target,
    client: p.Clients = [],  # noqa: B006
    judge: p.JudgeName = None,
    blind_judge: p.BlindName = None,
    strategist: p.StrategistName = None,
    preset: Annotated[str, typer.Option(help="psysafe, or paper: as MHSafeEval searches.")] = "psysafe",
    searcher: Annotated[
        str | None, typer.Option(help="psysafe, paper, random, pair or tap. Default: the preset's.")
    ] = None,
    budget: Annotated[int, typer.Option("--budget", min=1, max=1_000_000, help="Trials of the search.")] = 112,
    turns: Annotated[int, typer.Option(min=1, max=200, help="Of a dialogue.")] = 10,
    refinements: Annotated[int, typer.Option(min=0, max=50, help="Of a trial, at most, after its first dialogue.")] = 5,
    cells: p.Cells = None,
    profiles: p.Profiles = None,
    mechanism: Annotated[str, typer.Option(metavar="SPEC", help="By which the ladder judge works.")] = "single",
    reproductions: Annotated[int, typer.Option(min=0, max=100, help="Of each cell's worst trial.")] = 3,
    controls: Annotated[
        int | None, typer.Option(min=0, help="Trials without a strategy. Default: a quarter of the budget.")
    ] = None,
    benign: Annotated[
        int | None, typer.Option(min=0, help="Trials with clients whose concern is ordinary. Default: an eighth.")
    ] = None,
    style: p.StyleName = None,
    system: p.System = None,
    no_roles: Annotated[bool, typer.Option("--no-roles", help="Ablation: aim at categories alone.")] = False,
    no_archive: Annotated[bool, typer.Option("--no-archive", help="Ablation: neither elites nor memory.")] = False,
    no_course: Annotated[bool, typer.Option("--no-course", help="Leave out severity by turn, and refusals.")] = False,
    schedule: Annotated[
        str, typer.Option(help="Of the paper's mutations: adaptive, balanced or exploration.")
    ] = "adaptive",
    reply_tokens: p.ReplyTokens = 2048,
    run: o.Run = None,
    resume: o.Resume = False,
    dry_run: o.DryRun = False,
    json: o.Json = False,
    events: p.Events = None,
    yes: o.Yes = False,
    taxonomy: p.Taxonomy = None,
    seed: o.Seed = 0,
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, max=4096, help="Trials in flight.")] = 16,
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
    """Let simulated clients talk with a counselor model and search for the harm it can be brought to do."""
    from psysafe.cli.probe_perform import ProbeWishes, perform_probe
    from psysafe.cli.probe_roles import cast_of, load_cells, load_players, load_roles
    from psysafe.cli.setup import load_budget, load_limits, load_mechanisms, load_price, run_directory
    from psysafe.errors import UsageError
    from psysafe.probing.settings import PRESETS, SEARCHERS, Settings
    from psysafe.runs.probe_plan import ProbePlan
    from psysafe.taxonomy import load_grid

    p.check_resume(resume, run, retain)
    if preset not in PRESETS:
        raise UsageError(f"unknown preset {preset!r}; expected {', '.join(PRESETS)}")
    if searcher is not None and searcher not in SEARCHERS:
        raise UsageError(f"unknown searcher {searcher!r}; expected {', '.join(SEARCHERS)}")
    players = load_players(profiles)
    limits = load_limits(4 * concurrency, rpm, tpm, timeout, retries)
    roles = load_roles(
        target, client, strategist, judge, blind_judge, limits, load_price(price), cache, need_key=not dry_run
    )
    settings = p.valid(
        Settings.preset_of,
        preset,
        searcher=searcher,
        schedule=schedule,
        trials=budget,
        turns=turns,
        refinements=refinements,
        in_flight=concurrency,
        cells=load_cells(cells),
        seed=seed,
        style=p.style_of(style, roles),
        roles=not no_roles,
        archive=not no_archive,
        course=not no_course,
        reply_tokens=reply_tokens,
        system=p.read_system(system),
    )
    chosen = load_mechanisms([mechanism], None, None, False)
    plan = ProbePlan(
        cast=cast_of(roles, players, load_grid(taxonomy), chosen[0]),
        settings=settings,
        profiles=players.profiles,
        plain=players.plain,
        again=reproductions,
        controls=budget // 4 if controls is None else controls,
        benign=(budget // 8 if benign is None else benign) if players.plain else 0,
        roles=roles.as_dict(),
    )
    if dry_run:
        from psysafe.cli.probe_estimate import show_probe_estimate

        return show_probe_estimate(plan, as_json=json)
    bounds = load_budget(max_calls, max_cost, max_seconds, roles.models)
    directory = run_directory(run, "probe")
    return perform_probe(
        plan, ProbeWishes(directory, resume, bounds, max_unscored, yes, json, quiet, retain, events, players.notes)
    )
