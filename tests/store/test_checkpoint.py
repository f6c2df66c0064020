"""Checkpoints: those of another run, and those that do not fit the model, are passed over and reported."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.store import codec

SETTINGS: dict[str, Any] = {"engine": "serial", "rounds": 3, "checkpoint_every": 1, "lr": 0.1}
NAME = "round_00000003.safetensors"


def finished(path: Path, **settings: Any) -> shoal.Run:
    return shoal.run("fedavg", out=path, **{**SETTINGS, **settings})


def test_the_checkpoint_of_another_run_is_not_gone_on_with(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    finished(tmp_path / "one", seed=1)
    finished(tmp_path / "two", seed=2)
    whole = finished(tmp_path / "whole", seed=1, rounds=5)
    shutil.copy(tmp_path / "two" / "checkpoints" / NAME, tmp_path / "one" / "checkpoints" / NAME)
    got = shoal.resume(tmp_path / "one", rounds=5)
    assert f"checkpoint {NAME} belongs to another run; using the one before it" in caplog.text
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()


def test_a_checkpoint_of_before_runs_had_marks_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = finished(tmp_path / "one")
    path = tmp_path / "one" / "checkpoints" / NAME
    value = codec.read(path, codec.records_of(run.plan.algorithm.state))
    del value["run"]
    codec.write(path, value)
    whole = finished(tmp_path / "whole", rounds=5)
    got = shoal.resume(tmp_path / "one", rounds=5)
    assert not caplog.records
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()


@pytest.mark.parametrize("what", ["model", "library", "velocity"])
def test_vectors_that_are_shorter_than_the_model_are_refused_before_anything_computes_with_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    kept = {"momentum": 0.9, "momentum_memory": "kept"}
    run = finished(tmp_path / "one", **kept)
    path = tmp_path / "one" / "checkpoints" / NAME
    value = codec.read(path, codec.records_of(run.plan.algorithm.state))
    if what == "model":
        value["state"] = replace(value["state"], w_KP=value["state"].w_KP[:, :-7])
    elif what == "library":
        value["library"] = np.zeros((1, 3), np.float32)
    else:
        client = next(iter(value["memories"]))
        value["memories"][client] = {"velocity": value["memories"][client]["velocity"][:-7]}
    codec.write(path, value)
    whole = finished(tmp_path / "whole", rounds=5, **kept)
    got = shoal.resume(tmp_path / "one", rounds=5)
    assert f"checkpoint {NAME} is damaged" in caplog.text
    assert got.serving.models_KP.tobytes() == whole.serving.models_KP.tobytes()
