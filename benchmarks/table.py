"""How results are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        target: at most this passes; None where the figure is only reported.
        unit: written after both. note: what it was measured from.
    """

    what: str
    value: float
    target: float | None = None
    unit: str = "x"
    note: str = ""

    @property
    def verdict(self) -> str:
        """PASS, MISS, or nothing without a target."""
        if self.target is None:
            return ""
        return "PASS" if self.value <= self.target else "MISS"


def show(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    cells = [("", "measured", "target", "", "from")]
    for row in rows:
        target = "" if row.target is None else f"<= {row.target:.2f} {row.unit}"
        cells.append((row.what, f"{row.value:.2f} {row.unit}", target, row.verdict, row.note))
    show_cells(title, cells)


def show_cells(title: str, cells: Sequence[Sequence[str]]) -> None:
    """Print lines of cells, the first one the heads, in columns as wide as their contents."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    print(f"\n{title}")
    for line in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
