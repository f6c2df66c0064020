"""The process of a site: it holds torch, the data and the model, so that a message does not pay for them.

The ClientApp, which Flower starts anew for every message, hands the message over a socket in the site's state folder.
The first one starts the process; it ends by itself when no message comes for a while.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import BadInput, ShoalError
from shoal.store.codec import Copied, from_bytes, to_bytes
from shoal.version import __version__

__all__ = ["ask", "serve"]

START = 120.0  # seconds in which a process must be up
LONGEST = 100  # characters of a socket's path, of which systems allow little more


def ask(message: Copied, node_config: Mapping[str, Any], model: str | None = None) -> Copied:
    """What a site answers; its process is started if there is none.

    Args:
        message: What came.
        node_config: Of the SuperNode.
        model: `MODULE:FUNCTION` of the app, which makes the model.

    Returns:
        What is to be sent back.
    """
    if not node_config.get("state"):
        raise BadInput("the node-config of this SuperNode has no state: a folder of the site's own")
    folder = Path(str(node_config["state"])).expanduser()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    words = json.dumps([dict(node_config), model, sys.path if model else [], __version__], sort_keys=True)
    path = folder / f"{hashlib.blake2b(words.encode(), digest_size=6).hexdigest()}.sock"
    if len(str(path)) > LONGEST:
        raise BadInput(f"the state folder {folder} has too long a name for a socket; choose a shorter one")
    for _ in range(2):  # a process that ends just now is asked in vain
        try:
            return exchange(connected(path, words), message)
        except (ConnectionError, EOFError):
            continue
    raise ShoalError(f"the process of this site ended while it was asked; its log is {folder / 'site.log'}")


def exchange(line: socket.socket, message: Copied) -> Copied:
    """Send a message over a socket and read the answer."""
    with line:
        send(line, to_bytes(message))
        answer = receive(line)
    if answer[:1] == b"e":
        raise ShoalError(answer[1:].decode())
    return from_bytes(answer[1:])


def connected(path: Path, words: str) -> socket.socket:
    """A line to the process of a site, which is started under a lock if nobody listens."""
    line = connect(path)
    if line is not None:
        return line
    with locked(path.with_suffix(".lock")):
        line = connect(path)
        if line is not None:
            return line
        path.unlink(missing_ok=True)
        process = start(path, words)
        end = time.monotonic() + START
        while (line := connect(path)) is None:
            if os.waitpid(process, os.WNOHANG)[0] or time.monotonic() > end:
                said = (path.parent / "site.log").read_text(errors="replace").strip().splitlines() or ["nothing"]
                raise ShoalError(f"the process of this site does not start: {said[-1]}")
            time.sleep(0.05)
        return line


def start(path: Path, words: str) -> int:
    """Start the process of a site, which outlives this one; its number."""
    command = [sys.executable, "-m", "shoal.flower.resident", str(path), words]
    log = str(path.parent / "site.log")
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=files, setsid=True)


def connect(path: Path) -> socket.socket | None:
    """A line to whoever listens at a socket; None: nobody does."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(str(path))
    except OSError:
        line.close()
        return None
    return line


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else is in here meanwhile."""
    place = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def send(line: socket.socket, data: bytes) -> None:
    line.sendall(len(data).to_bytes(8, "little"))
    line.sendall(data)


def receive(line: socket.socket) -> bytes:
    return exactly(line, int.from_bytes(exactly(line, 8), "little"))


def exactly(line: socket.socket, count: int) -> bytes:
    """So many bytes of a socket."""
    data = bytearray(count)
    view, at = memoryview(data), 0
    while at < count:
        came = line.recv_into(view[at:])
        if not came:
            raise EOFError("the other side hung up")
        at += came
    return bytes(data)


def serve(path: Path, words: str) -> None:
    """Answer messages at a socket until none comes for a while.

    Args:
        path: Of the socket.
        words: The node-config and what else the process depends on, as `ask` wrote it.
    """
    from shoal.backends.unit import explain
    from shoal.flower.records import pack, unpack
    from shoal.flower.site import SiteAtWork, without_text
    from shoal.flower.site_data import SiteConfig

    os.umask(0o077)  # what clients remember is nobody else's business
    node_config, model, paths, _ = json.loads(words)
    sys.path += [p for p in paths if p not in sys.path]
    config = SiteConfig.of(node_config)
    site = SiteAtWork(config, None if model is None else function_of(model))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        waiting = path.with_suffix(".new")
        waiting.unlink(missing_ok=True)
        door.bind(str(waiting))
        waiting.chmod(0o600)
        door.listen()
        door.settimeout(config.idle)
        path.with_suffix(".pid").write_text(str(os.getpid()))
        waiting.rename(path)  # it appears when it can be asked
        try:
            while True:
                line, _ = door.accept()
                with line, contextlib.suppress(ConnectionError, EOFError):
                    line.settimeout(None)
                    try:
                        answer = b"a" + to_bytes(pack(site.answer(unpack(from_bytes(receive(line))))))
                    except Exception as e:
                        answer = b"e" + (str(e) if isinstance(e, ShoalError) else without_text(explain(e))).encode()
                    send(line, answer)
        except TimeoutError:
            path.unlink(missing_ok=True)
            path.with_suffix(".pid").unlink(missing_ok=True)


def function_of(text: str) -> Any:
    """The function that `MODULE:FUNCTION` names."""
    from importlib import import_module

    module, _, name = text.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as e:
        raise BadInput(f"model={text}: {e}") from e


if __name__ == "__main__":
    try:
        serve(Path(sys.argv[1]), sys.argv[2])
    except ShoalError as e:
        sys.exit(str(e))
