"""Natural clients: one per writer. LEAF; FedGSP takes 368 of the writers of FEMNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.federation import Federation
from shoal.data.partition.assemble import assemble, at_least_one
from shoal.data.partition.registry import partition
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array


def by_writer(writer: Array) -> tuple[Array, list[Array]]:
    """The writers that occur, and the rows of each.

    >>> who, rows = by_writer(np.array([3, 1, 3]))
    >>> who.tolist(), [r.tolist() for r in rows]
    ([1, 3], [[1], [0, 2]])
    """
    order = np.argsort(writer, kind="stable")
    who, starts = np.unique(writer[order], return_index=True)
    return who, np.split(order, starts[1:])


@partition("writers")
@dataclass(frozen=True, kw_only=True)
class Writers:
    """Random writers with at least `least` samples, each a client under its own name; samples cut 90/10.

    Only the samples of the chosen writers are kept in memory.

    Args:
        clients: How many there are to be, or `all`.
        least: Samples of a writer at least.

    >>> data = Dataset(name="tiny", x=np.zeros((6, 1)), y=np.arange(6) % 2, classes=2,
    ...                writer=np.array([0, 0, 0, 1, 1, 1]), writer_names=("bob", "ann"))
    >>> Writers(clients="all", least=2)(data, Key(1)).ids
    ('ann', 'bob')
    """

    clients: int | Literal["all"] = 368
    least: int = 100
    covers: ClassVar[bool] = False  # of the writers that are chosen, every sample is
    disjoint: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(clients=1 if self.clients == "all" else self.clients, least=self.least)

    def __call__(self, dataset: Dataset, key: Key) -> Federation:
        if dataset.writer is None:
            raise BadInput(f"{dataset.name} does not say who wrote what; choose another partition, such as dirichlet")
        who, rows = by_writer(dataset.writer)
        fit = np.array([i for i, r in enumerate(rows) if len(r) >= self.least], np.int64)
        wanted = len(fit) if self.clients == "all" else self.clients
        if len(fit) < max(1, wanted):
            raise BadInput(
                f"{dataset.name} has {len(fit)} writers with at least {self.least} samples, {wanted} are wanted;"
                " lower clients or least"
            )
        names = [dataset.writer_names[who[i]] if dataset.writer_names else f"{who[i]:05d}" for i in fit]
        scores = [key("choose").of(name).number for name in names]
        chosen = sorted(sorted(range(len(fit)), key=lambda k: scores[k])[:wanted], key=lambda k: names[k])
        parts = [rows[fit[k]] for k in chosen]
        if wanted < len(rows):
            dataset = dataset.take(np.concatenate(parts))
            ends = np.cumsum([len(p) for p in parts])
            parts = np.split(np.arange(ends[-1]), ends[:-1])
        return assemble(dataset, parts, None, key, ids=tuple(names[k] for k in chosen))
