"""The table of methods with their defaults: small federations, and what goes into the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal.data.build import build
from shoal.data.federation import Federation
from shoal.seeds import Key
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


def test_losses_stand_beside_those_of_the_truth() -> None:
    """A seed 4 points below FedAvg, the planted groups 3 below it there: the method is 1 behind the truth."""

    def row(method: str, keys: dict[str, str], accuracies: tuple[float, float]) -> dict[str, Any]:
        runs = [{"seed": s, "accuracy": a, "groups": 4, "ari": 1, "fedavg": 0.9} for s, a in enumerate(accuracies)]
        return {"method": method, "keys": keys, "federation": "digits cluster-dirichlet 4", "lr": 0.1, "runs": runs}

    rows = [
        row("cfl", {}, (0.95, 0.86)),
        row("wecfl", {}, (0.95, 0.9)),
        row("given", {"selection": "all"}, (0.9, 0.87)),
    ]
    assert defaults.below(rows) == [
        "| `cfl` | digits cluster-dirichlet 4 | 0.1 | -4.0 | `given selection=all` | -3.0 | 1.0 | 4 4 |"
    ]
    assert defaults.below(rows[:2]) == ["| `cfl` | digits cluster-dirichlet 4 | 0.1 | -4.0 | - | - | - | 4 4 |"]


def test_known_values_of_fedavg_are_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def last(method: str, own: dict[str, Any], name: str, seed: int, lr: float) -> dict[str, float]:
        ran.append((method, seed, own))
        return {"accuracy": 0.8, "groups": 1, "ari": 1.0}

    monkeypatch.setattr(defaults, "last", last)
    known = {
        "method": "cfl",
        "keys": {"eps1": "0"},
        "federation": "digits iid",
        "lr": 0.1,
        "runs": [{"seed": 0, "fedavg": 0.7}],
    }
    row = defaults.row_of(
        "wecfl",
        {"groups": "auto"},
        "digits iid",
        0.1,
        (0, 1),
        [known, {**known, "keys": {"rounds": "5"}, "runs": [{"seed": 1, "fedavg": 0.6}]}],
    )
    assert [run["fedavg"] for run in row["runs"]] == [0.7, 0.8]
    assert [(method, seed) for method, seed, _ in ran] == [("wecfl", 0), ("wecfl", 1), ("fedavg", 1)]
    assert ran[-1][2] == {"selection": "all"}


def test_a_federation_is_the_one_that_a_run_builds() -> None:
    ours, theirs = defaults.dealt("digits", "rotated:4", 1), build("digits", "rotated:4", Key(1))
    assert isinstance(theirs, Federation)
    assert np.array_equal(ours.client("19")("train")[0], theirs.client("19")("train")[0])


def test_the_committed_page_is_that_of_the_committed_values() -> None:
    rows = json.loads((defaults.RESULTS / "defaults.json").read_text())
    assert (defaults.RESULTS / "defaults.md").read_text() == defaults.page(rows)
