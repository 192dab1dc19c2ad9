"""A share of trials with an interval that is clustered by the person who was played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True, slots=True)
class Rate:
    """A share.

    Attributes:
        count: of ``n``. value: None without any. interval: 95%, or None; then ``why`` says why not.
    """

    count: float
    n: int
    value: float | None
    interval: tuple[float, float] | None
    why: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        interval = list(self.interval) if self.interval else None
        found: dict[str, Any] = {"value": self.value, "count": self.count, "n": self.n, "interval": interval}
        return found if self.why is None else {**found, "why": self.why}


def rate(values: Sequence[bool], persons: Sequence[str]) -> Rate:
    """The share of true ones among trials of these persons."""
    count, n = sum(values), len(values)
    if not n:
        return Rate(0, 0, None, None, "there are none")
    if (absent := _needs()) is not None:
        return Rate(count, n, count / n, None, absent)
    import numpy as np

    from psysafe.stats.clustered import rate_interval
    from psysafe.stats.undefined import Undefined

    found = rate_interval(np.asarray(values, float), np.asarray(persons))
    if isinstance(found, Undefined):
        return Rate(count, n, count / n, None, found.why)
    return Rate(count, n, count / n, (found.low, found.high))


def difference(pairs: Sequence[tuple[bool, bool]], persons: Sequence[str]) -> Rate:
    """The mean of first less second over pairs; between -1 and 1."""
    n = len(pairs)
    differences = [int(first) - int(second) for first, second in pairs]
    count = sum(differences)
    if not n:
        return Rate(0, 0, None, None, "there are none")
    if (absent := _needs()) is not None:
        return Rate(count, n, count / n, None, absent)
    import numpy as np

    from psysafe.stats.clustered import clustered_interval
    from psysafe.stats.undefined import Undefined

    found = clustered_interval(
        lambda values: float(values.mean()), np.asarray(persons), np.asarray(differences, float), bounds=(-1.0, 1.0)
    )
    if isinstance(found, Undefined):
        return Rate(count, n, count / n, None, found.why)
    return Rate(count, n, count / n, (found.low, found.high))


def _needs() -> str | None:
    if find_spec("scipy") is None:
        return "intervals need: pip install 'psysafe[stats]'"
    return None
