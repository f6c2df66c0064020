"""A worker process as the parent sees it: started, told things, given memory, ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle

from shoal.backends.shared_memory import Block

BOOT_CODE = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
    "import sys; sys.path[:] = {path!r}; from shoal.backends.process_worker import main; main({fd})"
)


class WorkerHandle:
    """One worker process and what the parent knows about it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        code = BOOT_CODE.format(path=sys.path, fd=theirs.fileno())
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **one},
            stdin=subprocess.DEVNULL,
            stdout=2,
        )
        theirs.close()
        self.connection = Connection(ours.detach())
        self.blocks: set[int] = set()
        self.arena = 0
        self.portions: list[list[int]] = []  # numbers of units: those it works at, and those it has got for afterwards
        self.began = 0.0  # when it began with the first of them
        self.alive, self.ready = True, False  # ready: it has started up and begun to work

    @property
    def usable(self) -> bool:
        """Work can be given before it has started up."""
        return True

    def send(self, *message: object) -> None:
        """Send a message; a worker that is gone is noticed later, when it is needed."""
        if self.alive:
            try:
                self.connection.send(message)
            except OSError:
                self.kill()

    def share(self, number: int, block: Block) -> None:
        """Give the worker access to a block."""
        self.send("block", number, block.size)
        if self.alive:
            try:
                send_handle(self.connection, block.fd, self.process.pid)
            except OSError:
                self.kill()

    def kill(self) -> None:
        """End the process at once."""
        if not self.alive:
            return
        self.process.kill()
        self.process.wait()
        self.connection.close()
        self.alive = False


def exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a process that has closed its end; None if it is still there after a minute."""
    try:
        return process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        return None
