"""The one local training loop of Shoal: mini-batch steps on a flat vector, with sockets for terms and optimisers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch

from shoal.errors import BadInput
from shoal.kernels import Rule
from shoal.layout import torch_seed
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers.optimiser import optimiser_of
from shoal.solvers.order import batch_order
from shoal.solvers.rates import rate_factors
from shoal.solvers.terms import Batch, LossTerm, Trained
from shoal.tree import Tree, take
from shoal.types import Array, expect

LATER = ("optimiser", "optimiser_memory", "clip", "schedule")  # shown only where they are not the default


@dataclass(frozen=True, kw_only=True)
class SGD:
    """Stochastic gradient descent on one client's samples, or another optimiser in the same loop.

    One step on a batch b: `g = grad L_b(w) + 2 l2 [kernels] w + terms`, shortened to the norm `clip` if it is longer;
    `v = momentum v + g + weight_decay w`, `w = w - lr lr_decay^(round-1) schedule(step) v`. With an `optimiser` of
    torch the second line is its step.

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
        optimiser: `sgd`, or a class of `torch.optim` with arguments: `adam`, `rmsprop:alpha=0.9`.
        optimiser_memory: `reset` with every local training, or `kept` by the client; with `sgd` it means the momentum.
        clip: The largest norm of a gradient; None: any.
        schedule: How the learning rate goes within a local training: `cosine`, `linear`, `warmup:10`, joined by `+`.

    >>> SGD(epochs=2, batch=10).passes(25), SGD(steps=4, batch=10).passes(25)
    (50, 35)
    >>> SGD(epochs=2, batch=10).steps_for(25), SGD(steps=4, batch=10).steps_for(25)
    (6, 4)
    >>> SGD(optimiser="adam", lr=0.001).plain, SGD(momentum=0.9).plain
    (False, True)
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
    optimiser: str = "sgd"
    optimiser_memory: Literal["reset", "kept"] = "reset"
    clip: float | None = None
    schedule: str = "constant"

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
        if self.clip is not None and not self.clip > 0:
            raise BadInput(f"clip must be above 0, not {self.clip}")
        rate_factors(self.schedule, 1)
        if (other := optimiser_of(self.optimiser)) is not None:
            other.check(self.momentum, self.momentum_memory, self.weight_decay)

    def __repr__(self) -> str:
        shown = [f for f in fields(self) if f.name not in LATER or getattr(self, f.name) != f.default]
        return f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown)})"

    @property
    def plain(self) -> bool:
        """Whether every step is one of gradient descent with a fixed rate, as other kernels than torch do them."""
        return self.clip is None and self.schedule == "constant" and optimiser_of(self.optimiser) is None

    @property
    def keeps(self) -> bool:
        """Whether the client keeps momentum, or the state of another optimiser, from round to round."""
        if optimiser_of(self.optimiser) is not None:
            return self.optimiser_memory == "kept"
        return bool(self.momentum) and "kept" in (self.momentum_memory, self.optimiser_memory)

    def plus(self, *terms: LossTerm) -> SGD:
        """The same solver with more loss terms."""
        return replace(self, terms=(*self.terms, *terms))

    def pretraining(self, steps: int | None = None) -> SGD:
        """A solver for a first look: so many steps, or one epoch; nothing is kept, no rate per round, no terms."""
        epochs = 1 if steps is None else self.epochs
        return replace(self.forgetful(), steps=steps, epochs=epochs, lr_decay=1.0, terms=())

    def forgetful(self) -> SGD:
        """The same solver, of which the client keeps nothing from round to round."""
        return replace(self, momentum_memory="reset", optimiser_memory="reset")

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
        """A step of a round as the native kernel does it; None if it is not plain, or a term does more than pull and
        compare once.
        """
        if not self.plain:
            return None
        streams = [term.discrepancy for term in self.terms if term.discrepancy is not None]
        compared = [found for found in streams if found.lam]  # of weight 0 it changes nothing
        pull = pull_of([term for term in self.terms if term.discrepancy is None])
        if pull is None or len(compared) > 1:
            return None
        decays = self.weight_decay + 2 * self.l2, self.weight_decay
        return Rule(self.rate(round), self.momentum, *decays, pull, compared[0] if compared else None)

    def __call__(self, net: Net, start_P: Array, x: Tree, y: Array, key: Key, velocity: Any = None) -> Trained:
        """Train from `start_P` on the samples given; with `shuffle=False` in the order given."""
        if net.needs_pairs and len(y) == 1 and self.passes(1):
            raise ValueError("batch normalisation needs at least two samples to train on; this client has one")
        other = optimiser_of(self.optimiser)
        if velocity is not None and other is None:
            expect(velocity, "the velocity that the client kept", (net.layout.trainable.stop,), net.layout.dtype)
        elif velocity is not None and not isinstance(velocity, Mapping):
            raise ValueError(f"what the client kept is no state of optimiser={self.optimiser}")
        rule = None if net.native is None or net.layout.tree else self.rule(key.round)
        if rule is not None and net.native is not None and net.native.network.follows(rule):
            return self._native(net, start_P, x, y, key, rule, velocity)
        net.load(start_P)
        anchor = net.params.clone()
        order, cuts = batch_order(len(y), self, key.rng(), net.needs_pairs)
        inputs, labels, places = net.tensor(x), net.labels(y), net.labels(order)  # once: a step moves nothing
        rates = [self.rate(key.round) * factor for factor in rate_factors(self.schedule, len(cuts) - 1)]
        apart = other is not None or self.clip is not None  # decay is the optimiser's, and not clipped
        penalty, decay = self._factor(net, 0.0 if apart else self.weight_decay), self.weight_decay if apart else 0.0
        graph = [t for t in self.terms if t.gradient(net.params, anchor) is None]  # the others are in closed form
        look = any(t.sees == "features" for t in graph)
        stepper = None if other is None else other.begin(net, decay, velocity if self.keeps else None)
        v = torch.zeros_like(net.grad)
        if velocity is not None and self.keeps and stepper is None:
            v.copy_(torch.from_numpy(velocity))
        plain = not (self.terms or self.momentum or penalty is not None or apart)
        losses: list[torch.Tensor] = []  # read at the end: to look at one is to wait for the device
        net.module.train()
        with torch_seed(key("torch").torch_seed), net.descending(factored=plain):
            for (i, j), lr in zip(pairwise(cuts.tolist()), rates, strict=True):
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
                if penalty is not None:
                    g.addcmul_(net.params, penalty)
                if self.clip is not None:
                    shorten(g, self.clip)
                if stepper is not None:
                    stepper.step(lr)
                    continue
                if decay:
                    g.add_(net.params, alpha=decay)
                if self.momentum:
                    g = v.mul_(self.momentum).add_(g)
                net.params.sub_(g, alpha=lr)
        keep = None if not self.keeps else v.cpu().numpy() if stepper is None else stepper.kept()
        return Trained(net.vector() - start_P, mean_of(losses, np.diff(cuts).tolist()), keep)

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
        order, cuts = batch_order(len(y), self, key.rng(), net.needs_pairs)
        keep = None
        if self.keeps:
            keep = np.zeros(net.layout.trainable.stop, start_P.dtype) if velocity is None else np.array(velocity)
        update_P, loss_sum = net.native.train(start_P, x, y, order, cuts, rule, keep)
        return Trained(update_P, loss_sum / max(len(order), 1), keep)

    def _factor(self, net: Net, weight_decay: float) -> torch.Tensor | None:
        """The factor of w in the gradient of the penalty on kernels and of weight decay."""
        if not (weight_decay or self.l2):
            return None
        kernels = net.layout.mask("kernels")[net.layout.trainable] if self.l2 else 0.0
        factor = weight_decay + 2 * self.l2 * np.asarray(kernels, np.float64)
        return torch.from_numpy(np.broadcast_to(factor, len(net.grad)).copy()).to(net.grad)


