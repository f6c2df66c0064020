"""Compiling and bfloat16: the rules, what they are written down as, and that they change rounding alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import shoal
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.setup import arithmetic
from shoal.setup.prepare import prepare


def residual() -> nn.Module:
    """GELU is for torch: the native kernel does not take it."""
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(16, 3)
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


NARROW: dict[str, Any] = {
    "precision": "bfloat16",
    "engine": "serial",
    "lr": 0.1,
    "batch": 20,
    "partition": "iid:clients=4",
}


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that multiplies in bfloat16, or says so: torch can do it on all of them, slowly on some."""
    monkeypatch.setattr(arithmetic, "processor_flags", lambda: {"fma", "avx512_bf16"})


@pytest.mark.usefixtures("able")
def test_bfloat16_is_near_float32_and_keeps_its_models() -> None:
    runs = [
        shoal.run("fedavg", "digits", "mlp", rounds=1, **{**NARROW, "precision": p}) for p in ("float32", "bfloat16")
    ]
    start_P = runs[0].plan.layout.init(Key(0).at(0)("init"))
    exact, narrow = (run.serving.models_KP[0] for run in runs)
    assert narrow.dtype == np.float32
    apart = np.linalg.norm(narrow - exact) / np.linalg.norm(exact - start_P)
    assert 1e-5 < apart < 0.05  # a bfloat16 has 8 bits: 0.4 %
    assert runs[1].plan.arithmetic.kernel == "torch"
    assert runs[1].history[1]["accuracy"] == pytest.approx(runs[0].history[1]["accuracy"], abs=0.05)


@pytest.mark.usefixtures("able")
def test_bfloat16_is_written_down_and_resumed_to_the_same_bits(tmp_path: Path) -> None:
    whole = shoal.run("fedavg", "digits", "mlp", rounds=3, out=tmp_path / "whole", **NARROW)
    shoal.run("fedavg", "digits", "mlp", rounds=2, out=tmp_path / "parts", **NARROW)
    parts = shoal.resume(tmp_path / "parts", rounds=3)
    config = tomllib.loads((tmp_path / "parts" / "config.toml").read_text())
    assert (config["precision"], config["kernel"]) == ("bfloat16", "torch")
    assert np.array_equal(whole.serving.models_KP, parts.serving.models_KP)


@pytest.mark.usefixtures("able")
def test_large_layers_and_two_streams_train_in_bfloat16() -> None:
    """A layer of a million weights has another way back in float32; the model received is computed as the local one."""
    losses = [
        shoal.run("fedmmd", "digits", "mlp:hidden=16384", rounds=1, **{**NARROW, "precision": p, "kernel": "torch"})
        .history[1]["loss"] for p in ("float32", "bfloat16")
    ]  # fmt: skip
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


def test_a_processor_that_does_not_multiply_in_bfloat16_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "processor_flags", lambda: {"fma", "avx512f"})
    with pytest.raises(
        BadInput, match="bfloat16 is not possible: this processor does not multiply such numbers; use f"
    ):
        prepare("fedavg", "digits", None, {"precision": "bfloat16"})


@pytest.mark.usefixtures("able")
def test_bfloat16_is_for_what_torch_trains() -> None:
    with pytest.raises(BadInput, match="precision=bfloat16 and kernel=native exclude each other"):
        prepare("fedavg", "digits", None, {"precision": "bfloat16", "kernel": "native"})
