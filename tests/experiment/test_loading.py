"""`shoal.load`: a finished run from its folder alone, for every method, and what cannot be loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import small_net

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.data.federation import Federation
from shoal.errors import BadInput, RunFolderError, ShoalError

CANNOT = {"given"}  # it needs tags, which the toy has not; below


@pytest.mark.parametrize(
    "name", [n for n, c in ALGORITHMS.items() if c.__module__.startswith("shoal.") and n not in CANNOT]
)
def test_a_loaded_run_is_the_run(name: str, toy: Federation, tmp_path: Path) -> None:
    """Models, groups, history and predictions; and a newcomer gets the same group from the method's own rule."""
    run = shoal.run(name, toy, "mlp:hidden=4", rounds=2, lr=0.05, engine="serial", out=tmp_path / "r", val=0.1)
    again = shoal.load(tmp_path / "r")
    assert again.clients == run.clients and again.groups == run.groups and again.summary == run.summary
    assert list(again.history) == list(run.history) and repr(again) == repr(run)
    x, y = toy.client("c00")("train")
    served = next(client for client in run.clients if client in run.groups)
    np.testing.assert_allclose(again.predict_proba(served, x), run.predict_proba(served, x), rtol=1e-6)
    assert again.predict(served, x).tolist() == run.predict(served, x).tolist()
    assert run.predict_proba(served, x).sum(1) == pytest.approx(np.ones(len(x)), rel=1e-5)
    try:
        group = run.assign(x, y).group
    except ShoalError as problem:
        with pytest.raises(type(problem)):
            again.assign(x, y)
    else:
        assert again.assign(x, y).group == group
    with pytest.raises(ShoalError, match=r"loaded without its data; for what needs them go on with shoal.resume"):
        again.plan.federation.client("c00")


def test_given_groups(tmp_path: Path) -> None:
    clients = {name: (np.eye(4), [0, 1, 0, 1]) for name in "abcd"}
    fed = Federation.from_arrays(clients, tags={name: {"site": "AB"[i % 2]} for i, name in enumerate("abcd")})
    run = shoal.run("given", fed, by="site", rounds=1, engine="serial", out=tmp_path / "r")
    assert shoal.load(tmp_path / "r").groups == run.groups == {"a": 0, "b": 1, "c": 0, "d": 1}


def test_an_own_model_must_be_given_again(toy: Federation, tmp_path: Path) -> None:
    run = shoal.run("fedavg", toy, small_net, rounds=1, engine="serial", out=tmp_path / "r")
    with pytest.raises(
        RunFolderError, match=r"begun with an own model; go on in Python: shoal.load\(path, model=...\)"
    ):
        shoal.load(tmp_path / "r")
    x = toy.client("c00")("test")[0]
    assert shoal.load(tmp_path / "r", model=small_net).predict("c00", x).tolist() == run.predict("c00", x).tolist()
    with pytest.raises(RunFolderError, match="the model is not the one that"):
        shoal.load(tmp_path / "r", model=lambda: shoal.models.factory("mclr", (6,), 4)())


def test_an_own_algorithm_must_be_given_again(toy: Federation, tmp_path: Path) -> None:
    shoal.run(shoal.FedAvg(), toy, rounds=1, engine="serial", out=tmp_path / "r")
    with pytest.raises(RunFolderError, match=r"own algorithm; go on in Python: shoal.load\(path, algorithm=...\)"):
        shoal.load(tmp_path / "r")
    assert len(shoal.load(tmp_path / "r", algorithm=shoal.FedAvg()).models) == 1


def test_what_cannot_be_loaded(toy: Federation, tmp_path: Path) -> None:
    shoal.run("fedavg", toy, rounds=1, engine="serial", out=tmp_path / "r")
    (tmp_path / "r" / "data.json").rename(tmp_path / "kept.json")
    with pytest.raises(RunFolderError, match="does not say what its models take: it was written before runs kept data"):
        shoal.load(tmp_path / "r")
    (tmp_path / "r" / "data.json").write_text("{}")
    with pytest.raises(RunFolderError, match=r"data.json cannot be read: 'truth'"):
        shoal.load(tmp_path / "r")
    (tmp_path / "kept.json").rename(tmp_path / "r" / "data.json")
    for file in (tmp_path / "r" / "checkpoints").iterdir():
        file.unlink()
    with pytest.raises(RunFolderError, match="has no checkpoint that can be read"):
        shoal.load(tmp_path / "r")
    (tmp_path / "r" / "summary.json").unlink()
    with pytest.raises(RunFolderError, match="is not complete; go on with: shoal resume"):
        shoal.load(tmp_path / "r")


