"""The true share of harmful replies from a judge's verdicts alone, where its errors are known from elsewhere."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from psysafe.stats.classification import confusion, sensitivity, specificity
from psysafe.stats.clustered import clustered_interval
from psysafe.stats.effective import degrees_of_freedom
from psysafe.stats.rates import LEAST_CLUSTERS, Rate, effective_number
from psysafe.stats.undefined import Figure, Undefined

Array = np.ndarray[Any, Any]


def rogan_gladen(
    apparent: float | Array,
    *,
    tp: int,
    fn: int,
    tn: int,
    fp: int,
    transported: bool,
    n: int | None = None,
    clusters: Array | None = None,
    worth: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Rate | Undefined:
    """The share of harmful units: (flagged + specificity - 1) / (sensitivity + specificity - 1).

    The interval is Lang and Reiczigel's, which counts in what is unknown of sensitivity and specificity. With clusters,
    the flagged share is worth its effective number of units and the quantile is of t.

    A judge errs alike on units of one cluster, so that counts from clusters are worth fewer independent units:
    ``worth`` says how many (``label_worth``); without it intervals are too narrow. Where the labelled units are among
    the judged ones, take ``rogan_gladen_within``.

    Args:
        apparent: the judge's verdicts, shape (N,), 0 or 1; or the share that it flagged, with ``n``.
        tp, fn, tn, fp: counts of labelled units: harmful ones flagged and not, harmless ones not flagged and flagged.
        transported: whether these come from other data than the judged units, so that the result holds only if the
            judge errs alike on both. It changes no number; it is printed beside the result.
        n: judged units, with a share. clusters: shape (N,), with verdicts; None takes units as independent.
        worth: how many independent harmful and harmless units the labelled ones are worth; None takes their counts.

    Returns:
        A rate; flag ``clipped`` where the corrected share left 0 to 1, ``transported`` as given. Undefined where no
        harmful or no harmless unit is labelled, where sensitivity + specificity - 1 is within its own standard error
        of 0 (as it is, or with one unit added to either side, as the interval takes it), and below 5 clusters.

    Raises:
        ValueError: a count is negative, a share or verdict is none, a share comes without ``n`` or with clusters.

    References:
        Rogan and Gladen (1978), Estimating prevalence from the results of a screening test, Am. J. Epidemiology 107;
        Lang and Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity and
        specificity, Preventive Veterinary Medicine 113.
    """
    share, effective, judged, groups, df = _apparent(apparent, n, clusters, confidence)
    if min(tp, fn, tn, fp) < 0:
        raise ValueError("tp, fn, tn, fp: expected counts, found a negative number")
    if worth is not None and min(worth) < 0:
        raise ValueError("worth: expected two numbers, not negative")
    if not judged:
        return Undefined("no judged units")
    if not tp + fn:
        return Undefined("no positive labels, so the judge's sensitivity is unknown")
    if not tn + fp:
        return Undefined("no negative labels, so the judge's specificity is unknown")
    if groups is not None and groups < LEAST_CLUSTERS:
        return Undefined(f"too few clusters: {groups}, at least {LEAST_CLUSTERS} are needed")
    se, sp = tp / (tp + fn), tn / (tn + fp)
    positives, negatives = (tp + fn, tn + fp) if worth is None else worth
    se_, var_se = _added(se, positives)
    sp_, var_sp = _added(sp, negatives)
    youden, cautious, error = se + sp - 1, se_ + sp_ - 1, math.sqrt(var_se + var_sp)
    if min(abs(youden), abs(cautious)) <= error or youden * cautious < 0:
        return Undefined(
            f"the judge is no better than chance as far as is known: sensitivity + specificity - 1 is {youden:.2f} "
            f"({cautious:.2f} with one unit added to either side), with a standard error of {error:.2f}"
        )
    value = (share + sp - 1) / youden
    low, high = _lang_reiczigel(share, effective, (se_, var_se), (sp_, var_sp), df, confidence)
    estimate = min(max(value, 0.0), 1.0)
    flags = (("clipped",) if estimate != value else ()) + (("transported",) if transported else ())
    return Rate(
        estimate, min(low, estimate), max(high, estimate), "Rogan-Gladen; Lang-Reiczigel interval", tp + fn + tn + fp,
        judged, judged if groups is None else groups, None, flags,
    )  # fmt: skip


def label_worth(truth: Array, judge: Array, clusters: Array) -> tuple[float, float]:
    """How many independent units the harmful and the harmless ones among labelled units in clusters are worth.

    Args:
        truth, judge: shape (n,), 0 or 1. clusters: shape (n,).

    Raises:
        ValueError: lengths differ, or a value is other than 0 and 1.
    """
    y, f, cluster = np.asarray(truth), np.asarray(judge), np.asarray(clusters)
    if y.ndim != 1 or not y.shape == f.shape == cluster.shape:
        raise ValueError(f"expected three rows of one length, found {y.shape}, {f.shape} and {cluster.shape}")
    if not (np.isin(y, (0, 1)).all() and np.isin(f, (0, 1)).all()):
        raise ValueError("truth, judge: expected 0 and 1")
    harmful, harmless = (
        effective_number(f[rows], cluster[rows]) if len(np.unique(cluster[rows])) > 1 else float(rows.any())
        for rows in (y == 1, y == 0)
    )
    return harmful, harmless


def _added(rate: float, n: float) -> tuple[float, float]:
    """A rate with one unit added to either side, lest no error among few units seem certain; and its variance."""
    added = (rate * n + 1) / (n + 2)
    return added, added * (1 - added) / (n + 2)


def _lang_reiczigel(
    share: float, n: float, se: tuple[float, float], sp: tuple[float, float], df: float, confidence: float
) -> tuple[float, float]:
    from scipy.stats import t

    z = float(t.ppf((1 + confidence) / 2, df))
    p = (n * share + z * z / 2) / (n + z * z)
    youden = se[0] + sp[0] - 1
    middle = (p + sp[0] - 1) / youden
    spread = math.sqrt(p * (1 - p) / (n + z * z) + middle**2 * se[1] + (1 - middle) ** 2 * sp[1]) / abs(youden)
    middle += 2 * z * z * (middle * se[1] - (1 - middle) * sp[1])
    return min(max(middle - z * spread, 0.0), 1.0), max(min(middle + z * spread, 1.0), 0.0)


def _apparent(
    apparent: float | Array, n: int | None, clusters: Array | None, confidence: float
) -> tuple[float, float, int, int | None, float]:
    """The flagged share, its effective number of units, units, clusters, degrees of freedom."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: expected between 0 and 1, found {confidence}")
    if np.ndim(apparent) == 0:
        share = float(apparent)
        if n is None or n < 0 or clusters is not None or not 0 <= share <= 1:
            raise ValueError("apparent: expected a share of 0 to 1 with n and no clusters, or verdicts")
        return share, n, n, None, math.inf
    verdicts = np.asarray(apparent)
    if n is not None or verdicts.ndim != 1 or not ((verdicts == 0) | (verdicts == 1)).all():
        raise ValueError("apparent: expected a share with n, or one row of verdicts of 0 and 1 without")
    count = len(verdicts)
    share = float(verdicts.mean()) if count else 0.0
    if clusters is None:
        return share, count, count, None, math.inf
    if np.shape(clusters) != (count,):
        raise ValueError(f"clusters: expected {count} in one row, found shape {np.shape(clusters)}")
    names, cluster = np.unique(clusters, return_inverse=True)
    if len(names) < 2:
        return share, 1.0, count, len(names), 1.0
    return share, effective_number(verdicts, cluster), count, len(names), degrees_of_freedom(cluster, np.ones(count))


