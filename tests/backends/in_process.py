"""Workers without processes: the parent's side and the worker's side of a pool in one place, step by step."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from shoal.backends.process_worker import ProcessWorker
from shoal.backends.shared_memory import Block


@dataclass
class Ghost:
    """What a handle asks of its process."""

    code: int | None = None  # None: it runs

    def poll(self) -> int | None:
        return self.code

    def wait(self, timeout: float | None = None) -> int | None:
        return self.code


@dataclass
class Here:
    """Stands for a `WorkerHandle`: what it is told is done at once, unless `hangs` holds units back."""

    process: Ghost = field(default_factory=Ghost)
    blocks: set[int] = field(default_factory=set)
    arena: int = 0
    portions: list[list[int]] = field(default_factory=list)
    began: float = 0.0
    alive: bool = True
    ready: bool = False
    hangs: bool = False
    said: list[tuple[Any, ...]] = field(default_factory=list)  # messages, and ("block", its number)

    def __post_init__(self) -> None:
        self.connection, self.far = Pipe()
        self.end = ProcessWorker(self.far)
        self.worker = self.end.worker

    @property
    def usable(self) -> bool:
        return True

    def send(self, *message: Any) -> None:
        if self.alive:
            self.said.append(message)
            verb, *rest = message
            if verb != "units" or not self.hangs:
                getattr(self.end, f"do_{verb}")(*rest)

    def share(self, number: int, block: Block) -> None:
        self.said.append(("block", number))
        self.end.do_block(number, block.size, os.dup(block.fd))

    def die(self, code: int = 7) -> None:
        """The process ends by itself: its end of the connection closes."""
        self.process.code = code
        self.far.close()

    def kill(self) -> None:
        self.alive, self.process.code = False, -9
        for end in (self.connection, self.far):
            _close(end)

    def verbs(self) -> list[str]:
        return [message[0] for message in self.said]


def _close(end: Connection) -> None:
    if not end.closed:
        end.close()
