"""Toys of the papers with closed forms: CFL's Figures 1 and 2, FlexCFL's bound on local against central training."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from torch import nn

import shoal
from shoal.aggregators import weighted_mean, weighted_sum
from shoal.algorithms.parts.split_criteria import cfl_criteria
from shoal.backends import Serial
from shoal.clusterers import bipartition
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.measures import cosine
from shoal.recipes.figures.toys import Client, Risks, contradicting, descend, federation, xor
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Gradient, Train
from shoal.types import EVERYBODY, Array


def test_incongruent_clients_are_opposed_at_the_joint_optimum() -> None:
    # CFL Fig. 2, left. Equal sizes and curvatures 1 and 3: the optimum is (c_1 + 3 c_2) / 4 = (1.5, 0).
    minima_ND, sizes_N = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([7, 7])
    end = descend(Risks(np.array([1.0, 3.0]), minima_ND), sizes_N)
    updates_ND = end.updates_ND
    np.testing.assert_allclose(end.end_D, [1.5, 0.0], atol=1e-9)
    # Both updates are 0.15 long, in opposite directions: -0.1 * 1 * 1.5 and -0.1 * 3 * (-0.5).
    np.testing.assert_allclose(updates_ND, [[-0.15, 0.0], [0.15, 0.0]], atol=1e-9)
    np.testing.assert_allclose(cosine(updates_ND), [[1, -1], [-1, 1]], atol=1e-9)
    found = cfl_criteria(updates_ND, sizes_N, eps1=0.01, eps2=0.1)
    assert found.split
    assert found.mean_norm < 1e-9
    np.testing.assert_allclose(found.max_norm, 0.15)


def test_congruent_clients_come_to_rest() -> None:
    # CFL Fig. 2, right. One minimum, different curvatures and sizes: all updates vanish there, and nothing is split.
    end = descend(Risks(np.array([1.0, 3.0]), np.array([[2.0, 1.0]] * 2)), np.array([7, 70]))
    np.testing.assert_allclose(end.end_D, [2.0, 1.0], atol=1e-9)
    found = cfl_criteria(end.updates_ND, np.array([7, 70]), eps1=0.01, eps2=0.1)
    assert not found.split
    assert found.max_norm < 1e-9


def test_congruent_clients_come_to_rest_where_both_risks_are_least() -> None:
    # CFL Fig. 2, right, as it is drawn: discs of radius 1.4 around (0, 0) and (2, 0) share an area, and it ends there.
    minima_ND, radii_N, sizes_N = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([1.4, 1.4]), np.array([7, 7])
    end = descend(Risks(np.array([1.0, 3.0]), minima_ND, radii_N), sizes_N)
    assert (np.linalg.norm(end.end_D - minima_ND, axis=1) <= 1.4 + 1e-6).all()
    found = cfl_criteria(end.updates_ND, sizes_N, eps1=0.01, eps2=0.1)
    assert not found.split
    assert found.max_norm < 1e-6


def test_two_kinds_of_clients_are_cut_apart() -> None:
    # Five clients near (0, 0) and four near (2, 0): similarities inside are near 1, across negative.
    rng = np.random.default_rng(0)
    kind_N = np.array([0, 1, 0, 1, 0, 0, 1, 0, 1])
    minima_ND = 2.0 * kind_N[:, None] * np.array([1.0, 0.0]) + 0.05 * rng.normal(size=(9, 2))
    sizes_N = rng.integers(5, 20, 9)
    updates_ND = descend(Risks(np.ones(9), minima_ND), sizes_N).updates_ND
    assert cfl_criteria(updates_ND, sizes_N, eps1=0.01, eps2=0.05).split
    cut = bipartition(cosine(updates_ND))
    assert cut.labels_N.tolist() == kind_N.tolist()
    assert cut.cross < -0.9


@pytest.mark.parametrize(("toy", "most"), [(xor, 0.75), (contradicting, 0.6)])
def test_one_model_cannot_fit_two_groups_and_two_can(toy: Callable[[], list[Client]], most: float) -> None:
    # CFL Fig. 1: a linear model cannot learn XOR, and none can learn labels that contradict each other.
    keys = {"eps1": 0.1, "eps2": 0.2, "lr": 0.5, "batch": 1000, "epochs": 1, "rounds": 15}
    clients = federation(toy())
    one, many = (
        shoal.run(name, clients, lambda: nn.Linear(2, 2, bias=False), engine=Serial(), selection="all", **own)  # type: ignore[arg-type]
        for name, own in (("fedavg", {k: v for k, v in keys.items() if "eps" not in k}), ("cfl", keys))
    )
    assert one.history[-1]["accuracy"] < most
    assert many.history[-1]["ari"] == 1
    assert many.history[-1]["accuracy"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_to_central_training_on_quadratic_losses(seed: int) -> None:
    # FlexCFL, lemma 2: |w_e - v_e| <= (delta_k / L) ((eta L + 1)^e - 1), F_k = 1/2 (w - c_k)' A (w - c_k), L the
    # largest eigenvalue of A, v gradient descent of the mean loss by weight; delta_k = |A (c_k - mean c)| for any w.
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    A, c_ND, sizes_N = root @ root.T / 4, rng.normal(size=(6, 4)), rng.integers(1, 30, 6)
    L, eta = float(np.linalg.eigvalsh(A)[-1]), 0.1
    mean_D = weighted_sum(weighted_mean().shares(c_ND, sizes_N), c_ND)
    delta_N = np.linalg.norm((c_ND - mean_D) @ A, axis=1)
    w_ND, v_D = np.zeros((6, 4)), np.zeros(4)
    for e in range(1, 30):
        w_ND, v_D = w_ND - eta * (w_ND - c_ND) @ A, v_D - eta * A @ (v_D - mean_D)
        bound_N = delta_N / L * ((eta * L + 1) ** e - 1)
        assert (np.linalg.norm(w_ND - v_D, axis=1) <= bound_N * (1 + 1e-9)).all()  # after one step they are equal


def test_the_same_bound_for_softmax_regression_by_the_package_s_own_solver() -> None:
    # The loss of softmax regression is convex, and smooth with L = lambda_max(X'X / n) / 2 (Boehning 1992). The bound's
    # proof needs the difference of gradients along the central path only, so delta is taken there.
    rng = np.random.default_rng(1)
    parts = {f"c{k}": (rng.normal(size=(20, 3)), rng.integers(0, 3, 20) * (k % 2)) for k in range(3)}
    federation = Federation.from_arrays(parts, test=0, classes=3)
    layout = Layout.of(lambda: nn.Linear(3, 3, bias=False), federation.sample(), "float64")
    engine = Engine(Serial(), layout)
    engine.set_federation(federation)
    start_KP, eta = layout.init_many(1, Key(0)), 0.2
    paths: dict[str, Array] = {}
    for who in (federation.ids, (EVERYBODY,)):
        which = np.zeros(len(who), int)
        tasks = [Train(SGD(lr=eta, steps=e, batch=10**6, shuffle=False)) for e in range(1, 12)]
        rows = [engine.ask(task, who, start_KP, which, Key(0))["update"] for task in tasks]
        paths |= {c: start_KP[0] + np.stack([row[i] for row in rows]) for i, c in enumerate(who)}
    central = np.concatenate([start_KP, paths[EVERYBODY]])
    for c in federation.ids:
        x = federation.client(c)("train")[0]
        L = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1]) / 2
        gaps = [
            np.linalg.norm(
                engine.ask(Gradient(), (c,), v_P[None], np.zeros(1, int), Key(0))["gradient"]
                - engine.ask(Gradient(), (EVERYBODY,), v_P[None], np.zeros(1, int), Key(0))["gradient"]
            )
            for v_P in central
        ]
        for e in range(1, 12):
            bound = max(gaps[:e]) / L * ((eta * L + 1) ** e - 1)
            distance = np.linalg.norm(paths[c][e - 1] - paths[EVERYBODY][e - 1])
            assert 0 < distance <= bound * (1 + 1e-9)  # after one step they are equal but for rounding
