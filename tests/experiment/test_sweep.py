"""Sweeps: which runs one command makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

import shoal
from shoal.analysis.compare import compare
from shoal.errors import BadInput, RunFolderError
from shoal.experiment.sweep import points, sweep
from shoal.store.folder import Folder


def test_an_algorithm_may_come_several_times_each_with_keys_of_its_own(tmp_path: Path) -> None:
    words = ["fedavg", "fedprox", "fedprox:mu=5", "fedprox:lr=0.5:mu=2", "fedprox:mu=5"]
    runs = points(words, {"lr": "0.1", "rounds": 1, "seed": "0,1"})
    assert [p.name for p in runs if p.pairs["seed"] == "0"] == [
        "fedavg-seed=0",
        "fedprox-seed=0",
        "fedprox-seed=0-mu=5",
        "fedprox-lr=0.5-seed=0-mu=2",
    ]
    assert [(p.pairs["lr"], p.pairs.get("mu")) for p in runs if p.pairs["seed"] == "1"] == [
        ("0.1", None),
        ("0.1", None),
        ("0.1", 5),
        (0.5, 2),
    ]
    sweep(["fedprox", "fedprox:mu=5"], rounds=1, engine="serial", out=tmp_path)
    assert [line.name for line in compare([tmp_path])] == ["fedprox mu=auto", "fedprox mu=5.0"]


def test_another_name_of_a_key_is_that_key() -> None:
    runs = points(["ifca", "fesem", "fesem:weighting=first"], {"weighting": "uniform,samples", "rounds": 1})
    assert [p.name for p in runs] == [
        "ifca-weighting=uniform",
        "ifca-weighting=samples",
        "fesem-weights=uniform",
        "fesem-weights=samples",
        "fesem-weights=first",
    ]


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("fedprox:5", "fedprox:5 is not possible: keys go with their names, fedprox:KEY=VALUE"),
        ("fedprox:nu=5", "unknown key 'nu'"),
        ("fedporx:mu=5", "unknown algorithm 'fedporx'"),
    ],
)
def test_a_wrong_key_behind_an_algorithm_is_explained(word: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=re.escape(sentence)):
        points([word], {})


def test_a_name_alone_is_a_sweep_of_one(tmp_path: Path) -> None:
    assert [p.name for p in sweep("fedavg", rounds=0, engine="serial", out=tmp_path)] == ["fedavg"]


def test_an_algorithm_that_is_an_object_is_refused_with_what_to_do() -> None:
    with pytest.raises(BadInput, match=r"takes algorithms by name, such as .*, not FedAvg"):
        sweep([cast(Any, shoal.FedAvg())], rounds=1)


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_folder_that_holds_another_run_is_not_taken_over(tmp_path: Path, rounds: int) -> None:
    shoal.run("fedavg", rounds=1, lr=0.5, engine="serial", out=tmp_path / "fedavg")
    with pytest.raises(RunFolderError, match=r"fedavg holds a run with lr=0.5, and the sweep asks for lr=0.1"):
        sweep(["fedavg", "local"], rounds=rounds, lr=0.1, engine="serial", out=tmp_path)
    assert not (tmp_path / "sweep.json").exists()


def test_a_run_of_fewer_rounds_is_made_longer(tmp_path: Path) -> None:
    shoal.run("fedavg", rounds=1, engine="serial", out=tmp_path / "a" / "fedavg")
    for at in ("a", "b"):
        sweep(["fedavg", "local"], rounds=2, engine="serial", out=tmp_path / at)
    longer, fresh = (Folder(tmp_path / at / "fedavg").history()[-1] for at in ("a", "b"))
    assert longer["round"] == 2 and longer["accuracy"] == fresh["accuracy"]


def test_a_folder_that_holds_the_run_asked_for_is(tmp_path: Path) -> None:
    shoal.run("fedprox", rounds=1, lr=0.5, mu=0.25, engine="serial", out=tmp_path / "fedprox")
    before = (tmp_path / "fedprox" / "records.jsonl").read_bytes()
    sweep(["fedprox", "fedavg"], rounds=1, lr=0.50, mu=0.25, engine="serial", out=tmp_path)
    assert (tmp_path / "fedprox" / "records.jsonl").read_bytes() == before
