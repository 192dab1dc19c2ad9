"""Whether a judge still says what it said of the same conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from psysafe.agreement.moving import differ, shift_of, sums, tail
from psysafe.runs.anchors import Pass, Verdict

SIGNIFICANCE = 0.01
"""Chance of a warning about a judge that has not moved, over all tests of a pass (Bonferroni)."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One model and mechanism, now and when each of its anchors was first judged.

    Attributes:
        since: when the oldest of these first judgments was made, ISO 8601.
        units: judged before and now. changed: whose verdict or outcome differs now. by_dimension: these, where any.
        noise: the same among ``repeats``, the judgments in between by a judge that had not moved: what changes by
            itself.
        shift: mean of the score less that of the first judgments; None without scores.
        p_changed: that so many units change by noise alone; None where nothing was repeated. p_shift: that scores move
            so far in one direction by chance.
        enough: whether any change at all could have led to a warning.
        moved: whether to warn.
        served: what the endpoint said it served, then and now, where something is new.
        new: units judged for the first time. twice: of these, judged once more at once. unsteady: of those, changed.
        unanswered: units whose calls failed in passing; they are left out.
    """

    model: str
    mechanism: str
    since: str
    units: int = 0
    changed: int = 0
    by_dimension: Mapping[str, int] = field(default_factory=dict)
    repeats: int = 0
    noise: int = 0
    shift: float | None = None
    p_changed: float | None = None
    p_shift: float | None = None
    enough: bool = False
    moved: bool = False
    served: tuple[Any, Any] | None = None
    new: int = 0
    twice: int = 0
    unsteady: int = 0
    unanswered: int = 0

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "model": self.model, "mechanism": self.mechanism, "since": self.since, "moved": self.moved,
            "units": self.units, "changed": self.changed, "changed_by_dimension": dict(self.by_dimension),
            "repeats": self.repeats, "noise": self.noise, "shift": self.shift, "p_changed": self.p_changed,
            "p_shift": self.p_shift, "enough": self.enough,
            "served": None if self.served is None else {"then": self.served[0], "now": self.served[1]},
            "new": self.new, "twice": self.twice, "unsteady": self.unsteady, "unanswered": self.unanswered,
        }  # fmt: skip

    def sentence(self) -> str:
        """For people."""
        told = [text for text in (self._compared(), self._first(), self._left_out(), self._now_served()) if text]
        return f"{self._head()}: {self.model} {self.mechanism}: {'; '.join(told)}"

    def _head(self) -> str:
        if self.moved:
            return "WARNING, the judge has moved (what to do: docs/drift.md)"
        if not self.units:
            return "anchors"
        return "anchors: no drift seen" if self.enough else "anchors: too few for a test"

    def _compared(self) -> str:
        if not self.units:
            return ""
        where = ", ".join(f"{name} {count}" for name, count in sorted(self.by_dimension.items()))
        noise = (
            f"{self.noise} of {self.repeats} by themselves before" if self.repeats else "by themselves: not known yet"
        )
        shift = "" if self.shift is None else f", mean score {self.shift:+.2f}"
        return (
            f"{self.changed} of {self.units} verdicts changed since {self.since[:10]}{f' ({where})' if where else ''}, "
            f"{noise}{shift}"
        )

    def _first(self) -> str:
        if not self.new:
            return ""
        what = "judged for the first time" if not self.units else f"{self.new} judged for the first time"
        if self.twice:
            return f"{what}, twice: {self.unsteady} of {self.twice} verdicts changed by themselves"
        return f"{what}: nothing to compare with, and what changes by itself is not known yet"

    def _left_out(self) -> str:
        return f"{self.unanswered} got no answer and are left out" if self.unanswered else ""

    def _now_served(self) -> str:
        then, now = self.served or (None, None)
        return f"the endpoint served {served_text(then)} then, {served_text(now)} now" if self.served else ""


def served_text(served: Any) -> str:
    """What an endpoint said it serves, for people: ``gpt-4o-mini-2024-07-18 (fp_1)``."""
    if not served:
        return "what it did not name"
    pairs = [one if isinstance(one, list | tuple) else (one, None) for one in served]
    return ", ".join(f"{name or 'no name'}{f' ({print})' if print else ''}" for name, print in pairs)


def drifts(earlier: Sequence[Pass], now: Pass, again: Pass | None = None) -> list[Drift]:
    """Hold a pass against the first judgment of each unit; those in between tell what changes by itself.

    Args:
        earlier: oldest first, without ``now``. again: the pass that repeats ``now``, if there is one.

    Returns:
        One for each model and mechanism of the pass.
    """
    return history([*earlier, now, *([] if again is None else [again])])[-1][1]


def history(passes: Iterable[Pass]) -> list[tuple[Pass, list[Drift]]]:
    """Each pass held against those before it; one that repeats another is told with that one.

    Passes by a judge that had moved say nothing about its noise, or every warning would make the next one less likely.

    Args:
        passes: oldest first.
    """
    memory: dict[str, _Unit] = {}
    found: list[tuple[Pass, dict[_Judge, Drift]]] = []
    for one in passes:
        groups = _by_judge(one.verdicts)
        if one.repeats is None:
            lost = Counter(_judge(record) for record in one.unanswered.values())
            for judge in lost:
                groups.setdefault(judge, [])
            tested = sum(any(key in memory for key in keys) for keys in groups.values())
            level = SIGNIFICANCE / (2 * max(1, tested))
            held = {
                judge: _held(judge, keys, memory, one, level, lost[judge]) for judge, keys in sorted(groups.items())
            }
            found.append((one, held))
        else:
            held = {}
            for earlier, drifts in found:
                if earlier.directory.name == one.repeats:
                    for judge, keys in groups.items():
                        if judge in drifts:  # not where all that it said in the first pass was deleted since
                            drifts[judge] = _with_noise(drifts[judge], keys, memory, one)
        for judge, keys in groups.items():
            moved = judge in held and held[judge].moved
            for key in keys:
                _remember(memory, key, one, moved)
    return [(one, list(drifts.values())) for one, drifts in found]


_Judge = tuple[str, str]


@dataclass(slots=True)
class _Unit:
    """What is remembered of a unit: its first verdict, and how often it was judged again and how often differently."""

    first: Verdict
    made: str
    served: Any
    tries: int = 0
    changes: int = 0


def _judge(record: Verdict) -> _Judge:
    return record["model"], record["spec"]


def _by_judge(verdicts: Mapping[str, Verdict]) -> dict[_Judge, list[str]]:
    groups: dict[_Judge, list[str]] = defaultdict(list)
    for key, record in verdicts.items():
        groups[_judge(record)].append(key)
    return dict(groups)


def _remember(memory: dict[str, _Unit], key: str, one: Pass, moved: bool) -> None:
    record = one.verdicts[key]
    unit = memory.get(key)
    if unit is None:
        memory[key] = _Unit(record, one.made, one.served.get(record["model"]))
    elif not moved:
        unit.tries += 1
        unit.changes += differ(unit.first, record)


def _with_noise(drift: Drift, keys: Sequence[str], memory: Mapping[str, _Unit], again: Pass) -> Drift:
    known = [key for key in keys if key in memory]
    unsteady = sum(differ(memory[key].first, again.verdicts[key]) for key in known)
    return replace(drift, twice=len(known), unsteady=unsteady)


def _held(
    judge: _Judge, keys: Sequence[str], memory: Mapping[str, _Unit], now: Pass, level: float, unanswered: int
) -> Drift:
    """One judge's pass against what is remembered."""
    known = [(memory[key], now.verdicts[key]) for key in keys if key in memory]
    drift = Drift(*judge, since=now.made, new=len(keys) - len(known), unanswered=unanswered)
    if not known:
        return drift
    oldest = min((unit for unit, _ in known), key=lambda unit: unit.made)
    served = now.served.get(judge[0])
    changed = [differ(unit.first, record) for unit, record in known]
    by_dimension = Counter(record["dimension"] for (_, record), other in zip(known, changed, strict=True) if other)
    repeats = sum(unit.tries for unit, _ in known)
    # A unit that differed in k of n judgments is as likely to have differed now as in any other.
    chances = [(unit.changes + other) / (unit.tries + 1) for (unit, _), other in zip(known, changed, strict=True)]
    p_changed = tail(sum(changed), chances) if repeats else None
    pairs = [(unit.first, record) for unit, record in known]
    shift, p_shift = shift_of(pairs)
    least = [2.0 ** (1 - len(sums(pairs)[0]))] if p_shift is not None else []
    if repeats:
        least.append(float(np.prod([(unit.changes + 1) / (unit.tries + 1) for unit, _ in known])))
    return replace(
        drift,
        since=oldest.made,
        units=len(known),
        changed=sum(changed),
        by_dimension=dict(by_dimension),
        repeats=repeats,
        noise=sum(unit.changes for unit, _ in known),
        shift=shift,
        p_changed=p_changed,
        p_shift=p_shift,
        enough=any(p < level for p in least),
        moved=any(p is not None and p < level for p in (p_changed, p_shift)),
        served=(oldest.served, served) if any(one not in (oldest.served or ()) for one in served or ()) else None,
    )
