"""A worker process: waits for units, runs them on one thread, sends back what they leave."""

from __future__ import annotations

import ctypes
import os
import pickle
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch

from shoal.backends.backend import Outcome, Unit, failed
from shoal.backends.shared_memory import Block, load, load_units
from shoal.backends.site import Site
from shoal.backends.unit import explain, safely
from shoal.net import Arithmetic, Net
from shoal.types import Array

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
ARENA_BYTES = 4096  # arrays of answers from this size on go through the arena
READY = b"ready"  # the first word of a worker, when it begins with its first units


class Worker:
    """The far end of one connection. Messages are tuples: a verb and its arguments."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.blocks: dict[int, Block] = {}
        self.net: Net | None = None
        self.site: Site | None = None
        self.models_KP: Array | None = None
        self.arena: Block | None = None
        self.half = 0  # the half of the arena for the next answers
        self.tasks: dict[int, list[Any]] = {}
        self.ready = False
        self.inbox: SimpleQueue[tuple[Any, ...]] = SimpleQueue()

    def serve(self) -> None:
        """Answer until the parent goes away."""
        threading.Thread(target=self.receive, daemon=True).start()
        while True:
            verb, *rest = self.inbox.get()
            getattr(self, f"do_{verb}")(*rest)

    def receive(self) -> None:
        """Take in what the parent says, whatever the worker does: two that wait to be heard would wait for ever.

        The process ends with the parent, also in the middle of a long unit.
        """
        try:
            while True:
                message = self.connection.recv()
                fds = (recv_handle(self.connection),) if message[0] == "block" else ()
                self.inbox.put((*message, *fds))
        except (EOFError, ConnectionResetError):
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def do_block(self, number: int, size: int, fd: int) -> None:
        self.blocks[number] = Block(fd, size)

    def do_drop(self, number: int) -> None:
        self.blocks.pop(number).close()

    def do_open(self, data: bytes, arithmetic: Arithmetic) -> None:
        self.net, self.site = Net(load(data, self.blocks), arithmetic), None
        if self.net.native is not None and not self.net.native.network.stages:
            return_large_arrays()

    def do_set_federation(self, data: bytes) -> None:
        assert self.net is not None
        federation = load(data, self.blocks)
        self.site = Site(self.net, federation) if self.site is None else replace(self.site, federation=federation)

    def do_set_vectors(self, data: bytes) -> None:
        assert self.site is not None
        self.site.vectors_VP = load(data, self.blocks)

    def do_models(self, number: int | None, shape: tuple[int, ...], dtype: str) -> None:
        self.models_KP = None if number is None else self.blocks[number].array(shape, np.dtype(dtype))

    def do_arena(self, number: int) -> None:
        self.arena = self.blocks[number]

    def do_tasks(self, slot: int, data: bytes) -> None:
        self.tasks[slot] = pickle.loads(data)

    def do_units(self, slot: int, data: bytes) -> None:
        assert self.site is not None
        if not self.ready:
            self.ready = True
            self.connection.send_bytes(READY)
        units = load_units(data, self.tasks[slot])
        outcomes = [safely(unit, self.site, self.models_KP, memories) for unit, memories in units]
        try:
            packed = self.pack(outcomes)
        except Exception:
            packed = self.pack([self.sendable(u, out) for (u, _), out in zip(units, outcomes, strict=True)])
        self.half = 1 - self.half
        self.connection.send_bytes(packed)

    def sendable(self, unit: Unit, outcome: Outcome) -> Outcome:
        """The outcome, or why it cannot be sent."""
        try:
            self.pack([outcome])
        except Exception as e:
            return failed(unit, f"the answer cannot be sent: {explain(e)}")
        return outcome

    def pack(self, outcomes: Sequence[Outcome]) -> bytes:
        """Large arrays of answers are put into the arena while there is room; the rest goes into the message.

        The halves of the arena take turns: the parent may not have read the answers before these yet.
        """
        size = 0 if self.arena is None else self.arena.size // 2
        at, packed = self.half * size, []
        end = at + size
        for outcome in outcomes:
            answer, places = dict(outcome.answer or {}), {}
            for name, value in list(answer.items()):
                big = isinstance(value, np.ndarray) and not value.dtype.hasobject and value.nbytes >= ARENA_BYTES
                if big and self.arena is not None and at + value.nbytes <= end:
                    self.arena.array(value.shape, value.dtype, at)[...] = value
                    places[name] = (at, value.shape, value.dtype.str)
                    at += -(-value.nbytes // 64) * 64
                    del answer[name]
            left = None if outcome.answer is None else answer
            packed.append((left, places, dict(outcome.memories), outcome.failed))
        return pickle.dumps(packed, protocol=5)


def unpack(data: bytes, arena: Block) -> Iterator[Outcome]:
    """The other side of `Worker.pack`, in the parent; arrays are copied out of the arena."""
    for answer, places, memories, failures in pickle.loads(data):
        if answer is not None:
            for name, (at, shape, dtype) in places.items():
                answer[name] = arena.array(shape, np.dtype(dtype), at).copy()
        yield Outcome(answer, memories, failures)


def return_large_arrays() -> None:
    """Let arrays of a few MB, such as those of a large client, go back to the system when they are done with.

    The C library would keep them for the next one, and a worker would grow with every larger client it meets. Not where
    torch trains: it asks for such arrays in every step.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 4 << 20)


def main(fd: int) -> None:
    """Entry point of the process; `fd` is its end of the connection."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        Worker(Connection(fd)).serve()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
