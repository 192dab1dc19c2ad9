"""The true share of harmful replies from a judge's verdicts alone, where its errors are known from elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psysafe.stats.effective import effective_clusters
from psysafe.stats.rates import LEAST_CLUSTERS, Rate, effective_number
from psysafe.stats.undefined import Undefined

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
    confidence: float = 0.95,
) -> Rate | Undefined:
    """The share of harmful units: (flagged + specificity - 1) / (sensitivity + specificity - 1).

    The interval is Lang and Reiczigel's, which counts in what is unknown of sensitivity and specificity. With clusters,
    the flagged share is worth its effective number of units and the quantile is of t. Where the labels are some of the
    judged units, the interval is a little wide, since their errors then partly cancel.

    Args:
        apparent: the judge's verdicts, shape (N,), 0 or 1; or the share that it flagged, with ``n``.
        tp, fn, tn, fp: counts of labelled units: harmful ones flagged and not, harmless ones not flagged and flagged.
        transported: whether these come from other data than the judged units, so that the result holds only if the
            judge errs alike on both. It changes no number; it is printed beside the result.
        n: judged units, with a share. clusters: shape (N,), with verdicts; None takes units as independent.

    Returns:
        A rate; flag ``clipped`` where the corrected share left 0 to 1, ``transported`` as given. Undefined where no
        harmful or no harmless unit is labelled, where sensitivity + specificity - 1 is within its own standard error
        of 0, and below 5 clusters.

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
    if not judged:
        return Undefined("no judged units")
    if not tp + fn:
        return Undefined("no positive labels, so the judge's sensitivity is unknown")
    if not tn + fp:
        return Undefined("no negative labels, so the judge's specificity is unknown")
    if groups is not None and groups < LEAST_CLUSTERS:
        return Undefined(f"too few clusters: {groups}, at least {LEAST_CLUSTERS} are needed")
    se, sp = tp / (tp + fn), tn / (tn + fp)
    # The counts with one added to each side, or a judge with no error among few labels would seem certain.
    n_se, n_sp = tp + fn + 2, tn + fp + 2
    se_, sp_ = (tp + 1) / n_se, (tn + 1) / n_sp
    var_se, var_sp = se_ * (1 - se_) / n_se, sp_ * (1 - sp_) / n_sp
    youden, error = se + sp - 1, math.sqrt(var_se + var_sp)
    if abs(youden) <= error:
        return Undefined(
            f"the judge is no better than chance as far as is known: sensitivity + specificity - 1 is {youden:.2f}, "
            f"with a standard error of {error:.2f}"
        )
    value = (share + sp - 1) / youden
    low, high = _lang_reiczigel(share, effective, (se_, var_se), (sp_, var_sp), df, confidence)
    estimate = min(max(value, 0.0), 1.0)
    flags = (("clipped",) if estimate != value else ()) + (("transported",) if transported else ())
    return Rate(
        estimate, min(low, estimate), max(high, estimate), "Rogan-Gladen; Lang-Reiczigel interval", tp + fn + tn + fp,
        judged, judged if groups is None else groups, None, flags,
    )  # fmt: skip


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
    df = max(1.0, effective_clusters(cluster, np.ones(count)) - 1)
    return share, effective_number(verdicts, cluster), count, len(names), df
