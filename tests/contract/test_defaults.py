"""Defaults are part of a method: the numbers and switches of every algorithm and part, and the least value allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pytest

from shoal import aggregators, clusterers, measures, selection, tasks
from shoal.algorithms import ALGORITHMS
from shoal.solvers import SGD
from shoal.validate import check

# option: (default, least value)
OPTIONS: dict[str, dict[str, tuple[Any, float | None]]] = {
    "central": {},
    "cfl": {
        "eps1": ("auto", 0),
        "eps2": ("auto", 0),
        "mu": (0.0, 0),
        "min_round": (20, 0),
        "min_cluster_size": (2, 1),
        "max_age": (5, 0),
        "path_choice": (False, None),
        "table_limit": (2e9, 0),
    },
    "fedadagrad": {"server_lr": (0.1, 0), "beta1": (0.0, 0), "tau": (0.001, None)},
    "fedadam": {"server_lr": (0.01, 0), "beta1": (0.9, 0), "tau": (0.001, None), "beta2": (0.99, 0)},
    "fedavg": {},
    "fedavg+": {"members": (5, 1), "mu": (0.0, 0)},
    "fedfusion": {"smoothing": (0.9, 0)},
    "fedgroup": {
        "groups": (3, None),
        "alpha": (20, 1),
        "pretrain_steps": (50, 1),
        "reuse_pretraining": (False, None),
        "start_from_w0": (False, None),
        "eta_g": (0.0, 0),
        "mu": (0.0, 0),
        "diagnostics": (False, None),
    },
    "fedgrouprox": {
        "groups": (3, None),
        "alpha": (20, 1),
        "pretrain_steps": (50, 1),
        "reuse_pretraining": (False, None),
        "start_from_w0": (False, None),
        "eta_g": (0.0, 0),
        "mu": ("auto", 0),
        "diagnostics": (False, None),
    },
    "fedgsp": {"alpha": (2.0, 0), "beta": ("auto", 1), "kappa": (0.3, None)},
    "fedmmd": {"lam": (0.1, 0)},
    "fedprox": {"mu": ("auto", 0)},
    "fedprox+": {"members": (5, 1), "mu": ("auto", 0)},
    "fedyogi": {"server_lr": (0.01, 0), "beta1": (0.9, 0), "tau": (0.001, None), "beta2": (0.99, 0)},
    "fesem": {
        "groups": (3, None),
        "em_steps": (1, 0),
        "refill": (True, None),
        "clusterability_every": (0, 0),
        "diagnostics": (False, None),
    },
    "flexcfl": {
        "groups": (3, None),
        "alpha": (20, 1),
        "pretrain_steps": (50, 1),
        "reuse_pretraining": (False, None),
        "start_from_w0": (False, None),
        "eta_g": (0.0, 0),
        "mu": (0.0, 0),
        "diagnostics": (False, None),
    },
    "flhc": {"rounds_before": (10, 1), "threshold": (0.0, 0)},
    "given": {},
    "hypcluster": {"groups": (3, 1), "init_min_share": (0.0, 0), "one_object": (False, None)},
    "ida": {"order": (2, None), "eps": (1e-10, None)},
    "ifca": {"groups": (3, 1), "init_min_share": (0.0, 0), "one_object": (False, None)},
    "local": {"table_limit": (2e9, 0)},
    "naivegsp": {"alpha": (2.0, 0), "beta": ("auto", 1), "kappa": (0.3, None)},
    "naivegsp+icg": {"alpha": (2.0, 0), "beta": ("auto", 1), "kappa": (0.3, None)},
    "wecfl": {
        "groups": (3, None),
        "em_steps": (0, 0),
        "refill": (True, None),
        "clusterability_every": (0, 0),
        "diagnostics": (False, None),
    },
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_an_algorithm(name: str) -> None:
    told = {f.name: (f.default, f.metadata["low"]) for f in fields(ALGORITHMS[name]) if "help" in f.metadata}
    numbers = {k: v for k, v in told.items() if isinstance(v[0], int | float) or v[1] is not None}
    assert numbers == OPTIONS[name]


def test_every_algorithm_is_in_the_table() -> None:
    assert set(OPTIONS) == set(ALGORITHMS)


@pytest.mark.parametrize(
    ("part", "want"),
    [
        (tasks.Losses, {"diagnostic": False}),
        (tasks.Evaluate, {"vote": False, "per_class": True, "decides": True}),
        (selection.Random, {"k": 20}),
        (selection.RoundRobinThenRandom, {"k": 20}),
        (aggregators.ServerOptimiser, {"beta1": 0.9, "beta2": 0.99, "tau": 1e-3}),
        (aggregators.InverseDistance, {"order": 2, "eps": 1e-10}),
        (aggregators.inverse_distances, {"order": 2, "eps": 1e-10}),
        (measures.gram, {"quick": False}),
        (measures.coordinates, {"most": 1000}),
        (measures.cpd, {"sigma": 1.0}),
        (measures.cpd_pairs, {"sigma": 1.0}),
        (measures.principal, {"m": 2}),
        (measures.gap, {"references": 10}),
        (clusterers.lloyd, {"iterations": 300}),
        (clusterers.kmeans, {"starts": 10, "iterations": 300}),
        (clusterers.icg, {"iterations": 10}),
    ],
)
def test_numbers_of_a_part(part: Callable[..., Any], want: dict[str, Any]) -> None:
    found = {name: p.default for name, p in inspect.signature(part).parameters.items()}
    numbers = {k: v for k, v in found.items() if isinstance(v, int | float)}
    assert numbers == want


@pytest.mark.parametrize("task", [tasks.Evaluate(), tasks.LabelHistogram(), tasks.Nearest(SGD())], ids=lambda t: t.name)
def test_whole_numbers_that_clients_send_begin_at_nothing(task: Any) -> None:
    """Nothing right, no sample of a class, the first group: answers that are right; less than that is none."""
    zeros: dict[str, Any] = {name: np.zeros(3 if f.shape else (), int) for name, f in task.fields.items()}
    zeros |= {name: np.zeros(()) for name, f in task.fields.items() if f.kind == "float"}
    ask = partial(check, fields=task.fields, dims={"C": 3, "K": 1}, dtype=np.dtype("float64"), announced=1)
    assert ask(zeros) is None
    for name in (name for name, f in task.fields.items() if f.kind == "int"):
        assert ask({**zeros, name: zeros[name] - 1}) == f"{name} is below 0"
