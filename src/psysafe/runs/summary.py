"""A run in numbers, read from its store."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Integer, case, cast, func, select

from psysafe.judging import OUTCOMES, Account
from psysafe.judging.judgment import Flag
from psysafe.models import Usage
from psysafe.runs.store import Store
from psysafe.runs.tables import judgments
from psysafe.stats import wilson

# Flags that a summary counts.
COUNTED: tuple[Flag, ...] = (
    "injection_suspected",
    "screening",
    "uncalibrated",
    "calibrated",
    "split",
    "escalated",
    "overturned",
)


@dataclass(slots=True)
class Cell:
    """One model, dimension and mechanism.

    Attributes:
        outcomes: by name, every outcome counted. reasons: of those without a verdict.
        harmful: of the scored ones. mean: of the scores, curtailed ones left out; None without any.
        flags: how many judgments carry each of ``COUNTED``.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    harmful: int = 0
    curtailed: int = 0
    mean: float | None = None
    flags: Counter[str] = field(default_factory=Counter)

    @property
    def scored(self) -> int:
        return self.outcomes["scored"]

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson 95% interval of the harmful share among the scored; None without any."""
        return wilson(self.harmful, self.scored)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "harmful": self.harmful / self.scored if self.scored else None,
            "harmful_count": self.harmful,
            "interval": list(self.interval) if self.interval else None,
            "mean_score": self.mean,
            "curtailed": self.curtailed,
            "injection_suspected": self.flags["injection_suspected"],
            "flags": {flag: self.flags[flag] for flag in COUNTED[1:] if self.flags[flag]},
            **{outcome: self.outcomes[outcome] for outcome in OUTCOMES if outcome != "void"},
            "by_reason": dict(sorted(self.reasons.items())),
        }


@dataclass(slots=True)
class Summary:
    """The whole run. ``spent`` holds the calls of units that were cut off or judged again, too."""

    cells: dict[tuple[str, str, str], Cell]  # model, dimension, mechanism
    conversations: int
    skipped: int  # records of the input that could not be read
    outcomes: Counter[str]
    reasons: Counter[str]
    spent: Account
    seconds: float

    @property
    def units(self) -> int:
        return sum(self.outcomes.values())

    @property
    def unscored_share(self) -> float:
        """Unscored units among those that a judge was asked about; 0 when there are none."""
        asked = self.units - self.outcomes["reply_failed"] - self.outcomes["void"]
        return self.outcomes["unscored"] / asked if asked else 0.0

    def as_dict(self, run: str) -> dict[str, Any]:
        """The one object of ``--json``. ``dimensions`` at the top only where there is one model."""
        models: dict[str, Any] = {}
        for (model, dimension, mechanism), cell in self.cells.items():
            by_dimension = models.setdefault(model, {"dimensions": {}})["dimensions"]
            by_dimension.setdefault(dimension, {})[mechanism] = cell.as_dict()
        return {
            "run": run,
            "counts": {
                "conversations": self.conversations,
                "skipped": self.skipped,
                "units": self.units,
                **{outcome: self.outcomes[outcome] for outcome in OUTCOMES if outcome != "void"},
                "by_reason": dict(sorted(self.reasons.items())),
            },
            **({"dimensions": next(iter(models.values()))["dimensions"]} if len(models) == 1 else {}),
            "models": models,
            "calls": self.spent.calls,
            "attempts": self.spent.attempts,
            "usage": None if self.spent.usage is None else asdict(self.spent.usage),
            "cost": self.spent.cost,
            "seconds": round(self.seconds, 3),
        }


def summarise(store: Store) -> Summary:
    """Sum up a run as far as it has come."""
    c = judgments.c
    keys = (c.model, c.dimension, c.mechanism)
    counts = store.rows(select(*keys, c.outcome, c.reason, func.count()).group_by(*keys, c.outcome, c.reason))
    scores = store.rows(
        select(
            *keys,
            func.sum(cast(c.harmful, Integer)),
            func.sum(cast(c.curtailed, Integer)),
            func.avg(c.score).filter(c.curtailed.is_(False)),
        )
        .where(c.outcome == "scored")
        .group_by(*keys)
    )
    flagged = store.rows(
        select(*keys, *(func.sum(case((c.flags.like(f"% {flag} %"), 1), else_=0)) for flag in COUNTED)).group_by(*keys)
    )
    totals = store.rows(
        select(
            func.count(func.distinct(c.conversation)),
            func.coalesce(func.sum(c.calls), 0),
            func.coalesce(func.sum(c.attempts), 0),
            func.sum(c.prompt_tokens),
            func.sum(c.completion_tokens),
            func.sum(c.cost),
            func.count(),
            func.count(c.prompt_tokens),
            func.count(c.cost),
        )
    )[0]
    cells: dict[tuple[str, str, str], Cell] = defaultdict(Cell)
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for model, dimension, mechanism, outcome, reason, number in counts:
        cell = cells[model, dimension, mechanism]
        cell.outcomes[outcome] += number
        outcomes[outcome] += number
        if reason:
            cell.reasons[reason] += number
            reasons[reason] += number
    for model, dimension, mechanism, harmful, curtailed, mean in scores:
        cell = cells[model, dimension, mechanism]
        cell.harmful, cell.curtailed, cell.mean = int(harmful), int(curtailed), mean
    for model, dimension, mechanism, *numbers in flagged:
        cells[model, dimension, mechanism].flags.update(
            {flag: int(number) for flag, number in zip(COUNTED, numbers, strict=True)}
        )
    found, calls, attempts, prompt_tokens, completion_tokens, cost, rows, with_usage, with_cost = totals
    usage = Usage(int(prompt_tokens or 0), int(completion_tokens or 0)) if rows == with_usage else None
    spent = Account(int(calls), int(attempts), usage, (cost or 0.0) if rows == with_cost else None)
    spent.merge(store.unstored())
    return Summary(
        cells=dict(sorted(cells.items())),
        conversations=found,
        skipped=int(store.get("skipped") or 0),
        outcomes=outcomes,
        reasons=reasons,
        spent=spent,
        seconds=float(store.get("seconds") or 0.0),
    )
