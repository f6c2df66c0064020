"""`shoal reproduce --check` plays stored runs again, compares them, and leaves everything as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shoal
from tests.cli.test_reproduce import toy

__all__ = ["toy"]  # a fixture

FILE = Path("results/toy/table1/digits/fedavg.json")
RUN = ("reproduce", "toy/table1", "rows=digits", "columns=fedavg", "seeds=2", "engine=serial", "--quiet")


@pytest.mark.usefixtures("toy")
def test_what_is_played_again_is_the_same_and_nothing_is_written(shoal: Shoal) -> None:
    shoal(*RUN)
    before = FILE.read_bytes(), sorted(Path().rglob("*"))
    done = shoal(*RUN, "--check")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("toy/table1/digits/fedavg")]
    assert [(row[1], row[-1]) for row in rows] == [("0", "same"), ("1", "same")]
    assert rows[0][-3] == rows[0][-2]
    assert done.stdout.splitlines()[-1] == "2 of 2 runs are the same to the last digit that is kept."
    assert (FILE.read_bytes(), sorted(Path().rglob("*"))) == before
    one = json.loads(shoal(*RUN[:4], "seeds=1", "engine=serial", "-q", "--check", "--format", "json").stdout)
    assert one["kind"] == "check" and one["asked"] == 1
    [run] = one["runs"]
    assert run["same"] and run["stored"] == run["now"] and run["seed"] == 0


@pytest.mark.usefixtures("toy")
def test_a_run_that_differs_is_told_with_its_distance_and_ends_with_1(shoal: Shoal) -> None:
    shoal(*RUN)
    document = json.loads(FILE.read_text())
    figures = document["runs"][1]["figures"]
    figures["best_accuracy"] = round(figures["best_accuracy"] - 0.0325, 5)  # 3.25 points
    document["made"]["torch"] = "0.4"
    FILE.write_text(json.dumps(document))
    done = shoal(*RUN, "--check")
    assert done.exit_code == 1
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("toy/table1/digits/fedavg")]
    assert [(row[1], row[-1]) for row in rows] == [("0", "same"), ("1", "differs")]
    last = done.stdout.splitlines()[-1]
    assert "1 of 2 runs are the same" in last and "The others are up to 3.25 apart (accuracy, best %)." in last
    assert "torch 0.4 there, " in last
    csv = shoal(*RUN, "--check", "--format", "csv").stdout.splitlines()
    assert csv[0] == "table,row,column,seed,quantity,stored,now,same"
    assert [line.split(",")[-1] for line in csv[1:]] == ["True", "False"]


def test_data_that_are_missing_are_told_once(shoal: Shoal) -> None:
    """Of MNIST, which was there when the five runs of the project's results were made."""
    results = Path(__file__).parents[2] / "results"
    done = shoal("reproduce", "fedgroup/table1", "rows=classes-10", "--check", "--results", results)
    assert done.exit_code == 3 and done.stderr.count("data set 'mnist' is not on this machine") == 1


@pytest.mark.usefixtures("toy")
def test_what_an_earlier_version_did_not_keep_is_no_difference(shoal: Shoal) -> None:
    """Of a curve other rounds, of figures fewer."""
    shoal(*RUN)
    document = json.loads(FILE.read_text())
    for run in document["runs"]:
        run["curves"] = {name: values[1:] for name, values in run["curves"].items()}
        del run["figures"]["median_accuracy"]
    FILE.write_text(json.dumps(document))
    assert "2 of 2 runs are the same" in shoal(*RUN, "--check").stdout
    document["runs"][0]["curves"]["accuracy"][-1] += 0.001
    FILE.write_text(json.dumps(document))
    done = shoal(*RUN, "--check")
    assert done.exit_code == 1 and "1 of 2 runs are the same" in done.stdout


@pytest.mark.usefixtures("toy")
def test_time_that_is_over_and_words_that_do_not_go_together(shoal: Shoal) -> None:
    nothing = shoal(*RUN, "--check")
    assert nothing.exit_code == 2
    assert "--check plays again what is stored, and results has no complete run of this; leave it out" in nothing.stderr
    shoal(*RUN)
    short = shoal(*RUN, "--check", "--budget", "0.000001s")
    assert "2 of 2 runs were not played to their end." in short.stdout
    assert "--again does not go with --check" in shoal(*RUN, "--check", "--again").stderr
    assert "--check is about runs and does not go with --list" in shoal(*RUN, "--check", "--list").stderr
