"""The tables of psysafe agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psysafe.agreement.agreeing import Agreement
from psysafe.agreement.figures import PART, Estimate
from psysafe.agreement.measuring import Measured
from psysafe.agreement.wording import NAMES, Notes, figure, probability_line, rate_lines, share
from psysafe.agreement.worth import MARGIN, Worth
from psysafe.cli.console import out, printable
from psysafe.cli.table import shorten
from psysafe.stats.clustered import LEAST
from psysafe.stats.undefined import Undefined

# The columns of the first table; all figures are in --json and in the card.
_SHOWN = ("prevalence", "sensitivity", "specificity", "balanced_accuracy", "roc_auc", "cohen_kappa", "gwet_ac1")


def print_agreement(found: Agreement) -> None:
    """Per dimension and judge: figures with intervals, the ceiling, outcomes, rates; then what contradicts people."""
    models = sorted({one.model for one in found.measured})
    for dimension in dict.fromkeys(one.dimension for one in found.measured):
        of = [one for one in found.measured if one.dimension == dimension]
        out().print(f"\n{dimension}", style="bold")
        _table([(_judge(one, models), one.figures, one.compared) for one in of], _SHOWN)
        for one in of:
            for line in _lines(one):
                out().print(printable(f"  {_judge(one, models)}: {line}" if len(of) > 1 else f"  {line}"))
        for column in ("source", "language"):
            _print_parts(of, models, column)
    for compared in found.worth:
        _print_worth(compared)
    _print_left_out(found)
    _print_disagreements(found, models)


def _print_parts(of: Sequence[Measured], models: Sequence[str], column: str) -> None:
    """By source or language; parts of fewer than five clusters in one line, since little can be said of them."""
    rows = []
    small: dict[str, int] = {}
    for name in sorted({name for one in of for name in one.parts.get(column, {})}):
        for one in of:
            figures = one.parts.get(column, {}).get(name)
            if figures is None:
                continue
            if isinstance(figures["prevalence"].interval, Undefined):
                small[name] = figures["prevalence"].n
            else:
                rows.append(
                    (f"{name}, {_judge(one, models)}" if len(of) > 1 else name, figures, figures["prevalence"].n)
                )
    if rows or small:
        out().print(f"by {column}")
        _table(rows, PART)
    if small:
        told = ", ".join(f"{name} {count}" for name, count in small.items())
        out().print(printable(f"  fewer than {LEAST} clusters, too few to say: {told}"))


def _judge(one: Measured, models: Sequence[str]) -> str:
    return f"{one.model} {one.mechanism}" if len(models) > 1 else one.mechanism


def _table(rows: Sequence[tuple[str, Mapping[str, Estimate], int]], names: Sequence[str]) -> None:
    from rich.table import Table

    shown = [name for name in names if any(name in figures for _, figures, _ in rows)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("", "n", *(NAMES[name] for name in shown)):
        table.add_column(name, overflow="fold")
    notes = Notes()
    for label, figures, count in rows:
        table.add_row(printable(label), str(count), *(notes.figure(figures[name]) for name in shown))
    out().print(table)
    for line in notes.lines():
        out().print(printable(f"  {line}"))


def _lines(one: Measured) -> list[str]:
    """What stands beside the figures: ceiling, outcomes, rates."""
    lines = []
    if not one.rated:
        lines.append("no ceiling: no unit has two individual ratings")
    elif isinstance(one.humans["raw_agreement"].interval, Undefined):
        lines.append(f"no ceiling: {one.rated} units have several ratings ({one.humans['raw_agreement'].interval.why})")
    else:
        of = [
            f"{NAMES[name]} {figure(human)}, with the judge {figure(one.with_judge[name])}"
            for name, human in one.humans.items()
        ]
        lines.append(f"people among themselves, {one.rated} units: {'; '.join(of)}")
    missing = {name: count for name, count in one.outcomes.items() if name != "scored"}
    if missing:
        told = ", ".join(f"{name} {count}" for name, count in sorted(missing.items()))
        lines.append(
            f"{sum(missing.values())} of {one.labelled} labelled units have no verdict to compare: {told} (neither "
            "right nor wrong)"
        )
    if one.missed_unscored:
        lines.append(f"people call {sum(one.missed_unscored.values())} of these harmful")
    if one.not_applicable:
        lines.append(f"people call {one.not_applicable} not applicable; the judge agrees on {one.both_not_applicable}")
    if one.other_words:
        lines.append(f"{one.other_words} labels were given to other words under the same id, and are left out")
    if one.unmatched:
        lines.append(f"{one.unmatched} labels have no judgment in these runs")
    if one.probabilities is not None:
        lines.append(probability_line(one.probabilities))
    lines += rate_lines(one.rates)
    if one.spending is not None:
        spent = one.spending
        cost = "cost unknown" if spent.cost is None else f"${spent.cost:.5f}"
        lines.append(
            f"a verdict takes {spent.calls:.1f} calls, {spent.seconds[0]:.2f} s (95%: {spent.seconds[1]:.1f} s), {cost}"
        )
    return lines


def _print_worth(compared: Worth) -> None:
    from rich.table import Table

    out().print(
        printable(f"\nWhich mechanism is worth its calls: {compared.model}, {compared.units} shared units"),
        style="bold",
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("", "calls", "s", "balanced accuracy", "less than the best by", f"not inferior (margin {MARGIN})"):
        table.add_column(name, overflow="fold")
    for one in compared.candidates:
        table.add_row(
            one.mechanism, f"{one.calls:.1f}", f"{one.seconds:.1f}", figure(one.balanced_accuracy),
            "the best" if one.difference is None else figure(one.difference),
            "yes" if one.non_inferior else "not shown",
        )  # fmt: skip
    out().print(table)
    chosen = f"the cheapest that is not inferior: {compared.chosen}" if compared.chosen else "none can be named"
    out().print(f"  {chosen}")


def _print_left_out(found: Agreement) -> None:
    if found.not_labelled:
        out().print(f"\njudged, but without labels: {', '.join(found.not_labelled)}")
    if found.not_judged:
        told = ", ".join(f"{name} {count}" for name, count in sorted(found.not_judged.items()))
        out().print(printable(f"\nlabels of dimensions that these runs did not judge: {told}"))


def _print_disagreements(found: Agreement, models: Sequence[str]) -> None:
    """The ten most confident of all."""
    rows: list[tuple[float, Measured, dict[str, Any]]] = [
        (item["confidence"], one, item) for one in found.measured for item in one.disagreements
    ]
    rows.sort(key=lambda row: (-row[0], row[1].dimension, row[1].mechanism, row[2]["id"]))
    if not rows:
        return
    out().print("\nMost confident disagreements with people (the quotes may distress):", style="bold")
    for confidence, one, item in rows[:10]:
        where = item["id"] if item["message"] is None else f"{item['id']} message {item['message']}"
        source = f", {item['source']}" if item["source"] else ""
        out().print(
            printable(
                f"  {where}{source}: {one.dimension} {item['score']:.2f} by {_judge(one, models)} "
                f"(sure by {share(confidence)}), people: {item['people']} ({item['label']:g})"
            )
        )
        for line in [f'"{quote}"' for quote in item["quotes"][:1]] + ([item["rationale"]] if item["rationale"] else []):
            out().print(printable(f"    {shorten(line, 200)}"))
