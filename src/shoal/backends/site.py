"""Where clients live during a simulation: one site per process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from shoal.backends.cohort import KernelData
from shoal.data.federation import Source
from shoal.data.samples import View
from shoal.net import Net
from shoal.tree import Tree, address, batch, nbytes
from shoal.types import Array

Clock = Callable[[], float]
INPUT_BYTES = 64 << 20  # inputs of tests that a process keeps ready for the next one


@dataclass
class Site:
    """What a unit finds in its process.

    Args:
        net: The module.
        federation: The data of all clients.
        clock: Tells seconds.
        vectors_VP: Vectors that clients keep.
        ready: Inputs of tests, made ready once.

    >>> from shoal.data.federation import Federation
    >>> import numpy as np
    >>> from torch import nn
    >>> from shoal.layout import Layout
    >>> fed = Federation.from_arrays({"ann": (np.eye(3, dtype=np.float32), [0, 1, 0])}, test=0.0)
    >>> site = Site(Net(Layout.of(lambda: nn.Linear(3, 2), fed.sample())), fed)
    >>> site.inputs(np.array([2]), View()).tolist()
    [[0.0, 0.0, 1.0]]
    """

    net: Net
    federation: Source
    clock: Clock = time.monotonic
    vectors_VP: Array | None = None
    ready: dict[tuple[Any, ...], Tree] = field(default_factory=dict)

    @cached_property
    def kernel_data(self) -> KernelData | None:
        """The federation as the kernel reads it; None if it cannot."""
        return KernelData.of(self.net, self.federation.in_memory)

    def inputs(self, index: Array, view: View) -> Tree:
        """Samples as inputs of a model; the same ones are made once, while there is room to keep them.

        Args:
            index: Places of the samples.
            view: How the clients see them.

        Returns:
            The inputs, one per place.
        """
        federation = self.federation.in_memory
        assert federation is not None
        mark = (address(federation.x), view.turns, index.tobytes())
        found = self.ready.get(mark)
        if found is None:
            found = batch(federation.inputs_at(index, view))
            if sum(map(nbytes, self.ready.values())) + nbytes(found) <= INPUT_BYTES:
                self.ready[mark] = found
        return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Arithmetic as in a worker: one thread, denormals flushed; afterwards as it was."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
