"""The one local training loop of Shoal: mini-batch SGD on a flat vector, with sockets for loss terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol

import numpy as np
import torch

from shoal.errors import BadInput
from shoal.kernels import Rule
from shoal.layout import torch_seed
from shoal.net import Net
from shoal.seeds import Key
from shoal.types import Array


class Batch(NamedTuple):
    """What a loss term sees of a step: inputs, labels, and what the module made of the inputs."""

    x: torch.Tensor
    y: torch.Tensor
    scores: torch.Tensor
    features: torch.Tensor | None = None  # only if a term asks for them by `sees = "features"`


class LossTerm(Protocol):
    """An addition to the loss of a batch; `anchor` is the vector received. Coefficient zero must change nothing.

    A term that does not look at the batch may offer its gradient in closed form as `gradient(params, anchor)`; if that
    is `pull * (params - anchor)`, it says so as `pull`, and kernels other than torch can take it. One that
    looks at the features says so by `sees = "features"`.
    """

    def __call__(self, net: Net, params: torch.Tensor, anchor: torch.Tensor, batch: Batch) -> torch.Tensor: ...


@dataclass(frozen=True)
class Trained:
    """What local training leaves: the update, the mean loss over the samples seen, and the momentum buffer."""

    update_P: Array
    loss: float
    velocity: Array | None = None


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent on one client's samples (spec 1.3).

    One step on a batch b: `g = grad L_b(w) + weight_decay w + 2 l2 [kernels] w + terms`,
    `v = momentum v + g`, `w = w - lr lr_decay^(round-1) v`.

    >>> SGD(epochs=2, batch=10).passes(25), SGD(steps=4, batch=10).passes(25)
    (50, 35)
    """

    lr: float = 0.03
    epochs: int = 1
    steps: int | None = None  # mini-batch steps instead of epochs
    batch: int = 10
    momentum: float = 0.0
    momentum_memory: Literal["reset", "kept"] = "reset"  # kept: the buffer is the client's own, from round to round
    weight_decay: float = 0.0
    l2: float = 0.0  # penalty l2 |W|^2 on kernels only
    lr_decay: float = 1.0  # per round
    shuffle: bool = True
    terms: tuple[LossTerm, ...] = ()

    def __post_init__(self) -> None:
        least = {"lr": 0, "epochs": 0, "batch": 1, "momentum": 0, "weight_decay": 0, "l2": 0, "lr_decay": 0}
        for name, low in least.items():
            if not getattr(self, name) >= low:
                raise BadInput(f"{name} must be at least {low}, not {getattr(self, name)}")
        if self.steps is not None and self.steps < 0:
            raise BadInput(f"steps must be at least 0, not {self.steps}")

    def plus(self, *terms: LossTerm) -> SGD:
        """The same solver with more loss terms."""
        return replace(self, terms=(*self.terms, *terms))

    def passes(self, n: int) -> int:
        """Samples sent through the model and back for a client of n samples."""
        if self.steps is None or not n:
            return self.epochs * n
        epochs, rest = divmod(self.steps, -(-n // self.batch))
        return epochs * n + min(rest * self.batch, n)

    def __call__(
        self, net: Net, start_P: Array, x: Array, y: Array, key: Key, velocity: Array | None = None
    ) -> Trained:
        """Train from `start_P` on the samples given; with `shuffle=False` in the order given."""
        if net.needs_pairs and len(y) == 1 and self.passes(1):
            raise ValueError("batch normalisation needs at least two samples to train on; this client has one")
        lr = self.lr * self.lr_decay ** max(key.round - 1, 0)
        if net.native is not None and (pull := pull_of(self.terms)) is not None:
            return self._native(net, start_P, x, y, key, lr, pull, velocity)
        net.load(start_P)
        anchor = net.params.clone()
        inputs, labels = net.tensor(x), net.labels(y)
        decay = self._decay(net)
        closed = [t for t in self.terms if hasattr(t, "gradient")]
        graph = [t for t in self.terms if not hasattr(t, "gradient")]
        look = any(getattr(t, "sees", "") == "features" for t in graph)
        v = torch.zeros_like(net.grad)
        if velocity is not None and self.momentum_memory == "kept":
            v.copy_(torch.from_numpy(velocity))
        plain = not (self.terms or self.momentum or decay is not None)
        loss_sum, seen = 0.0, 0
        net.module.train()
        with torch_seed(key("torch").torch_seed), net.descending(factored=plain):
            for index in batches(len(y), self, key.rng(), net.needs_pairs):
                q = torch.from_numpy(index).to(net.device)
                xb, yb = net.take(inputs, q), labels.index_select(0, q)
                net.clear()
                scores, features = net.run(xb, look, whole=len(index) == self.batch)
                loss = net.loss(scores, yb)
                loss_sum, seen = loss_sum + loss.item() * len(index), seen + len(index)
                for term in graph:
                    loss = loss + term(net, net.graph_params(), anchor, Batch(xb, yb, scores, features))
                loss.backward()  # type: ignore[no-untyped-call]
                if seen == len(index):
                    net.check_gradients()
                if plain:
                    net.descend(lr)
                    continue
                g = net.grad
                for term in closed:
                    g += term.gradient(net.params, anchor)
                if decay is not None:
                    g.addcmul_(net.params, decay)
                if self.momentum:
                    g = v.mul_(self.momentum).add_(g)
                net.params.sub_(g, alpha=lr)
        keep = v.cpu().numpy() if self.momentum and self.momentum_memory == "kept" else None
        return Trained(net.vector() - start_P, loss_sum / max(seen, 1), keep)

    def _native(
        self,
        net: Net,
        start_P: Array,
        x: Array,
        y: Array,
        key: Key,
        lr: float,
        pull: float,
        velocity: Array | None,
    ) -> Trained:
        """The same in C."""
        assert net.native is not None
        order, cuts = schedule(len(y), self, key.rng(), net.needs_pairs)
        rule = Rule(lr, self.momentum, self.weight_decay + 2 * self.l2, self.weight_decay, pull)
        keep = None
        if self.momentum and self.momentum_memory == "kept":
            keep = np.zeros(net.layout.trainable.stop, start_P.dtype) if velocity is None else np.array(velocity)
        update_P, loss_sum = net.native.train(start_P, x, y, order, cuts, rule, keep)
        return Trained(update_P, loss_sum / max(len(order), 1), keep)

    def _decay(self, net: Net) -> torch.Tensor | None:
        """The factor of w in the gradient of weight decay and of the penalty on kernels."""
        if not (self.weight_decay or self.l2):
            return None
        kernels = net.layout.mask("kernels")[net.layout.trainable] if self.l2 else 0.0
        factor = self.weight_decay + 2 * self.l2 * np.asarray(kernels, np.float64)
        return torch.from_numpy(np.broadcast_to(factor, len(net.grad)).copy()).to(net.grad)


def pull_of(terms: Sequence[LossTerm]) -> float | None:
    """The pull of all terms together; None if there is one that does more than pull."""
    pulls = [float(term.pull) for term in terms if hasattr(term, "pull")]
    return sum(pulls) if len(pulls) == len(terms) else None


def batches(n: int, solver: SGD, rng: np.random.Generator, pairs: bool = False) -> Iterator[Array]:
    """Index arrays of the mini-batches: consecutive slices of each epoch's order, the last one may be short.

    With `pairs` (batch normalisation) a last batch of a single sample is joined to the one before it.

    >>> [b.tolist() for b in batches(5, SGD(batch=2, shuffle=False), np.random.default_rng(0))]
    [[0, 1], [2, 3], [4]]
    >>> [len(b) for b in batches(5, SGD(batch=2, steps=4), np.random.default_rng(0), pairs=True)]
    [2, 3, 2, 3]
    """
    order, cuts = schedule(n, solver, rng, pairs)
    for i, j in pairwise(cuts):
        yield order[i:j]


def schedule(n: int, solver: SGD, rng: np.random.Generator, pairs: bool = False) -> tuple[Array, Array]:
    """All mini-batches in two arrays: batch s is `order[cuts[s]:cuts[s + 1]]`.

    >>> order, cuts = schedule(3, SGD(batch=2, epochs=2, shuffle=False), np.random.default_rng(0))
    >>> order.tolist(), cuts.tolist()
    ([0, 1, 2, 0, 1, 2], [0, 2, 3, 5, 6])
    """
    starts = np.arange(0, n, solver.batch)
    if pairs and len(starts) > 1 and n - starts[-1] == 1:
        starts = starts[:-1]
    steps = len(starts) * solver.epochs if solver.steps is None else solver.steps if n else 0
    epochs = -(-steps // max(len(starts), 1))
    if not steps:
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    order_EN = np.tile(np.arange(n), (epochs, 1))
    if solver.shuffle:
        rng.permuted(order_EN, axis=1, out=order_EN)
    order = order_EN.reshape(-1)
    cuts = (np.arange(epochs)[:, None] * n + starts).reshape(-1)[: steps + 1]
    if len(cuts) == steps:
        cuts = np.append(cuts, epochs * n)
    return order[: cuts[-1]], cuts


def gradient(net: Net, vector_P: Array, x: Array, y: Array, piece: int = 500) -> Array:
    """The gradient of the mean loss over all samples at a vector, in evaluation mode; trainable numbers only."""
    net.load(vector_P)
    net.module.eval()
    net.grad.zero_()
    for i in range(0, len(y), piece):
        loss = net.loss(net.module(net.tensor(x[i : i + piece])), net.labels(y[i : i + piece]))
        (loss * (len(y[i : i + piece]) / len(y))).backward()  # type: ignore[no-untyped-call]
    return net.grad.cpu().numpy().copy()
