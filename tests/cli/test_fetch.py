from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Shoal

from shoal.errors import DataMissing


def test_what_is_there_is_not_fetched(shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "mnist.npz", x_train=np.zeros(1))
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    assert shoal("fetch", "mnist").stdout == f"mnist is already in {tmp_path}/mnist.npz\n"
    found = json.loads(shoal("fetch", "mnist", "--format", "json").stdout)
    assert found == {"data": [{"name": "mnist", "path": f"{tmp_path}/mnist.npz", "fetched": False}]}


def test_fetching_tells_what_is_tried(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str, dest: object = None, progress: object = None) -> Path:
        progress(f"{name}: trying a package")  # type: ignore[operator]
        return Path("/cache") / f"{name}.npz"

    monkeypatch.setattr("shoal.data.fetch.fetch", fetch)
    result = shoal("fetch", "mnist")
    assert result.stdout == "mnist is now in /cache/mnist.npz\n"
    assert result.stderr == "mnist: trying a package\n"


def test_what_cannot_be_fetched_is_missing_data(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str, dest: object = None, progress: object = None) -> Path:
        raise DataMissing("data set 'mnist' could not be fetched (no network).")

    monkeypatch.setattr("shoal.data.fetch.fetch", fetch)
    result = shoal("fetch", "mnist")
    assert result.exit_code == 3
    assert result.stderr == "shoal: data set 'mnist' could not be fetched (no network).\n"
