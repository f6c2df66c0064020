"""A federation: all samples once, and for every client the indices of its training, test and validation samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoal.data.digest import check_ids, fingerprint
from shoal.data.facts import facts, in_a_line
from shoal.data.on_demand import OnDemand as OnDemand
from shoal.data.preprocess import Preprocessing
from shoal.data.samples import Inputs, Ragged, Samples, View
from shoal.data.source import Living as Living
from shoal.data.source import Source as Source
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.show import html_table
from shoal.tree import Shape, Tree, shape_of, take
from shoal.types import Array, ClientData, Cohort, Roster

SPLITS = ("train", "test", "val")


@dataclass(frozen=True, repr=False)
class Federation:
    """All clients and their data. Immutable; whatever rearranges it gives a new one that shares the arrays.

    Args:
        name: What it is called.
        ids: The clients, sorted.
        x: All samples as they are stored: an array (samples, ...), a dict or tuple of such arrays, or `Sequences`.
        y: The target of each: a class from 0 on; or labels, classes of tokens, floats (`shoal.data.own`).
        train: Which samples each client trains on, one row per client.
        test: Which it is tested on.
        classes: Number of classes; of labels, or of floats per sample.
        val: Which are set aside for validation, if any are.
        inputs: How stored samples become inputs of a model.
        views: The ways in which clients may see them.
        view: Number of each client's view; None: everybody has the first.
        truth: Planted group of each client, if there are any.
        tags: What clients publish about themselves, by client.
        class_names: What the classes are called, if that is known.
        preprocess: What turned rows of a table into samples, if they come from one.

    >>> fed = Federation.from_arrays({"ann": (np.eye(4), [0, 1, 0, 1]), "bob": (np.eye(4), [1, 1, 0, 0])}, test=0.25)
    >>> fed.ids, fed.roster.sizes_N.tolist(), fed.classes
    (('ann', 'bob'), [3, 3], 2)
    """

    name: str
    ids: Cohort
    x: Tree
    y: Array
    train: Ragged
    test: Ragged
    classes: int
    val: Ragged | None = None
    inputs: Inputs = Inputs()
    views: tuple[View, ...] = (View(),)
    view: Array | None = None
    truth: Array | None = None
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    class_names: tuple[str, ...] | None = None
    preprocess: Preprocessing | None = None

    def __post_init__(self) -> None:
        check_ids(self.ids)
        empty = [name for name, size in zip(self.ids, self.train.sizes, strict=True) if size == 0]
        if empty:
            raise BadInput(f"client {empty[0]!r} and {len(empty) - 1} more have no training sample; use fewer clients")
        for view in self.views:
            view.check(self.x)

    def __repr__(self) -> str:
        return in_a_line(self)

    def _repr_html_(self) -> str:
        return html_table(f"Federation {self.name}", facts(self).items())

    @property
    def in_memory(self) -> Federation:
        return self

    @cached_property
    def roster(self) -> Roster:
        tags = self.tags
        if self.truth is not None:  # planted groups can be read like a tag, by an oracle
            tags = {c: {**self.tags.get(c, {}), "truth": str(k)} for c, k in zip(self.ids, self.truth, strict=True)}
        return Roster(self.ids, self.train.sizes, tags)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    @cached_property
    def shape(self) -> Shape:
        return shape_of(self.x)

    def has(self, split: str) -> bool:
        """Whether there is such a split: `train`, `test` or `val`."""
        return split in ("train", "test") or (split == "val" and self.val is not None)

    def rows(self, split: str) -> Ragged:
        """Where the clients' samples of a split stand in `x` and `y`.

        Args:
            split: `train`, `test` or `val`.

        Returns:
            One row of indices per client, in the order of `ids`.
        """
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
        """How a client sees samples."""
        return self.views[int(self.view_numbers(self._place[client]))]

    def view_numbers(self, place: Any) -> Any:
        """The numbers of the views of clients at a place or several."""
        return np.zeros_like(place) if self.view is None else self.view[place]

    def labels(self, index_B: Array, place_B: Array) -> Array:
        """What the client at a place calls each sample."""
        if all(view.labels is None for view in self.views):
            return self.y[index_B]
        names_VC = np.stack([view.relabel(np.arange(self.classes)) for view in self.views])
        named: Array = names_VC[self.view_numbers(place_B), self.y[index_B]]
        return named

    def inputs_at(self, index: Array, view: View) -> Tree:
        """Samples as inputs of a model, seen through a view."""
        return view.rotate(self.inputs(take(self.x, index)))

    def sample(self) -> Tree:
        """One input, to try a model on."""
        return self.inputs_at(np.zeros(1, np.int64), self.views[0])

    def client(self, client: str) -> ClientData:
        """One client's data; `*` is everybody's.

        Args:
            client: Its id.

        Returns:
            A function from a split to inputs (B, ...) and labels (B).

        >>> fed = Federation.from_arrays({"ann": (np.eye(3), [0, 1, 0], np.ones((1, 3)), [1])})
        >>> [array.tolist() for array in fed.client("ann")("test")]
        [[[1.0, 1.0, 1.0]], [1]]
        """
        return Samples(self, client)

    def keep(self, ids: Sequence[str]) -> Federation:
        """The federation of these clients alone; the arrays are shared.

        Args:
            ids: Whom to keep, in any order.

        Returns:
            A federation without the others.

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
        """The federation with a share of every client's training samples set aside for validation.

        Args:
            share: Above 0 and below 1; rounded down for each client.
            key: Draws the samples.

        Returns:
            A federation with a split `val`.

        >>> fed = Federation.from_arrays({"ann": (np.eye(10), [0, 1] * 5)}, test=0).with_validation(0.2, Key(1))
        >>> fed.train.sizes.tolist(), fed.val.sizes.tolist()
        ([8], [2])
        """
        if not 0 < share < 1:
            raise BadInput(f"val must lie between 0 and 1, not {share}")
        train, val = [], []
        for i, name in enumerate(self.ids):
            rows = self.train[i]
            order = key.of(name).rng().permutation(len(rows))
            cut = int(share * len(rows) + 1e-9)  # 0.29 of 100 are 29
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
        class_names: Sequence[str] | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Federation:
        """From `{client: (x, y)}`, a share `test` set aside per client, or from `{client: (x, y, x_test, y_test)}`.

        Args:
            clients: Lists, numpy arrays or torch tensors; bytes of two or more axes are images, divided by 255. x may
                also be a dict or tuple of arrays, or a list of sequences of different lengths.
            test: Share of the samples to set aside.
            seed: Draws them.
            name: What to call the federation.
            classes: Number of classes; None: one more than the largest label, or as many as a target has numbers.
            tags: What clients publish about themselves, by client.
            class_names: What the classes are called, from class 0 on.
            collate: Makes a batch of a list of samples; None: sequences are padded to the longest, with a mask.

        Returns:
            The federation; `shoal.data.own` says more about what is taken.

        >>> fed = Federation.from_arrays({"a": (np.zeros((10, 3)), np.arange(10) % 2)})
        >>> fed.train.sizes.tolist(), fed.test.sizes.tolist()
        ([9], [1])
        """
        from shoal.data.own import from_arrays

        return from_arrays(
            clients,
            test=test,
            seed=seed,
            name=name,
            classes=classes,
            tags=tags,
            class_names=class_names,
            collate=collate,
        )

    @classmethod
    def from_datasets(
        cls,
        clients: Mapping[str, Any],
        *,
        test: float = 0.1,
        seed: int | Key = 0,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Federation:
        """From `{client: torch Dataset}`, or `{client: (training set, test set)}`.

        Args:
            clients: Data sets with a length and items (x, y); x may be a dict or tuple of arrays, or a sequence.
            test: Share to set aside where there is no test set.
            seed: Draws it.
            collate: Makes a batch of a list of samples; None: sequences are padded to the longest, with a mask.

        Returns:
            The federation.

        >>> Federation.from_datasets({"a": [([1.0], 0), ([2.0], 1)], "b": [([3.0], 1), ([4.0], 0)]}).classes
        2
        """
        from shoal.data.own import from_datasets

        return from_datasets(clients, test=test, seed=seed, collate=collate)

    @classmethod
    def from_folder(cls, path: str | Path, *, test: float = 0.1, seed: int | Key = 0) -> Federation:
        """From a folder of `<client>.npz` files with arrays x and y, and optionally x_test and y_test.

        Several inputs of a sample are arrays called `x.NAME`, and `x_test.NAME`.

        Args:
            path: The folder.
            test: Share to set aside where there is no test set.
            seed: Draws it.

        Returns:
            The federation.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> np.savez(folder / "ann.npz", x=np.eye(4), y=[0, 1, 0, 1])
        >>> Federation.from_folder(folder).ids
        ('ann',)
        """
        from shoal.data.own import from_folder

        return from_folder(path, test=test, seed=seed)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        client: str = "client",
        label: str = "label",
        targets: Literal["classes", "floats"] | None = None,
        features: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        impute: Any = None,
        encode: Any = None,
        standardise: bool | Sequence[str] = False,
        fit: Literal["federation", "client"] = "federation",
        indicator: bool = False,
        preprocess: Preprocessing | str | Path | None = None,
        test: float = 0.1,
        seed: int | Key = 0,
    ) -> Federation:
        """From a table with a row per sample; docs/own-data.md says how its cells are read.

        What is filled in, the categories and the scales come from training rows alone and are kept as `preprocess`.

        Args:
            table: A DataFrame, a mapping of columns, a list of rows, or the path of a CSV or Parquet file.
            client: The column that says whose sample it is.
            label: The column of labels; words become classes in sorted order.
            targets: `floats`: whole numbers are numbers to learn, not classes; `classes`: values of any kind are
                classes in sorted order; None: words and whole numbers are classes, other numbers floats.
            features: The columns to learn from; None: all others.
            tags: Columns that clients publish.
            impute: What stands for empty cells: `mean`, `median`, `most-frequent`, a constant, or these by column;
                None: an empty cell is an error.
            encode: How words become numbers: `one-hot`, `ordinal`, or by column one of these or a list of categories in
                order; None: a word is an error.
            standardise: Whether numbers get mean 0 and standard deviation 1, or the columns that do.
            fit: Whether gaps and scales are the same for all (`federation`), or each `client` has its own.
            indicator: Whether a further input per column with gaps says where one was.
            preprocess: What another federation kept, or its file, instead of a fit.
            test: Share of each client's samples to set aside.
            seed: Draws them.

        Returns:
            The federation.

        >>> Federation.from_table({"client": ["a", "a", "b"], "age": [1, 2, 3], "label": ["no", "yes", "no"]}).shape
        (1,)
        """
        from shoal.data.own_table import from_table

        how = {"impute": impute, "encode": encode, "standardise": standardise, "fit": fit, "indicator": indicator}
        what = {"client": client, "label": label, "targets": targets, "features": features, "tags": tags}
        return from_table(table, **what, **how, preprocess=preprocess, test=test, seed=seed)  # type: ignore[arg-type]

    @classmethod
    def from_images(
        cls,
        path: str | Path,
        *,
        partition: str | None = None,
        size: int | None = None,
        grey: bool = False,
        test: float = 0.1,
        seed: int | Key = 0,
    ) -> Federation:
        """From a folder of images: `PATH/client/class/*.png`, or `PATH/class/*.png` dealt to clients by a partition.

        Args:
            path: The folder.
            partition: What deals the images, such as `dirichlet:0.5:clients=10`, if there are no folders of clients;
                None: evenly at random.
            size: Pixels in either direction that all images are brought to; None: as they are, all alike.
            grey: Whether their brightness is enough.
            test: Share of each client's images to set aside.
            seed: Draws them.

        Returns:
            The federation; the classes are called as their folders.

        >>> import tempfile
        >>> from PIL import Image
        >>> folder = Path(tempfile.mkdtemp())
        >>> for place in ("ann/cat", "ann/dog", "bob/cat"):
        ...     (folder / place).mkdir(parents=True)
        ...     Image.new("RGB", (4, 4)).save(folder / place / "1.png")
        >>> fed = Federation.from_images(folder)
        >>> fed.ids, fed.shape, fed.class_names
        (('ann', 'bob'), (3, 4, 4), ('cat', 'dog'))
        """
        from shoal.data.own_images import from_images

        return from_images(path, partition=partition, size=size, grey=grey, test=test, seed=seed)

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
        """From a `flwr_datasets` federation: partition i becomes client i.

        Args:
            federation: A `FederatedDataset`, a partitioner with its data, or anything with `load_partition(i)`.
            image: The column of inputs; None: found by type and name.
            label: The column of labels; None: found by type and name.
            split: Which split to train on; None: `train`, if it is partitioned.
            partitions: How many there are, if the federation does not say.
            test: Share to set aside where there are no test partitions.
            seed: Draws it.

        Returns:
            The federation.

        >>> class Tiny:
        ...     num_partitions = 2
        ...     def load_partition(self, i):
        ...         return {"x": [[1.0 * i], [2.0]], "label": ["cat", "dog"]}
        >>> Federation.from_flwr(Tiny()).ids
        ('0', '1')
        """
        from shoal.data.own_flwr import from_flwr

        return from_flwr(federation, image=image, label=label, split=split, partitions=partitions, test=test, seed=seed)
