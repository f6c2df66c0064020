"""What the server knows per client, and which model serves whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, repeat
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from shoal.types import Array, Cohort

if TYPE_CHECKING:
    from shoal.layout import Layout

__all__ = ["Personal", "Portion", "Serving", "Table"]

TOGETHER = 1 << 28  # bytes of models with personal parts that are put together at a time


@dataclass(frozen=True)
class Table:
    """Client ids to rows, only for clients seen so far. Immutable: `put` gives a new table.

    Args:
        ids: The clients, sorted.
        rows: A number or a vector for each.

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
        """A table that holds these rows too, newer ones in place of older ones.

        Args:
            ids: N clients.
            rows: N rows.

        Returns:
            A new table.
        """
        if not ids:
            return self
        if np.shape(rows)[1:] == self.rows.shape[1:] and all(map(self._place.__contains__, ids)):
            out = self.rows.astype(np.asarray(rows).dtype)
            out[[self._place[name] for name in ids]] = rows
            known = Table(self.ids, out)
            vars(known)["_place"] = self._place  # of the same clients
            return known
        merged = tuple(sorted({*self.ids, *ids}))
        place = {name: i for i, name in enumerate(merged)}
        out = np.empty((len(merged), *np.shape(rows)[1:]), np.asarray(rows).dtype)
        if self.ids:
            out[[place[name] for name in self.ids]] = self.rows
        out[[place[name] for name in ids]] = rows
        return Table(merged, out)

    def get(self, ids: Cohort, default: Array | float) -> Array:
        """One row per id; `default` (a number or a row) for clients the table does not hold.

        Args:
            ids: N clients, in any order.
            default: What the others get.

        Returns:
            N rows.
        """
        shape = self.rows.shape[1:] if self.ids else np.shape(default)
        dtype = self.rows.dtype if self.ids else np.asarray(default).dtype
        out = np.empty((len(ids), *shape), dtype)
        out[:] = default
        if self.ids:
            place_N = np.array([*map(self._place.get, ids, repeat(-1))], np.int64)
            known_N = place_N >= 0
            out[known_N] = self.rows[place_N[known_N]]
        return out


@dataclass(frozen=True)
class Personal:
    """A part of the model that every client has for itself, such as its head.

    Args:
        parts: Names of the layout, such as `last`, `statistics` or `head.weight`.
        table: Client id to its numbers of those parts, one after the other; who is not in it has those of the model.

    >>> from torch import nn
    >>> from shoal.layout import Layout
    >>> layout = Layout.of(lambda: nn.Linear(1, 2), np.zeros((1, 1)))                   # two weights, two biases
    >>> own = Personal(("bias",), Table(("ann",), np.array([[8.0, 9.0]])))
    >>> own.put_into(np.zeros(4), "ann", layout).tolist(), own.put_into(np.zeros(4), "bob", layout).tolist()
    ([0.0, 0.0, 8.0, 9.0], [0.0, 0.0, 0.0, 0.0])
    """

    parts: tuple[str, ...]
    table: Table

    def places(self, layout: Layout) -> list[slice]:
        """Where the parts stand in the vector, in the order of a row of the table."""
        return [place for part in self.parts for place in layout.slices(part)]

    def put_into(self, model_P: Array, client: str, layout: Layout) -> Array:
        """A model with the client's own part.

        Args:
            model_P: What the client shares with others; not changed.
            client: Its id.
            layout: Of the model.

        Returns:
            P numbers.
        """
        if client not in self.table:
            return model_P
        own_D, out_P, at = self.table.get((client,), 0.0)[0], model_P.copy(), 0
        for place in self.places(layout):
            out_P[place] = own_D[at : at + place.stop - place.start]
            at += place.stop - place.start
        return out_P


