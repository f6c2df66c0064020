"""Files of models that are none, and modules with their preprocessing inside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import shoal
from shoal.data.samples import Inputs
from shoal.data.signature import Signature
from shoal.errors import BadInput
from shoal.store.exported import ExportedModel


def test_files_that_hold_no_model(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"there is no file .*none; run.export\(DIR\) writes models"):
        shoal.load_model(tmp_path / "none")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(BadInput, match="text cannot be read"):
        shoal.load_model(tmp_path / "text")
    save_file({"a": torch.zeros(1)}, tmp_path / "plain")
    with pytest.raises(BadInput, match="does not say what its model takes: it is no exported model"):
        shoal.load_model(tmp_path / "plain")


def test_a_named_model_that_is_not_declared_here(tmp_path: Path) -> None:
    about = {"model": "minee:depth=3", "precision": "float32", "data": Signature((2,), "float32", 2).to_json()}
    save_file({"a": torch.zeros(1)}, tmp_path / "m", metadata={"shoal": json.dumps(about)})
    with pytest.raises(BadInput, match=r"unknown model 'minee'.* Import the file that declares it first"):
        shoal.load_model(tmp_path / "m")


def test_inputs_by_hand() -> None:
    """(51 - 1) / 25 = 2 through weights (3, -3): log-odds 12, a probability of 1 / (1 + exp(-12))."""
    module = nn.Linear(1, 2, bias=False)
    module.weight.data = torch.tensor([[3.0], [-3.0]])
    model = ExportedModel(module, Signature((1,), "uint8", 2, inputs=Inputs(1.0, 25.0)), {})
    assert model(torch.tensor([[51]], dtype=torch.uint8)).tolist() == [[6.0, -6.0]]
    assert model.predict_proba(np.array([[51]], np.uint8))[0, 0] == pytest.approx(1 / (1 + np.exp(-12)))


def test_whole_numbers_stay_whole_for_models_of_tokens() -> None:
    module = nn.Sequential(nn.Embedding(5, 2), nn.Flatten(), nn.Linear(6, 1))
    model = ExportedModel(module, Signature((3,), "int64", 2), {})
    assert model.predict_proba(np.array([[0, 4, 2]])).sum() == pytest.approx(1)
