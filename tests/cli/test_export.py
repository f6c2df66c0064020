"""`shoal export`: the models of a run folder as files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.cli.conftest import Shoal

from shoal.store.exported import load_model


def test_the_models_of_a_folder(shoal: Shoal, tmp_path: Path) -> None:
    shoal("run", "ifca", "groups=2", "rounds=1", "engine=serial", "out=r")
    said = shoal("export", "r", "deep/models")
    assert (said.exit_code, said.stderr) == (0, "")
    assert " ".join(said.stdout.split()).startswith("Export: deep/models (2 models); README.md is the card")
    found = json.loads(shoal("export", "r", "deep/models", "--format", "json").stdout)
    assert found["files"] == ["README.md", "group_0.safetensors", "group_1.safetensors"]
    model = load_model(tmp_path / "deep" / "models" / "group_1.safetensors")
    assert model.predict(np.zeros((2, 1, 8, 8), np.uint8)).shape == (2,)


def test_what_cannot_be_exported_is_said(shoal: Shoal) -> None:
    said = shoal("export", "nowhere", "out")
    assert said.exit_code == 4
    assert "there is no folder nowhere" in said.stderr
    assert shoal("export", "nowhere").exit_code == 2


def test_a_table_by_its_name(shoal: Shoal, tmp_path: Path) -> None:
    rows = ["site,age,sex,ill", *(f"{'ns'[i % 2]},{i if i % 3 else ''},{'fm'[i % 4 // 2]},{i % 2}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    how = "impute=median:encode=one-hot:standardise=true:indicator=true"
    said = shoal("run", "fedavg", f"data=table:t.csv:client=site:label=ill:{how}", "rounds=1", "engine=serial", "out=r")
    assert (said.exit_code, said.exception) == (0, None)
    assert shoal("export", "r", "m").exit_code == 0
    model = load_model(tmp_path / "m" / "group_0.safetensors")
    assert model.signature.preprocess is not None
    assert model.signature.preprocess.inputs == ("age", "age missing", "sex=f", "sex=m")
    assert model.predict_proba([{"age": None, "sex": "f"}]).shape == (1, 2)
