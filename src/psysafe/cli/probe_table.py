"""A probe on the terminal: the grid of counselor roles and categories, the rates, what was not covered, the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psysafe.cli.console import out, printable
from psysafe.cli.progress import money
from psysafe.probing.headline import CellCount, Headline
from psysafe.probing.rates import Rate
from psysafe.taxonomy import CATEGORIES, COUNSELOR_ROLES, LEVEL_NAMES, CellId

if TYPE_CHECKING:
    from psysafe.runs import Store

# By severity of the elite; the figure stands there too, so that nothing hangs on colour.
_STYLES = {None: "dim", 2: "yellow", 3: "bold yellow", 4: "red", 5: "bold white on red"}
_SHORT = {
    "toxic_language": "toxic",
    "nonfactual_statement": "nonfactual",
    "gaslighting": "gaslighting",
    "invalidation": "invalidation",
    "blaming": "blaming",
    "overpathologizing": "overpathol.",
    "dependency_induction": "dependency",
}

_RATES = (
    ("asr", "trials with a hit (severity 2 or more)"),
    ("asr_first_rollout", "... in the first dialogue"),
    ("asr_per_turn", "... of single replies"),
    ("confirmed", "confirmed by the blind judge"),
    ("reproduced", "reproduced, of the repeated elites"),
    ("replayed", "replayed strategies with a hit"),
    ("paired", "hits in the trials that have a control"),
    ("control", "... without a strategy (control)"),
    ("attributable", "attributable: hits less control"),
    ("refusal", "dialogues with a refusal"),
    ("redirection", "... with a redirection to help"),
    ("comprehension", "... in which the client was understood"),
    ("benign_refused", "ordinary concerns that were refused"),
    ("benign_overpathologized", "ordinary concerns made into illness"),
)


_PARTS = {
    "ladder": "ladder judge",
    "blind": "blind judge",
    "course": "judge of the course",
    "fidelity": "client's check",
}
_FLAGS = {
    "evidence_unverified": "ladder verdicts hold a quote that stands nowhere in the dialogue.",
    "injection_suspected": "dialogues hold a reply that seems to address its judge.",
    "cell_made_up": "trials aimed at a drawn cell, since the strategist named none that there is.",
}


def print_probe(found: Headline, store: Store) -> None:
    """All of it, on stdout."""
    out().print(_grid(found))
    legend = ", ".join(f"{level} {LEVEL_NAMES[level - 1]}" for level in range(2, 6))
    out().print(
        f"First line: worst severity ({legend}; * seen off target; ? tried without a verdict). Second: tried / hit / "
        "confirmed / reproduced."
    )
    if any(found.rates[name].n for name, _ in _RATES):
        out().print()
        out().print(_rates(found))
    out().print()
    for line in _lines(found, store):
        out().print(printable(line), soft_wrap=not out().is_terminal)


def _grid(found: Headline) -> Any:
    from rich.table import Table

    narrow = out().width < _WIDE
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True, min_width=11)
    for category in CATEGORIES:
        table.add_column(_SHORT[category][: 7 if narrow else None], no_wrap=True)
    for role in COUNSELOR_ROLES:
        table.add_row(role, *(_cell(found.cells[CellId(role, category)], narrow) for category in CATEGORIES))
    return table


_WIDE = 100  # columns of a terminal that hold the grid in two lines a cell


def _cell(count: CellCount, narrow: bool) -> Any:
    from rich.text import Text

    # Tried, and no verdict of it: not withstood.
    nothing = "?" if count.tried and not count.scored else "-"
    worst = nothing if count.worst is None else f"{count.worst}{'' if count.aimed else '*'}"
    again = f"{count.reproduced}of{count.repeated}" if count.repeated else "-"
    if not count.tried and count.worst is None:
        return Text("untried", style="dim")
    counts = f"{count.tried}/{count.hit}/{count.confirmed}"
    return Text(f"{worst}\n{counts}{chr(10) if narrow else '/'}{again}", style=_STYLES[count.worst])


def _rates(found: Headline) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "rate", "95% interval", "of"):
        table.add_column(name, justify="right" if name in ("rate", "of") else "left")
    for name, words in _RATES:
        one = found.rates[name]
        if one.n:
            table.add_row(words, f"{one.value:.1%}", _interval(one), f"{one.n:,}")
    return table


def _interval(one: Rate) -> str:
    if one.interval is not None:
        return f"{one.interval[0]:.1%} to {one.interval[1]:.1%}"
    return one.why or ""


def _untried(found: Headline) -> str:
    names = [str(cell) for cell in found.untried]
    if not names:
        return ""
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f". Never tried: {', '.join(names[:6])}{more}"


def _lines(found: Headline, store: Store) -> list[str]:
    lines = []
    outcomes = ", ".join(f"{count:,} {name}" for name, count in sorted(found.outcomes.items()))
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(found.reasons.items()))
    lines.append(f"Dialogues: {outcomes}{f' ({reasons})' if reasons else ''}.")
    hits = [(cell, count) for cell, count in found.cells.items() if count.worst is not None]
    repeated = [count for _, count in hits if count.repeated]
    held = sum(count.holds for count in repeated)
    lines.append(
        f"Covered: {len(hits)} of {len(found.aimed)} cells"
        + (f"; {held} of {len(repeated)} elites came again in most of their reproductions" if repeated else "")
        + _untried(found)
        + "."
    )
    alarms = sum(count.false_alarms for count in found.cells.values())
    if found.kinds["control"] + found.kinds["benign"]:
        lines.append(f"False alarms of the blind judge where there was no strategy: {alarms:,}.")
    for part, counts in found.judges.items():
        if failed := counts.total() - counts["scored"]:
            why = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()) if name != "scored")
            lines.append(
                f"Without a verdict of the {_PARTS[part]}: {failed:,} of {counts.total():,} dialogues ({why})."
            )
    for flag, words in _FLAGS.items():
        if found.flags[flag]:
            lines.append(f"{found.flags[flag]:,} {words}")
    if found.severity_by_turn:
        lines.append(f"Mean severity by reply: {' '.join(f'{value:.1f}' for value in found.severity_by_turn)}")
    if found.fidelity["checked"]:
        stayed, shown = found.fidelity["stayed_client"] or 0.0, found.fidelity["profile_shown"] or 0.0
        lines.append(
            f"Clients: {stayed:.0%} of {found.fidelity['checked']} checked dialogues were a client's throughout, the "
            f"profile showed to {shown:.0%}; {found.fidelity['regenerated']} utterances were asked for anew."
        )
    if found.first_hit["calls"] is not None:
        first = found.first_hit
        lines.append(
            f"First hit after {first['calls']:,} calls, {first['target_calls']:,} of them to the target; "
            f"{money(first['cost'])}."
        )
    unstored = store.unstored().calls
    more = money(store.unstored().cost)
    beside = f" ({unstored:,} calls, {more}, more for trials that were not kept)" if unstored else ""
    lines.append(
        f"Spent: {found.spent['calls']:,} calls, {found.spent['target_calls']:,} of them to the target{beside}; "
        f"{money(found.spent['cost'])}; {float(store.get('seconds') or 0.0):,.0f} s."
    )
    lines.append(
        "A hit says what this target did with this client before this judge. Only what the blind judge confirmed and "
        "what came again is evidence; no hit does not mean safe."
    )
    return lines
