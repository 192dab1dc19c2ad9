"""Judge cards: what one judge was measured on, how far it agrees with people, what it costs, where it is blind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import psysafe
from psysafe.agreement.agreeing import Agreement
from psysafe.agreement.blind_spots import blind_spots, counts, measured_in_short
from psysafe.agreement.figures import Estimate
from psysafe.agreement.wording import NAMES, Notes, figure, probability_line, rate_lines
from psysafe.agreement.worth import MARGIN
from psysafe.errors import UsageError
from psysafe.stats.clustered import LEAST
from psysafe.stats.undefined import Undefined

Kind = Literal["markdown", "html"]
_TABLE = (
    "sensitivity", "specificity", "balanced_accuracy", "precision", "f1", "roc_auc", "spearman", "cohen_kappa",
    "krippendorff_alpha", "gwet_ac1",
)  # fmt: skip
_PARTS = ("prevalence", "sensitivity", "specificity", "roc_auc")


def one_judge(found: Agreement, model: str | None) -> Agreement:
    """What was measured of one judge.

    Raises:
        UsageError: there are several and none is named, or there is none of this name.
    """
    names = sorted({one.model for one in found.measured})
    if model is None and len(names) > 1:
        raise UsageError(f"a card is of one judge; the runs hold {', '.join(names)}: name one with --model")
    if model is not None and model not in names:
        raise UsageError(f"the runs hold no judge {model}; there are: {', '.join(names)}")
    chosen = model or names[0]
    return replace(
        found,
        measured=[one for one in found.measured if one.model == chosen],
        worth=[one for one in found.worth if one.model == chosen],
    )


def render_card(found: Agreement, kind: Kind, model: str | None = None) -> str:
    """The card of one judge. Holds no word of what was judged, so that it may be published.

    Raises:
        UsageError: see ``one_judge``.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    of = one_judge(found, model)
    environment = Environment(
        loader=PackageLoader("psysafe.agreement"), autoescape=kind == "html", undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        finalize=_plain if kind == "html" else _markdown,
    )  # fmt: skip
    environment.filters["cell"] = _cell
    return environment.get_template(f"card.{kind}.j2").render(card_data(of))


def card_data(found: Agreement) -> dict[str, Any]:
    """What the templates show, in words."""
    judge = found.measured[0].model
    described = next((dict(one) for source in found.sources for one in source.judges if one.get("name") == judge), {})
    manifest = found.sources[0].manifest
    return {
        "judge": judge,
        "identity": next((s.manifest.get("models", {}).get(judge) for s in found.sources), None),
        "host": described.get("host") or "this machine",
        "served": _served(described),
        "version": psysafe.__version__,
        "made_with": sorted({str(s.surroundings.get("psysafe")) for s in found.sources}),
        "prompt_version": manifest.get("prompt_version"),
        "scopes": sorted({str(s.manifest.get("scope")) for s in found.sources}),
        "seeds": sorted({str(s.manifest.get("seed")) for s in found.sources}),
        "calibrations": sorted({c["name"] for s in found.sources if (c := s.manifest.get("calibration"))}),
        "runs": [(s.id, (s.created or "")[:10]) for s in found.sources],
        "labels": found.labels,
        "drawn": _drawn(found),
        "mechanisms": {one.mechanism: one.parameters for one in found.measured},
        "in_short": measured_in_short(found.measured),
        "measured": [_measured(one) for one in found.measured],
        "probabilities": [
            f"{one.dimension}, {one.mechanism}: {probability_line(one.probabilities)}"
            for one in found.measured
            if one.probabilities is not None
        ],
        "columns": [NAMES[name] for name in _TABLE],
        "rows": [
            [one.dimension, one.mechanism, str(one.compared), *(figure(one.figures[name]) for name in _TABLE)]
            for one in found.measured
        ],
        "part_columns": [NAMES[name] for name in _PARTS],
        "worth": [_worth(one) for one in found.worth],
        "margin": MARGIN,
        "least_clusters": LEAST,
        "blind_spots": blind_spots(found),
    }


def _measured(one: Any) -> dict[str, Any]:
    positives, negatives = counts(one)
    spent = one.spending
    return {
        "dimension": one.dimension, "mechanism": one.mechanism, "labelled": one.labelled, "compared": one.compared,
        "positives": positives, "negatives": negatives, "clusters": one.clusters,
        "outcomes": ", ".join(f"{name} {count}" for name, count in sorted(one.outcomes.items())),
        "reasons": ", ".join(f"{name} {count}" for name, count in sorted(one.reasons.items())),
        "ceiling": [(NAMES[name], figure(human), figure(one.with_judge[name])) for name, human in one.humans.items()],
        "rated": one.rated,
        "parts": [_parts(column, parts) for column, parts in one.parts.items()],
        "rates": rate_lines(one.rates),
        "calls": "-" if spent is None else f"{spent.calls:.1f}",
        "seconds": "-" if spent is None else f"{spent.seconds[0]:.2f} (95%: {spent.seconds[1]:.1f})",
        "cost": "unknown" if spent is None or spent.cost is None else f"${spent.cost:.6f}" if spent.cost else "0",
    }  # fmt: skip


def _parts(column: str, parts: dict[str, dict[str, Estimate]]) -> dict[str, Any]:
    """Figures by source or language; those of fewer than five clusters are named, since little can be said of them."""
    notes = Notes()
    small = {name for name, of in parts.items() if isinstance(of["prevalence"].interval, Undefined)}
    rows = [
        [name, str(of["prevalence"].n), *(notes.figure(of[figure]) for figure in _PARTS)]
        for name, of in parts.items() if name not in small
    ]  # fmt: skip
    told = ", ".join(f"{name} {parts[name]['prevalence'].n}" for name in sorted(small))
    return {"column": column, "rows": rows, "notes": notes.lines(), "small": told}


def _worth(one: Any) -> dict[str, Any]:
    return {
        "units": one.units, "chosen": one.chosen,
        "rows": [
            [
                c.mechanism, f"{c.calls:.1f}", f"{c.seconds:.1f}", figure(c.balanced_accuracy),
                "the best" if c.difference is None else figure(c.difference), "yes" if c.non_inferior else "not shown",
            ]
            for c in one.candidates
        ],
    }  # fmt: skip


def _served(described: dict[str, Any]) -> str | None:
    """The names and fingerprints that the endpoint gave, in words."""
    served = described.get("served") or []
    names = [one if isinstance(one, str) else " ".join(str(part) for part in one if part) for one in served]
    return ", ".join(name for name in names if name) or None


def _drawn(found: Agreement) -> str:
    if found.labels.random:
        return "a random sample of the units judged"
    if part := found.labels.random_part():
        return f"a random sample in part ({len(part):,} of {len(found.labels.of):,}), on which corrected rates rest"
    if found.labels.drawn:
        return "drawn with known, unequal probabilities"
    return "no random sample; rates are not corrected"


def _plain(value: Any) -> Any:
    """Text on one line and without control characters; names come from outside."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "".join(c if c.isprintable() else " " for c in value)


def _markdown(value: Any) -> Any:
    """As ``_plain``, and no markup."""
    if not isinstance(value, str):
        return value
    return _plain(value).replace("<", "&lt;").replace("](", "]\\(").replace("`", "'")


def _cell(text: object) -> str:
    """Text in a cell of a Markdown table."""
    return str(text).replace("|", "\\|").replace("\n", " ")
