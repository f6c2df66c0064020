from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file
from tests.cli.conftest import Shoal

QUICK = ("rounds=3", "engine=serial", "checkpoint_every=1")


@pytest.fixture
def run(shoal: Shoal, tmp_path: Path) -> Path:
    assert shoal("run", *QUICK, "out=run").exit_code == 0
    return tmp_path / "run"


def same_models(a: Path, b: Path) -> bool:
    first, second = (load_file(p / "models/group_0.safetensors") for p in (a, b))
    return all((first[k] == second[k]).all() for k in first)


def test_a_complete_run_says_so(shoal: Shoal, run: Path) -> None:
    before = (run / "records.jsonl").read_bytes()
    for words in ((), ("rounds=3",), ("rounds=2",)):
        result = shoal("resume", "run", *words)
        assert result.exit_code == 0
        assert "run is complete: all 3 rounds are played" in result.stderr
        assert "best accuracy" in result.stdout
    assert (run / "records.jsonl").read_bytes() == before


def test_a_run_made_longer_is_the_long_run(shoal: Shoal, run: Path, tmp_path: Path) -> None:
    assert shoal("resume", "run", "rounds=5").exit_code == 0
    assert json.loads((run / "summary.json").read_text())["rounds"] == 5
    assert "rounds = 5\n" in (run / "config.toml").read_text()
    shoal("run", "rounds=5", "engine=serial", "out=long")
    assert same_models(run, tmp_path / "long")
    assert "complete: all 5 rounds" in shoal("resume", "run").stderr


def test_a_damaged_checkpoint_is_told(shoal: Shoal, run: Path, tmp_path: Path) -> None:
    (run / "summary.json").unlink()
    newest = run / "checkpoints/round_00000003.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    shoal("run", *QUICK, "out=undisturbed")
    result = shoal("resume", "run", "-q")
    assert result.exit_code == 0
    assert result.stdout == "run\n"
    assert "warning: checkpoint round_00000003.safetensors is damaged" in result.stderr
    assert same_models(run, tmp_path / "undisturbed")


def test_fewer_rounds_than_played_are_refused(shoal: Shoal, run: Path) -> None:
    (run / "summary.json").unlink()
    before = (run / "records.jsonl").read_bytes()
    result = shoal("resume", "run", "rounds=1")
    assert result.exit_code == 2
    assert "already played 3 rounds" in result.stderr
    assert (run / "records.jsonl").read_bytes() == before


def test_a_sweep_goes_on_where_it_was(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "seed=0,1", *QUICK, "out=s")
    (tmp_path / "s/fedavg-seed=1/summary.json").unlink()
    done = (tmp_path / "s/fedavg-seed=0/summary.json").stat().st_mtime_ns
    result = shoal("resume", "s", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["comparison"][0]["complete"] is True
    assert (tmp_path / "s/fedavg-seed=0/summary.json").stat().st_mtime_ns == done
    assert shoal("resume", "s", "rounds=9").exit_code == 2
