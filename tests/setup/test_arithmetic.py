"""Compiling: the rule, what it is written down as, and that it changes rounding alone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.setup import arithmetic
from shoal.setup.prepare import prepare


def residual() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(16, 3)
    )


class Breaking(nn.Module):
    """Looks at a value, which no graph can."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = residual()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.inner(x)
        return scores if scores.sum().item() > 0 else 2 * scores


@pytest.fixture(scope="module")
def pictures() -> Federation:
    rng = np.random.default_rng(0)
    return Federation.from_arrays(
        {f"c{i}": (rng.normal(size=(20, 1, 8, 8)).astype(np.float32), rng.integers(0, 3, 20)) for i in range(4)}
    )


def chosen(federation: Federation, model: type[nn.Module] | object, **pairs: object) -> str:
    return str(prepare("fedavg", federation, model, pairs).config["compile"])  # type: ignore[arg-type]


def test_auto_looks_at_the_model_and_the_length(pictures: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    # 4 clients of 18 samples in batches of 10: 8 local steps a round, so 6,250 rounds make 50,000.
    monkeypatch.setattr(arithmetic, "compiler", lambda: "g++")
    assert chosen(pictures, residual, rounds=6249) == "off"
    assert chosen(pictures, residual, rounds=6250) == "on"
    assert chosen(pictures, residual, rounds=6250, compile="off") == "off"
    assert chosen(pictures, Breaking, rounds=6250) == "off"
    assert chosen(pictures, lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), rounds=6250) == "off"
    monkeypatch.setattr(arithmetic, "compiler", lambda: None)
    assert chosen(pictures, residual, rounds=6250) == "off"


def test_what_was_asked_for_is_done_or_refused(pictures: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "compiler", lambda: "g++")
    assert chosen(pictures, residual, rounds=1, compile="on") == "on"
    with pytest.raises(BadInput, match=r"^compile=on is not possible: the model is not one graph \(.+\); use compile"):
        chosen(pictures, Breaking, rounds=1, compile="on")
    monkeypatch.setattr(arithmetic, "compiler", lambda: None)
    with pytest.raises(BadInput, match=r"needs a C\+\+ compiler"):
        chosen(pictures, residual, rounds=1, compile="on")


def test_a_resumed_run_keeps_the_choice(pictures: Federation, tmp_path: Path) -> None:
    run = shoal.run("fedavg", pictures, residual, rounds=1, engine="serial", out=tmp_path / "r")
    assert tomllib.loads((tmp_path / "r/config.toml").read_text())["compile"] == "off"
    assert not run.plan.arithmetic.compiled
    longer = shoal.resume(tmp_path / "r", federation=pictures, model=residual, rounds=2)
    assert not longer.plan.arithmetic.compiled


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch about itself
@pytest.mark.skipif(arithmetic.compiler() is None, reason="no C++ compiler")
def test_compiled_training_is_the_same_arithmetic(pictures: Federation) -> None:
    runs = [
        shoal.run("fedavg", pictures, residual, rounds=2, engine=e, workers=w, compile=c, precision="float64")
        for e, w, c in (("serial", None, "off"), ("serial", None, "on"), ("local", 2, "on"))
    ]
    eager, compiled, workers = (run.serving.models_KP for run in runs)
    np.testing.assert_allclose(compiled, eager, rtol=1e-8)
    assert compiled.tobytes() == workers.tobytes()
