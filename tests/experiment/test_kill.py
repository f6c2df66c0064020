"""A run that is killed in the middle of a round ends, once resumed, with the bits of an undisturbed one."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.backends import Serial, Workers

SETTINGS = {"data": "digits", "epochs": 3, "momentum": 0.5, "momentum_memory": "kept", "lr": 0.01}
SETTINGS |= {"checkpoint_every": 2}
ENDLESS = 1_000_000  # rounds; however late the kill comes, the run is not over

# Own keys that make an algorithm do in the first rounds what it is there for.
OWN: dict[str, dict[str, Any]] = {
    "cfl": {"split_rounds": "2+4+8"},
    "fedavg+": {"members": 2},
    "flexcfl": {"drift": "swap-all:0.2"},
    "flhc": {"rounds_before": 2},
    "given": {"partition": "permuted:4:clients=20"},
    "ifca": {"migration": "aligned", "drift": "swap-all:0.2"},
}
SAME_CODE = ("fedgrouprox", "fedprox+", "hypcluster")  # as fedgroup, fedavg+ and ifca, but for a default


def start(out: Path, algorithm: str, engine: str) -> subprocess.Popen[bytes]:
    """The command, in a process group of its own."""
    words = [f"{k}={v}" for k, v in {**SETTINGS, **OWN.get(algorithm, {}), "rounds": ENDLESS}.items()]
    command = [
        sys.executable,
        "-m",
        "shoal.cli",
        "run",
        algorithm,
        *words,
        f"out={out}",
        f"engine={engine}",
        "workers=2",
    ]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stderr=quiet, stdout=quiet, start_new_session=True)


def kill_in_the_middle(out: Path, algorithm: str, engine: str) -> int:
    """Kill the whole group with -9 as soon as a few rounds are written; how many were."""
    process, records = start(out, algorithm, engine), out / "records.jsonl"
    while process.poll() is None and (not records.exists() or records.read_bytes().count(b"\n") < 5):
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    return records.read_bytes().count(b"\n")


def check(out: Path, algorithm: str, engine: str, pool: Workers, caplog: pytest.LogCaptureFixture) -> None:
    written = kill_in_the_middle(out / "cut", algorithm, engine)
    assert written >= 5
    assert not (out / "cut" / "summary.json").exists()
    rounds = written + 5
    with caplog.at_level(logging.WARNING, "shoal"):
        got = shoal.resume(out / "cut", engine=pool, rounds=rounds)
    assert not any("no usable checkpoint" in r.getMessage() for r in caplog.records)
    pairs: dict[str, Any] = {k: v for k, v in SETTINGS.items() if k != "data"} | OWN.get(algorithm, {})
    pairs["rounds"] = rounds
    whole = shoal.run(algorithm, "digits", engine=Serial(), out=out / "whole", **pairs)
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
    models = sorted(p.name for p in (out / "whole" / "models").iterdir())
    for name in models:
        assert (out / "cut" / "models" / name).read_bytes() == (out / "whole" / "models" / name).read_bytes()
    rows = [[{**r, "time": 0} for r in run.history] for run in (got, whole)]
    assert rows[0] == rows[1]


def test_kill_and_resume_on_workers(tmp_path: Path, pool: Workers, caplog: pytest.LogCaptureFixture) -> None:
    check(tmp_path, "fedavg", "local", pool, caplog)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", "local"])
@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - set(SAME_CODE)))
def test_kill_and_resume_everywhere(
    algorithm: str, engine: str, tmp_path: Path, pool: Workers, caplog: pytest.LogCaptureFixture
) -> None:
    check(tmp_path, algorithm, engine, pool, caplog)
