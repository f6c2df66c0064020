"""When CFL splits a cluster: stationary as a whole, and yet some client is not. Sattler et al. 2019; spec 2.3, D5."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.aggregators import plain_mean, weighted_mean, weighted_sum
from shoal.errors import BadInput, unknown
from shoal.measures import norms
from shoal.types import Array

CriteriaMode = Literal["paper", "notebook"]


class Criteria(NamedTuple):
    """Norm of the mean update, norm of the largest update, and whether to split."""

    mean_norm: float
    max_norm: float
    split: bool


def cfl_criteria(
    updates_NP: Array,
    sizes_N: Array,
    eps1: float,
    eps2: float,
    mode: CriteriaMode = "paper",
    round: int = 0,
    min_round: int = 20,
    min_cluster_size: int = 2,
) -> Criteria:
    """Both norms of a cluster's latest updates, and whether they ask for a split.

    `paper`: the mean is weighted by sample counts; split if `mean_norm < eps1` and `max_norm >= eps2`, and the cluster
    has at least two clients. `notebook`: plain mean; split if `mean_norm < eps1` and `max_norm > eps2`, and the cluster
    has more than `min_cluster_size` clients, and `round > min_round`. A client alone is never split.

    >>> cfl_criteria(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([5, 5]), eps1=0.1, eps2=0.5)
    Criteria(mean_norm=0.0, max_norm=1.0, split=True)
    """
    if mode not in get_args(CriteriaMode):
        raise unknown("criteria", mode, get_args(CriteriaMode))
    updates_NP, sizes_N = np.asarray(updates_NP), np.asarray(sizes_N)
    n = len(updates_NP)
    if n == 0 or len(sizes_N) != n or not sizes_N.sum() > 0:
        raise BadInput(f"a cluster's criteria need one size for each of its {n} updates, and a sample.")
    mean = weighted_mean() if mode == "paper" else plain_mean()
    mean_P = weighted_sum(mean.shares(updates_NP, sizes_N), updates_NP)
    mean_norm, max_norm = float(norms(mean_P[None])[0]), float(norms(updates_NP).max())
    if mode == "paper":
        return Criteria(mean_norm, max_norm, mean_norm < eps1 and max_norm >= eps2 and n >= 2)
    late, large = round > min_round, n > max(min_cluster_size, 1)
    return Criteria(mean_norm, max_norm, mean_norm < eps1 and max_norm > eps2 and large and late)
