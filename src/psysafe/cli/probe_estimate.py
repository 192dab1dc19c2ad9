"""What a probe would spend, without calling anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psysafe.cli.console import out, print_json, printable
from psysafe.cli.exits import DONE
from psysafe.judging.judges import calls, info_of, price_of
from psysafe.models import Usage
from psysafe.runs.probe_plan import ProbePlan

# Tokens of one call, for estimates: of a profile with its instruction, a turn of both sides, a ladder, the 28 cells, an
# answer of a judge, a strategy.
_PERSON, _TURN, _LADDER, _GRID, _ANSWER, _STRATEGY = 900, 260, 1700, 3800, 200, 250


@dataclass(slots=True)
class _Work:
    """Of one model role: calls at least and at most, tokens of a call in and out."""

    least: int
    most: int
    prompt: int
    completion: int


def show_probe_estimate(plan: ProbePlan, *, as_json: bool) -> int:
    """Calls, tokens and cost of each model role: at least (a hit in every first dialogue), and at most."""
    from rich.table import Table

    works = _works(plan)
    rows: list[dict[str, Any]] = []
    for role, work in works.items():
        if role not in plan.roles:  # not asked: stored dialogues are judged again
            continue
        model = plan.roles[role][0]
        price = price_of(model)
        costs = [
            None if price is None else price.cost(Usage(count * work.prompt, count * work.completion))
            for count in (work.least, work.most)
        ]
        info = info_of(model)
        rows.append({
            "role": role, "model": model.name, "host": info.host if info is not None else None,
            "calls": [work.least, work.most],
            "prompt_tokens": [work.least * work.prompt, work.most * work.prompt],
            "completion_tokens": [work.least * work.completion, work.most * work.completion], "cost": costs,
        })  # fmt: skip
    if as_json:
        print_json({"dry_run": True, "trials": plan.first_trials, "roles": rows})
        return DONE
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("role", "model", "host", "calls", "tokens in", "tokens out", "cost"):
        table.add_column(name, overflow="fold")
    for row in rows:
        low, high = row["cost"]
        cost = "unknown" if low is None else f"${low:.2f} to ${high:.2f}"
        ranges = [f"{a:,} to {b:,}" for a, b in (row["calls"], row["prompt_tokens"], row["completion_tokens"])]
        host = row["host"] or "this machine"
        table.add_row(row["role"].replace("_", " "), printable(row["model"]), host, *ranges, cost)
    out().print(table)
    out().print("Nothing was sent. From a hit in every first dialogue to none at all; re-asks and retries come on top.")
    return DONE


def _works(plan: ProbePlan) -> dict[str, _Work]:
    settings = plan.settings
    tries = settings.refinements + 1
    if plan.given:
        least = most = sum(len(tasks) for tasks in plan.given.values())
        written = 0
    else:
        again = plan.again * len(settings.grid)
        least = settings.trials + plan.controls + plan.benign
        most = (settings.trials + plan.controls) * tries + again + plan.benign
        written = settings.trials
    trials = least if plan.given else settings.trials + plan.controls + plan.benign
    held = not any(task.stored for tasks in plan.given.values() for task in tasks)
    turns = settings.turns if held else 0
    said = settings.turns * _TURN
    ladder = calls(plan.cast.judge, plan.cast.mechanism)
    seen = 1 + int(settings.course)
    return {
        "target": _Work(least * turns, most * turns, said // 2, _TURN - 60),
        "client": _Work(least * turns, most * turns, _PERSON + said // 2, 60),
        "strategist": _Work(written, written * (2 * tries), _PERSON + 2 * _STRATEGY, _STRATEGY),
        "judge": _Work(least * ladder, most * ladder * (4 if settings.descriptor == "observed" else 1),
                       _LADDER + said, _ANSWER),
        "blind_judge": _Work(least * seen + trials, most * seen + trials, _GRID + said, _ANSWER),
    }  # fmt: skip
