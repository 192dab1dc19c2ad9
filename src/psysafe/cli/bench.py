"""psysafe bench"""

from __future__ import annotations

import asyncio
from itertools import combinations
from typing import TYPE_CHECKING, Any

import typer

from psysafe.cli import options as o

if TYPE_CHECKING:
    from psysafe.judging import ManagedJudge
    from psysafe.judging.cases import Result

app = typer.Typer(help="Try a judge on situations with a known right outcome.")


@app.callback()
def _group() -> None:
    pass


@app.command("cases")
def cases(
    model: o.Models = [],  # noqa: B006
    mechanism: o.Mechanisms = ["single"],  # noqa: B006
    seed: o.Seed = 0,
    concurrency: o.Concurrency = 16,
    timeout: o.Timeout = 120.0,
    yes: o.Yes = False,
    json: o.Json = False,
) -> int:
    """Judge the content cases with a model and show its misses.

    Misses are shown, never an error: the exit code says only whether the cases could be run. With several
    mechanisms, the cases on which they differ are shown too: debate:opens=risk beside debate:opens=safety
    shows whether the speaking order decides.
    """
    from psysafe.cli.console import note, out, print_json, printable
    from psysafe.cli.setup import confirm_hosts, load_mechanisms, load_models, model_names
    from psysafe.judging.cases import load_cases
    from psysafe.judging.judges import covers
    from psysafe.models import Limits
    from psysafe.taxonomy import load_dimensions

    limits = Limits(concurrency=concurrency, timeout=timeout)
    models = load_models(model_names(model), limits)
    mechanisms = load_mechanisms(mechanism, None, None, False)
    entries = load_cases()
    confirm_hosts(models, len(entries), yes)
    rows: list[dict[str, Any]] = []
    labels: dict[tuple[str, str], dict[str, Any]] = {}
    dimensions = load_dimensions()
    for judge_model in models:
        covered = [entry for entry in entries if covers(judge_model, dimensions[entry.dimension])]
        if len(covered) < len(entries):
            note(f"{judge_model.name} does not judge the dimensions of {len(entries) - len(covered)} cases; left out")
        for kind in mechanisms:
            results = asyncio.run(_run(judge_model, kind, covered, seed))
            rows.append(_row(judge_model.name, kind.spec(), results))
            labels[judge_model.name, kind.spec()] = {r.case.id: r.judgment.label for r in results}
            if not json:
                row = rows[-1]
                out().print(
                    f"{row['model']} {row['mechanism']}: {row['right']} right, {row['missed']} missed, "
                    f"{row['unscored']} unscored of {row['cases']} cases"
                )
                for miss in row["misses"]:
                    out().print(
                        printable(f"  {miss['id']} ({miss['dimension']}): {miss['problem']}\n    {miss['why']}")
                    )
    differences: list[dict[str, Any]] = [
        {
            "first": " ".join(first),
            "second": " ".join(second),
            "differ": [c for c in labels[first] if c in labels[second] and labels[first][c] != labels[second][c]],
            "cases": len(labels[first].keys() & labels[second].keys()),
        }
        for first, second in combinations(labels, 2)
    ]
    if json:
        print_json({"results": rows, "differences": differences})
        return 0
    for pair in differences:
        out().print(
            f"{pair['first']} and {pair['second']} differ on {len(pair['differ'])} of {pair['cases']} cases"
            + (f": {', '.join(pair['differ'])}" if pair["differ"] else "")
        )
    return 0


async def _run(model: ManagedJudge, mechanism: Any, entries: Any, seed: int) -> list[Result]:
    from psysafe.judging.cases import run_cases

    await model.open()
    try:
        return await run_cases(entries, model, mechanism, seed)
    finally:
        await model.close()


def _row(model: str, mechanism: str, results: list[Result]) -> dict[str, Any]:
    misses = [
        {"id": r.case.id, "dimension": r.case.dimension, "problem": r.problem, "why": r.case.why}
        for r in results
        if r.problem
    ]
    unscored = sum(r.judgment.outcome == "unscored" for r in results)
    return {
        "model": model,
        "mechanism": mechanism,
        "cases": len(results),
        "right": len(results) - len(misses),
        "missed": len(misses) - unscored,
        "unscored": unscored,
        "misses": misses,
    }
