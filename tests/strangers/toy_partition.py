"""A partition of a stranger's own, in one file: half of the clients have odd classes, half even ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import shoal
from shoal import Federation
from shoal.data.dataset import Dataset
from shoal.data.partition.assemble import assemble
from shoal.seeds import Key


@shoal.partition("toy-parity")
@dataclass(frozen=True, kw_only=True)
class Parity:
    """Half of the clients have odd classes, half even ones."""

    clients: int = 6

    covers: ClassVar[bool] = True
    disjoint: ClassVar[bool] = True

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        rng, truth = key("deal").rng(), np.arange(self.clients) * 2 // self.clients
        rows = [rng.permutation(np.flatnonzero(dataset.y % 2 == parity)) for parity in (0, 1)]
        parts = [part for k in (0, 1) for part in np.array_split(rows[k], int((truth == k).sum()))]
        return assemble(dataset, parts, None, key, truth=truth)
