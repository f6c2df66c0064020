"""A worker process as the parent sees it: one that is gone is noticed, and what it held is given back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shoal.backends import worker_handle
from shoal.backends.shared_memory import Block
from shoal.backends.worker_handle import WorkerHandle, exit_code


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> WorkerHandle:
    """A worker whose process has ended with code 3 before it read anything."""
    monkeypatch.setattr(worker_handle, "BOOT_CODE", "raise SystemExit(3)")
    made = WorkerHandle()
    assert made.process.wait() == 3
    return made


def test_telling_one_that_is_gone_closes_the_connection(gone: WorkerHandle) -> None:
    assert gone.alive
    gone.send("models", None)
    assert not gone.alive and gone.connection.closed
    gone.send("models", None)  # not even tried
    gone.kill()


def test_sharing_with_one_that_is_gone_closes_the_connection(gone: WorkerHandle) -> None:
    block = Block.new(10)
    gone.share(1, block)
    assert not gone.alive and gone.connection.closed
    block.close()


def test_killing_ends_the_process_and_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_handle, "BOOT_CODE", "import time; time.sleep(600)")
    worker = WorkerHandle()
    assert worker.process.poll() is None
    worker.kill()
    assert worker.process.returncode == -9
    assert not worker.alive and worker.connection.closed


def test_the_exit_code_is_waited_for() -> None:
    assert exit_code(subprocess.Popen([sys.executable, "-c", "raise SystemExit(5)"])) == 5
