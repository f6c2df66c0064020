"""Starting and ending the server: one sentence when it cannot, silence when it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn: pip install 'shoal[ui]'")

from tests.cli.conftest import Shoal, shoal

__all__ = ["shoal"]


def test_a_folder_that_is_not_there(shoal: Shoal) -> None:
    got = shoal("ui", "nowhere")
    assert (got.exit_code, got.stderr) == (
        4,
        "shoal: there is no folder nowhere; give one that holds runs: shoal ui DIR\n",
    )
    assert not Path("nowhere").exists()


def test_a_port_that_is_taken(shoal: Shoal) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        got = shoal("ui", ".", "--port", port)
    assert got.exit_code == 2
    assert got.stderr == f"shoal: cannot listen on 127.0.0.1 port {port}: address already in use; try --port 0\n"


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_a_host_that_is_not_ours(shoal: Shoal, host: str) -> None:
    got = shoal("ui", ".", "--host", host)
    assert got.exit_code == 2
    assert got.stderr.count("\n") == 1


def test_a_missing_package(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else known(name))
    got = shoal("ui", ".")
    assert (got.exit_code, got.stderr) == (2, "shoal: shoal ui needs uvicorn; install with: pip install 'shoal[ui]'\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_also_while_a_page_listens(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal.cli", "ui", ".", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as page:
        page.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in page.recv(4096)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=600)  # against a test that hangs
    assert (process.returncode, complaint) == (0, "")
