"""Names, shapes and slices of the flat parameter vector. Nobody else knows layers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

ModelFactory = Callable[[], nn.Module]
RANDOM = threading.RLock()  # torch has one generator per process


@dataclass(frozen=True)
class Part:
    """One tensor of the model: where it stands in the vector, and what it is."""

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
    that are not persistent stay in the module and do not travel.

    >>> layout = Layout.of(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), np.zeros((1, 3)))
    >>> layout.size, layout.trainable, layout.outputs
    (43, slice(0, 34, None), 2)
    >>> layout.take(np.arange(43.0)[None], "last").shape
    (1, 10)
    """

    factory: ModelFactory
    parts: tuple[Part, ...]
    linear: tuple[str, ...]  # names of the linear layers, in order
    outputs: int
    dtype: Any = np.dtype(np.float32)
    channels_last: bool = False  # images go through the module with their channels innermost, which is faster

    @classmethod
    def of(cls, model: ModelFactory | nn.Module, sample: Array, dtype: str = "float32") -> Layout:
        """The layout of a model, which is tried on one sample: what it cannot take is said at once."""
        factory = factory_of(model)
        module = sound(factory)
        parts, at = [], 0
        for name, role, tensor in tensors(module):
            parts.append(Part(name, tuple(tensor.shape), at, at + tensor.numel(), role))
            at += tensor.numel()
        if not any(p.role == "trainable" for p in parts):
            raise BadInput("the model has no trainable parameter")
        linear = tuple(name for name, m in module.named_modules() if isinstance(m, nn.Linear))
        outputs, innermost = try_model(module, sample), takes_channels_last(module, sample)
        layout = cls(factory, tuple(parts), linear, outputs, np.dtype(dtype), innermost)
        for name, role, tensor in tensors(module):
            if role == "counters" and not torch.equal(tensor, tensor.to(layout.torch_dtype).to(tensor.dtype)):
                raise BadInput(
                    f"the buffer {name!r} holds whole numbers too large for {dtype}; register it as persistent=False"
                )
        return layout

    @property
    def torch_dtype(self) -> torch.dtype:
        return torch.from_numpy(np.zeros(0, self.dtype)).dtype

    def digest(self) -> str:
        """A short hash of what the model is made of, to know it again."""
        text = repr((seeded(self.factory, 0), self.parts, self.outputs, str(self.dtype)))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @property
    def size(self) -> int:
        return self.parts[-1].stop

    @property
    def classes(self) -> int:
        """Classes the model tells apart; one output tells two."""
        return max(self.outputs, 2)

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

    @property
    def trainable(self) -> slice:
        return self._span("trainable")

    @property
    def statistics(self) -> slice:
        return self._span("statistics")

    @property
    def counters(self) -> slice:
        return self._span("counters")

    def slices(self, name: str) -> tuple[slice, ...]:
        """The places of a named part of the vector."""
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
        """The named part of each row, one after the other."""
        return np.concatenate([rows_NP[:, s] for s in self.slices(name)], axis=1)

    def mask(self, name: str) -> Array:
        """True where the vector belongs to the named part."""
        out = np.zeros(self.size, bool)
        for s in self.slices(name):
            out[s] = True
        return out

    def init(self, key: Key) -> Array:
        """A fresh random model."""
        module = seeded(self.factory, key.torch_seed)
        flat = [t.detach().reshape(-1).to(torch.float64).numpy() for _, _, t in tensors(module)]
        return np.concatenate(flat).astype(self.dtype)

    def init_many(self, k: int, key: Key) -> Array:
        """k models, each drawn from a stream of its own; the first is `init(key)`."""
        return np.stack([self.init(key.member(i)) for i in range(k)])

    def named(self, vector_P: Array) -> dict[str, torch.Tensor]:
        """The vector as a state dict (integer buffers as integers), for files and for `load_state_dict`."""
        out = {}
        for p in self.parts:
            t = torch.from_numpy(np.array(vector_P[p.start : p.stop])).reshape(p.shape)
            out[p.name] = t.round().to(torch.int64) if p.role == "counters" else t
        return out

    def module(self, vector_P: Array) -> nn.Module:
        """A module of its own that holds this vector, in evaluation mode."""
        module = seeded(self.factory, 0).to(self.torch_dtype)
        module.load_state_dict(self.named(vector_P), strict=False)
        return module.eval()