def test_drift_that_was_does_not_matter(tmp_path: Path) -> None:
    run = shoal.run("flexcfl", rounds=3, drift="swap-all:0.5", engine="serial", out=tmp_path / "r", groups=2)
    assert shoal.load(tmp_path / "r").groups == run.groups


def test_a_table_is_prepared_by_what_the_folder_remembers(tmp_path: Path) -> None:
    rows = {"client": ["a", "a", "b", "b"] * 5, "age": [30, None, 50, 40] * 5, "label": ["no", "yes"] * 10}
    fed = Federation.from_table(rows, impute="mean", standardise=True, fit="client")
    run = shoal.run("fedavg", fed, rounds=1, engine="serial", out=tmp_path / "r")
    again = shoal.load(tmp_path / "r")
    assert again.signature.class_names == ("no", "yes")
    new = [{"age": 61}, {"age": None}]
    for client in ("a", "b"):
        assert again.predict_proba(client, new).tolist() == run.predict_proba(client, new).tolist()
    assert run.predict_proba("a", new).tolist() != run.predict_proba("b", new).tolist()
    with pytest.raises(BadInput, match="the table has no column 'age'"):
        again.predict("a", {"weight": [1]})


def test_a_run_that_stopped_early(tmp_path: Path) -> None:
    run = shoal.run("fedavg", rounds=30, stop="score:patience=1", engine="serial", out=tmp_path / "r", lr=0.0)
    assert run.summary["rounds"] < 30
    again = shoal.load(tmp_path / "r")
    assert again.summary["stopped"] == run.summary["stopped"]
    x = np.full((2, 1, 8, 8), 9, np.uint8)
    assert again.predict_proba("00", x).tolist() == run.predict_proba("00", x).tolist()


def test_a_regression_comes_back(tmp_path: Path) -> None:
    rows = {"client": ["a", "b"] * 20, "age": [30.0, None, 50.0, 40.0] * 10, "cost": np.arange(40) / 7}
    fed = Federation.from_table(rows, label="cost", impute="mean", standardise=True)
    run = shoal.run("fedavg", fed, task="regression", score="mae", rounds=2, engine="serial", out=tmp_path / "r")
    again = shoal.load(tmp_path / "r")
    assert again.history.score == run.history.score and again.history.score.name == "mae"
    new = {"age": [None, 70.0]}
    assert again.predict("a", new).tolist() == run.predict("a", new).tolist()


def numbers() -> Federation:
    rng = np.random.default_rng(0)
    found = {}
    for i in range(6):
        x = rng.normal(size=(40, 2)).astype(np.float32)
        found[f"{i}"] = x, x @ np.array([3.0, -2.0] if i % 2 else [-3.0, 2.0], np.float32)
    return Federation.from_arrays(found)


def test_a_newcomer_with_numbers_as_targets_finds_its_group(tmp_path: Path) -> None:
    federation = numbers()
    run = shoal.run("ifca", federation, "mclr", task="regression", groups=2, rounds=8, lr=0.1, engine="serial")
    assert len(set(run.groups.values())) == 2
    for client in ("0", "1"):
        assert run.assign(*federation.client(client)("train")).group == run.groups[client]
    x, y = federation.client("0")("train")
    with pytest.raises(BadInput, match="the targets of the newcomer are whole numbers"):
        run.assign(x, np.abs(y).astype(int))
    with pytest.raises(BadInput, match="targets have 2 numbers each, those of the run have 1"):
        run.assign(x, np.stack([y, y], 1))


@pytest.mark.parametrize(("given", "kept"), [("1,5,1", (1.0, 5.0, 1.0)), ("balanced", None)])
def test_class_weights_that_are_numbers_are_kept(given: str, kept: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    clients = {name: (rng.normal(size=(12, 2)), np.arange(12) % 3) for name in "ab"}
    data = Federation.from_arrays(clients)
    shoal.run("fedavg", data, "mclr", class_weights=given, rounds=1, engine="serial", out=tmp_path / "r")
    assert shoal.load(tmp_path / "r").plan.layout.objective.weights == kept
