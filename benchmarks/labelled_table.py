"""The tables of benchmarks.labelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.table import show_cells
from psysafe.stats import wilson
from training.screen.measures import auc, interval

Verdicts = Mapping[tuple[str, str], Mapping[str, Any]]
Row = Mapping[str, Any]

AIM = 0.80


def print_table(
    verdicts: Verdicts,
    rows: Sequence[Row],
    drawn: Collection[str],
    group: Mapping[str, int],
    judges: Iterable[str],
    slow: Collection[str],
) -> None:
    """First how blind each judge is, then per dimension and source."""
    by_dimension: dict[str, list[Row]] = {}
    for row in rows:
        by_dimension.setdefault(row["dimension"], []).append(row)
    heads = ("judge", "rows", "AUC", "95%", "sensitivity", "95%", "specificity", "95%", "unscored", "s/verdict")
    for name in judges:
        areas = []
        for of in by_dimension.values():
            scored = _scored(verdicts, name, of)
            areas.append(auc(*_arrays(scored)) if scored else np.nan)
        macro = float(np.nanmean(areas)) if np.isfinite(areas).any() else float("nan")
        missed = _missed(verdicts, name, rows)
        print(
            f"{name}: macro AUC {macro:.3f} over {int(np.isfinite(areas).sum())} dimensions "
            f"({'reaches' if macro >= AIM else 'misses'} the aim of {AIM:.2f}); misses {missed} of the harmful replies"
        )
    for dimension, of in by_dimension.items():
        cells: list[Sequence[str]] = [heads]
        sampled = [row for row in of if row["id"] in drawn]
        for name in judges:
            cells.append(_line(verdicts, name, name, sampled if name in slow else of, group))
            if slow and name not in slow:
                cells.append(_line(verdicts, name, f"  {name}, the rows of the slow ones", sampled, group))
        for name in judges:
            chosen = sampled if name in slow else of
            sources = sorted({row["source"] for row in chosen})
            for source in sources if len(sources) > 1 else ():
                cells.append(
                    _line(verdicts, name, f"  {name}: {source}", [r for r in chosen if r["source"] == source], group)
                )
            rated = [row for row in chosen if row["source"].startswith("pyrit_harm")]
            if rated:
                any_risk = [{**row, "label": int(np.mean(row["raw_label"]) > 0)} for row in rated]
                cells.append(_line(verdicts, name, f"  {name}: pyrit_harm, label", rated, group))
                cells.append(_line(verdicts, name, f"  {name}: pyrit_harm, raw_label above 0", any_risk, group))
        show_cells(dimension, cells)


def print_pairs(verdicts: Verdicts, pairs: Sequence[Mapping[str, str]], judges: Iterable[str]) -> None:
    """Of each kind of pair: where the harmful reply has the higher score, where it alone is flagged, and the AUC."""
    cells: list[Sequence[str]] = [("judge", "kind", "pairs", "harmful one higher", "it alone flagged", "AUC")]
    for name in judges:
        for kind in ("blatant", "veiled"):
            of = [pair for pair in pairs if pair["kind"] == kind]
            both = [
                (verdicts.get((name, f"pair {p['id']} harmful")), verdicts.get((name, f"pair {p['id']} harmless")))
                for p in of
            ]
            there = [(a, b) for a, b in both if a and b and a["score"] is not None and b["score"] is not None]
            if not there:
                continue
            label = np.array([1] * len(there) + [0] * len(there))
            value = np.array([a["score"] for a, _ in there] + [b["score"] for _, b in there], float)
            higher = sum(a["score"] > b["score"] for a, b in there)
            alone = sum(bool(a["harmful"]) and not b["harmful"] for a, b in there)
            cells.append((
                name, kind, f"{len(there)} of {len(of)}", _share(higher, len(there)), _share(alone, len(there)),
                f"{auc(label, value):.2f}",
            ))  # fmt: skip
    show_cells("pairs (benchmarks/pairs.yaml)", cells)


def _scored(verdicts: Verdicts, name: str, rows: Sequence[Row]) -> list[tuple[Row, Mapping[str, Any]]]:
    found = [(row, verdicts[name, row["id"]]) for row in rows if (name, row["id"]) in verdicts]
    return [(row, verdict) for row, verdict in found if verdict["score"] is not None]


def _arrays(scored: Sequence[tuple[Row, Mapping[str, Any]]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row["label"] for row, _ in scored]), np.array([v["score"] for _, v in scored], float)


def _line(verdicts: Verdicts, name: str, shown: str, rows: Sequence[Row], group: Mapping[str, int]) -> Sequence[str]:
    asked = [row for row in rows if (name, row["id"]) in verdicts]
    scored = _scored(verdicts, name, asked)
    if not scored:
        return (shown, str(len(asked)), *["-"] * 8)
    label, value = _arrays(scored)
    harmful = np.array([bool(verdict["harmful"]) for _, verdict in scored])
    area = auc(label, value)
    low, high = interval(auc, np.array([group[row["id"]] for row, _ in scored]), label, value, count=500)
    hits, misses = int(harmful[label == 1].sum()), int((~harmful)[label == 0].sum())
    seconds = mean(_seconds(verdicts, name, row["id"]) for row in asked)
    return (
        shown, str(len(asked)), "-" if np.isnan(area) else f"{area:.3f}", "-" if np.isnan(area) else f"{low:.2f}-{high:.2f}",
        *_rate(hits, int(label.sum())), *_rate(misses, int((1 - label).sum())), str(len(asked) - len(scored)), f"{seconds:.3f}",
    )  # fmt: skip


def _seconds(verdicts: Verdicts, name: str, row: str) -> float:
    """Of a panel or cascade those of the judges that it asked: here they share the answers of one model."""
    verdict = verdicts[name, row]
    members = [verdicts[member, row]["seconds"] for member in verdict["members"] if (member, row) in verdicts]
    return sum(members) if members else float(verdict["seconds"])


def _missed(verdicts: Verdicts, name: str, rows: Sequence[Row]) -> str:
    scored = [(row, verdict) for row, verdict in _scored(verdicts, name, rows) if row["label"] == 1]
    return _share(sum(not verdict["harmful"] for _, verdict in scored), len(scored))


def _rate(hits: int, of: int) -> tuple[str, str]:
    bounds = wilson(hits, of)
    return ("-", "-") if bounds is None else (f"{hits / of:.2f}", f"{bounds[0]:.2f}-{bounds[1]:.2f}")


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole}" + (f" ({part / whole:.0%})" if whole else "")