def tensors(module: nn.Module) -> Iterator[tuple[str, str, torch.Tensor]]:
    """Name, role and tensor of everything that travels, in the order of the vector."""
    yield from ((n, "trainable", p.data) for n, p in module.named_parameters() if p.requires_grad)
    kept = module.state_dict().keys()
    buffers = [(n, b) for n, b in module.named_buffers() if n in kept]
    yield from ((n, "statistics", b) for n, b in buffers if b.is_floating_point())
    yield from ((n, "counters", b) for n, b in buffers if not b.is_floating_point())


@contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Torch's random numbers under a seed of our own; one thread at a time, and afterwards they go on as before."""
    with RANDOM, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` is slow where no other device is in use
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.manual_seed_all(seed)
        yield


def seeded(factory: ModelFactory, seed: int) -> nn.Module:
    """A module drawn under a seed of its own."""
    with torch_seed(seed):
        return factory()


def sound(factory: ModelFactory) -> nn.Module:
    """A module of the factory, if the factory can be relied on: fresh modules, the same ones under the same seed."""
    try:
        one, two = seeded(factory, 0), seeded(factory, 0)
    except TypeError as e:
        raise BadInput(f"the model function cannot be called without arguments: {e}") from e
    if not isinstance(one, nn.Module):
        raise BadInput(f"the model function returned {type(one).__name__}, not an nn.Module")
    first, second = everything(one), everything(two)
    if any(is_lazy(t) for t in first.values()):
        raise BadInput("the model has lazy layers, whose size is not known yet; give their sizes")
    if any(t.is_complex() for t in first.values()):
        raise BadInput("the model has complex numbers; only real ones can travel")
    if one is two or any(t.numel() and t.data_ptr() == second[name].data_ptr() for name, t in first.items()):
        raise BadInput("the model function returns the same module every time; let it make a new one at each call")
    if first.keys() != second.keys() or not all(torch.equal(t, second[name]) for name, t in first.items()):
        raise BadInput("the model function gives another model each time; let it draw from torch's generator alone")
    if any(isinstance(m, _BatchNorm) and not m.track_running_stats for m in one.modules()):
        raise BadInput(
            "batch norm without running statistics would mix the clients of a test; use track_running_stats=True"
        )
    return one


def everything(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers, also those that do not travel."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def factory_of(model: ModelFactory | nn.Module) -> ModelFactory:
    if isinstance(model, nn.Module):
        raise BadInput(
            "give the model as something that makes it, for instance `model=lambda: Net()` or the class itself, "
            "so that every run and every group can draw its own initial weights"
        )
    if not callable(model):
        raise BadInput(f"a model is a name or a function that returns an nn.Module, not {type(model).__name__}")
    return model


def try_model(module: nn.Module, sample: Array) -> int:
    """Send one sample through; the number of outputs, or one sentence on what does not fit."""
    try:
        with torch.no_grad():
            out = module.eval()(as_input(module, sample))
    except Exception as e:
        shape = "x".join(map(str, sample.shape[1:]))
        raise BadInput(f"the model cannot take an input of shape {shape}: {str(e).splitlines()[0]}") from e
    if not isinstance(out, torch.Tensor) or out.dim() != 2 or len(out) != 1:
        raise BadInput("the model must turn a batch of inputs into one row of class scores per sample")
    return int(out.shape[1])


def as_input(module: nn.Module, sample: Array) -> torch.Tensor:
    """Samples in the precision of the module; whole numbers (tokens) as they are."""
    x = torch.from_numpy(np.ascontiguousarray(sample))
    return x.to(next(p.dtype for p in module.parameters())) if x.is_floating_point() else x


def takes_channels_last(module: nn.Module, sample: Array) -> bool:
    """Whether a module with two-dimensional convolutions takes images whose channels are innermost in memory.

    Convolution and pooling are faster so. A module that looks at the memory of its maps (`x.view(len(x), -1)` after a
    convolution) cannot take them; it gets images as they are.

    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 36, 2))
    >>> takes_channels_last(net, np.zeros((1, 1, 8, 8), np.float32))
    True
    """
    if sample.ndim != 4 or not any(isinstance(m, nn.Conv2d) for m in module.modules()):
        return False
    x = torch.rand(2, *sample.shape[1:], generator=torch.Generator().manual_seed(0))
    x = x.to(next(p.dtype for p in module.parameters()))
    try:
        with torch.no_grad(), torch_seed(0):
            plain = module.eval()(x)
        with torch.no_grad(), torch_seed(0):
            return torch.allclose(plain, module(x.to(memory_format=torch.channels_last)), rtol=1e-3, atol=1e-4)
    except Exception:
        return False
