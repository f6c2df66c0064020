"""The table of methods with their defaults: small federations, and what goes into the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import defaults


def test_tables_have_the_populations_they_say() -> None:
    federation = defaults.tables(0, populations=3, samples=10)
    assert federation.train.sizes.tolist() == [10] * 24
    assert federation.truth is not None
    assert federation.truth.tolist() == [0, 1, 2] * 8


def test_every_seed_is_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "found.json"
    words = ["cfl", "rounds=3", "--seeds", "2", "--lr", "0.1", "--only", "digits iid", "--out", str(out)]
    defaults.main(words)
    (row,) = json.loads(out.read_text())["rows"]
    assert (row["federation"], row["lr"]) == ("digits iid", 0.1)
    assert [run["seed"] for run in row["runs"]] == [0, 1]
    # Nothing is split, so that CFL is FedAvg of everybody, with the same number of rounds.
    assert all(run["groups"] == run["ari"] == 1 and run["accuracy"] == run["fedavg"] for run in row["runs"])
    assert "right  2/2" in capsys.readouterr().out
