"""A federation: all samples once, and for every client the indices of its training, test and validation samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shoal.data.digest import check_names, fingerprint
from shoal.data.on_demand import OnDemand as OnDemand
from shoal.data.samples import Inputs, Ragged, Samples, View
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import EVERYBODY, Array, ClientData, Cohort, Roster

SPLITS = ("train", "test", "val")


class Source(Protocol):
    """What a run needs of a federation, in memory or produced on demand."""

    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> Cohort: ...
    @property
    def classes(self) -> int: ...
    @property
    def roster(self) -> Roster: ...
    @property
    def truth(self) -> Array | None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def client(self, client: str) -> ClientData: ...
    def has(self, split: str) -> bool: ...
    def sample(self) -> Array: ...
    def fingerprint(self) -> str: ...


@dataclass(frozen=True)
class Federation:
    """All clients and their data. Immutable; whatever rearranges it gives a new one that shares the arrays.

    >>> fed = Federation.from_arrays({"ann": (np.eye(4), [0, 1, 0, 1]), "bob": (np.eye(4), [1, 1, 0, 0])}, test=0.25)
    >>> fed.ids, fed.roster.sizes_N.tolist(), fed.classes
    (('ann', 'bob'), [3, 3], 2)
    """

    name: str
    ids: Cohort  # sorted
    x: Array
    y: Array
    train: Ragged
    test: Ragged
    classes: int
    val: Ragged | None = None
    inputs: Inputs = Inputs()
    views: tuple[View, ...] = (View(),)
    view: Array | None = None  # number of each client's view; None: everybody has the first
    truth: Array | None = None  # planted group of each client
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if list(self.ids) != sorted(set(self.ids)):
            raise BadInput("the ids of a federation must be distinct and sorted")
        check_names(self.ids)
        if EVERYBODY in self.ids:
            raise BadInput(f"a client may not be called {EVERYBODY!r}: that name stands for all data together")
        empty = [name for name, size in zip(self.ids, self.train.sizes, strict=True) if size == 0]
        if empty:
            raise BadInput(f"client {empty[0]!r} and {len(empty) - 1} more have no training sample; use fewer clients")

    @cached_property
    def roster(self) -> Roster:
        tags = self.tags
        if self.truth is not None:  # planted groups can be read like a tag, by an oracle
            tags = {c: {**self.tags.get(c, {}), "truth": str(k)} for c, k in zip(self.ids, self.truth, strict=True)}
        return Roster(self.ids, self.train.sizes, tags)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.x.shape[1:])

    def has(self, split: str) -> bool:
        return split in ("train", "test") or (split == "val" and self.val is not None)

    def rows(self, split: str) -> Ragged:
        """Where the clients' samples of a split stand in `x` and `y`."""
        rows: Ragged | None = getattr(self, split) if split in SPLITS else None
        if rows is None:
            raise BadInput(f"the federation has no split {split!r}; a validation split is made with val=0.1")
        return rows

    def indices(self, client: str, split: str) -> Array:
        """Where one client's samples of a split stand."""
        return self.rows(split)[self._place[client]]

    def places(self, clients: Sequence[str]) -> Array:
        """Where clients stand in `ids`."""
        return np.fromiter(map(self._place.__getitem__, clients), np.int64, len(clients))

    def view_of(self, client: str) -> View:
        return self.views[int(self.view_numbers(self._place[client]))]

    def view_numbers(self, place: Any) -> Any:
        """The numbers of the views of clients at a place or several."""
        return np.zeros_like(place) if self.view is None else self.view[place]

    def labels(self, index_B: Array, place_B: Array) -> Array:
        """What the client at a place calls each sample."""
        if all(view.labels is None for view in self.views):
            return self.y[index_B]
        names_VC = np.stack([view.name(np.arange(self.classes)) for view in self.views])
        named: Array = names_VC[self.view_numbers(place_B), self.y[index_B]]
        return named

    def look(self, index: Array, view: View) -> Array:
        """Samples as inputs of a model, seen through a view."""
        return view.see(self.inputs(self.x[index]))

    def sample(self) -> Array:
        """One input, to try a model on."""
        return self.look(np.zeros(1, np.int64), self.views[0])

    def client(self, client: str) -> ClientData:
        """One client's data; `*` is everybody's."""
        return Samples(self, client)

    def keep(self, ids: Sequence[str]) -> Federation:
        """The federation of these clients alone; the arrays are shared.

        >>> fed = Federation.from_arrays({name: (np.eye(4), [0, 1, 0, 1]) for name in "abc"})
        >>> fed.keep(["c", "a"]).ids
        ('a', 'c')
        """
        missing = [name for name in ids if name not in self._place]
        if missing:
            raise BadInput(f"the federation has no client {missing[0]!r}")
        place = sorted(self._place[name] for name in set(ids))

        def rows(r: Ragged) -> Ragged:
            return Ragged.of([r[i] for i in place])

        return replace(
            self,
            ids=tuple(self.ids[i] for i in place),
            train=rows(self.train),
            test=rows(self.test),
            val=None if self.val is None else rows(self.val),
            view=None if self.view is None else self.view[place],
            truth=None if self.truth is None else self.truth[place],
        )

    def with_validation(self, share: float, key: Key) -> Federation:
        """The federation with a share of every client's training samples set aside for validation."""
        if not 0 < share < 1:
            raise BadInput(f"val must lie between 0 and 1, not {share}")
        train, val = [], []
        for i, name in enumerate(self.ids):
            rows = self.train[i]
            order = key.of(name).rng().permutation(len(rows))
            cut = int(share * len(rows))
            val.append(rows[np.sort(order[:cut])])
            train.append(rows[np.sort(order[cut:])])
        return replace(self, train=Ragged.of(train), val=Ragged.of(val))

    def fingerprint(self) -> str:
        """A short hash of everything a result depends on: all arrays by dtype, shape and bytes; not the name."""
        rows, published = (self.train, self.test, self.val), (self.truth, self.tags)
        return fingerprint(self.ids, rows, self.x, self.y, self.classes, self.inputs, self.views, self.view, published)

    @classmethod
    def from_arrays(
        cls,
        clients: Mapping[str, Sequence[Any]],
        *,
        test: float = 0.1,
        seed: int | Key = 0,
        name: str = "own arrays",
        classes: int | None = None,
        tags: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Federation:
        """From `{client: (x, y)}`, a share `test` set aside per client, or from `{client: (x, y, x_test, y_test)}`.

        >>> fed = Federation.from_arrays({"a": (np.zeros((10, 3)), np.arange(10) % 2)})
        >>> fed.train.sizes.tolist(), fed.test.sizes.tolist()
        ([9], [1])
        """
        from shoal.data.own import from_arrays

        return from_arrays(clients, test=test, seed=seed, name=name, classes=classes, tags=tags)

    @classmethod
    def from_datasets(cls, clients: Mapping[str, Any], *, test: float = 0.1, seed: int | Key = 0) -> Federation:
        """From `{client: torch Dataset}`, or `{client: (training set, test set)}`; see `shoal.data.own`."""
        from shoal.data.own import from_datasets

        return from_datasets(clients, test=test, seed=seed)

    @classmethod
    def from_folder(cls, path: str | Path, *, test: float = 0.1, seed: int | Key = 0) -> Federation:
        """From a folder of `<client>.npz` files with x, y and optionally x_test, y_test; see `shoal.data.own`."""
        from shoal.data.own import from_folder

        return from_folder(path, test=test, seed=seed)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        client: str = "client",
        label: str = "label",
        features: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        test: float = 0.1,
        seed: int | Key = 0,
    ) -> Federation:
        """From a DataFrame or CSV file with a client and a label column; see `shoal.data.own_table`."""
        from shoal.data.own_table import from_table

        return from_table(table, client=client, label=label, features=features, tags=tags, test=test, seed=seed)

    @classmethod
    def from_flwr(
        cls,
        federation: Any,
        *,
        image: str | None = None,
        label: str | None = None,
        split: str | None = None,
        partitions: int | None = None,
        test: float = 0.1,
        seed: int | Key = 0,
    ) -> Federation:
        """From a `flwr_datasets` federation; see `shoal.data.own_flwr`."""
        from shoal.data.own_flwr import from_flwr

        return from_flwr(federation, image=image, label=label, split=split, partitions=partitions, test=test, seed=seed)
