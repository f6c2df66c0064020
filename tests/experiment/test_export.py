"""`run.export`: files that say what they take, a card, and models that predict elsewhere what the run predicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from tests.conftest import small_net

import shoal
from shoal import Federation
from shoal.errors import BadInput, ShoalError

NEW = {"age": [58.0, None, 91.0], "sex": ["f", "x", None]}  # x was never seen


def visits(**how: Any) -> Federation:
    rng = np.random.default_rng(0)
    n = 240
    age = rng.normal(50, 15, n)
    rows = {
        "site": rng.choice(["a", "b", "c", "d"], n),
        "age": np.where(rng.random(n) < 0.1, np.nan, age),
        "sex": rng.choice(["f", "m"], n).astype(object),
        "ill": np.where(age + rng.normal(0, 5, n) > 55, "yes", "no"),
    }
    rows["sex"][rng.random(n) < 0.1] = None
    how = {"impute": "mean", "encode": "one-hot", "standardise": True, "indicator": True, **how}
    return Federation.from_table(rows, client="site", label="ill", **how)


def test_another_program_predicts_the_same_from_the_files_alone(tmp_path: Path) -> None:
    run = shoal.run("ifca", visits(), "mlp:hidden=6", groups=2, rounds=3, lr=0.1, engine="serial")
    run.export(tmp_path / "out")
    script = tmp_path / "script.py"
    script.write_text(
        "import json, sys, shoal\n"
        "model = shoal.load_model(sys.argv[1])\n"
        f"rows = json.loads('''{json.dumps(NEW)}''')\n"
        "print(json.dumps([model.predict_proba(rows).tolist(), model.about['clients'], model.class_names]))\n"
    )
    for k in range(2):
        command = [sys.executable, str(script), str(tmp_path / "out" / f"group_{k}.safetensors")]
        out = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        clients = [c for c, group in run.groups.items() if group == k]
        assert out[1:] == [len(clients), ["no", "yes"]]
        for client in clients:
            np.testing.assert_allclose(out[0], run.predict_proba(client, NEW), atol=1e-6)


def test_images_are_scaled_inside(tmp_path: Path) -> None:
    run = shoal.run("fedavg", "digits", "cnn", rounds=1, engine="serial")
    model = shoal.load_model(run.export(tmp_path) / "group_0.safetensors")
    x = run.plan.federation.in_memory.x[:20]  # type: ignore[union-attr]
    np.testing.assert_allclose(model.predict_proba(x), run.predict_proba("00", x), atol=1e-6)
    assert model.predict(x).tolist() == run.predict("00", x).tolist()
    ready = (x / 16).astype(np.float32)  # not scaled a second time
    np.testing.assert_allclose(model.predict_proba(ready), run.predict_proba("00", ready), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(ready), model.predict_proba(x), atol=1e-6)
    assert isinstance(model, torch.nn.Module) and not model.training
    with pytest.raises(BadInput, match="not trained on a table; give it its inputs as an array"):
        model.prepare({"age": [1]})


def test_the_models_of_a_run_folder_are_such_files_too(tmp_path: Path) -> None:
    run = shoal.run("fedavg", "digits", rounds=1, engine="serial", out=tmp_path / "r")
    model = shoal.load_model(tmp_path / "r" / "models" / "group_0.safetensors")
    x = np.full((2, 1, 8, 8), 7, np.uint8)
    np.testing.assert_allclose(model.predict_proba(x), run.predict_proba("00", x), atol=1e-6)


def test_the_card_says_what_one_must_know(tmp_path: Path) -> None:
    run = shoal.run("ifca", visits(), groups=2, rounds=2, lr=0.1, engine="serial")
    text = (run.export(tmp_path) / "README.md").read_text()
    groups = [*run.groups.values()]
    value = next(r for r in reversed([*run.history]) if r["accuracy"] is not None)["group_accuracy"][0]
    for line in (
        "# Models of the table",
        f"* 4 clients with {run.plan.federation.roster.sizes_N.sum()} training samples",
        "* inputs: 2 columns of a table, which become 5 numbers",
        "* targets: 2 classes: 0 = no, 1 = yes",
        f"| `group_0.safetensors` | {groups.count(0)} | {run.history.score.show(value)} |",
        "| `rounds` | 2 |",
        "| `ifca.groups` | 2 |",
    ):
        assert line in text.splitlines(), line
    assert "| sex | one-hot of f, m | " in text and "shoal.load_model(" in text
    assert not any(f"`{client}`" in text for client in run.clients), "clients are counted, not named"


def test_clients_with_models_of_their_own(tmp_path: Path) -> None:
    run = shoal.run("local", visits(), rounds=1, engine="serial")
    run.export(tmp_path)
    for i, client in enumerate(run.clients):
        model = shoal.load_model(tmp_path / f"client_{i}.safetensors")
        assert model.about["client"] == client
        tested = run.history[-1]["clients"]
        share = tested["right"][tested["ids"].index(client)] / tested["total"][tested["ids"].index(client)]
        assert model.about["score"] == {"name": "accuracy", "value": share}
        np.testing.assert_allclose(model.predict_proba(NEW), run.predict_proba(client, NEW), atol=1e-6)


def test_clients_that_prepare_by_themselves(tmp_path: Path) -> None:
    run = shoal.run("fedavg", visits(fit="client"), rounds=2, lr=0.1, engine="serial")
    file = run.export(tmp_path) / "group_0.safetensors"
    for client in run.clients:
        found = shoal.load_model(file, client=client).predict_proba(pd.DataFrame(NEW))
        np.testing.assert_allclose(found, run.predict_proba(client, NEW), atol=1e-6)
    with pytest.raises(BadInput, match="every client prepares its table with values of its own; say whose"):
        shoal.load_model(file)
    with pytest.raises(BadInput, match="has no values of its own for client 'zoe'; it has them for: a, b, c, d"):
        shoal.load_model(file, client="zoe")
    with pytest.raises(BadInput, match="ONNX holds one preprocessing, and here every client has its own"):
        run.export(tmp_path, onnx=True)


def test_a_model_of_the_users_own_needs_its_code(toy: Federation, tmp_path: Path) -> None:
    run = shoal.run("fedavg", toy, small_net, rounds=1, engine="serial")
    file = run.export(tmp_path) / "group_0.safetensors"
    with pytest.raises(ShoalError, match=r"has no name: code of its user's own made it.* load_model\(file, model="):
        shoal.load_model(file)
    x = toy.client("c00")("test")[0]
    model = shoal.load_model(file, model=small_net)
    np.testing.assert_allclose(model.predict_proba(x), run.predict_proba("c00", x), atol=1e-6)
    with pytest.raises(BadInput, match="the model does not fit the tensors of"):
        shoal.load_model(file, model=lambda: torch.nn.Linear(6, 4))


def test_numbers_and_labels_leave_as_what_they_are(tmp_path: Path) -> None:
    """A regression says values; labels have a probability each; what an own task says only its code knows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    clients = {name: (x, x @ [1.0, 2.0, 3.0]) for name in "ab"}
    run = shoal.run("fedavg", Federation.from_arrays(clients), task="regression", rounds=3, lr=0.05, engine="serial")
    model = shoal.load_model(run.export(tmp_path / "r") / "group_0.safetensors")
    np.testing.assert_allclose(model.predict(x), run.predict("a", x), atol=1e-5)
    assert model.about["score"]["name"] == "rmse" and "* targets: 1 number\n" in (tmp_path / "r/README.md").read_text()
    for one in (model, run):
        with pytest.raises(BadInput, match="not probabilities; use"):
            one.predict_proba(*((x,) if one is model else ("a", x)))
    labels = {name: (x, (x[:, :2] > 0).astype(int)) for name in "ab"}
    run = shoal.run("fedavg", Federation.from_arrays(labels), task="multilabel", rounds=3, engine="serial")
    model = shoal.load_model(run.export(tmp_path / "l") / "group_0.safetensors")
    np.testing.assert_allclose(model.predict_proba(x), run.predict_proba("a", x), atol=1e-6)
    assert model.predict(x).tolist() == run.predict("a", x).tolist()
    own = shoal.Objective(said=lambda outputs: outputs * 2)
    run = shoal.run("fedavg", Federation.from_arrays(clients), task=own, rounds=1, engine="serial")
    model = shoal.load_model(run.export(tmp_path / "o") / "group_0.safetensors")
    assert model(torch.zeros(2, 3)).shape == (2, 1)
    with pytest.raises(BadInput, match=r"said by its user's own task; take them as model\(x\)"):
        model.predict(x)


