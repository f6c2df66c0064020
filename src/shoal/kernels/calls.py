"""What the native kernel is handed: the network, samples as they are stored, and where everything lies."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels.native import native
from shoal.types import Array

if TYPE_CHECKING:
    from shoal.kernels.sgd import Native

pointer, i64, f64 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
KINDS = {np.dtype(np.uint8): 0, np.dtype(np.float32): 1, np.dtype(np.float64): 2}  # of stored samples
LONG = 10**9  # multiplications of a call for which nobody who interrupts a run should have to wait


class Call(ctypes.Structure):
    """What all clients of a call have in common: as `call` in network.h."""

    _fields_ = [
        *((name, i64) for name in ("stages", "layers", "size", "trainable", "norms")),
        *((name, pointer) for name in ("shapes", "widths", "constants", "bias", "rectified", "cell_shapes")),
        *((name, i64) for name in ("cells", "words")),
        *((name, pointer) for name in ("x", "shift", "scale", "inverse")),
        *((name, i64) for name in ("kind", "numbers", "batch", "pairs", "shuffle")),
        *((name, f64) for name in ("lr", "momentum", "decay_kernels", "decay_biases", "pull", "lam")),
        ("bandwidths", pointer),
        *((name, i64) for name in ("bands", "cut", "fusion", "channels", "gammas")),
        ("gamma", f64),
        ("rooms", pointer),
        ("room", i64),
        ("threads", i64),
        ("stop", pointer),
    ]


ADDRESS = "u8"
JOB = np.dtype(  # as `job` in train.h
    [(name, ADDRESS) for name in ("index", "label", "turn", "order", "cuts", "start", "update", "velocity", "now")]
    + [("key", "u8", 2), *((name, "i8") for name in ("n", "steps", "dual", "seen", "next", "sound")), ("loss", "f8")]
)
PIECE = np.dtype(  # as `piece` in cohort.h
    [(name, ADDRESS) for name in ("index", "turn", "model", "out")] + [("n", "i8"), ("from", "i8")]
)


@dataclass(frozen=True)
class Store:
    """Samples as they are stored, and how they become inputs: `(x - shift) / scale`.

    Args:
        x: All of them, (samples, ...): bytes, floats or doubles.
        shift: What is taken off; None leaves samples as they are.
        scale: What the difference is divided by.

    >>> Store(np.zeros((5, 28, 28), np.uint8), 0.0, 255.0).shape
    (28, 28)
    """

    x: Array
    shift: Array | float | None = None
    scale: Array | float = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample."""
        return tuple(self.x.shape[1:])

    @cached_property
    def constants(self) -> tuple[Array | None, Array | None, Array | None]:
        """For each number of a sample what is taken off, what the difference is divided by, and, where a multiplication
        does as well for bytes, by what; all none where samples are taken as they are."""
        if self.shift is None:
            return None, None, None
        dtype = np.float64 if self.x.dtype == np.float64 else np.float32
        shift, scale = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(v, dtype), self.shape)) for v in (self.shift, self.scale)
        )
        found = native() if self.x.dtype == np.uint8 else None
        quick = found is not None and found[1].divides(pointer(at(shift)), pointer(at(scale)), i64(scale.size))
        return shift, scale, 1 / scale if quick else None


class Prepared:
    """What a call says of network and samples, with the arrays at which it points."""

    def __init__(self, kernel: Native, store: Store, index_S: Array, threads: int) -> None:
        network = kernel.network
        if store.x.dtype not in KINDS:
            raise ValueError(f"samples of {store.x.dtype} are not bytes, floats or doubles")
        stages, inputs = network.shapes(store.shape)
        if inputs != network.widths[0]:
            raise ValueError(f"samples of shape {'x'.join(map(str, store.shape))} do not fit the model")
        if len(index_S) and not (index_S.min() >= 0 and index_S.max() < len(store.x)):
            raise ValueError(f"a place outside the {len(store.x)} samples")
        self.shapes, self.store, self.stop = np.array(stages, np.int64), store, np.zeros(1, np.int32)
        self.held: tuple[object, ...] = ()  # what a call works on stays as long as the call
        shift, scale, inverse = store.constants
        self.call = Call(
            stages=len(stages), layers=len(network.widths) - 1, size=network.size, trainable=network.trainable,
            norms=sum(s.batch_norm for s in network.stages), shapes=at(self.shapes), widths=at(kernel.widths),
            constants=at(kernel.constants), bias=at(kernel.bias), rectified=at(kernel.rectified),
            cell_shapes=at(kernel.cells), cells=len(network.cells), words=store.shape[0] if network.cells else 0,
            x=at(store.x), shift=at(shift), scale=at(scale), inverse=at(inverse),
            kind=KINDS[store.x.dtype], numbers=int(np.prod(store.shape, dtype=int)), threads=max(threads, 1),
            stop=at(self.stop),
        )  # fmt: skip
        if mixing := network.mixing:
            self.call.fusion, self.call.channels, self.call.cut = mixing.kind, mixing.channels, network.head or 0
            self.call.gammas, self.call.gamma = mixing.gammas, mixing.gamma

    def run(self, function: Callable[..., int], work: int, *arguments: int) -> int:
        """What C gives back; `work` is in multiplications. Who interrupts a long call waits for the clients begun.

        What the arguments point at is put into `held` before.
        """
        if work < LONG or threading.current_thread() is not threading.main_thread():
            return function(ctypes.byref(self.call), *arguments)
        given: list[int] = []
        done = threading.Event()

        def call() -> None:  # holds this object, and so all arrays that the call works on
            try:
                given.append(function(ctypes.byref(self.call), *arguments))
            finally:
                done.set()

        thread = threading.Thread(target=call)
        try:  # not by `join`, which takes a thread for dead when it is interrupted
            thread.start()
            done.wait()
        finally:
            self.stop[0] = 1
            while thread.ident is not None and not done.is_set():
                with suppress(KeyboardInterrupt):
                    done.wait()
        return given[0]


def turned(shape: tuple[int, ...], turns_N: Array, images: bool) -> dict[int, Array]:
    """For every number of quarter turns that is not none: where each number of a turned sample comes from."""
    kinds = sorted({int(t) for t in np.unique(turns_N)} - {0})
    if kinds and images and len(set(shape[-2:])) > 1:
        raise ValueError(f"images of {shape[-2]} x {shape[-1]} pixels cannot be turned")
    return {t: quarter_turns(shape, t) for t in kinds}


@lru_cache(maxsize=16)
def quarter_turns(shape: tuple[int, ...], turns: int) -> Array:
    """Where each number of a sample comes from when its images are turned, counterclockwise.

    >>> quarter_turns((2, 2), 1).tolist()
    [1, 3, 0, 2]
    """
    places = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    return np.ascontiguousarray(np.rot90(places, turns, axes=(-2, -1))).reshape(-1)


def at(array: Array | None) -> int | None:
    """Where an array begins; it must lie in one piece and stay alive during the call."""
    if array is None:
        return None
    if not array.flags.c_contiguous:
        raise ValueError(f"an array of shape {array.shape} does not lie in one piece")
    return array.ctypes.data


def address(array: Any) -> int:
    """As `at`, and 0 for none."""
    return at(array) or 0