def mean_of(losses: Sequence[torch.Tensor], sizes: Sequence[int]) -> float:
    """The mean loss over samples, by the mean losses of batches and their sizes; of none 0.

    >>> mean_of([torch.tensor(1.0), torch.tensor(4.0)], [10, 5])
    2.0
    """
    total = 0.0
    for mean, size in zip(torch.stack(tuple(losses)).tolist() if losses else [], sizes, strict=True):
        total += mean * size
    return total / max(sum(sizes), 1)


def shorten(g: torch.Tensor, longest: float) -> None:
    """Scale a gradient in place to a norm, if it is longer; as `torch.nn.utils.clip_grad_norm_` does.

    >>> g = torch.tensor([3.0, 4.0])
    >>> shorten(g, 1.0)
    >>> [round(x, 3) for x in g.tolist()]
    [0.6, 0.8]
    """
    g.mul_((longest / (g.norm() + 1e-6)).clamp(max=1.0))


def pull_of(terms: Sequence[LossTerm]) -> float | None:
    """The pull of all terms together; None if there is one that does more than pull."""
    pulls = [term.pull for term in terms if term.pull is not None]
    return sum(pulls) if len(pulls) == len(terms) else None


def gradient(net: Net, vector_P: Array, x: Tree, y: Array, piece: int = 500) -> Array:
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
    units = net.layout.objective.units
    for i in range(0, len(y), piece):
        loss = net.loss(net.outputs(take(x, slice(i, i + piece))), net.labels(y[i : i + piece]))
        (loss * (units(y[i : i + piece]) / max(units(y), 1))).backward()  # type: ignore[no-untyped-call]
    return net.grad.cpu().numpy().copy()