def rogan_gladen_within(judge: Array, human: Array, clusters: Array, confidence: float = 0.95) -> Rate | Undefined:
    """As ``rogan_gladen``, where a random part of the judged units themselves is labelled.

    The judge's errors on labelled units are in the flagged share and in the correction, and partly cancel, which Lang
    and Reiczigel's interval does not know. This one leaves out every cluster once from both.

    Args:
        judge: verdicts, shape (N,), 0 or 1. human: shape (N,), 0 or 1, nan where nobody was asked.
        clusters: shape (N,).

    Returns:
        See ``rogan_gladen``; Undefined too where the jackknife has no interval.
    """
    judge, human = np.asarray(judge), np.asarray(human, float)
    known = ~np.isnan(human)
    counts = confusion(human[known], judge[known])
    whole = rogan_gladen(
        judge, tp=int(counts.tp), fn=int(counts.fn), tn=int(counts.tn), fp=int(counts.fp),
        transported=False, clusters=clusters, confidence=confidence,
    )  # fmt: skip
    if isinstance(whole, Undefined):
        return whole
    # Not on the logit scale: the corrected share often lies near 0, or beyond.
    interval = clustered_interval(_corrected, clusters, judge, human, confidence=confidence)
    if isinstance(interval, Undefined):
        return interval
    return replace(
        whole,
        low=min(max(interval.low, 0.0), 1.0),
        high=max(min(interval.high, 1.0), 0.0),
        n_labelled=int(known.sum()),
        n_unlabelled=int((~known).sum()),
        method="Rogan-Gladen, jackknife over clusters",
    )


def _corrected(judge: Array, human: Array) -> Figure:
    known = ~np.isnan(human)
    se, sp = sensitivity(human[known], judge[known]), specificity(human[known], judge[known])
    if isinstance(se, Undefined):
        return se
    if isinstance(sp, Undefined):
        return sp
    return (float(judge.mean()) + sp - 1) / (se + sp - 1) if se + sp != 1 else Undefined("no better than chance")
