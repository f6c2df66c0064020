"""Starts and ends the server of the live pages."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from shoal.errors import BadInput, RunFolderError
from shoal.ui.hosts import is_loopback

MAX_CONNECTIONS = 256  # at once; who comes later is told to come again


def serve(folder: Path, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve the pages of a folder until somebody presses Ctrl-C; `tell` is given the address.

    Bound to anything but this machine alone, the pages need a token, which is part of the address.
    """
    import uvicorn

    from shoal.ui.app import make_app

    if not folder.is_dir():
        raise RunFolderError(f"there is no folder {folder}; give one that holds runs: shoal ui DIR")
    token = None if is_loopback(host) else secrets.token_urlsafe(24)
    listening = bind(host, port)
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(folder, host, token, closing=lambda: server.should_exit),
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=2,
            limit_concurrency=MAX_CONNECTIONS,
        )
    )
    tell(address(host, listening.getsockname()[1], token))
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there, or a sentence."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, OverflowError) as e:
        raise BadInput(f"--host {host} is not an address of this machine") from e
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(place)
        listening.listen()  # two servers may bind one port with SO_REUSEADDR, but only one may listen
    except OSError as e:
        listening.close()
        raise BadInput(f"cannot listen on {host} port {port}: {(e.strerror or str(e)).lower()}; try --port 0") from e
    return listening


def address(host: str, port: int, token: str | None) -> str:
    """Where to look.

    >>> address("127.0.0.1", 8000, None), address("0.0.0.0", 80, "x")[-12:]
    ('http://127.0.0.1:8000/', ':80/?token=x')
    """
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{f'?token={token}' if token else ''}"
