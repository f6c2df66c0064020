"""How alike groups of unlike clients are: ICG beside chance and single clients (FedGSP, figure 3a)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.clusterers import icg, icg_sizes
from shoal.data.federation import Source
from shoal.measures import cpd_pairs, grouping_objective
from shoal.seeds import Key
from shoal.types import Array

__all__ = ["Balance", "balance", "label_counts"]

DRAWS = 10  # groupings of each kind, over which figures are averaged
GROUPS_LOOKED_AT = 1000  # all pairs of more would take long


@dataclass(frozen=True)
class Balance:
    """One way to form groups: how many, how large and how alike they are; means over the draws.

    Attributes:
        name: What the way is called.
        groups: How many there are.
        clients: How many are in a group.
        median_cpd: The median distance of two groups.
        std: Its standard deviation over the draws.
        z: FedGSP's objective.

    >>> balance(np.eye(3, dtype=int).repeat(4, axis=0), 4, Key(0))[2].name
    'groups by ICG'
    """

    name: str
    groups: int
    clients: int
    median_cpd: float
    std: float
    z: float


def label_counts(source: Source, ids: Sequence[str]) -> Array:
    """Training samples per class of each client, which is what FedGSP's clients tell.

    Args:
        source: The federation.
        ids: Of the clients.

    Returns:
        A row of counts per client, a column per class.

    >>> from shoal.data.build import build
    >>> label_counts(build("digits", "iid:clients=2", Key(0)), ["0"]).shape
    (1, 10)
    """
    labels = (source.client(client).labels("train") for client in ids)
    return np.array([np.bincount(y, minlength=source.classes) for y in labels])


def balance(counts_NC: Array, groups: int, key: Key, draws: int = DRAWS) -> list[Balance]:
    """Single clients, random groups and groups by ICG, the latter two of the same number and size.

    Args:
        counts_NC: Samples per client and class.
        groups: How many groups to form.
        key: Decides the draws.
        draws: How many groupings of each kind are averaged.

    Returns:
        The three, in this order.

    >>> counts = np.repeat(np.eye(3, dtype=int), 4, axis=0)          # three kinds of clients, four of each
    >>> [round(found.median_cpd, 2) for found in balance(counts, 4, Key(0))]
    [1.26, 0.34, 0.0]
    """
    sizes = icg_sizes(len(counts_NC), groups)
    used = sizes.groups * sizes.clusters

    def by_chance(rng: np.random.Generator) -> Sequence[Array]:
        return np.array_split(rng.permutation(len(counts_NC))[:used], sizes.groups)

    def by_icg(rng: np.random.Generator) -> Sequence[Array]:
        return icg(counts_NC, groups, rng).groups

    alone = [np.array([i]) for i in key("clients").rng().permutation(len(counts_NC))]
    return [
        measure("single clients", counts_NC, lambda rng: alone, key, 1),
        measure("random groups", counts_NC, by_chance, key("chance"), draws),
        measure("groups by ICG", counts_NC, by_icg, key("icg"), draws),
    ]


def measure(
    name: str, counts_NC: Array, deal: Callable[[np.random.Generator], Sequence[Array]], key: Key, draws: int
) -> Balance:
    """The figures of one way to form groups."""
    medians, objectives = [], []
    for draw in range(draws):
        dealt = deal(key.member(draw).rng())
        summed_MC = np.array([counts_NC[rows].sum(0) for rows in dealt[:GROUPS_LOOKED_AT]])
        medians.append(float(np.median(cpd_pairs(summed_MC))) if len(summed_MC) > 1 else 0.0)
        objectives.append(grouping_objective(summed_MC))
    return Balance(
        name, len(dealt), len(dealt[0]), float(np.mean(medians)), float(np.std(medians)), float(np.mean(objectives))
    )
