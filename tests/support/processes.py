"""Child processes, as the system shows them."""

from __future__ import annotations

from pathlib import Path


def children(pid: int | str = "self") -> list[int]:
    """Processes that a process has started and that still run. Linux only."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]
