from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Shoal

from shoal.aggregators import AGGREGATORS, TRANSFORMS
from shoal.algorithms import ALGORITHMS
from shoal.data.partition import PARTITIONS
from shoal.metrics import METRICS
from shoal.models import MODELS
from shoal.objectives import OBJECTIVES
from shoal.setup.settings import Settings

KNOWN = {
    "algorithms": set(ALGORITHMS),
    "keys": {*Settings.model_fields, "out"},
    "data": {"digits", "synthetic", "mnist", "folder"},
    "partitions": set(PARTITIONS),
    "models": set(MODELS),
    "tasks": set(OBJECTIVES),
    "metrics": set(METRICS),
    "aggregators": {*AGGREGATORS, *TRANSFORMS},
    "engines": {"serial", "local"},
    "trackers": {"tensorboard", "mlflow", "wandb"},
}


@pytest.mark.parametrize("topic", KNOWN)
def test_every_name_is_listed_with_a_line(shoal: Shoal, topic: str) -> None:
    entries = json.loads(shoal("list", topic, "--format", "json").stdout)[topic]
    assert KNOWN[topic] <= {e["name"] for e in entries}
    assert all(e["about"] for e in entries)
    text = shoal("list", topic).stdout
    assert all(name in text for name in KNOWN[topic])
    assert max(map(len, text.splitlines())) <= 80


def test_overview_names_everything(shoal: Shoal) -> None:
    text = " ".join(shoal("list").stdout.split())
    assert all(name in text for names in KNOWN.values() for name in names)
    assert set(json.loads(shoal("list", "--format", "json").stdout)) == set(KNOWN)


def test_own_keys_and_parameter_counts(shoal: Shoal) -> None:
    assert "mu=auto " in shoal("list", "algorithms").stdout
    models = json.loads(shoal("list", "models", "--format", "json").stdout)["models"]
    assert next(m for m in models if m["name"] == "mnist-mclr")["parameters"] == 784 * 10 + 10


def test_data_that_is_not_here_says_how_to_get_it(shoal: Shoal) -> None:
    data = {e["name"]: e for e in json.loads(shoal("list", "data", "--format", "json").stdout)["data"]}
    assert data["digits"]["found"] is True
    assert data["cifar10"]["found"] is False
    assert data["cifar10"]["where"] == "get it with: shoal fetch cifar10"
