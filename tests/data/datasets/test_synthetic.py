"""Synthetic(alpha, beta): the stated law in the stated order, and one stream per client on demand."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

from shoal.data.datasets.synthetic import Make, sizes, synthetic
from shoal.data.federation import Federation, OnDemand
from shoal.errors import BadInput
from shoal.seeds import Key


def plainly(alpha: float, beta: float, clients: int, rng: np.random.Generator) -> list[tuple[list[float], list[int]]]:
    """The law of the original script, sample by sample, without regard to speed."""
    n = [int(s) + 50 for s in rng.lognormal(4, 2, clients)]
    u = rng.normal(0, alpha, clients)
    b_mean = rng.normal(0, beta, clients)
    v = np.zeros((clients, 60))
    for k in range(clients):
        v[k] = rng.normal(b_mean[k], 1, 60)
    out = []
    for k in range(clients):
        w = rng.normal(u[k], 1, (60, 10))
        b = rng.normal(u[k], 1, 10)
        xs, ys = [], []
        for _ in range(n[k]):
            x = np.array([v[k][j] + (j + 1) ** (-1.2 / 2) * rng.standard_normal() for j in range(60)])
            scores = x @ w + b
            softmax = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
            xs.append(x)
            ys.append(int(np.argmax(softmax)))
        out.append((np.array(xs).tolist(), ys))
    return out


def test_fedprox_order_is_the_stated_one() -> None:
    key = Key(3)
    fed = synthetic(0.5, 2.0, clients=4, order="fedprox", key=key)
    assert isinstance(fed, Federation)
    want = plainly(0.5, 2.0, 4, key.rng())
    assert len(fed.x) == sum(len(y) for _, y in want)
    assert np.allclose(fed.x, np.concatenate([x for x, _ in want]), atol=1e-5)
    assert fed.y.tolist() == [y for _, ys in want for y in ys]
    for i, (_, ys) in enumerate(want):
        assert len(fed.train[i]) == int(0.9 * len(ys))
        assert len(fed.train[i]) + len(fed.test[i]) == len(ys)


def test_zero_alpha_and_beta_have_their_meaning() -> None:
    """With alpha = beta = 0, u_k = B_k = 0: the coordinates of v_k and of x are centred on 0 over many clients."""
    fed = synthetic(0.0, 0.0, clients=200, memory=True, key=Key(1))
    assert isinstance(fed, Federation)
    means = np.array([fed.x[fed.train[i]].mean(0) for i in range(200)])
    assert abs(means.mean()) < 0.03
    assert means.std() == pytest.approx(1.0, abs=0.05)
    within = np.array([fed.x[fed.train[i]].std(0) for i in range(200)]).mean(0)
    assert within[[0, 9, 59]] == pytest.approx([1.0, 10**-0.6, 60**-0.6], rel=0.03)


def test_sizes_follow_the_law_and_are_capped() -> None:
    """int(LogNormal(4, 2)) + 50: the median is e^4 + 50 = 104.6; 1 in 40 lies above e^(4 + 1.96 * 2) + 50 = 2802."""
    n = sizes(np.arange(100_000), 10**9, Key(1))
    assert np.median(n) == pytest.approx(104, abs=1.5)
    assert (n > 2802).mean() == pytest.approx(0.025, abs=0.002)
    capped = sizes(np.arange(100_000), 10_000, Key(1))
    assert capped.max() == 10_000
    assert np.array_equal(capped, np.minimum(n, 10_000))


def test_a_large_population_costs_no_generators_and_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Key) -> np.random.Generator:
        raise AssertionError("a generator per client is too slow")

    monkeypatch.setattr(Key, "rng", refuse)
    tracemalloc.start()
    source = synthetic(clients=100_000, key=Key(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(source, OnDemand)
    assert len(source.roster) == 100_000
    assert list(source.ids[:2]) == ["00000", "00001"]
    assert peak < 30e6  # ids take 5.5 MB, every array of sizes 0.8 MB


def test_clients_do_not_depend_on_order_or_population() -> None:
    few, many = synthetic(clients=10, key=Key(1)), synthetic(clients=1000, key=Key(1))
    x, y = many.client("007")("train")
    many.client("123")("train")
    again_x, again_y = few.client("7")("train")
    assert np.array_equal(x, again_x)
    assert np.array_equal(y, again_y)
    assert len(x) == few.roster.size("7") == many.roster.size("007")
    other = synthetic(clients=10, key=Key(2)).client("7")("train")[0]
    assert other.shape != x.shape or not np.array_equal(other, x)


def test_in_memory_holds_the_same_clients() -> None:
    lazy, held = synthetic(clients=5, key=Key(1)), synthetic(clients=5, memory=True, key=Key(1))
    assert isinstance(held, Federation)
    for client in lazy.ids:
        for split in ("train", "test"):
            for a, b in zip(lazy.client(client)(split), held.client(client)(split), strict=True):
                assert np.array_equal(a, b)
    assert len(held.client("*")("train")[1]) == held.train.sizes.sum()


def test_clients_can_be_sent_to_other_processes() -> None:
    make = Make(1.0, 1.0, 10_000, Key(1))
    again = pickle.loads(pickle.dumps(make))
    assert again == make
    assert repr(again) == repr(make)
    assert np.array_equal(again("3")("test")[0], make("3")("test")[0])
    assert 0.85 < len(make("3")("train")[1]) / make("3").size <= 0.9


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="alpha, beta >= 0"):
        synthetic(-1.0, key=Key(1))
    with pytest.raises(BadInput, match="no split 'val'"):
        synthetic(key=Key(1)).client("00")("val")
    with pytest.raises(BadInput, match="central"):
        synthetic(key=Key(1)).client("*")
