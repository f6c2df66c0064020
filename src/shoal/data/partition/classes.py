"""A few classes per client: `classes`, and with planted groups `cluster-classes` (WeCFL's (3, 2)-class)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import at_least_one, check_classes, planted
from shoal.data.partition.registry import partition
from shoal.data.partition.shares import by_shares
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array


def random_classes(takers: int, each: int, classes: int, rng: np.random.Generator) -> Array:
    """Distinct random classes for every taker, in random order; every class is used at least once.

    A class that nobody drew replaces, at a random taker, one that somebody else has, too.

    >>> sorted(set(random_classes(5, 2, 10, np.random.default_rng(0)).ravel().tolist()))
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    if takers * each < classes:
        raise BadInput(f"{takers} times {each} classes cannot cover all {classes}; use more clients, groups or classes")
    drawn = np.array([rng.permutation(classes)[:each] for _ in range(takers)])
    for missing in np.setdiff1d(np.arange(classes), drawn):
        used = np.bincount(drawn.ravel(), minlength=classes)
        places = np.argwhere(used[drawn] > 1)
        taker, place = places[rng.integers(len(places))]
        drawn[taker, place] = missing
    return drawn


def equal_shares(has_CN: Array, truth: Array) -> Array:
    """Each class in equal parts to the groups that have it, and inside a group to the clients that have it.

    >>> equal_shares(np.array([[True, True, True]]), np.array([0, 0, 1])).tolist()
    [[0.25, 0.25, 0.5]]
    """
    member_GN = truth[None] == np.arange(truth.max() + 1)[:, None]
    holders_CG = has_CN.astype(np.int64) @ member_GN.T.astype(np.int64)
    groups_C = (holders_CG > 0).sum(1)
    part_CG = np.divide(1.0, holders_CG * groups_C[:, None], out=np.zeros(holders_CG.shape), where=holders_CG > 0)
    return np.where(has_CN, part_CG[:, truth], 0.0)


@partition("classes")
@dataclass(frozen=True, kw_only=True)
class Classes:
    """Every client has a few random classes; a class is shared equally by the clients that have it.

    Args:
        per_client: Classes of a client.
        clients: How many there are to be.

    >>> from shoal.data.datasets.digits import digits
    >>> fed = Classes(per_client=2, clients=20)(digits(), Key(1))
    >>> max(len(np.unique(fed.client(i)("train")[1])) for i in fed.ids)
    2
    """

    per_client: int = 2
    clients: int = 200
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(per_client=self.per_client, clients=self.clients)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        check_classes(self.per_client, dataset)
        drawn = random_classes(self.clients, self.per_client, dataset.classes, key("classes").rng())
        has_CN = _has(drawn, dataset.classes)
        shares = equal_shares(has_CN, np.arange(self.clients))
        return by_shares(dataset, shares, key, allowed_CN=has_CN)


@partition("cluster-classes")
@dataclass(frozen=True, kw_only=True)
class ClusterClasses:
    """WeCFL's planted groups: random classes per group, and for each client some of its group's.

    Every class is used. A class is shared equally by its groups; inside a group the clients take turns, so that its
    classes have equally many holders, within one. Ma et al., 2022.

    Args:
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.
        per_group: Classes of a group.
        per_client: Classes of a client, of those of its group.

    >>> from shoal.data.datasets.digits import digits
    >>> fed = ClusterClasses(groups=4, clients=24)(digits(), Key(1))
    >>> len(np.unique(np.concatenate([fed.client(i)("train")[1] for i in fed.ids[:6]])))
    3
    """

    groups: int = 10
    clients: int = 200
    per_group: int = 3
    per_client: int = 2
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(groups=self.groups, clients=self.clients, per_group=self.per_group, per_client=self.per_client)
        planted(self.clients, self.groups)
        if self.per_client > self.per_group:
            raise BadInput(f"a client cannot have {self.per_client} of the {self.per_group} classes of its group")
        if self.clients // self.groups * self.per_client < self.per_group:
            raise BadInput(
                f"{self.clients // self.groups} clients with {self.per_client} classes do not cover the"
                f" {self.per_group} classes of their group; use more clients or fewer groups"
            )

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        check_classes(self.per_group, dataset)
        truth = planted(self.clients, self.groups)
        drawn = random_classes(self.groups, self.per_group, dataset.classes, key("classes").rng())
        place = np.arange(self.clients) - np.searchsorted(truth, truth)  # of a client in its group
        turn = (place[:, None] * self.per_client + np.arange(self.per_client)) % self.per_group
        has_CN = _has(np.take_along_axis(drawn[truth], turn, axis=1), dataset.classes)
        return by_shares(dataset, equal_shares(has_CN, truth), key, allowed_CN=has_CN, truth=truth)


def _has(classes_Nc: Array, classes: int) -> Array:
    has = np.zeros((classes, len(classes_Nc)), bool)
    has[classes_Nc, np.arange(len(classes_Nc))[:, None]] = True
    return has
