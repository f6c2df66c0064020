"""What models take and say, apart from any data: enough to turn a user's samples into inputs, now or years later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shoal.data.columns import is_rows
from shoal.data.own_inputs import Collate, given
from shoal.data.preprocess import Preprocessing
from shoal.data.samples import Inputs
from shoal.data.source import Source
from shoal.errors import BadInput, ShoalError
from shoal.tree import Kind, Pad, Ragged, Sequences, Shape, Tree, by_name, kind_of, placed, shape_of, tree_map, zeros
from shoal.types import Array, ClientData, Cohort, Roster

__all__ = ["Remembered", "Signature"]


@dataclass(frozen=True)
class Signature:
    """The inputs and classes of models: what is kept of the data with a run, and with every exported model.

    Args:
        shape: Of one sample as it is stored, by name where it is several arrays; 0 for any length.
        dtype: Of samples as they are stored, likewise.
        classes: Number of classes.
        class_names: What they are called, if that is known.
        inputs: How stored samples become inputs.
        preprocess: How rows of a table become samples, if they come from one.
        collate: What makes batches of samples of different lengths, if they are.

    >>> from shoal.data import build
    >>> signature = Signature.of(build("digits"))
    >>> signature.shape, signature.dtype, signature.classes
    ((1, 8, 8), 'uint8', 10)
    >>> signature.given(np.full((1, 1, 8, 8), 16, np.uint8)).max()
    np.float32(1.0)
    """

    shape: Shape
    dtype: Kind
    classes: int
    class_names: tuple[str, ...] | None = None
    inputs: Inputs = Inputs()
    preprocess: Preprocessing | None = None
    collate: Collate | None = None

    @classmethod
    def of(cls, source: Source) -> Signature:
        """That of a federation's models.

        Args:
            source: The federation.

        Returns:
            The signature.
        """
        if isinstance(source, Remembered):
            return source.signature
        federation = source.in_memory
        x = source.sample() if federation is None else federation.x
        if isinstance(x, Sequences):
            shape: Shape = tree_map(stored_shape, by_name(x.rows))
            kind: Kind = tree_map(lambda leaf: numbers_of(leaf).dtype.name, by_name(x.rows))
        else:
            shape, kind = source.shape, kind_of(x)
        collate = x.collate if isinstance(x, Sequences) else None
        if federation is None:
            return cls(shape, kind, source.classes, collate=collate)
        kept = federation.class_names, federation.inputs, federation.preprocess
        return cls(shape, kind, federation.classes, *kept, collate)

    def sample(self) -> Tree:
        """One input of zeros, to try a model on."""
        if self.collate is None:
            return self.inputs(zeros(self.shape, self.dtype))
        named = self.shape if isinstance(self.shape, dict) else {"": self.shape}
        kinds = self.dtype if isinstance(self.dtype, dict) else {"": self.dtype}
        rows = {n: np.zeros((1, *(2 if m == 0 else m for m in sizes)), kinds[n]) for n, sizes in named.items()}
        made = {n: Ragged.of(list(a), a.dtype) if 0 in named[n] else a for n, a in rows.items()}
        return self.inputs(Sequences(placed(made) if isinstance(self.shape, dict) else made[""], self.collate))

    @property
    def input_shape(self) -> Shape:
        """The shape of one input as a model is given it."""
        return self.shape if self.collate is None else shape_of(self.sample())

    def stored(self, x: Any) -> Tree:
        """Samples that a user gives, as the data has them; a sentence if they do not fit."""
        return given(x, self.shape, self.dtype, self.collate)

    def given(self, x: Any, client: str | None = None) -> Tree:
        """Samples that a user gives, as inputs of a model; a sentence if they do not fit.

        Args:
            x: In the dtype of the data, or floats ready for the model; of a table also rows as they are.
            client: Whose samples they are, as a table may be prepared client by client.

        Returns:
            Inputs, B x the shape.
        """
        if self.preprocess is not None and is_rows(x):
            return self.preprocess.prepare(x, client)
        samples = self.stored(x)
        ready = isinstance(samples, np.ndarray) and samples.dtype != self.dtype
        return samples if ready else self.inputs(samples)

    def to_json(self) -> dict[str, Any]:
        """The signature as a tree that `json` writes."""
        shift, scale = (None if v is None else np.asarray(v).tolist() for v in (self.inputs.shift, self.inputs.scale))
        return {
            "shape": tree_map(list, self.shape) if isinstance(self.shape, dict) else list(self.shape),
            "dtype": self.dtype,
            "classes": self.classes,
            "class_names": None if self.class_names is None else list(self.class_names),
            "inputs": {"shift": shift, "scale": scale},
            "preprocess": None if self.preprocess is None else self.preprocess.to_json(),
            **(
                {}
                if self.collate is None
                else {"collate": asdict(self.collate) if type(self.collate) is Pad else "own"}
            ),
        }

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Signature:
        """The other side of `to_json`.

        Args:
            tree: What it gave.

        Returns:
            The signature.
        """
        names, table, inputs = tree["class_names"], tree["preprocess"], tree["inputs"]
        how = tree.get("collate")
        return cls(
            tree_map(tuple, tree["shape"]),
            tree["dtype"],
            tree["classes"],
            None if names is None else tuple(names),
            Inputs(*(np.array(v) if isinstance(v, list) else v for v in (inputs["shift"], inputs["scale"]))),
            None if table is None else Preprocessing.from_json(table),
            None if how is None else not_here if how == "own" else Pad(**how),
        )


def stored_shape(leaf: Any) -> tuple[int, ...]:
    """Of one sample; 0 for any length."""
    return (0, *leaf.index.shape[1:]) if isinstance(leaf, Ragged) else tuple(leaf.shape[1:])


def numbers_of(leaf: Any) -> Array:
    return leaf.index if isinstance(leaf, Ragged) else np.asarray(leaf)


def not_here(samples: list[Any]) -> Any:
    """Stands for a collate function of a user's own, which no file holds."""
    raise BadInput(
        "the batches of this run are made by a collate function of its user's own, which its files do not hold; "
        "go on with shoal.resume(RUN, federation=...)"
    )


