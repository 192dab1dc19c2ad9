"""What a measurement does not show, and where a judge is seen to be weak: sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psysafe.agreement.agreeing import Agreement
from psysafe.agreement.figures import Estimate
from psysafe.agreement.measuring import Measured
from psysafe.agreement.wording import figure, number, share
from psysafe.stats.clustered import Interval
from psysafe.stats.undefined import Undefined

LEAST = 30  # of each kind of label, below which little can be said
_UNSCORED = 0.05
_FAIR = 0.75  # an AUC that is not called weak, however little it rests on


def blind_spots(found: Agreement) -> list[str]:
    """Of one judge: by dimension and mechanism, then over all."""
    lines = [line for one in found.measured for line in _of(one)]
    if found.not_labelled:
        lines.append(f"Not measured, since nobody labelled it: {', '.join(found.not_labelled)}.")
    if found.not_judged:
        lines.append(f"Not judged at all, though labelled: {', '.join(sorted(found.not_judged))}.")
    languages = sorted({name for one in found.measured for name in one.parts.get("language", ())})
    lines.append(
        f"Measured in {', '.join(languages)}; nothing is known of other languages."
        if languages
        else "The labels name no language, or one: nothing is known of others."
    )
    if not any(label.queue == "random" for label in found.labels.of.values()):
        lines.append(
            "The labels are no random sample of anybody's conversations: figures for your own may be better or worse."
        )
    return lines


def _of(one: Measured) -> list[str]:
    name = f"{one.dimension}, {one.mechanism}"
    lines = []
    positives, negatives = counts(one)
    if min(positives, negatives) < LEAST:
        lines.append(
            f"{name}: rests on {positives} harmful and {negatives} harmless units; below {LEAST} of each little "
            "can be said."
        )
    area = one.figures["roc_auc"]
    if at_chance(area):
        lines.append(f"{name}: not shown to rank better than chance (AUC {figure(area)}).")
    missed = one.figures["sensitivity"]
    if not isinstance(missed.value, Undefined) and missed.value < 0.7:
        lines.append(f"{name}: misses {share(1 - missed.value)} of what people call harmful.")
    for column, parts in one.parts.items():
        weak = [f"{value} ({number(of['roc_auc'].value)})" for value, of in parts.items() if _weak(of["roc_auc"])]  # type: ignore[arg-type]
        if weak:
            lines.append(
                f"{name}: by {column}, ranks no better than chance, or is not shown to: {', '.join(weak)} (AUC)."
            )
    unscored = one.outcomes["unscored"] / one.labelled if one.labelled else 0.0
    if unscored > _UNSCORED:
        lines.append(
            f"{name}: {share(unscored)} unscored ({_counted(one.reasons.items())}); the figures leave these out."
        )
    if not one.rated:
        lines.append(
            f"{name}: no unit has several individual ratings, so there is no human ceiling to hold it against."
        )
    if one.flags["uncalibrated"]:
        lines.append(f"{name}: its cut was fitted on no labels (uncalibrated).")
    return lines


def counts(one: Measured) -> tuple[int, int]:
    """Harmful and harmless units that were compared."""
    prevalence = one.figures["prevalence"]
    positives = 0 if isinstance(prevalence.value, Undefined) else round(prevalence.value * one.compared)
    return positives, one.compared - positives


def at_chance(area: Estimate) -> bool:
    """Whether an AUC is not shown to be above one half."""
    if isinstance(area.value, Undefined):
        return False
    return area.value <= 0.5 or (isinstance(area.interval, Interval) and area.interval.low <= 0.5)


def _weak(area: Estimate) -> bool:
    """Whether a part is ranked poorly by what is known of it; a wide interval of a high value says that little is."""
    return not isinstance(area.value, Undefined) and area.n >= LEAST and area.value < _FAIR and at_chance(area)


def _counted(items: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(items))


def measured_in_short(measured: Sequence[Measured]) -> list[str]:
    """One line for each dimension and mechanism."""
    lines = []
    for one in measured:
        positives, _ = counts(one)
        lines.append(
            f"{one.dimension}, {one.mechanism}: balanced accuracy {figure(one.figures['balanced_accuracy'])} on "
            f"{one.compared} units, {positives} of them harmful."
        )
    return lines
