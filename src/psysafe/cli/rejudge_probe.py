"""psysafe rejudge, for the stored dialogues of a probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from psysafe.errors import UsageError

if TYPE_CHECKING:
    from psysafe.cli.probe_perform import ProbeWishes
    from psysafe.models import Limits, Price


def rejudge_probe(
    source: Path,
    models: Sequence[str],
    mechanisms: Sequence[str],
    blind: str | None,
    limits: Limits,
    price: Price | None,
    bounds: tuple[int | None, float | None, float | None],
    wishes: ProbeWishes,
    *,
    taxonomy: Path | None,
    profiles: str | None,
    cache: bool,
    concurrency: int,
    seed: int,
    dry_run: bool,
) -> int:
    """Judge each stored dialogue again, on its ladder, blind and turn by turn; neither client nor target is called.

    Raises:
        UsageError: several judges or mechanisms, which would be several probes.
    """
    from psysafe.cli.probe_perform import perform_probe
    from psysafe.cli.probe_source import open_probe
    from psysafe.cli.setup import load_budget, load_mechanisms, model_names
    from psysafe.probing.records import KINDS, Kind
    from psysafe.probing.trial import Task
    from psysafe.runs.probe_plan import ProbePlan

    names = model_names(models)
    if len(names) > 1 or len(mechanisms) > 1:
        raise UsageError(f"{source} is a probe: rejudge it with one --model and one --mechanism at a time")
    with open_probe(source, taxonomy, profiles) as probe:
        # Whoever played is not called; the judge stands in, so that nothing else need be reachable.
        roles = probe.roles(names[0], names, names[0], names[0], blind or names[0], limits, price, cache, not dry_run)
        tasks: dict[Kind, list[Task]] = {}
        for kind in KINDS:
            for trial in probe.trials:
                if trial.kind == kind:
                    choice = trial.choice.model_copy(update={"cell": trial.cell})
                    task = Task(kind, trial.index, choice, controlled=True, of=trial.of, stored=trial)
                    tasks.setdefault(kind, []).append(task)
        if not tasks:
            raise UsageError(f"{source} holds no trial yet")
        plan = ProbePlan(
            cast=probe.cast(roles, load_mechanisms(mechanisms, None, None, False)[0]),
            settings=probe.settings.model_copy(update={"in_flight": concurrency, "seed": seed}),
            profiles=probe.players.profiles,
            plain=probe.players.plain,
            again=0,
            given=tasks,
            source={"rejudged": probe.store.id, "trials": len(probe.trials)},
            roles={"judge": [roles.judge], "blind_judge": [roles.blind]},
        )
        if dry_run:
            from psysafe.cli.probe_estimate import show_probe_estimate

            return show_probe_estimate(plan, as_json=wishes.json)
        return perform_probe(plan, replace(wishes, budget=load_budget(*bounds, plan.models)))
