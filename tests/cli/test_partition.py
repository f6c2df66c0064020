from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.cli.conftest import Shoal

from shoal.cli.partition_plot import distribution, histogram, rows_of

GROUPED = "partition=cluster-dirichlet:groups=2:clients=6:alpha=1"


def test_statistics_and_pictures(shoal: Shoal) -> None:
    text = shoal("partition", GROUPED).stdout
    assert "planted groups" in text
    rows = [line for line in text.splitlines() if line[:1].isdigit() and any(c in line for c in "░▒▓█")]
    assert len(rows) >= 6
    assert all(sum(block in line for block in "▒▓█") for line in rows[:6])
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_holds_the_counts(shoal: Shoal) -> None:
    found = json.loads(shoal("partition", "partition=iid:clients=10", "seed=3", "--format", "json").stdout)
    assert found["clients"] == 10
    assert len(found["per_client"]) == 10
    assert sum(map(sum, (c["labels"] for c in found["per_client"]))) == found["samples"] == 1797


def test_the_split_is_the_one_of_a_run(shoal: Shoal) -> None:
    from shoal.setup.prepare import prepare

    found = json.loads(shoal("partition", GROUPED, "seed=7", "--format", "json").stdout)
    plan = prepare("fedavg", "digits", "mclr", {"partition": GROUPED.partition("=")[2], "seed": 7}).plan
    labels = [np.concatenate([plan.federation.client(c)(s)[1] for s in ("train", "test")]) for c in plan.federation.ids]
    assert [c["labels"] for c in found["per_client"]] == [np.bincount(y, minlength=10).tolist() for y in labels]


def test_many_clients_are_put_together_but_never_across_groups() -> None:
    counts = np.tile([[4, 0], [0, 2]], (50, 1))
    rows = rows_of([f"{i:02d}" for i in range(100)], counts, [0, 1] * 50)
    assert len(rows) <= 42
    assert {(r.group, r.size, *r.share_C) for r in rows} == {(0, 4, 1, 0), (1, 2, 0, 1)}


def test_many_clients_without_groups_are_single_ones() -> None:
    rows = rows_of([str(i) for i in range(1000)], np.tile([[4, 0], [0, 2]], (500, 1)), None)
    assert len(rows) == 40
    assert {tuple(r.share_C) for r in rows} == {(1, 0), (0, 1)}


def test_many_classes_fit_the_width() -> None:
    rows = rows_of(["a"], np.ones((1, 200), int), None)
    assert all(len(line.plain) <= 80 for line in distribution(rows, 80))


def test_histogram_counts_everybody() -> None:
    for sizes in (np.array([5]), np.array([0, 0, 7]), np.array([10, 11, 3000]), np.arange(100)):
        assert sum(int(line.split()[-1]) for line in histogram(sizes)) == len(sizes)


def test_how_alike_groups_could_be(shoal: Shoal) -> None:
    words = ("partition", "partition=dirichlet:0.1:clients=20", "--icg", "5")
    text = shoal(*words).stdout
    assert "groups by ICG" in text
    assert "less than random groups" in text
    found = json.loads(shoal(*words, "--format", "json").stdout)
    assert "per_client" not in found
    alone, chance, icg = found["grouping"]
    assert (alone["groups"], chance["groups"], icg["groups"], icg["clients"]) == (20, 5, 5, 4)
    assert icg["median_cpd"] < chance["median_cpd"] < alone["median_cpd"]
    assert icg["z"] < chance["z"]


def test_more_groups_than_clients_are_single_clients(shoal: Shoal) -> None:
    found = json.loads(shoal("partition", "partition=iid:clients=4", "--icg", "9", "--format", "json").stdout)
    alone, _, icg = found["grouping"]
    assert icg["groups"] == 4
    assert abs(icg["median_cpd"] - alone["median_cpd"]) < 1e-12


def test_data_without_classes(shoal: Shoal, tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{i},{i + 0.5}\n" for i in range(20))
    (tmp_path / "prices.csv").write_text(f"client,size,label\n{rows}")
    done = shoal("partition", "data=table:prices.csv")
    assert done.exit_code == 0, done.stderr
    assert "classes" not in done.stdout
    assert "10, 10, 10" in done.stdout
    assert "counts of classes" in shoal("partition", "data=table:prices.csv", "--icg", "2").stderr
