"""Metrics of rankings: area under the ROC curve and average precision, from histograms of scores with fixed bins.

A score is the log-odds of a class, cut at -16 and 16 (probabilities of 1e-7 and 1 - 1e-7) and counted in 2,048 bins of
1/64. Samples of one bin count as tied, so both figures are exact but for pairs in one bin; `auc_error` and
`precision_error` say from the same sums how far off they can be at most.
"""

from __future__ import annotations

import math

import numpy as np

from shoal.errors import ShoalError
from shoal.metrics.metric import METRICS, Metric, Sums
from shoal.types import Array

__all__ = ["auc", "auc_error", "average_precision", "precision_error"]

BINS, REACH = 2048, 16.0
MOST = 200  # classes that are ranked one against the rest
RANKED = ("classes", "labels", "tokens")


def histograms(said: Array, targets: Array) -> dict[str, Array]:
    """Scores of samples that are of a class and of those that are not, counted in bins, L x bins.

    Of two classes there is one ranking, by class 1; of more, and of labels, one of each against the rest.

    >>> found = histograms(np.log([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1]))
    >>> np.flatnonzero(found["misses"][0]).tolist(), np.flatnonzero(found["hits"][0]).tolist()    # log 4 is 88.7 / 64
    ([1024], [1112])
    """
    odds_BL, hit_BL = log_odds(said.astype(np.float64), targets)
    rankings = odds_BL.shape[1]
    if rankings > MOST:
        raise ShoalError(f"auc and average_precision rank up to {MOST} classes against the rest, not {rankings}")
    bin_BL = np.floor((np.clip(odds_BL, -REACH, REACH) + REACH) * (BINS / (2 * REACH))).astype(np.int64)
    place_BL = np.minimum(bin_BL, BINS - 1) + np.arange(rankings) * BINS

    def counted(which_BL: Array) -> Array:
        return np.bincount(place_BL[which_BL], minlength=rankings * BINS).reshape(rankings, BINS)

    return {"hits": counted(hit_BL), "misses": counted(~hit_BL)}


def log_odds(said: Array, targets: Array) -> tuple[Array, Array]:
    """The log-odds of each class or label, and whether it is true."""
    with np.errstate(divide="ignore"):
        if targets.ndim > 1:
            return np.log(said) - np.log1p(-said), targets > 0.5
        if said.shape[1] == 2:
            return said[:, 1:] - said[:, :1], targets[:, None] == 1
        return said - np.log(-np.expm1(said)), targets[:, None] == np.arange(said.shape[1])


def mean_over(value_L: Array, known_L: Array) -> float:
    return float(value_L[known_L].mean()) if known_L.any() else math.nan


def pairs_of(sums: Sums) -> tuple[Array, Array, Array, Array]:
    """Hits and misses by bin, pairs of one of each, and whether there are any."""
    hits_LB, misses_LB = (np.asarray(sums[name], np.float64) for name in ("hits", "misses"))
    pairs_L = hits_LB.sum(1) * misses_LB.sum(1)
    return hits_LB, misses_LB, np.maximum(pairs_L, 1), pairs_L > 0


def area(sums: Sums) -> float:
    """The share of pairs of a hit and a miss in which the hit scores higher; ties count half. Mean over rankings.

    >>> area({"hits": np.array([[0, 1, 1]]), "misses": np.array([[1, 1, 0]])})    # 4 pairs: 3 in order, one tie
    0.875
    """
    hits_LB, misses_LB, pairs_L, known_L = pairs_of(sums)
    below_LB = np.cumsum(misses_LB, 1) - misses_LB / 2
    return mean_over((hits_LB * below_LB).sum(1) / pairs_L, known_L)


def auc_error(sums: Sums) -> float:
    """How far `auc` can be from that of the scores themselves: half of the share of pairs in one bin.

    Args:
        sums: `hits` and `misses`.

    Returns:
        A bound.

    >>> auc_error({"hits": np.array([[0, 1, 1]]), "misses": np.array([[1, 1, 0]])})
    0.125
    """
    hits_LB, misses_LB, pairs_L, known_L = pairs_of(sums)
    return mean_over((hits_LB * misses_LB).sum(1) / pairs_L / 2, known_L)


def precisions(sums: Sums) -> tuple[Array, Array, Array, Array]:
    """By bin the share of the hits in it, the precision down to it, and between which it lies inside it."""
    hits_LB, misses_LB = (np.asarray(sums[name], np.float64) for name in ("hits", "misses"))
    hits_down_LB, misses_down_LB = (np.cumsum(rows[:, ::-1], 1)[:, ::-1] for rows in (hits_LB, misses_LB))
    above_LB, false_LB = hits_down_LB - hits_LB, misses_down_LB - misses_LB
    share_LB = hits_LB / np.maximum(hits_LB.sum(1, keepdims=True), 1)
    precision_LB = hits_down_LB / np.maximum(hits_down_LB + misses_down_LB, 1)
    low_LB = (above_LB + 1) / (above_LB + 1 + misses_down_LB)  # all misses of the bin come first, then its first hit
    high_LB = hits_down_LB / np.maximum(hits_down_LB + false_LB, 1)  # all hits of the bin come first, this is its last
    return share_LB, precision_LB, low_LB, high_LB


def precision(sums: Sums) -> float:
    """`sum (R_b - R_(b-1)) P_b` over bins from the highest, recall R, precision P. Mean over rankings with a hit.

    >>> precision({"hits": np.array([[0, 1, 1]]), "misses": np.array([[1, 1, 0]])})   # 1/2 1 + 1/2 2/3
    0.8333333333333333
    """
    share_LB, precision_LB, _, _ = precisions(sums)
    return mean_over((share_LB * precision_LB).sum(1), share_LB.sum(1) > 0)


def precision_error(sums: Sums) -> float:
    """How far `average_precision` can be from that of the scores themselves, by the order of samples inside bins.

    Args:
        sums: `hits` and `misses`.

    Returns:
        A bound.

    >>> precision_error({"hits": np.array([[0, 1, 1]]), "misses": np.array([[1, 1, 0]])})   # in the tie 2/3 or 1
    0.16666666666666669
    """
    share_LB, at_LB, low_LB, high_LB = precisions(sums)
    far_LB = np.maximum(high_LB - at_LB, at_LB - low_LB)
    return mean_over((share_LB * far_LB).sum(1), share_LB.sum(1) > 0)


OF_AUC = "Area under the ROC curve; of several classes the mean of one against the rest."
OF_PRECISION = "Area under precision and recall, as in scikit-learn."
auc = METRICS("auc")(Metric("auc", histograms, area, percent=True, kinds=RANKED, guarded=True, about=OF_AUC))
average_precision = METRICS("average_precision")(
    Metric("average_precision", histograms, precision, percent=True, kinds=RANKED, guarded=True, about=OF_PRECISION)
)
