"""The table at the end of a run, and what it does not show."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Integer, cast, func, select

from psysafe.cli.console import out, printable
from psysafe.judging import MECHANISMS
from psysafe.judging.judges import ENSEMBLES
from psysafe.judging.judgment import verdict_words
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
    # A screening judge flags; it calls nothing harmful and nothing safe.
    scored = [cell for cell in summary.cells.values() if cell.scored]
    screening = bool(scored) and all(cell.flags["screening"] >= cell.scored for cell in scored)
    for name in ("flagged" if screening else "harmful", "95%", "mean", "n/a", "unscored", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for (model, dimension, mechanism), cell in sorted(summary.cells.items(), key=_place):
        table.add_row(dimension, mechanism, *([str(models.index(model) + 1)] if len(models) > 1 else []), *_row(cell))
    out().print(table)
    out().print()
    if len(models) > 1:
        for number, model in enumerate(models, 1):
            out().print(f"model {number}: {printable(model)}")
    out().print("\n".join(_lines(summary)))
    if len(models) > 1:
        _print_differences(store, models)
    _print_splits(store)
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
    flags = sum((cell.flags for cell in summary.cells.values()), Counter[str]())
    if flags["injection_suspected"]:
        lines.append(
            f"injection_suspected: {_count(flags['injection_suspected'], 'unit')} judge a reply that seems to address "
            "its judge"
        )
    if flags["split"]:
        lines.append(f"split: the judges of a panel disagree on {_count(flags['split'], 'unit')}")
    lines += [_cascade(name, cells) for name, cells in _by_model(summary).items() if name.startswith("cascade:")]
    if flags["screening"]:
        lines.append(
            "Verdicts of a screening judge: what it does not flag is not flagged, which is not the same as safe."
        )
    if flags["uncalibrated"]:
        lines.append("uncalibrated: the cut between harmful and not was fitted on no human labels.")
    return lines


def _by_model(summary: Summary) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for (model, _, _), cell in summary.cells.items():
        found.setdefault(model, []).append(cell)
    return found


def _cascade(name: str, cells: list[Cell]) -> str:
    """What a cascade saved, and what its costlier judges changed."""
    units = sum(sum(cell.outcomes.values()) - cell.outcomes["reply_failed"] for cell in cells)
    on, turned = (sum(cell.flags[flag] for cell in cells) for flag in ("escalated", "overturned"))
    saved = f" ({1 - on / units:.0%} saved)" if units else ""
    return (
        f"{printable(name)}: {on:,} of {_count(units, 'unit')} went on{saved}, {turned:,} verdicts were reversed there"
    )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _where(conversation: str, message: int | None) -> str:
    return conversation if message is None else f"{conversation} message {message}"


def _print_differences(store: Store, models: list[str]) -> None:
    """Where several judges differ on whether a reply is harmful: how often, and the first few."""
    c = judgments.c
    place = (c.conversation, c.message, c.dimension, c.mechanism)
    harmful = func.sum(cast(c.harmful, Integer))
    judged = select(*place, func.min(c.position).label("position")).where(c.outcome == "scored").group_by(*place)
    both = judged.having(func.count() > 1)
    differing = both.having(harmful > 0, harmful < func.count()).subquery()
    pairs = store.rows(select(func.count()).select_from(both.subquery()))[0][0]
    total = store.rows(select(func.count()).select_from(differing))[0][0]
    if not pairs:
        return
    out().print(f"the judges differ on {total:,} of {pairs:,} replies and dimensions that more than one has judged")
    order = (differing.c.position, differing.c.message, differing.c.dimension, differing.c.mechanism)
    for conversation, message, dimension, mechanism, _ in store.rows(select(differing).order_by(*order).limit(_SHOWN)):
        same = (c.conversation == conversation, c.dimension == dimension, c.mechanism == mechanism)
        of = c.message.is_(None) if message is None else c.message == message
        found = store.rows(select(c.model, c.score, c.harmful, c.flags).where(*same, of, c.outcome == "scored"))
        said = ", ".join(
            f"{models.index(row[0]) + 1}: {row[1]:.2g} {verdict_words(row[2], ' screening ' in row[3])}"
            for row in sorted(found)
        )
        out().print(printable(f"  {_where(conversation, message)}, {dimension} ({mechanism}): {said}"))
    if total > _SHOWN:
        out().print(f"  ... and {total - _SHOWN:,} more")


def _print_splits(store: Store) -> None:
    """What the judges of a panel said where they disagree, the first few."""
    c = judgments.c
    query = select(c.record).where(c.flags.like("% split %")).order_by(c.position, c.message, c.dimension, c.mechanism)
    for (record,) in store.rows(query.limit(_SHOWN)):
        split = orjson.loads(record)
        said = ", ".join(
            f"{member['judge']} {verdict_words(member['harmful'], 'screening' in member['flags']) or member['outcome']}"
            for member in split["members"]
        )
        where = _where(split["conversation"], split["message"])
        out().print(printable(f"  {where}, {split['dimension']}: {said}"))


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
    out().print("\nHarmful or flagged, the worst first (the quotes may distress):", style="bold")
    for record in islice(shown.values(), _SHOWN):
        _print_verdict(orjson.loads(record))
    if len(shown) > _SHOWN:
        out().print(f"  ... all of them: psysafe export {store.directory} --to jsonl")


def _print_verdict(record: dict[str, Any]) -> None:
    from rich.padding import Padding

    flags = f" [{', '.join(record['flags'])}]" if record["flags"] else ""
    judge = record["model"] if record["mechanism"]["name"] in ENSEMBLES or "screening" in record["flags"] else None
    level = f"{record['score']:.2f}"
    if record["probability"] is not None:
        level = f"flagged, {level} (probability {record['probability']:.2f})"
    verdict = f"{record['dimension']} {level} ({judge or record['mechanism']['name']})"
    head = f"{_where(record['conversation'], record['message'])}: {verdict}{flags}"
    out().print(Padding(printable(head), (0, 0, 0, 2), expand=False))
    lines = [f'"{shorten(item["quote"], 160)}"' for item in record["evidence"][:2] if item["verified"]]
    if record["rationale"]:
        after = "(written after the verdict) " if "post_hoc" in record["flags"] else ""
        lines.append(after + shorten(record["rationale"], 300))
    for line in lines:
        out().print(Padding(printable(line), (0, 0, 0, 4), expand=False))


def shorten(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."
