"""Ctrl-C and a request to end, for real: a resumable run, no process left, and in the end the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pytest
from safetensors.numpy import load_file

LIMIT = 600.0  # seconds after which a wait is given up: against a test that hangs, not a measure of speed
WORDS = ["fedavg", "partition=dirichlet:1:clients=30", "model=mlp", "workers=2", "checkpoint_every=2"]


class Start(Protocol):
    def __call__(self, *words: str) -> subprocess.Popen[str]: ...


@pytest.fixture
def shoal(tmp_path: Path) -> Iterator[Start]:
    """The command in a session of its own, of which nothing is left running when a test fails."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "shoal.cli", *words],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        for one in members(process.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.communicate()


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and path.read_text().count("\n") >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} did not get {count} lines: {process.communicate()}")


def members(session: int) -> list[int]:
    """The living processes of a session: actors of Ray have groups of their own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("number", "to_group"), [(signal.SIGINT, True), (signal.SIGTERM, False)], ids=["ctrl-c", "terminate"]
)
@pytest.mark.parametrize("engine", [(), ("engine=ray", "address=local")], ids=["local", "ray"])
def test_an_interrupted_run_goes_on_to_the_same_bits(
    shoal: Start, tmp_path: Path, number: signal.Signals, to_group: bool, engine: tuple[str, ...]
) -> None:
    if engine:
        pytest.importorskip("ray", reason="needs the package ray: pip install 'shoal[ray]'")
    process = shoal("run", *WORDS, *engine, "rounds=1000000", "out=cut")
    wait_for_lines(tmp_path / "cut/records.jsonl", 4, process)
    (os.killpg if to_group else os.kill)(process.pid, number)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("interrupted after round ")
    assert last.endswith("; go on with: shoal resume cut")
    assert "Traceback" not in err
    assert members(process.pid) == []
    played = int(last.split()[3].rstrip(";"))
    rounds = f"rounds={played + 3}"
    go_on = shoal("resume", "cut", rounds, "--quiet")
    assert go_on.communicate(timeout=LIMIT) == ("cut\n", "")
    assert members(go_on.pid) == []
    whole = shoal("run", *WORDS, rounds, "engine=serial", "out=whole", "--quiet")
    assert whole.communicate(timeout=LIMIT) == ("whole\n", "")
    first, second = (load_file(tmp_path / x / "models/group_0.safetensors") for x in ("cut", "whole"))
    assert all((first[k] == second[k]).all() for k in first)


@pytest.mark.slow
def test_an_interrupted_sweep_names_the_sweep(shoal: Start, tmp_path: Path) -> None:
    process = shoal("run", "seed=0,1", "rounds=1000000", "engine=serial", "out=s")
    wait_for_lines(tmp_path / "s/fedavg-seed=0/records.jsonl", 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err.splitlines()[-1].endswith("of fedavg-seed=0; go on with: shoal resume s")
