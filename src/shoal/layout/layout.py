"""Names, shapes and slices of the flat parameter vector."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from shoal.errors import BadInput
from shoal.layout.checks import factory_of, sound, takes_channels_last, try_model
from shoal.layout.seeding import ModelFactory, seeded
from shoal.objectives import CLASSIFICATION, Objective, Sum
from shoal.seeds import Key
from shoal.tree import Tree
from shoal.types import Array


@dataclass(frozen=True)
class Part:
    """One tensor of the model: where it stands in the vector, and what it is.

    Attributes:
        name: As torch calls it.
        shape: Of the tensor.
        start: Its first place.
        stop: The place after its last.
        role: `trainable`, `statistics` or `counters`.

    >>> Layout.of(lambda: nn.Linear(3, 2), np.zeros((1, 3))).parts[1]
    Part(name='bias', shape=(2,), start=6, stop=8, role='trainable')
    """

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int
    role: str  # "trainable", "statistics" or "counters"


@dataclass(frozen=True)
class Layout:
    """How a module's parameters and buffers lie in one flat vector: trainable numbers, then statistics, then counters.

    Slices have names: `trainable`, `statistics`, `counters`, `kernels` (weights of two and more axes, for L2), `fc`
    (all linear layers), `last` (the last of them), and every tensor by its own name. Frozen parameters and buffers
    that are not persistent stay in the module and do not travel: everywhere they are those that the factory draws under
    seed 0, whatever the key of the numbers that are trained (decision 37).

    Args:
        factory: Makes a fresh module.
        parts: Its tensors, in order.
        linear: Names of its linear layers that are trained, in order.
        outputs: How many there are.
        dtype: Of the vector.
        channels_last: Whether images go through with their channels innermost, which is faster.
        input_shape: Of one sample, where that is a single array.
        objective: The task of the run: what outputs are to be.
        output_shape: Of the outputs of one sample.
        tree: Whether inputs are more than one array, which torch alone takes.

    >>> layout = Layout.of(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), np.zeros((1, 3)))
    >>> layout.size, layout.trainable, layout.outputs
    (43, slice(0, 34, None), 2)
    >>> layout.take(np.arange(43.0)[None], "last").shape
    (1, 10)
    """

    factory: ModelFactory
    parts: tuple[Part, ...]
    linear: tuple[str, ...]  # names of the linear layers that are trained, in order
    outputs: int
    dtype: Any = np.dtype(np.float32)
    channels_last: bool = False  # images go through the module with their channels innermost, which is faster
    input_shape: tuple[int, ...] = ()  # of one sample, where that is a single array
    objective: Objective = CLASSIFICATION
    output_shape: tuple[int, ...] = ()
    tree: bool = False  # inputs are several arrays, or sequences

    @classmethod
    def of(
        cls,
        model: ModelFactory | nn.Module,
        sample: Tree,
        dtype: str = "float32",
        objective: Objective = CLASSIFICATION,
    ) -> Layout:
        """The layout of a model, which is tried on one sample: what it cannot take is said at once.

        Args:
            model: What makes it.
            sample: One input (1, ...): an array, a dict or tuple of arrays, or `Sequences`.
            dtype: `float32` or `float64`.
            objective: The task of the run.

        Returns:
            The layout.
        """
        factory = factory_of(model)
        module, untouched = sound(factory)
        parts, at = [], 0
        for name, role, tensor in tensors(module):
            parts.append(Part(name, tuple(tensor.shape), at, at + tensor.numel(), role))
            at += tensor.numel()
        if not any(p.role == "trainable" for p in parts):
            raise BadInput("the model has no trainable parameter")
        trained = {p.name.rpartition(".")[0] for p in parts if p.role == "trainable"}
        linear = tuple(name for name, m in module.named_modules() if isinstance(m, nn.Linear) and name in trained)
        shape, innermost = try_model(module, sample, objective.targets), takes_channels_last(module, sample)
        layout = cls(
            factory,
            tuple(parts),
            linear,
            shape[-1] if shape else 1,
            np.dtype(dtype),
            innermost,
            tuple(sample.shape[1:]) if isinstance(sample, np.ndarray) else (),
            objective,
            shape,
            not isinstance(sample, np.ndarray),
        )
        vars(layout)["probe"] = untouched
        for name, role, tensor in tensors(module):
            if role == "counters" and not torch.equal(tensor, tensor.to(layout.torch_dtype).to(tensor.dtype)):
                raise BadInput(
                    f"the buffer {name!r} holds whole numbers too large for {dtype}; register it as persistent=False"
                )
        return layout

    @cached_property
    def probe(self) -> nn.Module:
        """A module to look at, in the precision of its factory; it is never trained, loaded or changed."""
        return seeded(self.factory, 0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("probe", "_digest")}

    @property
    def torch_dtype(self) -> torch.dtype:
        return torch.from_numpy(np.zeros(0, self.dtype)).dtype

    def digest(self) -> str:
        """A short hash of what the model is made of, to know it again: its layers, and the numbers of frozen ones."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        found = hashlib.blake2b(repr((self.probe, self.parts, self.outputs, str(self.dtype))).encode(), digest_size=8)
        for name, p in self.probe.named_parameters():
            if not p.requires_grad and p.numel() and bool((p != p.reshape(-1)[0]).any()):  # drawn, or read from a file
                found.update(name.encode() + bytes(p.detach().contiguous().view(torch.uint8).numpy()))
        return found.hexdigest()

    @property
    def size(self) -> int:
        return self.parts[-1].stop

    @property
    def classes(self) -> int:
        """Classes the model tells apart; one output tells two."""
        return max(self.outputs, 2)

    @property
    def said(self) -> tuple[int, ...]:
        """The shape of what is kept of a tested sample: log-probabilities of classes, or outputs."""
        return (self.classes,) if self.objective.by_probabilities else self.output_shape

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """What a test adds up for the metrics of the run."""
        return self.objective.sums(self.output_shape or (self.outputs,))

    @property
    def bytes(self) -> int:
        """What one vector weighs on the wire."""
        return self.size * int(self.dtype.itemsize)

    def _span(self, role: str) -> slice:
        mine = [p for p in self.parts if p.role == role]
        before = {"trainable": 0, "statistics": self._end("trainable"), "counters": self._end("statistics")}
        return slice(mine[0].start, mine[-1].stop) if mine else slice(before[role], before[role])

    def _end(self, role: str) -> int:
        order = ("trainable", "statistics", "counters")
        return max((p.stop for p in self.parts if order.index(p.role) <= order.index(role)), default=0)

    @cached_property
    def trainable(self) -> slice:
        return self._span("trainable")

    @cached_property
    def statistics(self) -> slice:
        return self._span("statistics")

    @cached_property
    def counters(self) -> slice:
        return self._span("counters")

    def slices(self, name: str) -> tuple[slice, ...]:
        """The places of a named part of the vector.

        Args:
            name: Such as `trainable`, `last` or `0.weight`.

        Returns:
            Slices of the vector, in order.
        """
        if name in ("trainable", "statistics", "counters"):
            return (self._span(name),)
        if name == "kernels":
            chosen = [p for p in self.parts if p.role == "trainable" and len(p.shape) >= 2]
        elif name in ("fc", "last"):
            layers = self.linear if name == "fc" else self.linear[-1:]
            chosen = [p for p in self.parts if p.name.rpartition(".")[0] in layers and p.role == "trainable"]
        else:
            chosen = [p for p in self.parts if p.name == name]
        if not chosen:
            raise BadInput(f"the model has no {name!r}; its tensors are {', '.join(p.name for p in self.parts)}")
        return tuple(slice(p.start, p.stop) for p in chosen)

    def take(self, rows_NP: Array, name: str) -> Array:
        """The named part of each row, one after the other; a part in one piece is not copied.

        Args:
            rows_NP: Vectors.
            name: Of a part.

        Returns:
            N rows.
        """
        pieces = [rows_NP[:, s] for s in self.slices(name)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)

    def mask(self, name: str) -> Array:
        """True where the vector belongs to the named part."""
        out = np.zeros(self.size, bool)
        for s in self.slices(name):
            out[s] = True
        return out

    def init(self, key: Key) -> Array:
        """A fresh random model.

        Args:
            key: All draws come from it.

        Returns:
            P numbers.
        """
        module = seeded(self.factory, key.torch_seed)
        flat = [t.detach().reshape(-1).to(torch.float64).numpy() for _, _, t in tensors(module)]
        return np.concatenate(flat).astype(self.dtype)

    def init_many(self, k: int, key: Key) -> Array:
        """k models, each drawn from a stream of its own; the first is `init(key)`.

        Args:
            k: How many.
            key: All draws come from it.

        Returns:
            Models, k x P.
        """
        return np.stack([self.init(key.member(i)) for i in range(k)])

    def named(self, vector_P: Array) -> dict[str, torch.Tensor]:
        """The vector as a state dict (integer buffers as integers), for files and for `load_state_dict`."""
        out = {}
        for p in self.parts:
            t = torch.from_numpy(np.array(vector_P[p.start : p.stop])).reshape(p.shape)
            out[p.name] = t.round().to(torch.int64) if p.role == "counters" else t
        return out

    def module(self, vector_P: Array, into: nn.Module | None = None) -> nn.Module:
        """A module that holds this vector, in evaluation mode: one of its own, or one that held another before.

        Args:
            vector_P: The model.
            into: A module of this layout to be filled, instead of a new one.

        Returns:
            The module.
        """
        module = seeded(self.factory, 0).to(self.torch_dtype) if into is None else into
        module.load_state_dict(self.named(vector_P), strict=False)
        return module.eval()


def tensors(module: nn.Module) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Name, role and tensor of everything that travels, in the order of the vector."""
    yield from ((n, "trainable", p.data) for n, p in module.named_parameters() if p.requires_grad)
    kept = module.state_dict().keys()
    buffers = [(n, b) for n, b in module.named_buffers() if n in kept]
    yield from ((n, "statistics", b) for n, b in buffers if b.is_floating_point())
    yield from ((n, "counters", b) for n, b in buffers if not b.is_floating_point())
