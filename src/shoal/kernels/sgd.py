"""Local SGD of small networks in C: stages of convolution if there are any, then a perceptron.

The first layer of a perceptron is trained in the dual form where that is less work. There the weights are never
touched: they are `a W0 + A' X` for the client's samples X, and a step needs the products of samples among themselves,
which are the same in every round and kept while there is room.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from shoal.kernels.native import native, why_none
from shoal.kernels.network import Network
from shoal.types import Array, expect

ROOM = 8 << 20  # bytes of products of samples that a process keeps, for small federations
LARGEST = 8192  # samples of a client whose products are formed at all
pointer, i64, f64 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
TRAIN = [{"p": pointer, "i": i64, "f": f64}[kind] for kind in "ppiippipppppppifffffppppp"]  # as `train` in train.h


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


def dual_pays(n: int, widths: tuple[int, ...], passes: int, steps: int, rule: Rule) -> bool:
    """Whether the dual form is less work for n samples: multiplications with the first layer, in both forms.

    Products of samples are made four times as fast as those of a step, and serve about three rounds.

    >>> dual_pays(60, (784, 10), 1200, 120, Rule(0.03)), dual_pays(900, (60, 10), 18000, 1800, Rule(0.03))
    (True, False)
    """
    d, h = widths[0], widths[1]
    moves = 0 if rule.plain else 2 * steps * h
    direct = 2 * passes * d * h + moves * d
    dual = passes * n * h + 2 * n * d * h + n * n * d // 12 + moves * n
    return n <= LARGEST and dual < direct


class Native:
    """Trains networks of one shape in this process.

    >>> native() is None or Native(Network((2, 2), (True,)), np.dtype(np.float32)).network.widths == (2, 2)
    True
    """

    def __init__(self, network: Network, dtype: np.dtype[Any], room: int = ROOM) -> None:
        found = native()
        if found is None:
            raise RuntimeError(f"there is no native kernel: {why_none()}; use kernel=torch")
        self.network, self.dtype, self.room = network, dtype, room
        self._train = getattr(found[1], "train_f32" if dtype == np.float32 else "train_f64")
        self._train.argtypes = TRAIN
        self._content = found[1].content
        self._content.restype, self._content.argtypes = ctypes.c_uint64, [pointer, i64]
        self._widths = np.array(network.widths, np.int64)
        self._bias = np.array(network.bias, np.uint8)
        self._norms = np.array([s.norm or (0.0, 0.0) for s in network.stages], np.float64)
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
        network, widths, steps = self.network, self.network.widths, len(cuts) - 1
        x, y = np.ascontiguousarray(x, self.dtype), np.ascontiguousarray(y, np.int64)
        stages, inputs = network.shapes(x.shape[1:])
        shapes = np.array(stages, np.int64)
        self._check(start_P, x, y, order, cuts, velocity, inputs)
        params, trainable = np.array(start_P), network.trainable
        norms = sum(s.norm is not None for s in network.stages)
        loss, scale = ctypes.c_double(), ctypes.c_double(1.0)
        if dual is None:
            form = not network.stages and velocity is None
            dual = form and dual_pays(len(y), widths, len(order), steps, rule)
        if (dual and network.stages) or (velocity is not None and (dual or not rule.momentum)):
            raise ValueError("a velocity is for training with momentum, and the dual form for perceptrons without one")
        if velocity is not None and not velocity.flags.writeable:
            raise ValueError("the velocity is changed in place, but read only")
        gram = z0 = span = None
        if dual:
            first_HD = params[: widths[0] * widths[1]].reshape(widths[1], widths[0])
            samples_ND = torch.from_numpy(x.reshape(len(y), -1))
            gram = self.gram(x)
            span = np.zeros((len(y), -(-widths[1] // self._lanes) * self._lanes), self.dtype)
            z0 = np.zeros_like(span)
            z0[:, : widths[1]] = samples_ND @ torch.from_numpy(first_HD).T
        failed = self._train(
            at(x), at(y), len(y), len(shapes), at(shapes), at(self._norms), len(widths) - 1, at(self._widths),
            at(self._bias), at(params), at(params[trainable:]), at(velocity), at(order), at(cuts), steps, rule.lr,
            rule.momentum, rule.decay_kernels, rule.decay_biases, rule.pull, at(gram), at(z0), at(span),
            ctypes.byref(scale), ctypes.byref(loss),
        )  # fmt: skip
        if failed:
            raise MemoryError("no memory for local training")
        if norms:
            params[-norms:] += steps  # batches that each batch norm has seen
        update_P = params - start_P
        if span is not None:
            moved_HD = (torch.from_numpy(span[:, : widths[1]]).T @ samples_ND).numpy()
            update_P[: first_HD.size] = (moved_HD + self.dtype.type(scale.value - 1) * first_HD).reshape(-1)
        return update_P, loss.value

    def _check(
        self, start_P: Array, x: Array, y: Array, order: Array, cuts: Array, velocity: Array | None, inputs: int
    ) -> None:
        """C reads and writes where it is told to: nothing goes there that is not as long as the network needs it."""
        network, whole = self.network, np.dtype(np.int64)
        expect(start_P, "the model", (network.size,), self.dtype)
        if velocity is not None:
            expect(velocity, "the velocity", (network.trainable,), self.dtype)
        expect(y, "the labels", (len(x),), whole)
        expect(order, "the order of the samples", (None,), whole)
        expect(cuts, "the ends of the batches", (None,), whole)
        if inputs != network.widths[0]:
            raise ValueError(f"samples of shape {'x'.join(map(str, x.shape[1:]))} do not fit the model")
        if len(y) and not (y.min() >= 0 and y.max() < network.widths[-1]):
            raise ValueError(f"a label outside 0 to {network.widths[-1] - 1}")
        if len(order) and not (order.min() >= 0 and order.max() < len(y)):
            raise ValueError(f"a place outside the {len(y)} samples in their order")
        if not len(cuts) or cuts[0] < 0 or cuts[-1] > len(order) or (np.diff(cuts) < 1).any():
            raise ValueError(f"batches must follow each other within the {len(order)} places of the order")

    def gram(self, x: Array) -> Array:
        """The products of the samples among themselves, kept from the last time if there was room."""
        mark = (len(x), int(self._content(at(x), x.nbytes // 4)))
        if mark in self._grams:
            self._grams.move_to_end(mark)
            return self._grams[mark]
        samples_ND = torch.from_numpy(x.reshape(len(x), -1))
        gram: Array = (samples_ND @ samples_ND.T).numpy()
        if gram.nbytes <= self.room:
            self._grams[mark] = gram
            self._held += gram.nbytes
            while self._held > self.room:
                self._held -= self._grams.popitem(last=False)[1].nbytes
        return gram


def at(array: Array | None) -> int | None:
    """Where an array begins; it must lie in one piece and stay alive during the call."""
    if array is None:
        return None
    if not array.flags.c_contiguous:
        raise ValueError(f"an array of shape {array.shape} does not lie in one piece")
    return int(array.__array_interface__["data"][0])