@pytest.mark.slow
def test_onnx_of_a_regression(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = {"client": ["a", "b"] * 20, "age": [30.0, None, 50.0, 40.0] * 10, "cost": np.arange(40) / 7}
    fed = Federation.from_table(rows, label="cost", impute="mean", standardise=True)
    run = shoal.run("fedavg", fed, task="regression", rounds=2, engine="serial")
    run.export(tmp_path, onnx=True)
    session = onnxruntime.InferenceSession(tmp_path / "group_0.onnx", providers=["CPUExecutionProvider"])
    said = session.run(["values"], {"x": np.array([[np.nan], [70.0]])})[0]
    np.testing.assert_allclose(said, run.predict("a", {"age": [None, 70.0]}), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mclr", "mlp:hidden=6"])
def test_onnx_says_the_same(model: str, tmp_path: Path) -> None:
    """Raw numbers in, preprocessing inside: gaps as nan, categories by number, one never seen as -1."""
    onnxruntime = pytest.importorskip("onnxruntime")
    run = shoal.run("fedavg", visits(), model, rounds=2, lr=0.1, engine="serial")
    run.export(tmp_path, onnx=True)
    session = onnxruntime.InferenceSession(tmp_path / "group_0.onnx", providers=["CPUExecutionProvider"])
    raw = np.array([[58.0, 0.0], [np.nan, -1.0], [91.0, np.nan]])
    assert np.array_equal(raw, shoal.load_model(tmp_path / "group_0.safetensors").prepare(NEW), equal_nan=True)
    np.testing.assert_allclose(session.run(None, {"x": raw})[0], run.predict_proba("a", NEW), atol=1e-5)


@pytest.mark.slow
def test_onnx_of_images_takes_bytes(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    run = shoal.run("fedavg", "digits", "cnn", rounds=1, engine="serial")
    run.export(tmp_path, onnx=True)
    session = onnxruntime.InferenceSession(tmp_path / "group_0.onnx", providers=["CPUExecutionProvider"])
    x = run.plan.federation.in_memory.x[:5]  # type: ignore[union-attr]
    np.testing.assert_allclose(session.run(None, {"x": x})[0], run.predict_proba("00", x), atol=1e-5)


def test_onnx_needs_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    run = shoal.run("fedavg", "digits", rounds=1, engine="serial")
    with pytest.raises(BadInput, match=r"three packages are needed: pip install 'shoal\[onnx\]'"):
        run.export(tmp_path, onnx=True)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run = shoal.run("fedavg", "digits", rounds=1, engine="serial")
    with pytest.raises(BadInput, match=r"cannot write to .*file: .*; choose another folder"):
        run.export(tmp_path / "file")
