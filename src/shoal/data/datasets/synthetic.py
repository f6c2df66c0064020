"""Synthetic(alpha, beta) of FedProx: softmax regressions, one per client. Li et al., MLSys 2020.

For client k: n_k = int(LogNormal(4, 2)) + 50 samples; u_k ~ N(0, alpha), B_k ~ N(0, beta), both standard deviations;
v_k ~ N(B_k, 1) per coordinate; x ~ N(v_k, diag(j^-1.2)), j = 1..60; W_k, b_k ~ N(u_k, 1);
y = argmax(x W_k + b_k). The first nine tenths of the samples are for training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from shoal.data.datasets.registry import dataset
from shoal.data.federation import Federation, OnDemand
from shoal.data.partition.assemble import numbered_ids
from shoal.data.samples import Ragged
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array

FEATURES, CLASSES = 60, 10
STD = np.arange(1, FEATURES + 1) ** -0.6  # square root of j^-1.2
LEAST = 50


@dataclass(frozen=True)
class Drawn:
    """One client's samples, drawn from its own stream when first asked for."""

    alpha: float
    beta: float
    size: int
    key: Key

    @cached_property
    def _samples(self) -> tuple[Array, Array]:
        rng = self.key.rng()
        u, b = rng.normal(0, self.alpha), rng.normal(0, self.beta)
        v = rng.normal(b, 1, FEATURES)
        return draw(u, v, self.size, rng)

    def __call__(self, split: str) -> tuple[Array, Array]:
        x, y = self._samples
        cut = train_size(self.size)
        if split not in ("train", "test"):
            raise BadInput(f"the federation has no split {split!r}; synthetic data has train and test")
        return (x[:cut], y[:cut]) if split == "train" else (x[cut:], y[cut:])


@dataclass(frozen=True)
class Make:
    """Gives the data of any client of a population; a client's data depends on its number and the key alone."""

    alpha: float
    beta: float
    cap: int
    key: Key

    def __call__(self, client: str) -> Drawn:
        number = int(client)
        size = int(sizes(np.array([number]), self.cap, self.key)[0])
        return Drawn(self.alpha, self.beta, size, self.key("samples").of(str(number)))


def sizes(numbers_N: Array, cap: int, key: Key) -> Array:
    """Samples of each client: int(LogNormal(4, 2)) + 50, at most `cap`; vectorised over client numbers.

    >>> n = sizes(np.arange(1000), 10_000, Key(1))
    >>> int(n.min()) >= 50, int(n.max()) <= 10_000, bool(n[7] == sizes(np.array([7]), 10_000, Key(1))[0])
    (True, True, True)
    """
    from scipy.special import ndtri  # not before it is needed: it takes a moment

    bits = key("sizes").scores(numbers_N.astype(np.uint64)) >> np.uint64(11)
    z = ndtri((bits.astype(np.float64) + 0.5) / 2**53)
    drawn: Array = np.exp(4 + 2 * z).astype(np.int64) + LEAST
    return np.minimum(drawn, cap)


def train_size(n: Array | int) -> Array | int:
    """Nine tenths, rounded down."""
    return 9 * n // 10


def draw(u: float, v: Array, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """W, b and the samples of one client, in this order."""
    w = rng.normal(u, 1, (FEATURES, CLASSES))
    b = rng.normal(u, 1, CLASSES)
    x = v + rng.standard_normal((size, FEATURES)) * STD
    return x.astype(np.float32), np.argmax(x @ w + b, axis=1)


@dataset("synthetic", has_clients=True)
def synthetic(
    alpha: float = 1.0,
    beta: float = 1.0,
    clients: int = 100,
    order: Literal["stream", "fedprox"] = "stream",
    memory: bool = False,
    cap: int = 10_000,
    *,
    key: Key,
) -> Federation | OnDemand:
    """A population of softmax regressions with 60 features and 10 classes.

    By default every client has a stream of its own and is produced on demand, so that a million of them cost no
    memory; `memory=true` holds the same clients in memory (`central` needs that). `order=fedprox` draws in the order
    of the original script, in memory and without the cap.

    >>> source = synthetic(clients=1000, key=Key(1))
    >>> x, y = source.client("007")("train")
    >>> x.shape == (source.roster.size("007"), 60)
    True
    """
    if alpha < 0 or beta < 0 or clients < 1 or cap < LEAST:
        raise BadInput(f"synthetic needs alpha, beta >= 0, at least one client and cap >= {LEAST}")
    name = f"synthetic({alpha:g}, {beta:g})"
    if order == "fedprox":
        return _fedprox(alpha, beta, clients, name, key)
    ids, make = numbered_ids(clients), Make(alpha, beta, cap, key)
    sizes_N = sizes(np.arange(clients), cap, key)
    if memory:
        return _in_memory(name, ids, [make(i)._samples for i in ids], key=None)
    cut_N = np.asarray(train_size(sizes_N))
    return OnDemand(name=name, ids=ids, sizes_N=cut_N, classes=CLASSES, make=make, shape=(FEATURES,))


def _fedprox(alpha: float, beta: float, clients: int, name: str, key: Key) -> Federation:
    """All sizes, all u, all B, all v, then per client W, b, x."""
    rng = key.rng()
    sizes_N = rng.lognormal(4, 2, clients).astype(np.int64) + LEAST
    u_N = rng.normal(0, alpha, clients)
    b_N = rng.normal(0, beta, clients)
    v_N = [rng.normal(b, 1, FEATURES) for b in b_N]
    drawn = [draw(u, v, int(n), rng) for u, v, n in zip(u_N, v_N, sizes_N, strict=True)]
    return _in_memory(name, numbered_ids(clients), drawn, key("split"))


def _in_memory(name: str, ids: tuple[str, ...], drawn: list[tuple[Array, Array]], key: Key | None) -> Federation:
    train, test, start = [], [], 0
    for client, (_, y) in zip(ids, drawn, strict=True):
        rows = start + (np.arange(len(y)) if key is None else key.of(client).rng().permutation(len(y)))
        cut = int(train_size(len(y)))
        train.append(rows[:cut])
        test.append(rows[cut:])
        start += len(y)
    return Federation(
        name=name,
        ids=ids,
        x=np.concatenate([x for x, _ in drawn]),
        y=np.concatenate([y for _, y in drawn]),
        train=Ragged.of(train),
        test=Ragged.of(test),
        classes=CLASSES,
    )
