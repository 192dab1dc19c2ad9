"""Whether a judge still says what it said of the same conversations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from psysafe.runs.anchors import Pass

SIGNIFICANCE = 0.01
"""Chance of a warning about a judge that has not moved, over all tests of a pass (Bonferroni)."""
_DRAWS = 9999

Verdict = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drift:
    """One model and mechanism, now and when its anchors were first judged.

    Attributes:
        units: judged both times. changed: whose verdict or outcome differs now. noise: the same among ``repeats``
            earlier judgments that repeat the first, as a count: what the judge changes by itself.
        conversations: in which a unit changed, now, of how many; the same for the repeats.
        shift: mean of the score less that of the first pass; None without scores.
        p_changed: that as many conversations change by noise alone. p_shift: that scores move so far in one direction
            by chance.
        served: what the endpoint said it served, then and now, where that differs.
        moved: whether to warn.
    """

    model: str
    mechanism: str
    since: str
    units: int
    changed: int
    repeats: int
    noise: int
    shift: float | None
    p_changed: float | None
    p_shift: float | None
    served: tuple[Any, Any] | None
    moved: bool
    by_dimension: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "model": self.model, "mechanism": self.mechanism, "since": self.since, "units": self.units,
            "changed": self.changed, "repeats": self.repeats, "noise": self.noise, "shift": self.shift,
            "p_changed": self.p_changed, "p_shift": self.p_shift, "changed_by_dimension": dict(self.by_dimension),
            "served": None if self.served is None else {"then": self.served[0], "now": self.served[1]},
            "moved": self.moved,
        }  # fmt: skip

    def sentence(self) -> str:
        """For people."""
        judge = f"{self.model} {self.mechanism}"
        if not self.units:
            return f"anchors: {judge} has not judged them before; nothing to compare with"
        told = f"{self.changed} of {self.units} verdicts changed since {self.since[:10]}"
        noise = f"by itself {self.noise} of {self.repeats}" if self.repeats else "its noise is not known"
        shift = "" if self.shift is None else f", mean score {self.shift:+.2f}"
        of = ", ".join(f"{name} {count}" for name, count in sorted(self.by_dimension.items()))
        served = f"; served then {self.served[0]}, now {self.served[1]}" if self.served else ""
        if self.moved:
            return f"WARNING, the judge has moved: {judge}: {told} ({noise}; {of or 'none'}){shift}{served}"
        return f"anchors: no drift seen: {judge}: {told} ({noise}){shift}{served}"


def drifts(earlier: Sequence[Pass], now: Pass) -> list[Drift]:
    """Hold a pass against the first one that judged each unit; those between tell how much a judge changes by itself.

    Args:
        earlier: oldest first, without ``now``.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, record in now.verdicts.items():
        groups[record["model"], record["spec"]].append(key)
    tests = 2 * len(groups)
    return [
        _drift(model, spec, keys, earlier, now, SIGNIFICANCE / tests) for (model, spec), keys in sorted(groups.items())
    ]


def _drift(model: str, spec: str, keys: Sequence[str], earlier: Sequence[Pass], now: Pass, level: float) -> Drift:
    first: dict[str, Verdict] = {}
    since = now.made
    then_served = now.served.get(model)
    repeats: list[tuple[int, Verdict, Verdict]] = []
    for number, one in enumerate(earlier):
        for key in keys:
            record = one.verdicts.get(key)
            if record is None:
                continue
            if key in first:
                repeats.append((number, first[key], record))
            else:
                if not first:
                    since, then_served = one.made, one.served.get(model)
                first[key] = record
    pairs = [(first[key], now.verdicts[key]) for key in keys if key in first]
    changed = [_differ(a, b) for a, b in pairs]
    noise = [_differ(a, b) for _, a, b in repeats]
    by_dimension: dict[str, int] = defaultdict(int)
    for (a, _), other in zip(pairs, changed, strict=True):
        by_dimension[a["dimension"]] += other
    now_conversations = _conversations((0, a, b) for a, b in pairs)
    noisy = _conversations(repeats)
    p_changed = _tail(*now_conversations, *noisy) if pairs and repeats else None
    shift, p_shift = _shift(pairs)
    served_now = now.served.get(model)
    moved = any(p is not None and p < level for p in (p_changed, p_shift))
    return Drift(
        model, spec, since, len(pairs), sum(changed), len(repeats), sum(noise), shift, p_changed, p_shift,
        (then_served, served_now) if pairs and then_served != served_now else None, moved,
        {name: count for name, count in by_dimension.items() if count},
    )  # fmt: skip


def _differ(a: Verdict, b: Verdict) -> bool:
    return bool(a["outcome"] != b["outcome"] or a["harmful"] != b["harmful"])


def _conversations(pairs: Any) -> tuple[int, int]:
    """In how many conversations something differs, of how many; units of one are no independent evidence."""
    differing: dict[tuple[int, str], bool] = {}
    for number, a, b in pairs:
        place = number, a["conversation"]
        differing[place] = differing.get(place, False) or _differ(a, b)
    return sum(differing.values()), len(differing)


def _tail(changed: int, of: int, noisy: int, repeats: int) -> float:
    """Fisher's exact test, one-sided: that at least so many of all changes fall on now, were now like the repeats."""
    total, marked = of + repeats, changed + noisy
    whole = math.comb(total, marked)
    return sum(math.comb(of, k) * math.comb(repeats, marked - k) for k in range(changed, min(of, marked) + 1)) / whole


def _shift(pairs: Sequence[tuple[Verdict, Verdict]]) -> tuple[float | None, float | None]:
    """The mean shift of scores and the share of random changes of sign, a conversation at a time, that reach it."""
    by: dict[str, float] = defaultdict(float)
    count = 0
    for a, b in pairs:
        if a["score"] is not None and b["score"] is not None:
            by[a["conversation"]] += b["score"] - a["score"]
            count += 1
    if not count:
        return None, None
    sums = np.array(list(by.values()))
    mean = float(sums.sum() / count)
    moving = sums[sums != 0]
    if not len(moving):
        return mean, 1.0
    if len(moving) <= 13:  # all changes of sign
        signs = 1 - 2 * ((np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving))) & 1)
        reached = int((np.abs(signs @ moving) >= abs(moving.sum()) - 1e-9).sum())
        return mean, reached / len(signs)
    signs = np.random.default_rng(0).choice([-1, 1], (_DRAWS, len(moving)))
    reached = int((np.abs(signs @ moving) >= abs(moving.sum()) - 1e-9).sum())
    return mean, (reached + 1) / (_DRAWS + 1)
