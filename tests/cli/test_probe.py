from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Shoal

QUICK = ("partition=permuted:2:clients=8", "lr=0.1", "steps=20", "engine=serial")


def test_what_a_probe_shows(shoal: Shoal) -> None:
    text = shoal("probe", *QUICK).stdout
    assert text.startswith("digits: 8 of 8 clients pre-trained, 20 steps of batch 10 at learning rate 0.1\n")
    assert "2 groups fit best" in text
    assert "adjusted Rand index 1.00" in text
    assert "Next: shoal run fedavg local fedgroup data=digits partition=permuted:2:clients=8 groups=2 lr=0.1" in text


def test_several_models_json_and_pictures(shoal: Shoal, tmp_path: Path) -> None:
    result = shoal(
        "probe", *QUICK, "model=mclr,mlp:hidden=4", "clients=6", "groups=2", "--figure", "seen", "--format", "json"
    )
    found = json.loads(result.stdout)
    assert [one["model"] for one in found["models"]] == ["mclr", "mlp:hidden=4"]
    assert [one["parameters"] for one in found["models"]] == [650, 310]
    assert len(found["looked_at"]) == len(found["models"][0]["labels"]) == 6
    assert set(found["models"][0]["correlation"]) == {"2", "3", "5"}  # not more directions than clients
    assert {p.name for p in (tmp_path / "seen").iterdir()} == {"edc-madc.svg", "similarity.svg", "contrast.svg"}
    assert result.stderr.count("wrote seen/") == 3


def test_bad_input_leaves_nothing_behind(shoal: Shoal, tmp_path: Path) -> None:
    for words, said in (
        (("clients=two",), "clients=two is not possible: it must be a whole number"),
        (("rounds=3",), "unknown key 'rounds'"),
        (("clients=1",), "at least 3 clients"),
        (("model=mlq",), "unknown model"),
    ):
        result = shoal("probe", *words, "engine=serial", "--figure", "seen")
        assert result.exit_code == 2
        assert said in result.stderr
        assert not (tmp_path / "seen").exists()


def test_a_regression_of_fewer_clients_than_directions(shoal: Shoal, tmp_path: Path) -> None:
    rows = "".join(f"{'abc'[i % 3]},{i / 30},{(i % 3 - 1) * i / 30 + 0.5}\n" for i in range(30))
    (tmp_path / "prices.csv").write_text(f"client,size,label\n{rows}")
    done = shoal("probe", "data=table:prices.csv", "task=regression", "steps=2", "engine=serial")
    assert done.exit_code == 0, done.stderr
    assert "task=regression" in done.stdout.split("Next:")[1]
