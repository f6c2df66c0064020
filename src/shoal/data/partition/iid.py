"""An even random split: every client sees the same distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one, split_evenly
from shoal.data.partition.registry import partition
from shoal.seeds import Key


@partition("iid")
@dataclass(frozen=True, kw_only=True)
class IID:
    """Every client gets an equal random part of the training and of the test samples.

    Args:
        clients: How many there are to be.

    >>> from shoal.data.datasets.digits import digits
    >>> IID(clients=10)(digits(), Key(1)).train.sizes.sum()
    np.int64(1617)
    """

    clients: int = 20
    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(clients=self.clients)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        train = split_evenly(dataset.train_rows, self.clients, key("train").rng())
        given = dataset.first_test is not None
        test = split_evenly(dataset.test_rows, self.clients, key("test").rng()) if given else None
        return assemble(dataset, train, test, key)
