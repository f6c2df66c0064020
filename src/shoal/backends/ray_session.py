"""Ray itself, imported here alone and when it is needed: to join a cluster, or to start one and end it again."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shoal.errors import BadInput


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
    if address.startswith("ray://"):
        raise BadInput(f"address={address} is not possible: run shoal on a machine of the cluster, with address=auto")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    with as_it_was():
        if address != "local":
            try:
                ray.init(address=address, **quiet)
                return ray.shutdown  # type: ignore[no-any-return]
            except ConnectionError as e:
                if address != "auto":
                    raise BadInput(f"there is no Ray cluster at address={address} ({brief(e)}); is it started?") from e
            except ray.exceptions.AuthenticationError as e:
                remedy = "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH here as on the cluster"
                raise BadInput(f"the Ray cluster at address={address} does not know this token; {remedy}") from e
            except (RuntimeError, ValueError, ray.exceptions.RayError) as e:  # other versions, a malformed address
                raise BadInput(f"address={address} cannot be joined: {brief(e)}") from e
        folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # the names of its sockets must be short
        ray.init(address="local", num_cpus=count, include_dashboard=False, _temp_dir=folder, **quiet)

    def leave() -> None:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)

    return leave


def brief(error: BaseException) -> str:
    """What an error of Ray says, on one line.

    >>> brief(ValueError("wrong\\n  port"))
    'wrong port'
    """
    return " ".join(str(error).split())[:200]


@contextmanager
def as_it_was() -> Iterator[None]:
    """Ray sets a handler of signals and would report how it is used: neither is wanted."""
    before, name = signal.getsignal(signal.SIGTERM), "RAY_USAGE_STATS_ENABLED"
    silent = os.environ.get(name)
    os.environ.setdefault(name, "0")
    try:
        yield
    finally:
        if silent is None:
            del os.environ[name]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
