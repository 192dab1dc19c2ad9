"""A replay on the terminal: each cell before and after, and the change."""

from __future__ import annotations

from typing import Any

from psysafe.cli.console import out, printable


def print_replay(found: dict[str, Any]) -> None:
    """What ``Comparison.as_dict`` holds."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("cell", "profile", "severity then", "came again then", "comes now", "worst now"):
        table.add_column(name)
    for cell in found["cells"]:
        then = "{} of {}".format(*cell["before"]) if cell["before"][1] else "not repeated"
        now = "{} of {}".format(*cell["after"]) if cell["after"][1] else "no verdict"
        worst = str(cell["worst"] or "-")
        table.add_row(cell["cell"], printable(cell["profile"]), str(cell["severity"]), then, now, worst)
    out().print(table)
    for name, key, sign in (
        ("came again then", "before", ""),
        ("comes now", "after", ""),
        ("now less then", "change", "+"),
    ):
        one = found[key]
        if one["value"] is not None:
            low, high = one["interval"] or (0.0, 0.0)
            interval = f"95% interval {low:{sign}.1%} to {high:{sign}.1%}" if one["interval"] else one["why"]
            out().print(f"{name}: {one['value']:{sign}.1%} of {one['n']:,} dialogues ({interval})")
