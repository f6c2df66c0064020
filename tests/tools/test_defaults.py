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
    (row,) = json.loads(out.read_text())
    assert (row["federation"], row["lr"]) == ("digits iid", 0.1)
    assert [run["seed"] for run in row["runs"]] == [0, 1]
    # Nothing is split, so that CFL is FedAvg of everybody, with the same number of rounds.
    assert all(run["groups"] == run["ari"] == 1 and run["accuracy"] == run["fedavg"] for run in row["runs"])
    assert "right  2/2" in capsys.readouterr().out


def test_rows_that_are_there_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "found.json"
    words = ["cfl", "rounds=1", "--seeds", "1", "--lr", "0.1", "--only", "digits iid", "--out", str(out)]
    defaults.main(words)
    before = out.read_text()
    monkeypatch.setattr(defaults, "row_of", None)
    defaults.main(words)
    assert out.read_text() == before


def test_the_page_is_made_of_the_rows() -> None:
    runs = [
        {"seed": s, "accuracy": 0.9, "groups": 4, "ari": ari, "fedavg": 0.5 + s / 10} for s, ari in enumerate((1, 0))
    ]
    row = {"method": "cfl", "keys": {}, "federation": "digits permuted 4", "lr": 0.1, "runs": runs}
    assert "| digits permuted 4 | 0.1 | 1 of 2 | 90.0 | 55.0 | +30.0 | 4 4 |" in defaults.page([row])


def test_the_committed_page_is_that_of_the_committed_values() -> None:
    rows = json.loads((defaults.RESULTS / "defaults.json").read_text())
    assert (defaults.RESULTS / "defaults.md").read_text() == defaults.page(rows)
