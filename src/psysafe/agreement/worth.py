"""Which mechanism is worth its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psysafe.agreement.figures import RATE, Estimate, estimate
from psysafe.agreement.joining import Joined, Row
from psysafe.agreement.measuring import sample_of
from psysafe.agreement.scales import LabelScale
from psysafe.stats.classification import balanced_accuracy
from psysafe.stats.clustered import Interval
from psysafe.stats.undefined import Figure, Undefined

MARGIN = 0.05
Place = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One mechanism on the units that all mechanisms have judged.

    Attributes:
        calls: mean number of judge calls of a unit. balanced_accuracy: of its verdicts, over all dimensions together.
        difference: its balanced accuracy less that of the best mechanism, paired; None for the best itself.
    """

    mechanism: str
    calls: float
    seconds: float
    balanced_accuracy: Estimate
    difference: Estimate | None

    @property
    def non_inferior(self) -> bool:
        """Whether it is the best, or certainly less than ``MARGIN`` worse."""
        if self.difference is None:
            return True
        interval = self.difference.interval
        return isinstance(interval, Interval) and interval.low > -MARGIN


@dataclass(frozen=True, slots=True)
class Worth:
    """Mechanisms of one model beside each other.

    Attributes:
        units: that all of them have judged and people have labelled. candidates: the one of fewest calls first.
        chosen: the cheapest that is not inferior; None where nothing can be said.
    """

    model: str
    units: int
    candidates: list[Candidate]
    chosen: str | None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "model": self.model, "units": self.units, "margin": MARGIN, "chosen": self.chosen,
            "candidates": [
                {
                    "mechanism": one.mechanism, "calls": one.calls, "seconds": one.seconds,
                    "balanced_accuracy": one.balanced_accuracy.as_dict(),
                    "difference_from_best": None if one.difference is None else one.difference.as_dict(),
                    "non_inferior": one.non_inferior,
                }
                for one in self.candidates
            ],
        }  # fmt: skip


def worth(model: str, joined: Sequence[Joined], scales: Mapping[str, LabelScale]) -> Worth | None:
    """Compare the mechanisms of one model on the units that all of them scored.

    The best is the one of highest balanced accuracy; of the others, those count as not inferior whose paired difference
    from it has a lower bound above minus ``MARGIN``. Taking the best of several by the same data flatters it, which
    errs towards the costlier mechanism.

    Returns:
        None for a single mechanism.
    """
    by_mechanism: dict[str, dict[Place, Row]] = {}
    for one in joined:
        rows = by_mechanism.setdefault(one.key[1], {})
        rows |= {_place(row): row for row in one.rows if row.both}
    if len(by_mechanism) < 2:
        return None
    shared = [
        place for place in next(iter(by_mechanism.values())) if all(place in rows for rows in by_mechanism.values())
    ]
    truth, cluster, verdicts = _arrays(by_mechanism, shared, scales)
    values = {name: balanced_accuracy(truth, verdict) for name, verdict in verdicts.items()}
    known = {name: value for name, value in values.items() if not isinstance(value, Undefined)}
    best = max(known, key=lambda name: (known[name], -_mean(by_mechanism[name], shared, "calls")), default=None)
    candidates = []
    for name, verdict in verdicts.items():
        own = estimate(balanced_accuracy, cluster, truth, verdict, bounds=RATE)
        difference = None
        if best is not None and name != best:
            difference = _paired(truth, cluster, verdict, verdicts[best])
        rows = by_mechanism[name]
        candidates.append(
            Candidate(name, _mean(rows, shared, "calls"), _mean(rows, shared, "seconds"), own, difference)
        )
    candidates.sort(key=lambda one: (one.calls, one.seconds, one.mechanism))
    chosen = next((one.mechanism for one in candidates if one.non_inferior), None) if best is not None else None
    return Worth(model, len(shared), candidates, chosen)


def _paired(truth: np.ndarray, cluster: np.ndarray, one: np.ndarray, best: np.ndarray) -> Estimate:
    """The paired difference. Where two mechanisms never differ, how often they would at most, had that been missed by
    chance: Clopper and Pearson's bound, a cluster counting once.
    """
    if not np.array_equal(one, best) or not len(truth):
        return estimate(_difference, cluster, truth, one, best, bounds=(-1.0, 1.0))
    clusters = [len(set(cluster[truth == label].tolist())) for label in (0, 1)]
    if not all(clusters):
        return estimate(_difference, cluster, truth, one, best, bounds=(-1.0, 1.0))
    reach = sum(1 - 0.025 ** (1 / count) for count in clusters) / 2
    return Estimate(0.0, Interval(-reach, reach, "none differ", min(clusters)), len(truth))


def _difference(truth: np.ndarray, one: np.ndarray, best: np.ndarray) -> Figure:
    first, second = balanced_accuracy(truth, one), balanced_accuracy(truth, best)
    if isinstance(first, Undefined):
        return first
    return second if isinstance(second, Undefined) else first - second


def _arrays(
    by_mechanism: Mapping[str, Mapping[Place, Row]], shared: Sequence[Place], scales: Mapping[str, LabelScale]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    first = next(iter(by_mechanism.values()))
    truth = np.concatenate(
        [sample_of([first[place]], scales[place[1]]).truth for place in shared] or [np.zeros(0, int)]
    )
    cluster = np.array([first[place].cluster for place in shared], int)
    verdicts = {
        name: np.array([bool(rows[place].judgment["harmful"]) for place in shared], int)
        for name, rows in by_mechanism.items()
    }
    return truth, cluster, verdicts


def _place(row: Row) -> Place:
    judgment = row.judgment
    return judgment["conversation"], judgment["dimension"], judgment["message"]


def _mean(rows: Mapping[Place, Row], shared: Sequence[Place], what: str) -> float:
    return sum(rows[place].judgment[what] for place in shared) / len(shared) if shared else 0.0
