"""FedGSP's groups, in each of which a model goes from client to client: dealt, sampled, put in order, looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from shoal.clusterers import icg, seat_the_rest
from shoal.measures import cpd_pairs, grouping_objective
from shoal.seeds import Key
from shoal.table import Table
from shoal.types import Answers, Cohort

Histograms = Literal["counts", "shares"]
Seats = Literal["all", "equal"]
MEASURED = 1000  # groups up to which all pairs are compared for the record


def deal_at_random(who: Cohort, f: int, key: Key) -> list[Cohort]:
    """Groups of nearly equal size at random, ordered by their first clients.

    Args:
        who: The clients.
        f: Number of groups; at most one per client.
        key: Of the draw.

    Returns:
        The groups, members in canonical order.

    >>> sorted(len(group) for group in deal_at_random(("a", "b", "c"), 2, Key(0)))
    [1, 2]
    """
    dealt = np.array_split(key.rng().permutation(len(who)), min(f, len(who))) if who else []
    rows = sorted((np.sort(mine) for mine in dealt), key=lambda mine: int(mine[0]))
    return [tuple(who[i] for i in mine) for mine in rows]


def deal_by_labels(
    who: Cohort, V: Table, f: int, histograms: Histograms, key: Key, seats: Seats = "all"
) -> list[Cohort]:
    """Groups that look alike, by ICG on label counts (Algorithm 2).

    Args:
        who: The clients.
        V: Their label counts.
        f: Number of groups; at most one per client.
        histograms: Compare `counts` or `shares`.
        key: Of the draw.
        seats: `all`: who finds no group joins one as an extra member (departure D83); `equal`: sits out (D31).

    Returns:
        The groups, members in canonical order.

    >>> V = Table().put(("a", "b", "c", "d"), np.array([[9, 0], [0, 9], [9, 0], [0, 9]]))
    >>> [sum(V.get(group, 0)).tolist() for group in deal_by_labels(V.ids, V, 2, "counts", Key(0))]
    [[9, 9], [9, 9]]
    """
    if not who:
        return []
    V_KF = V.get(who, 0).astype(np.float64)
    if histograms == "shares":
        V_KF /= np.maximum(V_KF.sum(1, keepdims=True), 1)
    found = icg(V_KF, f, key.rng()).groups
    return [tuple(who[i] for i in mine) for mine in (seat_the_rest(V_KF, found) if seats == "all" else found)]


def share_that_trains(kappa: float, m: int) -> float:
    """`max(1, round(kappa M)) / M`: the share that a whole number of M groups makes of kappa (departure D30).

    Args:
        kappa: The share wanted.
        m: Number of groups.

    Returns:
        The share taken.

    >>> share_that_trains(0.3, 10), share_that_trains(0.3, 2), share_that_trains(0.3, 1)
    (0.3, 0.5, 1.0)
    """
    return max(1, round(kappa * m)) / m


def sample(groups: Sequence[Cohort], kappa: float, key: Key) -> list[Cohort]:
    """`max(1, round(kappa M))` of M groups, uniformly without replacement, in their order (departure D30).

    Args:
        groups: All of them.
        kappa: The share that is taken.
        key: Of the draw.

    Returns:
        The groups that train.

    >>> len(sample([("a",), ("b",), ("c",)], 0.5, Key(0))), len(sample([("a",)], 0.1, Key(0)))
    (2, 1)
    """
    m = len(groups)
    return [groups[i] for i in np.sort(key.rng().permutation(m)[: max(1, round(kappa * m))])]


def shuffled(groups: Sequence[Cohort], key: Key) -> list[Cohort]:
    """Every group in an order of its own.

    Args:
        groups: In any order.
        key: Of the draw.

    Returns:
        The same groups.

    >>> [sorted(group) for group in shuffled([("a", "b"), ("c",)], Key(0))]
    [['a', 'b'], ['c']]
    """
    rng = key.rng()
    return [tuple(group[i] for i in rng.permutation(len(group))) for group in groups]


def transfers_between(chains: Sequence[Cohort], got: Answers) -> int:
    """Models handed from client to client: one less than the clients of a chain that answered.

    Args:
        chains: The groups in their order.
        got: Their answers, and who failed.

    Returns:
        The number of transfers that did not go by way of the server.

    >>> transfers_between([("a", "b"), ("c",)], Answers(("0", "1"), np.zeros(2, int)))
    1
    """
    failed = {f.client for f in got.failed}
    return sum(max(0, sum(c not in failed for c in chain) - 1) for chain in chains)


def likeness_of_groups(groups: Sequence[Cohort], chains: Sequence[Cohort], V: Table) -> dict[str, Any]:
    """How many groups and clients there were and, where label counts are known, how alike the groups are.

    Args:
        groups: All of them.
        chains: Those that trained.
        V: Label counts.

    Returns:
        For the record: `groups`, those of them that hold one client `alone`, the clients `seated` in any, `clients`
        that train, the median `cpd` of all pairs and the objective `z` of the grouping.

    >>> likeness_of_groups([("a", "b"), ("c",)], [("a", "b")], Table())
    {'groups': 2, 'alone': 1, 'seated': 3, 'clients': 2}
    """
    found: dict[str, Any] = {
        "groups": len(groups),
        "alone": sum(len(group) == 1 for group in groups),
        "seated": sum(map(len, groups)),
        "clients": sum(map(len, chains)),
    }
    V_MF = [V.get(group, 0).sum(0) for group in groups if group[0] in V]
    counted_MF = np.array([row for row in V_MF if row.sum() > 0])
    if 1 < len(counted_MF) <= MEASURED:
        found |= {"cpd": float(np.median(cpd_pairs(counted_MF))), "z": grouping_objective(counted_MF)}
    return found


def mostly_alone(groups: Sequence[Cohort]) -> dict[str, Any] | None:
    """The event that says so where more than half of the groups hold a single client: that is FedAvg on few clients.

    Args:
        groups: Of a round.

    Returns:
        The event, or None.

    >>> mostly_alone([("a",), ("b",), ("c", "d")])["alone"], mostly_alone([("a",), ("b", "c")])
    (2, None)
    """
    alone = sum(len(group) == 1 for group in groups)
    if 2 * alone <= len(groups) or len(groups) == 1:
        return None
    reason = f"{alone} of {len(groups)} groups hold a single client, which is FedAvg on few clients"
    reason += "; fewer groups make chains longer: a lower alpha, beta or number of groups"
    return {"kind": "chains of one", "groups": len(groups), "alone": alone, "reason": reason}
