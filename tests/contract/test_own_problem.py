"""What a user with a problem of another kind meets: newcomers, tables of whole numbers, wrong keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.analysis.quantities import quantities
from shoal.errors import BadInput, RunFolderError, ShoalError
from shoal.report.headline import score_cards
from shoal.types import Array

SLOPES = np.array([[1.0, 2.0, -1.0], [-1.0, 0.5, 2.0]])


def plant(i: int, samples: int = 30) -> tuple[Array, Array]:
    x = np.random.default_rng(i).normal(size=(samples, 3))
    return x, x @ SLOPES[i % 2]


@pytest.fixture(scope="module")
def regression(tmp_path_factory: pytest.TempPathFactory) -> shoal.Run:
    plants = shoal.Federation.from_arrays({f"plant-{i}": plant(i) for i in range(6)})
    out = tmp_path_factory.mktemp("regression") / "run"
    keys: dict[str, Any] = {"groups": 2, "rounds": 4, "lr": 0.1, "engine": "serial"}
    return shoal.run("ifca", plants, task="regression", out=out, **keys)


def test_a_newcomer_with_floats_finds_its_group(regression: shoal.Run) -> None:
    assert regression.folder is not None
    for run in (regression, shoal.load(regression.folder)):
        assert run.assign(*plant(8)).group == run.groups["plant-0"]
        assert run.assign(*plant(9)).group == run.groups["plant-1"] != run.groups["plant-0"]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(30, int), "whole numbers, a number per sample, and task=regression learns floats"),
        (np.zeros((30, 2)), "targets have 2 numbers each, those of the run have 1"),
        (np.full(30, np.nan), "not finite"),
        (np.zeros(7), "as many labels as samples, at least one; got 30 and 7"),
    ],
)
def test_a_newcomer_with_other_targets_is_told(regression: shoal.Run, y: Array, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        regression.assign(plant(8)[0], y)


def test_a_newcomer_with_labels_is_taken_and_an_unknown_class_is_not() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3))
    labels = np.stack([x[:, 0] > 0, x[:, 1] > 0], 1).astype(int)
    keys: dict[str, Any] = {"groups": 2, "rounds": 1, "engine": "serial"}
    several = shoal.run("ifca", shoal.Federation.from_arrays({"a": (x, labels)}), task="multilabel", **keys)
    assert several.assign(x, labels).group in (0, 1)
    one = shoal.run("ifca", shoal.Federation.from_arrays({"a": (x, labels[:, 0])}), **keys)
    with pytest.raises(BadInput, match="labels must lie between 0 and 1"):
        one.assign(x, labels[:, 0] + 1)


PRICES = {"client": ["a", "b"] * 10, "size": list(range(20)), "label": [3 * i - 5 for i in range(20)]}


def test_whole_numbers_of_a_table_are_floats_where_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"column 'label' of .* holds -5, and classes begin at 0; give targets=floats"):
        shoal.Federation.from_table(PRICES)
    assert shoal.Federation.from_table(PRICES, targets="floats", test=0).y.dtype == np.float64
    file = tmp_path / "prices.csv"
    file.write_text("client,size,label\n" + "".join(f"{'ab'[i % 2]},{i},{3 * i}\n" for i in range(20)))
    keys: dict[str, Any] = {"task": "regression", "rounds": 1, "lr": 1e-4, "engine": "serial"}
    with pytest.raises(BadInput, match="of a table targets=floats"):
        shoal.run("fedavg", f"table:{file}", **keys)
    assert shoal.run("fedavg", f"table:{file}:targets=floats", **keys).summary["best_rmse"] > 0


def test_floats_of_a_table_are_classes_where_one_says_so() -> None:
    doses = {**PRICES, "label": [10.0, 2.5] * 10}
    fed = shoal.Federation.from_table(doses, targets="classes", test=0)
    assert fed.class_names == ("2.5", "10")
    assert sorted(set(fed.y.tolist())) == [0, 1]
    with pytest.raises(BadInput, match="holds words"):
        shoal.Federation.from_table({**PRICES, "label": ["x", "y"] * 10}, targets="floats")
    with pytest.raises(BadInput, match="targets must be classes or floats, not 'float'"):
        shoal.Federation.from_table(PRICES, targets="float")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"task": "regression", "class_weights": "1,2"}, "task=regression has no classes that could weigh"),
        ({"task": "regression", "class_weights": "balanced"}, "task=regression has no classes that could weigh"),
        ({"task": lambda out, y: (out[:, 0] - y) ** 2}, "wrap a loss of your own: task=shoal.Objective"),
    ],
)
def test_keys_that_do_not_go_with_numbers(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        shoal.run("fedavg", shoal.Federation.from_arrays({"a": plant(0)}), rounds=1, engine="serial", **keys)


@pytest.mark.parametrize("weights", ["0,0", "1,nan", "1,inf", "1,-1", "1"])
def test_class_weights_that_weigh_nothing(weights: str) -> None:
    x = np.zeros((10, 2))
    fed = shoal.Federation.from_arrays({"a": (x, np.arange(10) % 2)})
    with pytest.raises(BadInput, match="give 2 numbers from 0 on, one per class, and not 0 for all"):
        shoal.run("fedavg", fed, task="binary", class_weights=weights, rounds=1, engine="serial")


def test_a_metric_as_an_object_may_be_the_score() -> None:
    bias = shoal.Metric(
        "bias", lambda said, y: {"above": (said - y).sum()}, lambda s: abs(s["above"] / s["total"]), "lower"
    )
    fed = shoal.Federation.from_arrays({"a": plant(0)})
    run = shoal.run("fedavg", fed, task="regression", score=bias, rounds=2, engine="serial")
    assert run.plan.score.name == "bias"
    assert run.summary["best_bias"] == min(row["bias"] for row in run.history if "bias" in row)


def test_a_run_with_a_metric_of_its_own_says_what_to_give_again(tmp_path: Path) -> None:
    bias = shoal.Metric(
        "bias", lambda said, y: {"above": (said - y).sum()}, lambda s: abs(s["above"] / s["total"]), "lower"
    )
    fed = shoal.Federation.from_arrays({"a": plant(0)})
    shoal.run("fedavg", fed, task="regression", metrics=[bias], rounds=1, engine="serial", out=tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"begun with the metric 'bias', .* shoal.load\(path, metrics="):
        shoal.load(tmp_path / "run")
    with pytest.raises(RunFolderError, match=r"begun with the metric 'bias', .* shoal.resume\(path, metrics="):
        shoal.resume(tmp_path / "run", federation=fed, rounds=2)
    assert shoal.load(tmp_path / "run", metrics=[bias]).summary["rounds"] == 1
    assert "bias" in shoal.resume(tmp_path / "run", federation=fed, metrics=[bias], rounds=2).history[-1]


def test_a_page_of_labels_does_not_speak_of_classes(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    fed = shoal.Federation.from_arrays({"a": (x, np.stack([x[:, 0] > 0, x[:, 1] > 0], 1).astype(int))})
    keys: dict[str, Any] = {"groups": 2, "rounds": 2, "engine": "serial", "out": tmp_path / "run"}
    run = shoal.run("ifca", fed, task="multilabel", **keys)
    page = run.report().read_text()
    assert "In the end all clients are in one group." in page
    assert "per_class=false" not in page
    assert "mean AUC of the worst" not in page


def test_a_loss_that_spreads_samples_over_each_other_is_told() -> None:
    fed = shoal.Federation.from_arrays({"a": plant(0)})
    task = shoal.Objective(loss=lambda outputs, y: (outputs - y) ** 2)  # B x 1 minus B is B x B
    with pytest.raises(ShoalError, match=r"the loss makes shape \(10, 10\) of outputs of shape \(10, 1\)"):
        shoal.run("fedavg", fed, task=task, rounds=1, engine="serial")


def test_a_metric_that_has_no_value_is_one_sentence() -> None:
    fed = shoal.Federation.from_arrays({"a": plant(0)})
    metric = shoal.Metric("wrong", lambda said, y: {"all": said.sum()}, lambda sums: sums["none"])
    with pytest.raises(ShoalError, match="the metric 'wrong' has no value: KeyError: 'none'"):
        shoal.run("fedavg", fed, task="regression", metrics=[metric], rounds=1, engine="serial")


@pytest.mark.parametrize(
    ("name", "better", "words"),
    [
        ("round", "higher", "cannot be called 'round': records have something else under it"),
        ("loss", "higher", "cannot be called 'loss'"),
        ("of me", "higher", "letters, digits and _ make a name"),
        ("mine", "up", "better='up' of the metric 'mine' is not possible"),
    ],
)
def test_a_metric_that_cannot_be(name: str, better: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        shoal.Metric(name, lambda said, y: {}, lambda sums: 0.0, better)


TWO_TASKS = """import shoal
absolute = shoal.Objective(loss=lambda out, y: (out[:, 0] - y).abs(), metrics=("mae",))
squared = shoal.Objective(loss=lambda out, y: (out[:, 0] - y) ** 2, metrics=("mae",))
"""


def test_a_resumed_run_goes_on_with_its_own_of_two_tasks_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "two_tasks.py").write_text(TWO_TASKS)
    fed = shoal.Federation.from_arrays({"a": plant(0), "b": plant(1)})
    keys: dict[str, Any] = {"task": f"{tmp_path}/two_tasks.py:squared", "lr": 0.05, "engine": "serial"}
    shoal.run("fedavg", fed, rounds=1, out=tmp_path / "run", **keys)
    resumed = shoal.resume(tmp_path / "run", federation=fed, rounds=2)
    whole = shoal.run("fedavg", fed, rounds=2, **keys)
    assert resumed.plan.layout.objective.name == "squared"
    assert resumed.history[-1]["loss"] == whole.history[-1]["loss"]
    with pytest.raises(BadInput, match=r"unknown task of .* 'cubed'; known: absolute, squared"):
        shoal.run("fedavg", fed, rounds=1, task=f"{tmp_path}/two_tasks.py:cubed", engine="serial")


def test_a_test_loss_that_is_the_score_has_its_column_and_one_card(tmp_path: Path) -> None:
    fed = shoal.Federation.from_arrays({"a": plant(0)})
    run = shoal.run("fedavg", fed, task="regression", score="loss", rounds=1, engine="serial", out=tmp_path / "run")
    assert quantities(run.plan.score)["best_test_loss"].shown == "always"
    assert [card.key for card in score_cards(run.summary, run.plan.score)].count("best_test_loss") == 1
