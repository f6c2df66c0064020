"""A worker process: what the parent says, and what units leave, goes through a pipe and shared blocks."""

from __future__ import annotations

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

from shoal.backends.backend import Outcome
from shoal.backends.shared_memory import Block, load
from shoal.backends.worker import Worker, alone_on_its_core
from shoal.net import Arithmetic

ARENA_BYTES = 4096  # arrays of answers from this size on go through the arena
READY = b"ready"  # the first word of a worker, when it begins with its first units


class ProcessWorker:
    """The far end of one connection. Messages are tuples: a verb and its arguments."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.worker = Worker()
        self.blocks: dict[int, Block] = {}
        self.arena: Block | None = None
        self.half = 0  # the half of the arena for the next answers
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
        self.worker.open(load(data, self.blocks), arithmetic)

    def do_set_federation(self, data: bytes) -> None:
        self.worker.set_federation(load(data, self.blocks))

    def do_set_vectors(self, data: bytes) -> None:
        self.worker.set_vectors(load(data, self.blocks))

    def do_models(self, number: int | None, shape: tuple[int, ...], dtype: str) -> None:
        self.worker.set_models(None if number is None else self.blocks[number].array(shape, np.dtype(dtype)))

    def do_arena(self, number: int) -> None:
        self.arena = self.blocks[number]

    def do_tasks(self, number: int, data: bytes) -> None:
        self.worker.set_tasks(number, data)

    def do_units(self, number: int, data: bytes) -> None:
        if not self.ready:
            self.ready = True
            self.connection.send_bytes(READY)
        packed = self.worker.run(number, data, self.pack)
        self.half = 1 - self.half
        self.connection.send_bytes(packed)

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
            packed.append((outcome if outcome.answer is None else replace(outcome, answer=answer), places))
        return pickle.dumps(packed, protocol=5)


def unpack(data: bytes, arena: Block) -> Iterator[Outcome]:
    """The other side of `ProcessWorker.pack`, in the parent; arrays are copied out of the arena."""
    for outcome, places in pickle.loads(data):
        far = {name: arena.array(shape, np.dtype(dtype), at).copy() for name, (at, shape, dtype) in places.items()}
        yield replace(outcome, answer={**outcome.answer, **far}) if far else outcome


def main(fd: int) -> None:
    """Entry point of the process; `fd` is its end of the connection."""
    alone_on_its_core()
    try:
        ProcessWorker(Connection(fd)).serve()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
