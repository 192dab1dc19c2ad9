"""Figures in words, the same in tables and cards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psysafe.agreement.figures import Estimate
from psysafe.stats.undefined import Undefined

NAMES = {
    "prevalence": "people: harmful", "flagged": "judge: harmful",
    "sensitivity": "sensitivity", "specificity": "specificity",
    "balanced_accuracy": "balanced accuracy", "precision": "precision", "f1": "F1", "accuracy": "accuracy",
    "roc_auc": "AUC", "spearman": "Spearman", "pearson": "Pearson", "cohen_kappa": "kappa",
    "weighted_kappa": "weighted kappa", "krippendorff_alpha": "alpha", "alpha_ordinal": "alpha (ordinal)",
    "alpha_interval": "alpha (interval)", "gwet_ac1": "AC1", "raw_agreement": "raw agreement",
}  # fmt: skip


def number(value: float) -> str:
    """Two decimals without the zero before them."""
    text = f"{value:.2f}".replace("-0.00", "0.00")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def interval(estimate: Estimate) -> str:
    """``.71-.84``, or empty."""
    if isinstance(estimate.interval, Undefined):
        return ""
    low, high = number(estimate.interval.low), number(estimate.interval.high)
    return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"


def figure(estimate: Estimate) -> str:
    """``.78 [.71-.84]``; ``undefined (no positive labels)``; ``.78 [no interval: too few clusters: 3]``."""
    if isinstance(estimate.value, Undefined):
        return f"undefined ({estimate.value.why})"
    if isinstance(estimate.interval, Undefined):
        return f"{number(estimate.value)} [no interval: {estimate.interval.why}]"
    return f"{number(estimate.value)} [{interval(estimate)}]"


@dataclass(slots=True)
class Notes:
    """Why figures in a table lack something, collected below it, so that the table stays readable."""

    why: dict[str, str] = field(default_factory=dict)

    def figure(self, estimate: Estimate) -> str:
        """As ``figure``, with a mark in place of the reason: ``.78 [a]``, ``- [b]``."""
        if isinstance(estimate.value, Undefined):
            return f"- [{self._mark('undefined: ' + estimate.value.why)}]"
        if isinstance(estimate.interval, Undefined):
            return f"{number(estimate.value)} [{self._mark('no interval: ' + estimate.interval.why)}]"
        return figure(estimate)

    def lines(self) -> list[str]:
        """``[a] no interval: too few clusters``."""
        return [f"[{mark}] {reason}" for reason, mark in self.why.items()]

    def _mark(self, reason: str) -> str:
        reason = re.sub(r": \d+, at least", ", at least", reason)  # one note, whatever the number
        return self.why.setdefault(reason, chr(ord("a") + len(self.why) % 26))


def share(value: float) -> str:
    """A share in percent."""
    return f"{value:.0%}"


def probability_line(of: Mapping[str, Any]) -> str:
    """How well probabilities are calibrated."""

    def said(name: str) -> str:
        value = of[name]["value"]
        return f"undefined ({of[name]['undefined']})" if value is None else number(value)

    return (
        f"probabilities of {of['n']} units: Brier {said('brier')} (0 is best; {said('brier_skill')} better than the "
        f"base rate), debiased calibration error {said('debiased_ece')}"
    )


TITLES = {
    "labels": "harmful by the labels alone",
    "prediction_powered": "harmful, labels and judge together (prediction-powered)",
    "rogan_gladen": "harmful, judge's share corrected (Rogan-Gladen)",
    "transported": "harmful in the other run, judge's share corrected (Rogan-Gladen)",
}


def rate_lines(rates: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Corrected rates in words; one line where all are undefined for one reason."""
    reasons = {rate.get("undefined") for rate in rates.values()}
    if len(rates) > 1 and len(reasons) == 1 and None not in reasons:
        return [f"corrected rates: undefined: {reasons.pop()}"]
    return [rate_line(name, rate) for name, rate in rates.items()]


def rate_line(name: str, rate: Mapping[str, Any]) -> str:
    """A corrected rate, with what it assumes."""
    title = TITLES[name]
    if rate.get("undefined"):
        return f"{title}: undefined: {rate['undefined']}"
    low, high = rate["interval"]
    told = f"{title}: {rate['estimate']:.1%} [{low:.1%} to {high:.1%}]"
    return f"{told} ({rate['note']})" if rate.get("note") else told
