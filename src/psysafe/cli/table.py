"""The table at the end of a run, and what it does not show."""

from __future__ import annotations

from itertools import islice
from typing import Any

import orjson
from sqlalchemy import select

from psysafe.cli.console import out, printable
from psysafe.judging import MECHANISMS
from psysafe.runs import Cell, Store, Summary
from psysafe.runs.tables import judgments
from psysafe.taxonomy import load_dimensions

_SHOWN = 5
_LOOKED_AT = 200


def print_summary(summary: Summary, store: Store) -> None:
    """Per dimension and mechanism: harmful share with interval, mean, outcomes; then some verdicts."""
    from rich.table import Table

    # Several models are numbered: their names would leave no room for the counts.
    models = sorted({model for model, _, _ in summary.cells})
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("dimension", overflow="ellipsis", min_width=14)
    table.add_column("mechanism", overflow="fold", min_width=9)
    if len(models) > 1:
        table.add_column("model", justify="right", no_wrap=True)
    for name in ("harmful", "95%", "mean", "n/a", "unscored", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for (model, dimension, mechanism), cell in sorted(summary.cells.items(), key=_place):
        table.add_row(dimension, mechanism, *([str(models.index(model) + 1)] if len(models) > 1 else []), *_row(cell))
    out().print(table)
    out().print()
    if len(models) > 1:
        for number, model in enumerate(models, 1):
            out().print(f"model {number}: {printable(model)}")
    out().print("\n".join(_lines(summary)))
    _print_verdicts(store)


def _place(item: tuple[tuple[str, str, str], Cell]) -> tuple[int, int, tuple[str, str, str]]:
    """Where a row stands: dimensions and mechanisms in the order in which they are documented."""
    key = item[0]
    dimensions, mechanisms = list(load_dimensions()), list(MECHANISMS)
    name = key[2].partition(":")[0]
    return (
        dimensions.index(key[1]) if key[1] in dimensions else len(dimensions),
        mechanisms.index(name) if name in mechanisms else len(mechanisms),
        (key[1], key[2], key[0]),
    )


def _row(cell: Cell) -> list[str]:
    interval = cell.interval
    return [
        f"{cell.harmful}/{cell.scored} {cell.harmful / cell.scored:.0%}" if cell.scored else "-",
        f"{interval[0] * 100:.0f}-{interval[1]:.0%}" if interval else "-",
        "-" if cell.mean is None else f"{cell.mean:.2f}",
        str(cell.outcomes["not_applicable"]),
        str(cell.outcomes["unscored"]),
        str(cell.outcomes["reply_failed"]),
    ]


def _lines(summary: Summary) -> list[str]:
    spent = summary.spent
    cost = "unknown" if spent.cost is None else f"${spent.cost:.4f}"
    tokens = (
        f"{spent.usage.prompt_tokens:,} + {spent.usage.completion_tokens:,} tokens" if spent.usage else "tokens unknown"
    )
    lines = [
        f"{_count(summary.conversations, 'conversation')}, {_count(summary.units, 'unit')}, "
        f"{_count(spent.calls, 'call')}, {tokens}, "
        f"cost {cost}, {summary.seconds:.1f} s"
    ]
    if summary.skipped:
        lines.append(f"{_count(summary.skipped, 'record')} of the input could not be read and were skipped")
    if summary.reasons:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(summary.reasons.items()))
        lines.append(f"without a verdict: {reasons}")
    if summary.outcomes["unscored"]:
        lines.append("Unscored is not safe: these units were not judged, and are in neither share nor mean.")
    injected = sum(cell.injection for cell in summary.cells.values())
    if injected:
        lines.append(f"injection_suspected: {_count(injected, 'unit')} judge a reply that seems to address its judge")
    return lines


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _print_verdicts(store: Store) -> None:
    """The worst verdicts with reasons and quotes."""
    query = (
        select(judgments.c.conversation, judgments.c.message, judgments.c.dimension, judgments.c.record)
        .where(judgments.c.harmful)
        .order_by(judgments.c.score.desc(), judgments.c.position, judgments.c.dimension, judgments.c.mechanism)
        .limit(_LOOKED_AT)
    )
    shown: dict[tuple[str, int | None, str], bytes] = {}
    for conversation, message, dimension, record in store.rows(query):
        shown.setdefault((conversation, message, dimension), record)
    if not shown:
        return
    out().print("\nHarmful verdicts, the worst first (the quotes may distress):", style="bold")
    for record in islice(shown.values(), _SHOWN):
        _print_verdict(orjson.loads(record))
    if len(shown) > _SHOWN:
        out().print(f"  ... all of them: psysafe export {store.directory} --to jsonl")


def _print_verdict(record: dict[str, Any]) -> None:
    from rich.padding import Padding

    where = "" if record["message"] is None else f" message {record['message']}"
    flags = f" [{', '.join(record['flags'])}]" if record["flags"] else ""
    verdict = f"{record['dimension']} {record['score']:.2g} ({record['mechanism']['name']})"
    head = f"{record['conversation']}{where}: {verdict}{flags}"
    out().print(Padding(printable(head), (0, 0, 0, 2), expand=False))
    lines = [f'"{_short(item["quote"], 160)}"' for item in record["evidence"][:2] if item["verified"]]
    if record["rationale"]:
        lines.append(_short(record["rationale"], 300))
    for line in lines:
        out().print(Padding(printable(line), (0, 0, 0, 4), expand=False))


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
