from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal

from shoal.cli import checks
from shoal.cli.checks import Finding


def test_a_machine_that_works(shoal: Shoal) -> None:
    result = shoal("doctor", "--format", "json")
    found = json.loads(result.stdout)
    states = {c["name"]: c["state"] for c in found["checks"]}
    assert result.exit_code == 0
    assert found["fine"] is True
    assert all(states[name] == "ok" for name in ("python", "torch", "run folder", "engine local", "data digits"))
    assert states["data cifar10"] == "missing"


def test_a_broken_engine_is_found(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def dead(*args: object) -> None:
        raise OSError("no processes left")

    monkeypatch.setattr("shoal.setup.prepare.Workers", dead)
    result = shoal("doctor")
    assert result.exit_code == 1
    assert "problem  engine local" in result.stdout
    assert "no processes left" in result.stdout
    assert "broken: engine local" in result.stdout


def test_what_is_not_essential_does_not_fail(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def short() -> Iterator[Finding]:
        yield Finding("memory", "problem", "0.1 GB of 1 GB available")

    monkeypatch.setattr(checks, "CHECKS", (short,))
    result = shoal("doctor")
    assert result.exit_code == 0
    assert "problem  memory" in result.stdout


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs").write_text("a file")
    monkeypatch.chdir(tmp_path)
    (found,) = checks.run_folder()
    assert (found.state, found.essential) == ("problem", True)


@pytest.mark.parametrize(("here", "state"), [(True, "ok"), (False, "missing")])
def test_ray_is_looked_for_and_not_started(here: bool, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "installed", lambda package: here)
    monkeypatch.setattr("importlib.metadata.version", lambda package: "2.60.0")
    (found,) = checks.ray()
    assert (found.state, found.essential) == (state, False)
    assert ("ray 2.60.0" if here else "pip install 'shoal[ray]'") in found.detail
