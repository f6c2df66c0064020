"""What a user asks for is read once; what is wrong with it is one sentence."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import shoal
from shoal.data.federation import Federation
from shoal.errors import BadInput
from shoal.layout import seeded
from shoal.setup import settings as settings_module
from shoal.solvers import SGD


@pytest.mark.parametrize("federation", [[1, 2], TensorDataset(torch.zeros(2, 3), torch.zeros(2)), {"a": 1}, 7])
def test_what_is_no_federation_is_named_with_what_makes_one(federation: Any) -> None:
    with pytest.raises(BadInput, match=rf"not {type(federation).__name__}; Federation.from_arrays"):
        shoal.run("fedavg", federation, engine="serial")


def test_what_is_no_algorithm_is_named() -> None:
    with pytest.raises(BadInput, match=r"derives from shoal.types.Algorithm, not SGD"):
        shoal.run(cast(Any, shoal.SGD()), engine="serial")


@pytest.mark.parametrize(
    ("algorithm", "key"), [("cfl", "eps1"), ("cfl", "eps2"), ("fedprox", "mu"), ("fedavg", "lr"), ("fedavg", "timeout")]
)
def test_what_is_no_number_passes_no_bound(algorithm: str, key: str) -> None:
    with pytest.raises(BadInput, match=f"{key}=nan is not possible"):
        shoal.run(algorithm, rounds=1, engine="serial", **cast(Any, {key: "nan"}))


def test_options_of_an_object_have_the_same_bounds() -> None:
    for method in (shoal.CFL(eps1=float("nan")), shoal.FedAvgPlus(members=0)):
        with pytest.raises(BadInput, match="is not possible: it must be at least"):
            shoal.run(method, rounds=1, engine="serial")


def test_data_of_a_single_class_are_refused() -> None:
    data = {c: (np.eye(4, dtype=np.float32), [0, 0, 0, 0]) for c in "ab"}
    with pytest.raises(BadInput, match="a single class, so there is nothing to learn"):
        shoal.run("fedavg", Federation.from_arrays(data), engine="serial")


def test_settings_are_checked_once_and_few_models_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from shoal.cli.app import app

    counts = {"settings": 0, "models": 0}

    class Counted(settings_module.Settings):
        def __init__(self, **pairs: Any) -> None:
            counts["settings"] += 1
            super().__init__(**pairs)

    def made(factory: Any, seed: int) -> nn.Module:
        counts["models"] += 1
        return seeded(factory, seed)

    monkeypatch.setattr(settings_module, "Settings", Counted)
    for place in ("layout.checks", "layout.layout", "net", "setup.arithmetic"):
        monkeypatch.setattr(f"shoal.{place}.seeded", made)
    words = ["run", "flexcfl", "groups=4", "rounds=1", "engine=serial", f"out={tmp_path / 'run'}", "--quiet"]
    assert CliRunner().invoke(app, words).exit_code == 0
    # Two to see whether the factory can be relied on, the engine's own, w_0, and one that all files are written from.
    assert counts == {"settings": 1, "models": 5}


def test_an_aggregate_goes_where_there_is_a_place_for_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"ifca aggregates in a way of its own; those that take it: cfl, fedavg, "):
        shoal.run("ifca", rounds=1, aggregate="median", engine="serial")
    with pytest.raises(BadInput, match="belongs to the algorithm you gave as an object"):
        shoal.run(shoal.FedAvg(), rounds=1, aggregate="median", engine="serial")
    shoal.run("fedavg", rounds=0, engine="serial", out=tmp_path / "run")
    assert "aggregate =" not in (tmp_path / "run" / "config.toml").read_text()  # folders are as they were


def test_the_keys_of_local_training_are_those_of_the_solver() -> None:
    fields = {f.name for f in dataclasses.fields(SGD)}
    assert set(settings_module.SOLVER_KEYS) == fields - {"shuffle", "terms"}
    assert settings_module.check_settings({"lr": 0.5, "l2": 0.1}).solver() == SGD(lr=0.5, l2=0.1)
