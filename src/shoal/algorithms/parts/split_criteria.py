"""When CFL splits a cluster: stationary as a whole, and yet some client is not. Sattler et al. 2019; D5 and D92.

And of which clusters enough is known to say so, where not everybody takes part in every round (departure D43)."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from shoal.aggregators import plain_mean, weighted_mean, weighted_sum
from shoal.errors import BadInput, unknown
from shoal.measures import norms
from shoal.table import Table
from shoal.types import Array, Cohort

CriteriaMode = Literal["paper", "notebook"]
Threshold = float | Literal["auto"]

STATIONARY = 0.5  # eps1=auto: of the mean length of the clients' updates in this round
CONGRUENT = 0.25  # eps2=auto: of their mean length in the first round


class Norms(NamedTuple):
    """Of a cluster's latest updates: the norm of their mean, the largest norm, and the mean of the norms."""

    mean_norm: float
    max_norm: float
    length: float


class Criteria(NamedTuple):
    """Norm of the mean update, norm of the largest update, and whether to split."""

    mean_norm: float
    max_norm: float
    split: bool


def cluster_norms(updates_NP: Array, sizes_N: Array, mode: CriteriaMode = "paper") -> Norms:
    """The norms that the criteria look at; both means are weighted by samples, or plain with `notebook`.

    Args:
        updates_NP: The latest update of each client, trainable numbers only.
        sizes_N: Its training samples.
        mode: `paper` or `notebook`.

    Returns:
        Norm of the mean, largest norm, mean norm; the first is never larger than the last.

    >>> cluster_norms(np.array([[3.0, 4.0], [-3.0, -4.0], [0.0, 3.0]]), np.array([1, 1, 2]))
    Norms(mean_norm=1.5, max_norm=5.0, length=4.0)
    """
    if mode not in get_args(CriteriaMode):
        raise unknown("criteria", mode, get_args(CriteriaMode))
    updates_NP, sizes_N = np.asarray(updates_NP), np.asarray(sizes_N)
    n = len(updates_NP)
    if n == 0 or len(sizes_N) != n or not sizes_N.sum() > 0:
        raise BadInput(f"a cluster's criteria need one size for each of its {n} updates, and a sample.")
    shares_N = (weighted_mean() if mode == "paper" else plain_mean()).shares(updates_NP, sizes_N)
    lengths_N = norms(updates_NP)
    mean_norm = float(norms(weighted_sum(shares_N, updates_NP)[None])[0])
    return Norms(mean_norm, float(lengths_N.max()), float(np.dot(shares_N, lengths_N)))


def thresholds(eps1: Threshold, eps2: Threshold, length: float, first: float) -> tuple[float, float]:
    """Both thresholds as lengths (departure D92).

    `auto` measures in what the federation itself shows. A cluster is stationary when its mean update is shorter than
    half of what its clients' updates are on average in the same round: they pull, and cancel out. It is congruent when
    no client's update is as long as a quarter of what they were on average in the first round: nobody pulls any more.

    Args:
        eps1: A length, or `auto`.
        eps2: A length, or `auto`.
        length: Mean length of the cluster's updates in this round.
        first: The same of all clients in the first round.

    Returns:
        eps1 and eps2.

    >>> thresholds("auto", "auto", length=0.8, first=1.2), thresholds(0.1, 0.3, 0.8, 1.2)
    ((0.4, 0.3), (0.1, 0.3))
    """
    for name, value in (("eps1", eps1), ("eps2", eps2)):
        if isinstance(value, str) and value != "auto":
            raise BadInput(f"{name}={value} is not possible: give a length, or auto")
    return (
        STATIONARY * length if eps1 == "auto" else float(eps1),
        CONGRUENT * first if eps2 == "auto" else float(eps2),
    )


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

    Args:
        updates_NP: The latest update of each client, trainable numbers only.
        sizes_N: Its training samples.
        eps1: A cluster is stationary below this.
        eps2: And incongruent from this on.
        mode: `paper` or `notebook`.
        round: The present one.
        min_round: Of the notebook.
        min_cluster_size: Of the notebook.

    Returns:
        Both norms, and the answer.

    >>> cfl_criteria(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([5, 5]), eps1=0.1, eps2=0.5)
    Criteria(mean_norm=0.0, max_norm=1.0, split=True)
    """
    n, (mean_norm, max_norm, _) = len(updates_NP), cluster_norms(updates_NP, sizes_N, mode)
    if mode == "paper":
        return Criteria(mean_norm, max_norm, mean_norm < eps1 and max_norm >= eps2 and n >= 2)
    late, large = round > min_round, n > max(min_cluster_size, 1)
    return Criteria(mean_norm, max_norm, mean_norm < eps1 and max_norm > eps2 and large and late)


def rounds_of(text: str) -> tuple[int, ...]:
    """The rounds at which clusters are split whatever their norms (departure D42).

    Args:
        text: Rounds with plus signs between them, or nothing.

    Returns:
        The rounds.

    >>> rounds_of("50+100"), rounds_of("")
    ((50, 100), ())
    """
    try:
        return tuple(int(word) for word in text.split("+") if word)
    except ValueError as e:
        raise BadInput(f"split_rounds={text} is not possible: write rounds like 50+100+150") from e


def young_clusters(
    group: Table, age: Table, ids: Cohort, failed: Cohort, t: int, max_age: int
) -> tuple[dict[int, Cohort], list[int]]:
    """The clusters whose members all have a young update, and those that wait for some member (departure D43).

    Who was asked in this round and failed is not waited for.

    Args:
        group: The cluster of each client.
        age: The round of each client's latest update.
        ids: The clients that are there and have samples.
        failed: Those that were asked in this round and failed.
        t: The present round.
        max_age: Rounds up to which an update is young.

    Returns:
        Members with a young update by cluster, and the numbers of clusters that wait.

    >>> group = Table().put(("a", "b", "c"), np.array([0, 0, 1]))
    >>> age = Table().put(("a", "b", "c"), np.array([4, 5, 3]))
    >>> young_clusters(group, age, ("a", "b", "c"), (), t=5, max_age=1)
    ({0: ('a', 'b')}, [1])
    """
    members: dict[int, Cohort] = {}
    waiting: list[int] = []
    group_N, young_N = group.get(ids, -1), t - age.get(ids, t - max_age - 1) <= max_age
    for k in np.unique(group_N[group_N >= 0]).tolist():
        here = [(ids[i], bool(young_N[i])) for i in np.flatnonzero(group_N == k)]
        mine = tuple(c for c, young in here if young)
        if any(not young and c not in failed for c, young in here):
            waiting.append(k)
        elif mine:
            members[k] = mine
    return members, waiting