class Portion(NamedTuple):
    """Clients that are tested together: the models, and which of them each is sent; None: all of them, to vote.

    Attributes:
        cohort: The clients.
        models_KP: The models.
        which_N: The model of each; None: all of them.

    >>> Portion(("ann",), np.zeros((2, 3)), None).which_N is None
    True
    """

    cohort: Cohort
    models_KP: Array
    which_N: Array | None


@dataclass(frozen=True)
class Serving:
    """Which model answers for which client, and so how a client is tested: K models, and a table from client to model.

    Args:
        models_KP: The models.
        table: Client id to the number of its model; None: everybody is served by model 0.
        kind: What a model stands for: `one` for all, one per `group`, each client's `own`, or all in a `vote`.
        auxiliary_models: Models that serve nobody and are tested on everybody all the same, by name.
        personal: A part of the model that every client has for itself.

    >>> serving = Serving(np.zeros((2, 1)), Table(("ann", "bob"), np.array([1, 0])))
    >>> serving.which(("ann", "zoe")).tolist(), serving.served(("ann", "zoe")), serving.is_grouped
    ([1, -1], ('ann',), True)
    """

    models_KP: Array
    table: Table | None = None
    kind: Literal["one", "group", "own", "vote"] = "group"
    auxiliary_models: Mapping[str, Array] = field(default_factory=dict)
    personal: Personal | None = None

    @property
    def is_grouped(self) -> bool:
        """Whether a model stands for a group of clients."""
        return self.kind == "group"

    @property
    def is_own(self) -> bool:
        """Whether every client has a whole model for itself."""
        return self.kind == "own"

    @property
    def votes(self) -> bool:
        """Whether all models answer for everybody."""
        return self.kind == "vote"

    def which(self, ids: Cohort) -> Array:
        """The number of each client's model, -1 where it has none yet."""
        if self.table is None:
            return np.zeros(len(ids), np.int64)
        return self.table.get(ids, -1).astype(np.int64)

    def groups(self, ids: Cohort) -> Mapping[str, int]:
        """Client id to group number, for the clients that have one."""
        return {name: int(k) for name, k in zip(ids, self.which(ids), strict=True) if k >= 0}

    def served(self, ids: Cohort) -> Cohort:
        """Those of the clients that have a model."""
        has_N = self.which(ids) >= 0
        return ids if has_N.all() else tuple(compress(ids, has_N.tolist()))

    def each(self, cohort: Cohort, layout: Layout) -> Iterator[Array]:
        """The model of every client, one after the other, with its personal part.

        Args:
            cohort: Clients that have a model.
            layout: Of the models.

        Yields:
            P numbers.
        """
        for client, k in zip(cohort, self.which(cohort), strict=True):
            model_P = self.models_KP[k]
            yield model_P if self.personal is None else self.personal.put_into(model_P, client, layout)

    def models_for(self, client: str, layout: Layout) -> Array:
        """The models that answer for a client: its own one with its personal part, all that vote, or none yet.

        Args:
            client: Its id.
            layout: Of the models.

        Returns:
            Models, M x P.
        """
        if self.votes:
            return self.models_KP
        models = [*self.each(self.served((client,)), layout)]
        return np.stack(models) if models else self.models_KP[:0]

    def portions(self, cohort: Cohort, layout: Layout) -> Iterator[Portion]:
        """What must be sent to test clients that have a model.

        Models with personal parts are put together a few clients at a time, so that a large federation of small heads
        does not become one of whole models.

        Args:
            cohort: The clients.
            layout: Of the models.

        Yields:
            Portions whose cohorts make up the clients, in order.
        """
        if self.personal is None:
            yield Portion(cohort, self.models_KP, None if self.votes else self.which(cohort))
            return
        step = max(1, TOGETHER // layout.bytes)
        for i in range(0, max(len(cohort), 1), step):
            some = cohort[i : i + step]
            models_NP = np.stack([*self.each(some, layout)]) if some else self.models_KP[:0]
            yield Portion(some, models_NP, np.arange(len(some)))
