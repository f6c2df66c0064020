"""Modules made under a seed: torch has one generator per process, which is lent and given back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

ModelFactory = Callable[[], nn.Module]
RANDOM = threading.RLock()  # torch has one generator per process


@contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Torch's random numbers under a seed of our own; one thread at a time, and afterwards they go on as before.

    Args:
        seed: For torch, on all devices.

    Yields:
        Nothing.

    >>> with torch_seed(1):
    ...     one = torch.rand(2)
    >>> with torch_seed(1):
    ...     print(torch.equal(one, torch.rand(2)))
    True
    """
    with RANDOM, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` is slow where no other device is in use
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.manual_seed_all(seed)
        yield


def seeded(factory: ModelFactory, seed: int) -> nn.Module:
    """A module drawn under a seed of its own.

    Args:
        factory: Makes it.
        seed: For torch.

    Returns:
        A fresh module.

    >>> torch.equal(seeded(lambda: nn.Linear(2, 2), 1).weight, seeded(lambda: nn.Linear(2, 2), 1).weight)
    True
    """
    with torch_seed(seed):
        return factory()
