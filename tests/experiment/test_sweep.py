"""Sweeps: which runs one command makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal.errors import BadInput
from shoal.experiment.compare import compare
from shoal.experiment.sweep import points, sweep


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
    assert [line.name for line in compare([tmp_path])] == ["fedprox mu=1.0", "fedprox mu=5.0"]


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
