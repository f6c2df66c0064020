"""What a worker does, wherever it is: it opens a run, takes in what it must know, and runs units on one thread."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from shoal.backends.at_once import AtOnce
from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.dumping import load_units
from shoal.backends.site import Site
from shoal.backends.unit import Chain, OneClient, explain, safely
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic, Net
from shoal.types import Array, Memory

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
Pack = Callable[[Sequence[Outcome]], bytes]


class Worker:
    """One worker's knowledge, and its work. How things reach it and leave it is no concern of its.

    >>> from shoal.data.federation import Federation
    >>> import numpy as np
    >>> from torch import nn
    >>> from shoal.backends.dumping import dump_units
    >>> from shoal.backends.unit import OneClient
    >>> from shoal.seeds import Key
    >>> from shoal.tasks import LabelHistogram
    >>> fed = Federation.from_arrays({"ann": (np.eye(3, dtype=np.float32), [0, 1, 0])}, test=0.0)
    >>> worker, task = Worker(), LabelHistogram()
    >>> worker.open(Layout.of(lambda: nn.Linear(3, 2), fed.sample()), Arithmetic())
    >>> worker.set_federation(fed)
    >>> worker.set_tasks(0, pickle.dumps([task]))
    >>> unit = OneClient(task, "ann", -1, Key(0).of("ann"), cost=3)
    >>> pickle.loads(worker.run(0, dump_units([(unit, {})], [task]), pickle.dumps))[0].answer["histogram"].tolist()
    [2, 1]
    """

    def __init__(self) -> None:
        self.net: Net | None = None
        self.site: Site | None = None
        self.models_KP: Array | None = None
        self.tasks: dict[int, list[Any]] = {}

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins: no data, no vectors."""
        self.net, self.site = Net(layout, arithmetic), None
        if self.net.native is not None and not self.net.native.network.stages:
            return_large_arrays()

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        assert self.net is not None
        self.site = Site(self.net, federation) if self.site is None else replace(self.site, federation=federation)

    def set_vectors(self, vectors_VP: Array) -> None:
        """The vectors that clients keep."""
        assert self.site is not None
        self.site.vectors_VP = vectors_VP

    def set_models(self, models_KP: Array | None) -> None:
        """The models of the next units."""
        self.models_KP = models_KP

    def set_tasks(self, number: int, data: bytes) -> None:
        """A list of tasks that units name by its number."""
        self.tasks[number] = pickle.loads(data)

    def run(self, number: int, data: bytes, pack: Pack) -> bytes:
        """Run units, and pack what they leave; what cannot be packed is the failure of its own unit.

        Args:
            number: The list of their tasks.
            data: Units with what their clients keep, as `dump_units` gives them.
            pack: Makes bytes of outcomes.

        Returns:
            The outcomes, packed.
        """
        assert self.site is not None
        units = load_units(data, self.tasks[number])
        outcomes = run_all(units, self.site, self.models_KP)
        try:
            return pack(outcomes)
        except Exception:
            return pack([sendable(unit, out, pack) for (unit, _), out in zip(units, outcomes, strict=True)])


def run_all(units: Sequence[tuple[Unit, Mapping[str, Memory]]], site: Site, models_KP: Array | None) -> list[Outcome]:
    """Run units, each with what its clients keep: several in one call where the kernel can, else one by one."""
    whole = at_once(units, site, models_KP) if len(units) > 1 else None
    return whole or [safely(unit, site, models_KP, memories) for unit, memories in units]


def at_once(
    units: Sequence[tuple[Unit, Mapping[str, Memory]]], site: Site, models_KP: Array | None
) -> list[Outcome] | None:
    """What units leave that the kernel does in one call; None: one by one, and whoever fails says why.

    So also for what the call raises: it would be the failure of all, and who came with whom must not matter.
    """
    clients = all(isinstance(unit, OneClient | Chain) for unit, _ in units)
    if not clients or site.net.native is None or site.vectors_VP is None or site.kernel_data is None:
        return None
    kept = {client: memory for _, memories in units for client, memory in memories.items()}
    try:
        call = AtOnce(site.kernel_data, models_KP, lambda client: kept.get(client, {}), site.vectors_VP)
        return call.units([unit for unit, _ in units])
    except (Exception, SystemExit):
        return None


def sendable(unit: Unit, outcome: Outcome, pack: Pack) -> Outcome:
    """The outcome, or why it cannot be sent."""
    try:
        pack([outcome])
    except Exception as e:
        return failed(unit, f"the answer cannot be sent: {explain(e)}")
    return outcome


def alone_on_its_core() -> None:
    """The arithmetic of a process that does nothing else: one thread, denormals flushed."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def return_large_arrays() -> None:
    """Let arrays of a few MB, such as those of a large client, go back to the system when they are done with.

    The C library would keep them for the next one, and a worker would grow with every larger client it meets. Not where
    torch trains: it asks for such arrays in every step.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 4 << 20)
