"""Runs: what one execution is to do, does, and leaves behind."""

from psysafe.runs.budget import Budget
from psysafe.runs.database import StoreError
from psysafe.runs.export import EXPORTS
from psysafe.runs.plan import Plan, manifest_difference
from psysafe.runs.runner import Execution, Progress, Stop, execute
from psysafe.runs.store import Store
from psysafe.runs.summary import Cell, Summary, summarise

__all__ = [
    "EXPORTS",
    "Budget",
    "Cell",
    "Execution",
    "Plan",
    "Progress",
    "Stop",
    "Store",
    "StoreError",
    "Summary",
    "execute",
    "manifest_difference",
    "summarise",
]
