"""A run that is killed in the middle of a round ends, once resumed, with the bits of an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.engines import Serial, Workers

SETTINGS = {"data": "digits", "rounds": 40, "epochs": 3, "momentum": 0.5, "momentum_memory": "kept", "lr": 0.01}


def start(out: Path, algorithm: str, engine: str) -> subprocess.Popen[str]:
    """The command, in a process group of its own."""
    words = [f"{k}={v}" for k, v in SETTINGS.items()]
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
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    )


def kill_in_the_middle(out: Path, algorithm: str, engine: str) -> int:
    """Kill the whole group with -9 as soon as a round is reported; the rounds that were written."""
    process = start(out, algorithm, engine)
    assert process.stderr is not None
    for line in process.stderr:
        if "  round " in line:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.stderr.close()
    assert process.wait() == -signal.SIGKILL
    return len((out / "records.jsonl").read_text().splitlines())


def check(out: Path, algorithm: str, engine: str, pool: Workers) -> None:
    written = kill_in_the_middle(out / "cut", algorithm, engine)
    assert 1 < written < 41
    assert not (out / "cut" / "summary.json").exists()
    got = shoal.resume(out / "cut", engine=pool)
    pairs = {k: v for k, v in SETTINGS.items() if k != "data"}
    whole = shoal.run(algorithm, "digits", engine=Serial(), out=out / "whole", **pairs)  # type: ignore[arg-type]
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
    models = sorted(p.name for p in (out / "whole" / "models").iterdir())
    for name in models:
        assert (out / "cut" / "models" / name).read_bytes() == (out / "whole" / "models" / name).read_bytes()
    rows = [[{**r, "time": 0} for r in run.history] for run in (got, whole)]
    assert rows[0] == rows[1]


def test_kill_and_resume_on_workers(tmp_path: Path, pool: Workers) -> None:
    check(tmp_path, "fedavg", "local", pool)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", "local"])
@pytest.mark.parametrize("algorithm", ["central", "fedavg", "fedprox", "local"])
def test_kill_and_resume_everywhere(algorithm: str, engine: str, tmp_path: Path, pool: Workers) -> None:
    check(tmp_path, algorithm, engine, pool)
