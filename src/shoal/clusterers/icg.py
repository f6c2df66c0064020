"""ICG: inter-cluster grouping. Zeng et al. 2022 (FedGSP), Algorithm 2: groups of unlike clients that are all alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.clusterers.equal_size import ITERATIONS, equal_size_kmeans
from shoal.errors import BadInput
from shoal.types import Array


class Sizes(NamedTuple):
    """How K clients become M groups of L: clients kept, clusters of `each`, and members that find no group.

    Attributes:
        groups: M.
        clusters: L, which is also the size of a group.
        kept: Clients that are clustered.
        each: Clients in a cluster.

    >>> Sizes(groups=2, clusters=3, kept=9, each=3).unused
    3
    """

    groups: int  # M
    clusters: int  # L, which is also the size of a group
    kept: int
    each: int

    @property
    def unused(self) -> int:
        """Clients that are clustered and stay without a group."""
        return self.kept - self.groups * self.clusters


class Grouping(NamedTuple):
    """Groups as arrays of row numbers, ordered by their least one; the cluster of every row, -1 for those left out.

    Attributes:
        groups: The rows of each group.
        cluster_N: The cluster of each row.

    >>> Grouping((np.array([0, 2]), np.array([1, 3])), np.array([0, 0, 1, 1])).groups[0].tolist()
    [0, 2]
    """

    groups: tuple[Array, ...]
    cluster_N: Array


def icg_sizes(clients: int, groups: int) -> Sizes:
    """`M = min(f, K)`, `L = floor(K / M)`, `L floor(K / L)` clients kept (Algorithm 2, line 1; departure D31).

    Args:
        clients: K.
        groups: f, groups wanted.

    Returns:
        M, L, the clients kept and the size of a cluster.

    >>> icg_sizes(368, 52), icg_sizes(368, 52).unused
    (Sizes(groups=52, clusters=7, kept=364, each=52), 0)
    >>> icg_sizes(368, 130), icg_sizes(368, 130).unused
    (Sizes(groups=130, clusters=2, kept=368, each=184), 108)
    """
    if clients < 1 or groups < 1:
        raise BadInput(f"{clients} clients cannot form {groups} groups; both must be at least 1.")
    m = min(groups, clients)
    clusters = clients // m
    each = clients // clusters
    return Sizes(m, clusters, clusters * each, each)


def icg(rows_ND: Array, groups: int, rng: np.random.Generator, iterations: int = ITERATIONS) -> Grouping:
    """Groups that look alike: clients are put into clusters of equal size, and every group gets one of each cluster.

    Args:
        rows_ND: One vector per client, usually its class counts.
        groups: Groups wanted; at most one per client is made.
        rng: Draws who is kept, the first centres and the groups.
        iterations: Assignments of the clustering at most.

    Returns:
        The groups, and the cluster of every client.

    >>> counts = np.array([[9, 0], [0, 9], [8, 0], [0, 8]])
    >>> [sorted((counts[g] > 0).argmax(1).tolist()) for g in icg(counts, 2, np.random.default_rng(0)).groups]
    [[0, 1], [0, 1]]
    """
    rows_ND = np.asarray(rows_ND, np.float64)
    m, clusters, kept, each = icg_sizes(len(rows_ND), groups)
    stay = np.sort(rng.choice(len(rows_ND), kept, replace=False))
    cluster_N = np.full(len(rows_ND), -1)
    alone = each == 1  # one group of everybody: each client is a cluster, whatever its row
    cluster_N[stay] = np.arange(kept) if alone else equal_size_kmeans(rows_ND[stay], clusters, rng, iterations).labels_N
    drawn_LE = [rng.permutation(np.flatnonzero(cluster_N == k)) for k in range(clusters)]
    found = [np.sort([drawn_E[i] for drawn_E in drawn_LE]) for i in range(m)]
    return Grouping(tuple(sorted(found, key=lambda rows: int(rows[0]))), cluster_N)


def seat_the_rest(rows_ND: Array, groups: tuple[Array, ...]) -> tuple[Array, ...]:
    """Who found no group joins one as an extra member, at most one to a group, so that groups stay as alike as can be.

    With S_m the sum of a group's rows and T the mean of those sums once everybody has a place, a client k in group m
    costs `|S_m + v_k - T|^2 - |S_m - T|^2`. The assignment of least total cost is found exactly; it makes the sum of
    the squared distances of all pairs of groups as small as extra members can (departure D83).

    Args:
        rows_ND: One vector per client.
        groups: Groups of equal size, of all but fewer than there are groups.

    Returns:
        The groups with their extra members, ordered as before.

    >>> counts = np.array([[9, 0], [0, 9], [8, 0], [0, 8], [0, 1]])
    >>> [group.tolist() for group in seat_the_rest(counts, (np.array([0, 3]), np.array([1, 2])))]
    [[0, 3, 4], [1, 2]]
    """
    from scipy.optimize import linear_sum_assignment

    rows_ND = np.asarray(rows_ND, np.float64)
    rest_R = np.setdiff1d(np.arange(len(rows_ND)), np.concatenate(groups))
    away_MD = np.stack([rows_ND[mine].sum(0) for mine in groups]) - rows_ND.sum(0) / len(groups)
    extra_RD = rows_ND[rest_R]
    cost_RM = 2 * extra_RD @ away_MD.T + np.square(extra_RD).sum(1)[:, None]
    joined = dict(zip(*reversed(linear_sum_assignment(cost_RM)), strict=True))
    found = [np.sort(np.append(mine, rest_R[joined[m]])) if m in joined else mine for m, mine in enumerate(groups)]
    return tuple(sorted(found, key=lambda rows: int(rows[0])))
