"""Other tasks than classification at sites: known by name, judged alike, and guarded sums stay there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

pytest.importorskip("flwr", reason="flwr is not installed: pip install 'shoal[flower]'")

from tests.flower.grid import federation_of

import shoal
from shoal.errors import ShoalError
from shoal.flower.backend import Flower
from shoal.flower.federation import LivingSites
from shoal.flower.nodes import Nodes
from shoal.flower.policy import Allowed, Policy, default_policy
from shoal.flower.task_name import TaskName
from shoal.metrics import Metric
from shoal.objectives import OBJECTIVES


def linear() -> nn.Module:
    return nn.Linear(3, 1)


def data(kind: str) -> shoal.Federation:
    rng = np.random.default_rng(0)
    found = {}
    for i in range(6):
        x = rng.normal(size=(30, 3))
        y = x @ ([1.0, 2.0, -1.0] if i % 2 else [-1.0, 0.5, 2.0])
        found[f"{i}"] = x, y if kind == "floats" else (y > 1).astype(int)
    return shoal.Federation.from_arrays(found, test=0.3)


def over_flower(nodes: Nodes, **keys: Any) -> shoal.Run:
    return shoal.run("ifca", LivingSites(nodes), linear, engine=Flower(nodes, "a run"), groups=2, **keys)


def test_a_regression_at_sites_ends_on_the_bits_of_simulation(tmp_path: Path) -> None:
    federation = data("floats")
    keys: dict[str, Any] = {"task": "regression", "rounds": 3, "lr": 0.1, "kernel": "torch"}
    _, nodes = federation_of(tmp_path, lambda round: federation, model=linear, policy=None)
    one = shoal.run("ifca", federation, linear, engine="serial", groups=2, **keys)
    two = over_flower(nodes, **keys)
    assert one.serving.models_KP.tobytes() == two.serving.models_KP.tobytes()
    for a, b in zip(one.history[1:], two.history[1:], strict=True):
        assert a.get("rmse") == pytest.approx(b.get("rmse"), rel=1e-6) and b["left_out"] == 0


def test_histograms_of_scores_leave_only_where_the_policy_names_them(tmp_path: Path) -> None:
    federation = data("classes")
    keys: dict[str, Any] = {"task": "binary", "rounds": 1, "lr": 0.1, "per_class": False}
    _, nodes = federation_of(tmp_path / "closed", lambda round: federation, model=linear, policy=None)
    closed = over_flower(nodes, **keys)
    assert closed.history[-1]["auc"] is None and closed.history[-1]["left_out"] == 6
    allowed = default_policy().tasks
    more = Policy({**allowed, "Evaluate": Allowed((*allowed["Evaluate"].leaves, "hits", "misses"))})
    _, nodes = federation_of(tmp_path / "open", lambda round: federation, model=linear, policy=more)
    one = shoal.run("ifca", federation, linear, engine="serial", groups=2, **keys)
    assert over_flower(nodes, **keys).history[-1]["auc"] == one.history[-1]["auc"] is not None


def test_what_sites_cannot_know_is_said_in_one_sentence() -> None:
    own = shoal.Objective(loss=lambda out, y: (out[:, 0] - y).abs())
    with pytest.raises(ShoalError, match="the task 'own' cannot be sent to sites: declare it by name"):
        TaskName.of(own)
    near = Metric("near", lambda said, y: {"near": 0}, lambda s: 0.0)
    with pytest.raises(ShoalError, match="the metric 'near' cannot be sent to sites"):
        TaskName.of(OBJECTIVES["regression"].with_metrics([near], None))


def test_a_task_is_known_by_what_it_is_and_not_by_what_it_is_called() -> None:
    own = shoal.Objective(loss=lambda out, y: (out[:, 0] - y).abs(), name="regression")
    with pytest.raises(ShoalError, match="the task 'regression' cannot be sent to sites"):
        TaskName.of(own)
    like = Metric("rmse", lambda said, y: {"far": np.abs(said - y).sum()}, lambda s: s["far"], "lower")
    with pytest.raises(ShoalError, match="the metric 'rmse' cannot be sent to sites"):
        TaskName.of(shoal.Objective(targets="floats", metrics=(like,), name="regression"))
