"""The one local training loop of Shoal: mini-batch SGD on a flat vector, with sockets for loss terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import torch

from shoal.errors import BadInput
from shoal.kernels import Rule
from shoal.layout import torch_seed
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers.terms import Batch, LossTerm, Trained
from shoal.types import Array, expect


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent on one client's samples.

    One step on a batch b: `g = grad L_b(w) + weight_decay w + 2 l2 [kernels] w + terms`,
    `v = momentum v + g`, `w = w - lr lr_decay^(round-1) v`.

    Args:
        lr: Learning rate of the first round.
        epochs: Passes over the client's samples.
        steps: Mini-batch steps instead of epochs.
        batch: Samples of a mini-batch.
        momentum: Share of the last step's velocity.
        momentum_memory: `reset` with every local training, or `kept` by the client from round to round.
        weight_decay: Factor of all weights in the gradient.
        l2: Penalty `l2 |W|^2` on kernels.
        lr_decay: Factor of the learning rate per round.
        shuffle: A new order of the samples in every epoch.
        terms: Loss terms beside the loss of the data.

    >>> SGD(epochs=2, batch=10).passes(25), SGD(steps=4, batch=10).passes(25)
    (50, 35)
    >>> SGD(epochs=2, batch=10).steps_for(25), SGD(steps=4, batch=10).steps_for(25)
    (6, 4)
    """

    lr: float = 0.03
    epochs: int = 1
    steps: int | None = None
    batch: int = 10
    momentum: float = 0.0
    momentum_memory: Literal["reset", "kept"] = "reset"
    weight_decay: float = 0.0
    l2: float = 0.0
    lr_decay: float = 1.0
    shuffle: bool = True
    terms: tuple[LossTerm, ...] = ()

    def __post_init__(self) -> None:
        least = {"lr": 0, "epochs": 0, "batch": 1, "momentum": 0, "weight_decay": 0, "l2": 0, "lr_decay": 0}
        for name, low in least.items():
            if not getattr(self, name) >= low:
                raise BadInput(f"{name} must be at least {low}, not {getattr(self, name)}")
        if self.steps is not None and self.steps < 0:
            raise BadInput(f"steps must be at least 0, not {self.steps}")
        strange = [type(term).__name__ for term in self.terms if not isinstance(term, LossTerm)]
        if strange:
            raise BadInput(f"{strange[0]} is no loss term: derive it from shoal.solvers.LossTerm")

    def plus(self, *terms: LossTerm) -> SGD:
        """The same solver with more loss terms."""
        return replace(self, terms=(*self.terms, *terms))

    def pretraining(self, steps: int | None = None) -> SGD:
        """A solver for a first look: so many steps, or one epoch; nothing is kept, nothing decays, no terms."""
        epochs = 1 if steps is None else self.epochs
        return replace(self, steps=steps, epochs=epochs, momentum_memory="reset", lr_decay=1.0, terms=())

    def steps_for(self, n: int) -> int:
        """Mini-batch steps of a client of n samples."""
        if self.steps is None or not n:
            return self.epochs * -(-n // self.batch)
        return self.steps

    def passes(self, n: int) -> int:
        """Samples sent through the model and back for a client of n samples."""
        if self.steps is None or not n:
            return self.epochs * n
        epochs, rest = divmod(self.steps, -(-n // self.batch))
        return epochs * n + min(rest * self.batch, n)

    def rate(self, round: int) -> float:
        """The learning rate of a round."""
        return self.lr * self.lr_decay ** max(round - 1, 0)

    def rule(self, round: int) -> Rule | None:
        """A step of a round as the native kernel does it; None if a term does more than pull, and compare once."""
        streams = [term.discrepancy for term in self.terms if term.discrepancy is not None]
        compared = [found for found in streams if found.lam]  # of weight 0 it changes nothing
        pull = pull_of([term for term in self.terms if term.discrepancy is None])
        if pull is None or len(compared) > 1:
            return None
        decays = self.weight_decay + 2 * self.l2, self.weight_decay
        return Rule(self.rate(round), self.momentum, *decays, pull, compared[0] if compared else None)

    def __call__(
        self, net: Net, start_P: Array, x: Array, y: Array, key: Key, velocity: Array | None = None
    ) -> Trained:
        """Train from `start_P` on the samples given; with `shuffle=False` in the order given."""
        if net.needs_pairs and len(y) == 1 and self.passes(1):
            raise ValueError("batch normalisation needs at least two samples to train on; this client has one")
        if velocity is not None:
            expect(velocity, "the velocity that the client kept", (net.layout.trainable.stop,), net.layout.dtype)
        if net.native is not None and (rule := self.rule(key.round)) is not None and net.native.network.follows(rule):
            return self._native(net, start_P, x, y, key, rule, velocity)
        lr = self.rate(key.round)
        net.load(start_P)
        anchor = net.params.clone()
        order, cuts = schedule(len(y), self, key.rng(), net.needs_pairs)
        inputs, labels, places = net.tensor(x), net.labels(y), net.labels(order)  # once: a step moves nothing
        decay = self._decay(net)
        graph = [t for t in self.terms if t.gradient(net.params, anchor) is None]  # the others are in closed form
        look = any(t.sees == "features" for t in graph)
        v = torch.zeros_like(net.grad)
        if velocity is not None and self.momentum_memory == "kept":
            v.copy_(torch.from_numpy(velocity))
        plain = not (self.terms or self.momentum or decay is not None)
        losses: list[torch.Tensor] = []  # read at the end: to look at one is to wait for the device
        net.module.train()
        with torch_seed(key("torch").torch_seed), net.descending(factored=plain):
            for i, j in pairwise(cuts.tolist()):
                q = places[i:j]
                xb, yb = net.take(inputs, q), labels.index_select(0, q)
                net.clear()
                scores, features = net.run(xb, look, whole=j - i == self.batch)
                loss = net.loss(scores, yb)
                losses.append(loss.detach())
                for term in graph:
                    loss = loss + term(net, net.graph_params(), anchor, Batch(xb, yb, scores, features))
                loss.backward()  # type: ignore[no-untyped-call]
                if not i:
                    net.check_gradients()
                if plain:
                    net.descend(lr)
                    continue
                g = net.grad
                for term in self.terms:
                    if (slope := term.gradient(net.params, anchor)) is not None:
                        g += slope
                if decay is not None:
                    g.addcmul_(net.params, decay)
                if self.momentum:
                    g = v.mul_(self.momentum).add_(g)
                net.params.sub_(g, alpha=lr)
        keep = v.cpu().numpy() if self.momentum and self.momentum_memory == "kept" else None
        loss_sum = 0.0
        for mean, size in zip(torch.stack(losses).tolist() if losses else [], np.diff(cuts).tolist(), strict=True):
            loss_sum += mean * size
        return Trained(net.vector() - start_P, loss_sum / max(len(order), 1), keep)

    def _native(
        self,
        net: Net,
        start_P: Array,
        x: Array,
        y: Array,
        key: Key,
        rule: Rule,
        velocity: Array | None,
    ) -> Trained:
        """The same in C."""
        assert net.native is not None
        order, cuts = schedule(len(y), self, key.rng(), net.needs_pairs)
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
    pulls = [term.pull for term in terms if term.pull is not None]
    return sum(pulls) if len(pulls) == len(terms) else None


def batches(n: int, solver: SGD, rng: np.random.Generator, pairs: bool = False) -> Iterator[Array]:
    """Index arrays of the mini-batches: consecutive slices of each epoch's order, the last one may be short.

    With `pairs` (batch normalisation) a last batch of a single sample is joined to the one before it.

    Args:
        n: Samples.
        solver: Says epochs or steps, the batch and whether to shuffle.
        rng: Draws the orders.
        pairs: No batch of one sample.

    Yields:
        The places of the samples, batch by batch.

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

    Args:
        n: Samples.
        solver: Says epochs or steps, the batch and whether to shuffle.
        rng: Draws the orders.
        pairs: No batch of one sample.

    Returns:
        The places of the samples in order, and where batches begin and end.

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
    """The gradient of the mean loss over all samples at a vector, in evaluation mode; trainable numbers only.

    Args:
        net: The model.
        vector_P: Where.
        x: Inputs.
        y: Labels.
        piece: Samples sent through the model at once.

    Returns:
        One number per trainable parameter.

    >>> from shoal.layout import Layout
    >>> net = Net(Layout.of(lambda: torch.nn.Linear(1, 2, bias=False), np.zeros((1, 1))))
    >>> gradient(net, np.zeros(2), np.ones((1, 1)), np.array([0])).tolist()      # softmax (1/2, 1/2) less (1, 0)
    [-0.5, 0.5]
    """
    net.load(vector_P)
    net.module.eval()
    net.grad.zero_()
    for i in range(0, len(y), piece):
        loss = net.loss(net.module(net.tensor(x[i : i + piece])), net.labels(y[i : i + piece]))
        (loss * (len(y[i : i + piece]) / len(y))).backward()  # type: ignore[no-untyped-call]
    return net.grad.cpu().numpy().copy()
