"""Local SGD of perceptrons in C: the first layer in the dual form where that is less work, else directly.

In the dual form the weights are never touched: they are `a W0 + A' X` for the client's samples X, and a step needs
the products of samples among themselves, which are the same in every round and kept while there is room.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from shoal.kernels.native import native
from shoal.types import Array

ROOM = 256 << 20  # bytes of products of samples that a process keeps
LARGEST = 8192  # samples of a client whose products are formed at all


@dataclass(frozen=True)
class Rule:
    """What a step does beside the gradient; `pull` draws towards the vector received."""

    lr: float
    momentum: float = 0.0
    decay_kernels: float = 0.0
    decay_biases: float = 0.0
    pull: float = 0.0

    @property
    def plain(self) -> bool:
        return not (self.momentum or self.decay_kernels or self.decay_biases or self.pull)


@dataclass(frozen=True)
class Perceptron:
    """A model made of linear layers with rectifiers between them: the widths, and which layers have a bias.

    >>> Perceptron.of(nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)))
    Perceptron(widths=(4, 3, 2), bias=(True, False))
    >>> Perceptron.of(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))) is None
    True
    """

    widths: tuple[int, ...]
    bias: tuple[bool, ...]

    @classmethod
    def of(cls, module: nn.Module) -> Perceptron | None:
        """The perceptron that a module is, by the exact types of its parts; None if it is anything else."""
        chain = list(steps_of(module))
        if chain and flattens(chain[0]):
            chain = chain[1:]
        layers, between = chain[::2], chain[1::2]
        if len(chain) % 2 == 0 or any(type(m) is not nn.ReLU for m in between):
            return None
        if any(type(m) is not nn.Linear for m in layers) or len(set(map(id, layers))) < len(layers):
            return None
        linear = [m for m in layers if isinstance(m, nn.Linear)]
        if any(a.out_features != b.in_features for a, b in pairwise(linear)) or linear[-1].out_features < 2:
            return None
        if any(hooked(m) for m in module.modules()) or not all(p.requires_grad for p in module.parameters()):
            return None
        widths = (linear[0].in_features, *(m.out_features for m in linear))
        return cls(widths, tuple(m.bias is not None for m in linear))


def steps_of(module: nn.Module) -> Iterator[nn.Module]:
    """What a module does in order, nested sequences laid out flat."""
    if type(module) is nn.Sequential:
        for child in module:
            yield from steps_of(child)
    else:
        yield module


def flattens(module: nn.Module) -> bool:
    return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)


def hooked(module: nn.Module) -> bool:
    """Whether somebody listens to, or changes, what the module does."""
    names = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return any(getattr(module, name) for name in names)


def dual_pays(n: int, widths: tuple[int, ...], passes: int, steps: int, rule: Rule) -> bool:
    """Whether the dual form is less work for n samples: multiplications with the first layer, in both forms.

    >>> dual_pays(60, (784, 10), 1200, 120, Rule(0.03)), dual_pays(900, (60, 10), 18000, 1800, Rule(0.03))
    (True, False)
    """
    d, h = widths[0], widths[1]
    moves = 0 if rule.plain else 2 * steps * h
    direct = 2 * passes * d * h + moves * d
    dual = passes * n * h + 2 * n * d * h + n * n * d // 4 + moves * n
    return n <= LARGEST and dual < direct


class Dense:
    """Trains one perceptron shape in this process.

    >>> Dense(Perceptron((2, 2), (True,)), np.dtype(np.float32)).perceptron.widths
    (2, 2)
    """

    def __init__(self, perceptron: Perceptron, dtype: np.dtype[Any], room: int = ROOM) -> None:
        found = native()
        if found is None:
            raise RuntimeError("the dense kernel was not built when Shoal was installed; use kernel=torch")
        self.perceptron, self.dtype, self.room = perceptron, dtype, room
        self._train = getattr(found[1], "dense_train_f32" if dtype == np.float32 else "dense_train_f64")
        self._content = found[1].content
        self._content.restype = ctypes.c_uint64
        self._widths = np.array(perceptron.widths, np.int64)
        self._bias = np.array(perceptron.bias, np.uint8)
        self._lanes = {"base": 16, "avx2": 32, "avx512": 64}[found[0]] // dtype.itemsize
        self._grams: OrderedDict[tuple[int, int], Array] = OrderedDict()
        self._held = 0

    def train(
        self,
        start_P: Array,
        x: Array,
        y: Array,
        order: Array,
        cuts: Array,
        rule: Rule,
        velocity: Array | None = None,
        dual: bool | None = None,
    ) -> tuple[Array, float]:
        """The update after the batches `order[cuts[s]:cuts[s + 1]]`, and the summed loss over the samples seen.

        A `velocity` given is the momentum to begin with; it is changed in place. `dual` settles the form.
        """
        widths = self.perceptron.widths
        x = np.ascontiguousarray(x, self.dtype).reshape(len(y), -1)
        y = np.ascontiguousarray(y, np.int64)
        if x.shape[1] != widths[0]:
            raise ValueError(f"samples of {x.shape[1]} numbers for a model that takes {widths[0]}")
        if len(y) and not (y.min() >= 0 and y.max() < widths[-1]):
            raise ValueError(f"a label outside 0 to {widths[-1] - 1}")
        params = np.array(start_P, self.dtype)
        loss, scale = ctypes.c_double(), ctypes.c_double(1.0)
        if dual is None:
            dual = velocity is None and dual_pays(len(y), widths, len(order), len(cuts) - 1, rule)
        gram = z0 = span = None
        if dual:
            first_HD = params[: widths[0] * widths[1]].reshape(widths[1], widths[0])
            samples = torch.from_numpy(x)
            gram = self.gram(x)
            z0 = (samples @ torch.from_numpy(first_HD).T).numpy()
            span = np.zeros((len(y), -(-widths[1] // self._lanes) * self._lanes), self.dtype)
        failed = self._train(
            at(x), at(y), i64(len(y)), i64(len(widths) - 1), at(self._widths), at(self._bias), at(params), at(velocity),
            at(order), at(cuts), i64(len(cuts) - 1), f64(rule.lr), f64(rule.momentum), f64(rule.decay_kernels),
            f64(rule.decay_biases), f64(rule.pull), at(gram), at(z0), at(span), ctypes.byref(scale), ctypes.byref(loss),
        )  # fmt: skip
        if failed:
            raise MemoryError("no memory for local training")
        update_P = params - start_P
        if span is not None:
            moved_HD = (torch.from_numpy(span[:, : widths[1]]).T @ samples).numpy()
            update_P[: first_HD.size] = (moved_HD + self.dtype.type(scale.value - 1) * first_HD).reshape(-1)
        return update_P, loss.value

    def gram(self, x: Array) -> Array:
        """The products of the samples among themselves, kept from the last time if there was room."""
        mark = (len(x), int(self._content(at(x), i64(x.nbytes // 4))))
        if mark in self._grams:
            self._grams.move_to_end(mark)
            return self._grams[mark]
        samples = torch.from_numpy(x)
        gram: Array = (samples @ samples.T).numpy()
        if gram.nbytes <= self.room:
            self._grams[mark] = gram
            self._held += gram.nbytes
            while self._held > self.room:
                self._held -= self._grams.popitem(last=False)[1].nbytes
        return gram


def at(array: Array | None) -> ctypes.c_void_p | None:
    """Where an array begins; it must be contiguous and stay alive during the call."""
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


i64, f64 = ctypes.c_int64, ctypes.c_double
