"""Planted groups that see the same data in different ways: `permuted` labels (CFL) and `rotated` images."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, holdout, planted, split_evenly
from shoal.data.partition.classes import Classes
from shoal.data.partition.dirichlet import Dirichlet
from shoal.data.partition.registry import partition
from shoal.data.samples import View
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.tree import shape_of


@dataclass(frozen=True, kw_only=True)
class Planted(ABC):
    """Clients in blocks of equal size, within one; each block sees its samples in a way of its own.

    Samples are split evenly at random, and everybody is tested on the whole given test part or, without one, on a tenth
    of all samples set aside first. With `dirichlet` or `classes` labels are skewed as well: samples, those for testing
    too, are dealt as the partitions of these names do, over all clients, whatever their group.

    Args:
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.
        dirichlet: Alpha of a Dirichlet draw over the clients; None: no such skew.
        classes: Random classes of a client; None: all.
        samples: Random training samples that are dealt; None: all.
    """

    groups: int = 4
    clients: int = 20
    dirichlet: float | None = None
    classes: int | None = None
    samples: int | None = None
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(groups=self.groups, clients=self.clients)
        at_least_one(**{k: n for k, n in (("classes", self.classes), ("samples", self.samples)) if n is not None})
        planted(self.clients, self.groups)
        if self.dirichlet is not None and self.classes is not None:
            raise BadInput("labels are skewed by dirichlet=ALPHA or by classes=N; give one of them")
        if self.dirichlet is not None:
            Dirichlet(alpha=self.dirichlet)  # what is out of range is said at once

    @property
    def covers(self) -> bool:
        return self.samples is None

    @abstractmethod
    def views(self, dataset: Dataset, key: Key) -> tuple[View, ...]:
        """How each group sees the samples."""

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        truth, views = planted(self.clients, self.groups), self.views(dataset, key)
        dealt = self._dealt(some_of(dataset, self.samples, key("samples")), key)
        return replace(dealt, views=views, view=truth, truth=truth)

    def _dealt(self, dataset: Dataset, key: Key) -> Federation:
        if self.dirichlet is not None:
            return Dirichlet(alpha=self.dirichlet, clients=self.clients)(dataset, key)
        if self.classes is not None:
            return Classes(per_client=self.classes, clients=self.clients)(dataset, key)
        train_rows, test_rows = holdout(dataset, key("holdout"))
        train = split_evenly(train_rows, self.clients, key("train").rng())
        return assemble(dataset, train, [test_rows] * self.clients, key)


@partition("permuted")
@dataclass(frozen=True, kw_only=True)
class Permuted(Planted):
    """CFL's planted groups: each sees the labels through a permutation of its own, the first one as they are.

    An even random split, everybody tested on the same samples; or skewed labels. Sattler et al., IEEE TNNLS 2021.

    Args:
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.
        dirichlet: Alpha of a Dirichlet draw over the clients; None: no such skew.
        classes: Random classes of a client, before they are renamed; None: all.
        samples: Random training samples that are dealt; None: all.

    >>> from shoal.data.datasets.digits import digits
    >>> fed = Permuted(groups=2, clients=4)(digits(), Key(1))
    >>> fed.truth.tolist(), fed.views[0].labels
    ([0, 0, 1, 1], (0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
    """

    def views(self, dataset: Dataset, key: Key) -> tuple[View, ...]:
        return tuple(View(labels=p) for p in permutations(dataset.classes, self.groups, key("labels").rng()))


@partition("rotated")
@dataclass(frozen=True, kw_only=True)
class Rotated(Planted):
    """Planted groups that see the images turned, the first one as they are, each next one by `angle` more.

    Counterclockwise; quarter turns are exact, other angles are interpolated (bilinear), what comes in at the corners
    repeats the nearest pixel. Otherwise as `Permuted`.

    Args:
        groups: Planted groups, of equally many clients within one.
        clients: How many there are to be.
        dirichlet: Alpha of a Dirichlet draw over the clients; None: no such skew.
        classes: Random classes of a client; None: all.
        samples: Random training samples that are dealt; None: all.
        angle: Degrees between a group and the next.

    >>> from shoal.data.datasets.digits import digits
    >>> [view.turns for view in Rotated(groups=3, clients=6)(digits(), Key(1)).views]
    [0, 1, 2]
    >>> [view.turns for view in Rotated(groups=2, clients=6, angle=45)(digits(), Key(1)).views]
    [0, 0.5]
    """

    angle: float = 90.0

    def __post_init__(self) -> None:
        super().__post_init__()
        distinct = len({round(group * self.angle % 360, 6) % 360 for group in range(self.groups)})
        if distinct < self.groups:
            raise BadInput(
                f"groups {self.angle:g} degrees apart come round after {distinct}, so rotated takes at most {distinct}"
                f" groups with this angle, not {self.groups}"
            )

    def views(self, dataset: Dataset, key: Key) -> tuple[View, ...]:
        shape = shape_of(dataset.x)
        if isinstance(shape, dict) or len(shape) < 2 or shape[-1] != shape[-2]:
            raise BadInput(f"rotated needs square images; samples of {dataset.name} have shape {shape}")
        quarters = [group * self.angle / 90 for group in range(self.groups)]
        return tuple(View(turns=int(q) if q == int(q) else q) for q in quarters)


def some_of(dataset: Dataset, samples: int | None, key: Key) -> Dataset:
    """The data set with so many random samples of its training part, in their order; the test part stays.

    >>> data = Dataset(name="tiny", x=np.arange(9)[:, None], y=np.arange(9) % 2, classes=2, first_test=6)
    >>> some = some_of(data, 3, Key(0))
    >>> len(some), some.first_test, some.x[3:].ravel().tolist()
    (6, 3, [6, 7, 8])
    """
    if samples is None:
        return dataset
    rows = dataset.train_rows
    if samples > len(rows):
        raise BadInput(f"{dataset.name} has {len(rows)} samples to train on, {samples} are wanted; lower samples")
    kept = np.sort(key.rng().choice(rows, samples, replace=False))
    some = dataset.take(np.concatenate([kept, dataset.test_rows]))
    return some if dataset.first_test is None else replace(some, first_test=samples)


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
