"""Planted groups on an even random split: `permuted` labels (CFL) and `rotated` images."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, holdout, planted, split_evenly
from shoal.data.partition.registry import partition
from shoal.data.samples import View
from shoal.errors import BadInput
from shoal.seeds import Key


@partition("permuted")
@dataclass(frozen=True, kw_only=True)
class Permuted:
    """CFL's planted groups: an even random split; each group sees the labels through a permutation of its own.

    The first group keeps the labels as they are. The test set of every client is the whole given test part, or, for
    a data set without one, a tenth of all samples set aside first. Sattler et al., IEEE TNNLS 2021.

    Args:
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.

    >>> from shoal.data.datasets.digits import digits
    >>> fed = Permuted(groups=2, clients=4)(digits(), Key(1))
    >>> fed.truth.tolist(), fed.views[0].labels
    ([0, 0, 1, 1], (0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
    """

    groups: int = 4
    clients: int = 20
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(groups=self.groups, clients=self.clients)
        planted(self.clients, self.groups)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        labels = permutations(dataset.classes, self.groups, key("labels").rng())
        return _with_views(dataset, tuple(View(labels=p) for p in labels), self.clients, key)


@partition("rotated")
@dataclass(frozen=True, kw_only=True)
class Rotated:
    """Planted groups that see the images turned by 0, 90, 180 or 270 degrees; otherwise as `Permuted`.

    Args:
        groups: Planted groups, at most 4.
        clients: How many there are to be.

    >>> from shoal.data.datasets.digits import digits
    >>> [view.turns for view in Rotated(groups=3, clients=6)(digits(), Key(1)).views]
    [0, 1, 2]
    """

    groups: int = 4
    clients: int = 20
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(groups=self.groups, clients=self.clients)
        planted(self.clients, self.groups)
        if self.groups > 4:
            raise BadInput(f"there are four quarter turns, so rotated takes at most 4 groups, not {self.groups}")

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        if dataset.x.ndim < 3 or dataset.x.shape[-1] != dataset.x.shape[-2]:
            raise BadInput(f"rotated needs square images; samples of {dataset.name} have shape {dataset.x.shape[1:]}")
        return _with_views(dataset, tuple(View(turns=t) for t in range(self.groups)), self.clients, key)


def permutations(classes: int, groups: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Distinct permutations of the classes, the identity first.

    >>> permutations(3, 6, np.random.default_rng(0))[0]
    (0, 1, 2)
    """
    if classes < 13 and groups > math.factorial(classes):
        raise BadInput(f"{classes} classes have {math.factorial(classes)} permutations; use fewer groups than {groups}")
    if classes <= 6:
        rest = list(itertools.permutations(range(classes)))[1:]
        chosen = rng.permutation(len(rest))[: groups - 1]
        return [tuple(range(classes)), *(rest[i] for i in chosen)]
    found = {tuple(range(classes)): None}
    for _ in range(100 * groups):
        if len(found) == groups:
            break
        found[tuple(rng.permutation(classes).tolist())] = None
    if len(found) < groups:
        raise BadInput(f"no {groups} distinct permutations of {classes} classes were found; use fewer groups")
    return list(found)


def _with_views(dataset: Dataset, views: tuple[View, ...], clients: int, key: Key) -> Federation:
    truth = planted(clients, len(views))
    train_rows, test_rows = holdout(dataset, key("holdout"))
    train = split_evenly(train_rows, clients, key("train").rng())
    return assemble(dataset, train, [test_rows] * clients, key, views=views, view=truth, truth=truth)
