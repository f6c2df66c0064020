"""Many clients in one call: local training, and log-probabilities, straight from samples as they are stored.

For now a loop over what trains one client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional as F

from shoal.kernels.sgd import Native, Rule
from shoal.types import Array

SLICE = 1  # samples sent through a model at once: no bit depends on the others


@dataclass(frozen=True)
class Store:
    """Samples as they are stored, and how they become inputs: `(x - shift) / scale`; no shift: as they are.

    Args:
        x: Bytes or floats, (samples, ...).
        shift: What is taken off; None leaves samples as they are.
        scale: What the difference is divided by.

    >>> Store(np.array([[51]], np.uint8), 0.0, 255.0).inputs(np.array([0]), 0).tolist()
    [[0.20000000298023224]]
    """

    x: Array
    shift: Array | float | None = None
    scale: Array | float = 1.0

    def inputs(self, index_S: Array, turns: int) -> Array:
        """Some samples as inputs, turned by so many quarters."""
        x = self.x[index_S]
        if self.shift is not None:
            dtype = np.float64 if x.dtype == np.float64 else np.float32
            x = x.astype(dtype)
            x -= np.asarray(self.shift, dtype)
            x /= np.asarray(self.scale, dtype)
        return np.ascontiguousarray(np.rot90(x, turns, axes=(-2, -1))) if turns else x


@dataclass(frozen=True)
class Plan:
    """The mini-batches of local training, the same for all clients.

    Args:
        epochs: Passes over a client's samples.
        steps: Mini-batches instead of epochs.
        batch: Samples of one.
        shuffle: A new order in every epoch.
        pairs: No batch of one sample.

    >>> Plan(epochs=2, steps=None, batch=10, shuffle=True, pairs=False).batch
    10
    """

    epochs: int = 1
    steps: int | None = None
    batch: int = 10
    shuffle: bool = True
    pairs: bool = False


def train_many(
    native: Native,
    store: Store,
    index_S: Array,
    offsets_N1: Array,
    labels_S: Array,
    turns_N: Array,
    starts: Sequence[Array],
    keys: Sequence[int],
    plan: Plan,
    rule: Rule,
    velocities: Sequence[Array | None],
    threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Train clients, each from its own start.

    Args:
        native: The kernel.
        store: All samples.
        index_S: The places of the clients' samples, one client after the other.
        offsets_N1: Where each client's begin, and the end of the last.
        labels_S: What the clients call them.
        turns_N: Quarter turns of each client's images.
        starts: The model of each.
        keys: The number of each one's key.
        plan: Mini-batches.
        rule: What a step does.
        velocities: The momentum of each, changed in place; None: it is not kept.
        threads: How many may work at a time.

    Returns:
        The updates, the loss summed over all samples that batches had, and how many those were; a row per client.
    """
    updates_NP = np.empty((len(starts), native.network.size), native.dtype)
    losses_N, seen_N = np.zeros(len(starts)), np.zeros(len(starts), np.int64)
    for i, start_P in enumerate(starts):
        at = slice(offsets_N1[i], offsets_N1[i + 1])
        rng = np.random.Generator(np.random.Philox(key=keys[i]))
        order, cuts = schedule(int(offsets_N1[i + 1] - offsets_N1[i]), plan, rng)
        x = store.inputs(index_S[at], int(turns_N[i]))
        updates_NP[i], losses_N[i] = native.train(start_P, x, labels_S[at], order, cuts, rule, velocities[i])
        seen_N[i] = len(order)
    return updates_NP, losses_N, seen_N


def log_probabilities_many(
    native: Native, store: Store, pieces: Sequence[tuple[Array, Array, int]], threads: int = 1
) -> list[Array]:
    """What models say of samples.

    Args:
        native: The kernel.
        store: All samples.
        pieces: A model, places of samples, quarter turns of the images.
        threads: How many may work at a time.

    Returns:
        For each piece the log-probability of every class, S x C.
    """
    return [forward(native, model_P, store, index_S, turns) for model_P, index_S, turns in pieces]


@torch.no_grad()
def forward(native: Native, model_P: Array, store: Store, index_S: Array, turns: int) -> Array:
    out = [np.zeros((0, native.network.widths[-1]), native.dtype)]
    for i in range(0, len(index_S), SLICE):
        x = np.ascontiguousarray(store.inputs(index_S[i : i + SLICE], turns), native.dtype)
        out.append(scores(native, model_P, x))
    return np.concatenate(out)


def scores(native: Native, model_P: Array, x: Array) -> Array:
    network = native.network
    model, at, seen = torch.from_numpy(model_P).clone(), 0, network.trainable

    def take(*shape: int) -> torch.Tensor:
        nonlocal at
        at += int(np.prod(shape))
        return model[at - int(np.prod(shape)) : at].view(shape)

    now = torch.from_numpy(x).clone()
    if network.stages:
        now = now.to(memory_format=torch.channels_last)
    for s in network.stages:
        weight = take(s.maps, s.channels, s.kernel, s.kernel)
        now = F.conv2d(now, weight, take(s.maps) if s.biased else None, padding=s.padding)
        if s.norm is not None:
            scale, shift = take(s.maps), take(s.maps)
            mean, var = model[seen : seen + s.maps], model[seen + s.maps : seen + 2 * s.maps]
            seen += 2 * s.maps
            now = F.batch_norm(now, mean, var, scale, shift, False, 0.0, s.norm[0])
        now = F.relu(now) if s.relu else now
        now = F.max_pool2d(now, 2) if s.pool else now
    now = now.flatten(1)
    for layer, (into, out) in enumerate(zip(network.widths, network.widths[1:], strict=False)):
        now = F.relu(now) if layer else now
        weight = take(out, into)
        now = F.linear(now, weight, take(out) if network.bias[layer] else None)
    return np.asarray(F.log_softmax(now.t().contiguous(), 0).t().numpy())


def schedule(n: int, plan: Plan, rng: np.random.Generator) -> tuple[Array, Array]:
    starts = np.arange(0, n, plan.batch)
    if plan.pairs and len(starts) > 1 and n - starts[-1] == 1:
        starts = starts[:-1]
    steps = len(starts) * plan.epochs if plan.steps is None else plan.steps if n else 0
    epochs = -(-steps // max(len(starts), 1))
    if not steps:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    order_EN = np.tile(np.arange(n), (epochs, 1))
    if plan.shuffle:
        rng.permuted(order_EN, axis=1, out=order_EN)
    cuts = (np.arange(epochs)[:, None] * n + starts).reshape(-1)[: steps + 1]
    if len(cuts) == steps:
        cuts = np.append(cuts, epochs * n)
    return order_EN.reshape(-1)[: cuts[-1]], cuts