@dataclass(frozen=True)
class Remembered:
    """A federation whose data are not here: what a run's folder remembers of it.

    Args:
        name: What it is called.
        ids: The clients, sorted.
        sizes_N: Training samples of each.
        signature: What its models take and say.
        truth: Planted group of each client, if there are any.
        tags: What clients publish about themselves.
        mark: The fingerprint of the data.

    >>> from shoal.data import build
    >>> kept = Remembered.of(build("digits"), "4f2a")
    >>> len(kept.ids), kept.shape, kept.sample().dtype
    (20, (1, 8, 8), dtype('float32'))
    >>> kept.client("07")
    Traceback (most recent call last):
    shoal.errors.ShoalError: the run was loaded without its data; for what needs them go on with shoal.resume(...)
    """

    name: str
    ids: Cohort
    sizes_N: Array
    signature: Signature
    truth: Array | None = None
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    mark: str = ""

    @classmethod
    def of(cls, source: Source, mark: str) -> Remembered:
        """What is remembered of a federation.

        Args:
            source: With its data.
            mark: Its fingerprint.

        Returns:
            The same without them.
        """
        roster, signature = source.roster, Signature.of(source)
        return cls(source.name, source.ids, roster.sizes_N, signature, source.truth, roster.tags, mark)

    @property
    def classes(self) -> int:
        return self.signature.classes

    @property
    def shape(self) -> Shape:
        return self.signature.input_shape

    @property
    def in_memory(self) -> None:
        return None

    @cached_property
    def roster(self) -> Roster:
        return Roster(self.ids, self.sizes_N, self.tags)

    def client(self, client: str) -> ClientData:
        raise ShoalError("the run was loaded without its data; for what needs them go on with shoal.resume(...)")

    def has(self, split: str) -> bool:
        return split in ("train", "test")

    def sample(self) -> Tree:
        return self.signature.sample()

    def fingerprint(self) -> str:
        return self.mark

    def to_json(self) -> dict[str, Any]:
        """What `data.json` of a run folder holds."""
        return {
            "name": self.name,
            "ids": list(self.ids),
            "sizes": self.sizes_N.tolist(),
            "truth": None if self.truth is None else self.truth.tolist(),
            "tags": {client: dict(tags) for client, tags in self.tags.items()},
            "fingerprint": self.mark,
            **self.signature.to_json(),
        }

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Remembered:
        """The other side of `to_json`.

        Args:
            tree: What it gave.

        Returns:
            A federation without data.
        """
        truth = None if tree["truth"] is None else np.array(tree["truth"])
        signature, sizes_N = Signature.from_json(tree), np.array(tree["sizes"], np.int64)
        return cls(tree["name"], tuple(tree["ids"]), sizes_N, signature, truth, tree["tags"], tree["fingerprint"])
