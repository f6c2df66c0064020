"""Figures for Prometheus without pages: a small server of this machine alone, beside a run that nobody looks at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from shoal.errors import BadInput
from shoal.ui.hosts import LOOPBACK, host_of, is_loopback
from shoal.ui.metrics import KIND, exposition
from shoal.ui.runs import Runs


@contextmanager
def metrics_at(address: str, folder: Path) -> Iterator[str]:
    """Answer `GET /metrics` while a run is on.

    Args:
        address: `127.0.0.1:9464`; port 0 takes a free one. Nothing happens if it is empty.
        folder: Of the run, which need not be there yet.

    Yields:
        Where to ask.

    >>> import tempfile, urllib.request
    >>> with metrics_at("127.0.0.1:0", Path(tempfile.mkdtemp())) as place:
    ...     urllib.request.urlopen(place).status
    200
    """
    if not address:
        yield ""
        return
    host, port = parsed(address)
    try:
        server = ThreadingHTTPServer((host, port), handler(Runs(folder), {*LOOPBACK, host}))
    except OSError as e:
        reason = (e.strerror or str(e)).lower()
        raise BadInput(f"metrics={address} is not possible: {reason}; choose another port") from e
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="shoal metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def parsed(address: str) -> tuple[str, int]:
    """Host and port of an address on this machine.

    >>> parsed("127.0.0.1:9464")
    ('127.0.0.1', 9464)
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not host or int(port) > 65535:
        raise BadInput(f"metrics={address} is not possible: give HOST:PORT, such as 127.0.0.1:9464")
    if not is_loopback(host) or ":" in host:
        raise BadInput(f"metrics={address} is not possible: it has no password; use 127.0.0.1:{port}, and a tunnel")
    return host, int(port)


def handler(runs: Runs, names: set[str]) -> type[BaseHTTPRequestHandler]:
    """What answers a request: the figures, and nothing else."""

    class Metrics(BaseHTTPRequestHandler):
        timeout = 10  # seconds for somebody who says nothing

        def do_GET(self) -> None:
            if host_of(self.headers.get("host", "")) not in names:
                self.say(421, "use the address of this machine\n")
            elif self.path.partition("?")[0] != "/metrics":
                self.say(404, "there is nothing but /metrics\n")
            else:
                self.say(200, exposition(runs.samples()))

        def say(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("content-type", KIND)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *words: object) -> None:
            """The log of a run is about the run."""

    return Metrics
