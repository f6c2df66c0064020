"""A worker process of the `local` engine: waits for units, runs them on one thread, sends back what they leave."""

from __future__ import annotations

import os
import pickle
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Any

import numpy as np
import torch

from shoal.engines.shared import Block, load, load_unit
from shoal.engines.unit import Outcome, Site, explain, failed, safely
from shoal.net import Arithmetic, Net
from shoal.types import Array

READY = "ready"  # the first word of a worker


class Worker:
    """The far end of one connection. Messages are tuples: a verb and its arguments."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.blocks: dict[int, Block] = {}
        self.net: Net | None = None
        self.site: Site | None = None
        self.models_KP: Array | None = None
        self.arena: Block | None = None
        self.tasks: list[Any] = []

    def serve(self) -> None:
        """Answer until the parent goes away."""
        self.connection.send(READY)
        while True:
            verb, *rest = self.connection.recv()
            getattr(self, f"do_{verb}")(*rest)

    def do_block(self, number: int, size: int) -> None:
        self.blocks[number] = Block(recv_handle(self.connection), size)

    def do_drop(self, number: int) -> None:
        self.blocks.pop(number).close()

    def do_open(self, data: bytes, how: Arithmetic) -> None:
        self.net, self.site = Net(load(data, self.blocks), how), None

    def do_use(self, data: bytes) -> None:
        assert self.net is not None
        federation = load(data, self.blocks)
        self.site = Site(self.net, federation) if self.site is None else replace(self.site, federation=federation)

    def do_know(self, data: bytes) -> None:
        assert self.site is not None
        self.site.library_VP = load(data, self.blocks)

    def do_models(self, number: int | None, shape: tuple[int, ...], dtype: str) -> None:
        self.models_KP = None if number is None else self.blocks[number].array(shape, np.dtype(dtype))

    def do_arena(self, number: int) -> None:
        self.arena = self.blocks[number]

    def do_tasks(self, data: bytes) -> None:
        self.tasks = pickle.loads(data)

    def do_unit(self, number: int, data: bytes) -> None:
        assert self.site is not None
        unit = load_unit(data, self.tasks)
        outcome = safely(unit, self.site, self.models_KP)
        try:
            packed = self.pack(outcome)
        except Exception as e:
            packed = self.pack(failed(unit, f"the answer cannot be sent: {explain(e)}"))
        self.connection.send((number, packed))

    def pack(self, outcome: Outcome) -> bytes:
        """Large arrays of an answer are put into the arena while there is room; the rest goes into the message."""
        answer, at, places = dict(outcome.answer or {}), 0, {}
        for name, value in list(answer.items()):
            big = isinstance(value, np.ndarray) and not value.dtype.hasobject and value.nbytes >= 4096
            if big and self.arena is not None and at + value.nbytes <= self.arena.size:
                self.arena.map[at : at + value.nbytes] = np.ascontiguousarray(value).tobytes()
                places[name] = (at, value.shape, value.dtype.str)
                at += -(-value.nbytes // 64) * 64
                del answer[name]
        left = None if outcome.answer is None else answer
        return pickle.dumps((left, places, dict(outcome.memories), outcome.failed))


def unpack(data: bytes, arena: Block) -> Outcome:
    """The other side of `Worker.pack`, in the parent; arrays are copied out of the arena."""
    answer, places, memories, failed = pickle.loads(data)
    if answer is not None:
        for name, (at, shape, dtype) in places.items():
            count: Any = int(np.prod(shape))
            answer[name] = np.frombuffer(arena.map, np.dtype(dtype), count, at).reshape(shape).copy()
    return Outcome(answer, memories, failed)


def follow(parent: int) -> None:
    """End with the parent, also in the middle of a long unit."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main(fd: int) -> None:
    """Entry point of the process; `fd` is its end of the connection."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    threading.Thread(target=follow, args=(os.getppid(),), daemon=True).start()
    try:
        Worker(Connection(fd)).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(0)
