"""What the server knows per client, and which model serves whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from shoal.types import Array, Cohort


@dataclass(frozen=True)
class Table:
    """Client ids to rows, only for clients seen so far. Immutable: `put` gives a new table.

    >>> table = Table().put(("b", "a"), np.array([1, 0])).put(("c",), np.array([1]))
    >>> table.ids, table.rows.tolist()
    (('a', 'b', 'c'), [0, 1, 1])
    >>> table.get(("c", "zoe"), -1).tolist()
    [1, -1]
    """

    ids: Cohort = ()
    rows: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, client: object) -> bool:
        return client in self._place

    def put(self, ids: Cohort, rows: Array) -> Table:
        """A table that holds these rows too, newer ones in place of older ones."""
        if not ids:
            return self
        merged = tuple(sorted({*self.ids, *ids}))
        place = {name: i for i, name in enumerate(merged)}
        out = np.empty((len(merged), *np.shape(rows)[1:]), np.asarray(rows).dtype)
        if self.ids:
            out[[place[name] for name in self.ids]] = self.rows
        out[[place[name] for name in ids]] = rows
        return Table(merged, out)

    def get(self, ids: Cohort, default: Array | float) -> Array:
        """One row per id; `default` (a number or a row) for clients the table does not hold."""
        shape = self.rows.shape[1:] if self.ids else np.shape(default)
        dtype = self.rows.dtype if self.ids else np.asarray(default).dtype
        out = np.empty((len(ids), *shape), dtype)
        known = [i for i, name in enumerate(ids) if name in self._place]
        out[:] = default
        if known:
            out[known] = self.rows[[self._place[ids[i]] for i in known]]
        return out


@dataclass(frozen=True)
class Serving:
    """Which model answers for which client: K models, and a table from client to model.

    `table=None` means everybody is served by model 0. `kind` says what a model stands for: `one` for all, one per
    `group`, each client's `own`, or a `vote` of all models for everybody. `beside` are models that serve nobody and
    are tested on everybody all the same, by name.
    """

    models_KP: Array
    table: Table | None = None
    kind: Literal["one", "group", "own", "vote"] = "group"
    beside: Mapping[str, Array] = field(default_factory=dict)

    def which(self, ids: Cohort) -> Array:
        """The number of each client's model, -1 where it has none yet."""
        if self.table is None:
            return np.zeros(len(ids), np.int64)
        return self.table.get(ids, -1).astype(np.int64)

    def groups(self, ids: Cohort) -> Mapping[str, int]:
        """Client id to group number, for the clients that have one."""
        return {name: int(k) for name, k in zip(ids, self.which(ids), strict=True) if k >= 0}
