"""FlexCFL's traffic (departure D51): the published ratios come out of counted transfers of real runs of a tiny model.

Transfers in T rounds of K clients each, n clients in all, m groups:
FedAvg, FeSEM `2KT`; IFCA `(m+1)KT`; IFCA-MIG `(m+1)KT + mH` with H drifted clients; FedGroup and FlexCFL
`2KT + mn + 2 min(alpha m, n)`; with inter-group aggregation `mT` more.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from torch import nn

import shoal
from shoal.backends import Serial
from shoal.data.federation import Federation


def tiny() -> nn.Module:
    return nn.Linear(2, 10)


@cache
def federation(n: int) -> Federation:
    """Two classes each and sizes by a power law, as the papers' MNIST; the samples themselves do not matter."""
    rng = np.random.default_rng(0)
    parts = {}
    for u in range(n):
        sizes = 5 + np.minimum(rng.lognormal(0, 2, 2) * 3, 200).astype(int)
        y = np.repeat([u % 10, (u + 1) % 10], sizes)
        x = rng.normal(size=(len(y), 2)).astype(np.float32) + y[:, None]
        parts[f"{u:04d}"] = (x, y, x[:1], y[:1])
    return Federation.from_arrays(parts, classes=10)


def run(name: str, n: int, K: int, T: int, **own: Any) -> shoal.Run:
    keys: dict[str, Any] = {"selection": "round-robin-then-random", "clients_per_round": K, "rounds": T, "steps": 1}
    return shoal.run(name, federation(n), tiny, engine=Serial(), eval_every=T, batch=100, **keys, **own)


def vectors(name: str, n: int, K: int, T: int, **own: Any) -> int:
    return run(name, n, K, T, **own).history.vectors()


N, K, T, M, ALPHA = 40, 4, 12, 2, 3
START = {"groups": M, "alpha": ALPHA, "pretrain_steps": 2}


@pytest.mark.parametrize("name", ["fedavg", "fedprox"])
def test_one_model(name: str) -> None:
    assert vectors(name, N, K, T) == 2 * K * T


def test_fesem() -> None:
    assert vectors("fesem", N, K, T, groups=M, init="random_models") == 2 * K * T
    # With k-means everybody trains in the first round.
    assert vectors("fesem", N, K, T, groups=M) == 2 * N + 2 * K * (T - 1)
    own = {"init": "random_models", "e_step": "before", "migration": "aligned", "drift": "swap-all:0.3:who=warm"}
    moving = run("fesem", N, K, T, groups=M, **own)  # FeSEM-MIG sends no more than FeSEM
    assert sum(row["measures"]["shifted"] for row in moving.history[1:]) > 10
    assert moving.history.vectors() == 2 * K * T


def test_ifca_and_its_migration() -> None:
    assert vectors("ifca", N, K, T, groups=M) == (M + 1) * K * T
    moving = run("ifca", N, K, T, groups=M, migration="aligned", drift="swap-all:0.3:who=warm")
    H = sum(row["measures"]["shifted"] for row in moving.history[1:])
    assert H > 10
    assert moving.history.vectors() == (M + 1) * K * T + M * H


@pytest.mark.parametrize("name", ["fedgroup", "fedgrouprox", "flexcfl"])
def test_fedgroup(name: str) -> None:
    expected = 2 * K * T + M * N + 2 * ALPHA * M
    assert vectors(name, N, K, T, **START) == expected
    assert vectors(name, N, K, T, cold_start="eager", **START) == expected
    assert vectors(name, N, K, T, eta_g=0.1, **START) == expected + M * T


def test_traffic_is_split_by_link() -> None:
    # A model is 30 numbers of 4 bytes. Every group ships its model once a round: M T models on the link to the cloud.
    apart, between = (run("fedgroup", N, K, T, eta_g=eta_g, **START) for eta_g in (0, 0.1))
    assert apart.history.relayed() == (0, 0)
    assert between.history.relayed() == (M * T, M * T * 30 * 4)
    assert between.history.relayed(until=5) == (M * 5, M * 5 * 30 * 4)
    assert between.history.bytes() == apart.history.bytes()  # what clients send and receive
    assert between.summary["vectors_relayed"] == M * T
    assert between.summary["bytes_relayed"] == M * T * 30 * 4


def test_migration_itself_sends_no_model() -> None:
    moving = run("flexcfl", N, K, T, drift="swap-all:0.3:who=warm", **START)
    assert sum(row["measures"]["shifted"] for row in moving.history[1:]) > 10
    assert moving.history.vectors() == 2 * K * T + M * N + 2 * ALPHA * M


def test_what_the_papers_do_not_count() -> None:
    found = run("flexcfl", N, K, T, **START).history
    evaluation = sum(row["traffic"].get("evaluate", {}).get("down", 0) for row in found)
    assert evaluation > 0
    # Every client once gets w_0 with the directions.
    assert found.vectors(everything=True) == found.vectors() + evaluation + N


def test_ensembles_and_others() -> None:
    assert vectors("fedavg+", N, K, T, members=3) == 3 * 2 * K * T
    assert vectors("cfl", N, K, T, eps1=0) == 2 * K * T
    assert vectors("flhc", N, K, T, rounds_before=T) == 2 * K * T
    assert vectors("central", N, K, T) == vectors("local", N, K, T) == 0


@pytest.mark.slow
def test_the_published_ratios() -> None:
    # MNIST: n = 1000, m = 3; K = 20, T = 300, alpha = 20.
    mnist: dict[str, Any] = {"n": 1000, "K": 20, "T": 300}
    fedavg = vectors("fedavg", **mnist)
    assert fedavg == 12_000
    flex = run("flexcfl", **mnist, groups=3, pretrain_steps=1).history
    assert flex.vectors() == 15_120
    assert round(flex.vectors() / fedavg, 2) == 1.26
    w_0 = sum(t["uncounted"] for row in flex for t in row["traffic"].values())
    assert round((flex.vectors() + w_0) / fedavg, 2) == 1.34
    moving = run("ifca", **mnist, groups=3, migration="aligned", drift="swap-all:0.05:who=warm").history
    assert abs(moving.vectors() / fedavg - 5.43) <= 0.15
    # FEMNIST: n = 200, m = 5.
    femnist: dict[str, Any] = {"n": 200, "K": 20, "T": 300, "groups": 5, "pretrain_steps": 1}
    apart, between = vectors("flexcfl", **femnist), vectors("flexcfl", **femnist, eta_g=0.1)
    assert apart == 13_200
    assert round(100 * (between / apart - 1), 1) == 11.4
