"""Ray itself, imported here alone and when it is needed: to join a cluster, or to start one and end it again."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from shoal.errors import BadInput, ShoalError

LOOK_SECONDS = 10.0  # in which a cluster must take a connection
WISHES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def import_ray() -> Any:
    """The package, or one sentence on where to get it."""
    try:
        import ray
    except ImportError as e:
        raise BadInput("engine=ray needs the package ray; install it with: pip install 'shoal[ray]'") from e
    return ray


def join(address: str, count: int | None) -> Callable[[], None]:
    """Become part of a cluster, or start one here; what ends that again. A cluster that was joined stays as it is."""
    ray = import_ray()
    if ray.is_initialized():
        return lambda: None
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or "auto"
    if address not in ("auto", "local"):
        look_for(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    with ExitStack() as undo:  # the last thing first
        undo.enter_context(hushed())
        with as_it_was():
            if address == "local" or not joined(address, quiet):
                folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # the names of its sockets must be short
                undo.callback(shutil.rmtree, folder, ignore_errors=True)
                try:
                    ray.init(address="local", num_cpus=count, include_dashboard=False, _temp_dir=folder, **quiet)
                except Exception as e:  # of no kind of its own: it waits for 30 seconds
                    raise ShoalError(f"Ray does not start here ({brief(e)}); try again, or use engine=local") from e
        undo.callback(ray.shutdown)
        return undo.pop_all().close


def joined(address: str, quiet: Mapping[str, Any]) -> bool:
    """Whether there is a cluster, of which we are part now; one that we cannot become part of is one sentence."""
    ray = import_ray()
    try:
        ray.init(address=address, **quiet)
    except ConnectionError as e:
        if address == "auto":
            return False
        remedy = "set RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH here as on the cluster"  # somebody listens there
        raise BadInput(f"the Ray cluster at address={address} lets nobody in; {remedy}") from e
    except (RuntimeError, ValueError, ray.exceptions.RayError) as e:  # other versions of Ray or Python
        raise BadInput(f"the Ray cluster at address={address} cannot be joined: {brief(e)}") from e
    return True


@contextmanager
def hushed() -> Iterator[None]:
    """Ray prints no news of machines and actors, for which it has no option: before it begins, as there may be news at
    once, and until it has ended, as it prints what it kept back then."""
    worker = import_ray()._private.worker
    before, worker._worker_logs_enabled = worker._worker_logs_enabled, False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


def look_for(address: str) -> None:
    """Refuse at once what Ray would try for minutes: an address that is none, or at which nobody listens.

    >>> look_for("ray://head:10001")
    Traceback (most recent call last):
    shoal.errors.BadInput: address=ray://head:10001 is not possible: use auto, local or HOST:PORT of a cluster...
    """
    host, _, port = address.rpartition(":")
    if "/" in host or not host or not port.isdigit():
        what = "use auto, local or HOST:PORT of a cluster that this machine is part of"
        raise BadInput(f"address={address} is not possible: {what}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LOOK_SECONDS).close()
    except OSError as e:
        raise BadInput(f"there is no Ray cluster at address={address} ({brief(e)}); is it started?") from e


def brief(error: BaseException) -> str:
    """What an error of Ray says, on one line.

    >>> brief(ValueError("wrong\\n  port"))
    'wrong port'
    """
    return " ".join(str(error).split())[:200]


@contextmanager
def as_it_was() -> Iterator[None]:
    """Ray sets a handler of signals, would report how it is used, and writes warnings of its own to the terminal, about
    machines that are gone or its level of warnings: none of that is wanted, unless the environment says so."""
    before = signal.getsignal(signal.SIGTERM)
    silent = {name: value for name, value in WISHES.items() if name not in os.environ}
    os.environ.update(silent)
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)
        for name in silent:
            del os.environ[name]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
