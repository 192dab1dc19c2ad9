"""What a plan would spend, without calling anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psysafe.cli.console import print_json, printable
from psysafe.cli.exits import DONE
from psysafe.judging import Cascade, Classifier, Judge, ManagedJudge
from psysafe.judging.judges import info_of, leaves, price_of
from psysafe.runs import Plan
from psysafe.taxonomy import Dimension

if TYPE_CHECKING:
    from psysafe.cli.anchoring import Anchors

# Tokens of one answer, for estimates: measured on verdicts with a rationale and quotes.
_ANSWER_TOKENS = 150


def show_estimate(plan: Plan, characters: int, *, as_json: bool, anchors: Anchors | None = None) -> int:
    """What a plan would spend, without calling anything. ``characters``: of all messages of the input."""
    from rich.table import Table

    from psysafe.cli.console import out

    estimates = [_estimate(plan, model, characters) for model in plan.models]
    if as_json:
        print_json(
            {
                "dry_run": True,
                "conversations": plan.count,
                "units": plan.units,
                "models": {model.name: estimate for model, estimate in zip(plan.models, estimates, strict=True)},
                **({"anchors": _anchor_estimates(anchors)} if anchors else {}),
            }
        )
        return DONE
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", "host", "units", "calls", "tokens in", "tokens out", "cost"):
        table.add_column(name, overflow="fold")
    for model, item in zip(plan.models, estimates, strict=True):
        table.add_row(
            printable(model.name),
            ", ".join(sorted({_host(leaf) for leaf in leaves(model)})),
            f"{plan.units_of(model):,}",
            f"{'up to ' if item['calls_may_be_fewer'] else ''}{item['calls']:,}",
            _about(item["prompt_tokens"], item["calls"]),
            _about(item["completion_tokens"], item["calls"]),
            "unknown" if item["cost"] is None else f"about ${item['cost']:.4f}",
        )
    out().print(table)
    if anchors is not None:
        for name, item in _anchor_estimates(anchors).items():
            cost = "unknown" if item["cost"] is None else f"about ${item['cost']:.4f}"
            out().print(printable(f"anchors, on top: {name}: {item['calls']:,} calls, cost {cost}"))
    out().print(
        "Nothing was sent. Re-asks and retries come on top; early stops of a debate or a curtailed vote save calls."
    )
    return DONE


def _anchor_estimates(anchors: Anchors) -> dict[str, Any]:
    """Of a pass over the anchors and of what is asked twice, by model."""
    found: dict[str, Any] = {}
    new = anchors.first_asked()
    for model in anchors.plan.models:
        one = _estimate(anchors.plan, model, anchors.characters)
        again = new.calls_of(model)
        times = 1 + again / max(1, one["calls"])
        found[model.name] = {
            "calls": one["calls"] + again,
            "of_these_repeats": again,
            "cost": None if one["cost"] is None else times * one["cost"],
        }
    return found


def _estimate(plan: Plan, model: ManagedJudge, characters: int) -> dict[str, Any]:
    units = plan.judged_by(model)
    parts = [_leaf_estimate(plan, leaf, plan.covered(model), units, characters) for leaf in leaves(model)]
    costs = [cost for _, _, cost in parts]
    may_stop = any(m.name == "debate" or getattr(m, "curtail", False) for m in plan.mechanisms)
    calls = plan.calls_of(model)
    return {
        "calls": calls,
        "calls_may_be_fewer": bool(calls) and (may_stop or isinstance(model, (Classifier, Cascade))),
        "prompt_tokens": sum(prompt_tokens for prompt_tokens, _, _ in parts),
        "completion_tokens": sum(completion_tokens for _, completion_tokens, _ in parts),
        "cost": None if None in costs else sum(cost for cost in costs if cost is not None),
    }


def _leaf_estimate(
    plan: Plan, leaf: Judge, dimensions: Sequence[Dimension], units: int, characters: int
) -> tuple[int, int, float | None]:
    """Tokens in, tokens out and cost of one judge."""
    from psysafe.judging.prompt import INSTRUCTIONS, render, verdict_form
    from psysafe.models import Usage

    if isinstance(leaf, Classifier):  # what little a model behind it reads costs nothing
        return 0, 0, 0.0
    calls = sum(mechanism.calls for mechanism in plan.mechanisms)
    rubrics = sum(len(INSTRUCTIONS + render(d) + verdict_form(d)) for d in dimensions)
    # The rubrics of all dimensions, of which a selection leaves a share to be asked.
    share = units / (plan.judged * len(dimensions)) if dimensions and plan.judged else 0.0
    prompt_tokens = int(calls * share * (rubrics * plan.judged + len(dimensions) * characters)) // 4
    completion_tokens = calls * units * _ANSWER_TOKENS
    price = price_of(leaf)
    return prompt_tokens, completion_tokens, price.cost(Usage(prompt_tokens, completion_tokens)) if price else None


def _about(tokens: int, calls: int) -> str:
    """Tokens for the table; those of an embedded model cost nothing and are not estimated."""
    return "not estimated" if calls and not tokens else f"about {tokens:,}"


def _host(judge: Judge) -> str:
    info = info_of(judge)
    return (info.host if info else None) or "this process"


def judged_count(scope: str, conversations: int, assistant_messages: int) -> int:
    """How many things are judged at a scope."""
    return assistant_messages if scope == "turn" else conversations
