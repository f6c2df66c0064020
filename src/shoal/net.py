"""A module bound to one flat vector: loading, reading and stepping are single operations on that vector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from shoal.kernels import Native, Network, Store, log_probabilities_many
from shoal.layout import Layout, call, seeded
from shoal.layout.factored import Factored, Span, large_layers
from shoal.tree import Sequences, Tree, batch, take, tree_map
from shoal.types import Array

__all__ = ["Arithmetic", "Net"]

NARROW = 32  # classes up to which torch is quicker along the other axis


@dataclass(frozen=True)
class Arithmetic:
    """How a run computes: settled before it begins, the same in every process, kept when it is resumed.

    Args:
        device: `cpu` or `cuda`.
        kernel: `native`: small networks train in C.
        compiled: Whether whole batches go through torch.compile.
        bfloat16: Whether torch multiplies in bfloat16 while it trains; weights and sums stay in the model's precision.

    >>> Arithmetic().kernel
    'torch'
    """

    device: str = "cpu"
    kernel: Literal["torch", "native"] = "torch"
    compiled: bool = False
    bfloat16: bool = False


PLAIN = Arithmetic()


class Net:
    """One module, its parameters, gradients and statistics being views of flat buffers.

    Args:
        layout: Of the model.
        arithmetic: How it computes.

    >>> from torch import nn
    >>> layout = Layout.of(lambda: nn.Linear(2, 2), np.zeros((1, 2)))
    >>> net = Net(layout)
    >>> net.load(np.array([1, 0, 0, 1, 0, 0], np.float32))
    >>> net.scores(np.array([[3.0, 4.0]])).tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, layout: Layout, arithmetic: Arithmetic = PLAIN) -> None:
        self.layout = layout
        self.device = torch.device(arithmetic.device)
        self.dtype = layout.torch_dtype
        self.module = seeded(layout.factory, 0).to(device=self.device, dtype=self.dtype)
        self._plain = layout.objective.plain
        network = Network.of(self.module) if arithmetic.kernel == "native" and self._plain else None
        self.native = None if network is None else Native(network, layout.dtype)
        self.needs_pairs = any(isinstance(m, _BatchNorm) for m in self.module.modules())
        self.floats = layout.counters.start
        self.flat = torch.zeros(self.floats, dtype=self.dtype, device=self.device)
        self.grad = torch.zeros(layout.trainable.stop, dtype=self.dtype, device=self.device)
        self.params = self.flat[layout.trainable]  # the trainable numbers; a step is an operation in place on them
        self._loaded: Array | None = None  # the vector that was loaded last
        self._twin: Net | None = None
        self._bind()
        self._arithmetic = arithmetic
        self._large = [] if arithmetic.compiled or arithmetic.bfloat16 else large_layers(self.module)
        self._factors: dict[nn.Linear, list[Span]] = {}  # large layers whose gradient is left as two factors
        for layer in self._large:
            layer.forward = partial(self._linear, layer)  # type: ignore[method-assign]
        how: Any = {"fullgraph": True, "dynamic": False, "options": {"compile_threads": 1}}
        self._compiled: Any = torch.compile(self.module, **how) if arithmetic.compiled else None

    def _bind(self) -> None:
        params = dict(self.module.named_parameters())
        buffers = dict(self.module.named_buffers())
        self._params: list[tuple[nn.Parameter, torch.Tensor]] = []  # a parameter and its gradient
        self._buffers: list[tuple[nn.Module, str, torch.Tensor, slice]] = []  # owner, name, our tensor, place
        for part in self.layout.parts:
            place = slice(part.start, part.stop)
            if part.role == "trainable":
                p = params[part.name]
                p.data = self.flat[place].view(part.shape)
                self._params.append((p, self.grad[place].view(part.shape)))
            else:
                owner, _, leaf = part.name.rpartition(".")
                tensor = buffers[part.name] if part.role == "counters" else self.flat[place].view(part.shape)
                self._buffers.append((self.module.get_submodule(owner), leaf, tensor, place))
        self._attach()

    def _attach(self) -> None:
        """Gradients and buffers are ours, whatever the module put in their place."""
        for p, grad in self._params:
            p.grad = grad
        for owner, leaf, tensor, _ in self._buffers:
            owner._buffers[leaf] = tensor

    def check_gradients(self) -> None:
        """After a backward pass: the gradients must have gone where the step reads them."""
        apart = {layer.weight for layer in self._factors}
        if any(p.grad is not grad for p, grad in self._params if p not in apart):
            raise RuntimeError("the module replaced the gradient of a parameter; it must leave .grad alone")

    @contextmanager
    def descending(self, factored: bool) -> Iterator[None]:
        """Training by `clear`, a backward pass and `descend`.

        With `factored`, which is for plain gradient descent, the gradient of a large linear layer is never stored: its
        two factors (what went in, what came back) are multiplied straight into the weights.
        """
        self._factors = {layer: [] for layer in self._large} if factored else {}
        apart = {layer.weight for layer in self._factors}
        edges = [0]
        for part, (p, _) in zip(self.layout.parts, self._params, strict=False):
            if p in apart:
                edges += [part.start, part.stop]
                p.grad = None
        edges.append(len(self.params))
        self._spans: list[Span] = [
            (self.params[i:j], self.grad[i:j]) for i, j in zip(edges[::2], edges[1::2], strict=True) if j > i
        ]
        try:
            yield
        finally:
            self._factors = {}
            for p, grad in self._params:
                p.grad = grad

    def clear(self) -> None:
        """Forget the gradients."""
        for _, grad in self._spans:
            grad.zero_()

    @torch.no_grad()
    def descend(self, lr: float) -> None:
        """One step against the gradient."""
        for params, grad in self._spans:
            params.sub_(grad, alpha=lr)
        for layer, factors in self._factors.items():
            weight = layer.weight
            for out, into in factors:
                weight.addmm_(out.t(), into, alpha=-lr)
            factors.clear()
            if weight.grad is not None:  # the module also used the weights in another way
                weight.sub_(weight.grad, alpha=lr)
                weight.grad = None

    def _linear(self, layer: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        if layer not in self._factors:
            return F.linear(x, layer.weight, layer.bias)
        out: torch.Tensor = Factored.apply(x, layer.weight, layer.bias, self._factors[layer])  # type: ignore[no-untyped-call]
        return out

    def graph_params(self) -> torch.Tensor:
        """The trainable numbers as one differentiable vector, for loss terms without a closed gradient."""
        return torch.cat([p.reshape(-1) for p in self.module.parameters() if p.requires_grad])

    def load(self, vector_P: Array) -> None:
        """Make the module the model of this vector."""
        self._attach()
        self._loaded = vector_P
        vector = torch.from_numpy(np.ascontiguousarray(vector_P))
        self.flat.copy_(vector[: self.floats])
        for _, _, tensor, place in self._buffers:
            if place.start >= self.floats:
                tensor.copy_(vector[place].view(tensor.shape))

    def received(self) -> Net:
        """A twin that holds the vector as it was loaded, however far this one has been trained since."""
        assert self._loaded is not None
        if self._twin is None:
            self._twin = Net(self.layout, replace(self._arithmetic, kernel="torch", compiled=False))
        if self._twin._loaded is not self._loaded:
            self._twin.load(self._loaded)
            self._twin.module.eval()
        return self._twin

    def run(self, x: Tree, features: bool = False, whole: bool = False) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs (B, C) of the module for a batch and, if asked for, the features that its head turned into them.

        It is for training. Only whole batches, which all have one shape, go through a compiled module.

        Args:
            x: Inputs (B, ...), as `take` gives them.
            features: Whether to give the features, too, for which the module needs `features` and `head`.
            whole: Whether the batch is a whole one.
        """
        with torch.autocast(self.device.type, torch.bfloat16) if self._arithmetic.bfloat16 else nullcontext():
            seen = call(self.module.features, x) if features else None  # type: ignore[arg-type]
            module = self._compiled if whole and self._compiled is not None else self.module
            scores = call(module, x) if seen is None else call(self.module.head, seen)  # type: ignore[arg-type]
        return scores.to(self.dtype), None if seen is None else seen.to(self.dtype)

    def vector(self) -> Array:
        """The model as a vector of its own."""
        out = np.empty(self.layout.size, self.layout.dtype)
        out[: self.floats] = self.flat.detach().cpu().numpy()
        for owner, leaf, tensor, place in self._buffers:
            now = owner._buffers[leaf]
            if now is not tensor or place.start >= self.floats:  # replaced by the module, or a counter
                assert now is not None
                out[place] = now.detach().cpu().numpy().reshape(-1)
        return out

    def tensor(self, x: Tree) -> Any:
        """Inputs as the module takes them: floats in its own precision, integers (token ids) as they are.

        Sequences stay as they are: `take` makes batches of them.
        """
        if not isinstance(x, np.ndarray):
            return x if isinstance(x, Sequences) else tree_map(self.tensor, x)
        t = torch.from_numpy(np.ascontiguousarray(x))
        t = self._moved(t, self.dtype if t.is_floating_point() else torch.int64)
        innermost = self.layout.channels_last and t.is_floating_point()
        return t.to(memory_format=torch.channels_last) if innermost else t

    def take(self, inputs: Tree, rows: torch.Tensor) -> Any:
        """Some of the inputs, in the memory format they have."""
        if not isinstance(inputs, torch.Tensor):
            if isinstance(inputs, Sequences):
                return self.tensor(batch(take(inputs, rows.cpu().numpy())))
            return tree_map(lambda part: part.index_select(0, rows), inputs)
        if self.layout.channels_last and inputs.dim() == 4:
            return inputs.permute(0, 2, 3, 1).index_select(0, rows).permute(0, 3, 1, 2)
        return inputs.index_select(0, rows)

    def labels(self, y: Array) -> torch.Tensor:
        """Targets and places of samples where the module is: whole numbers as they are, floats in its precision."""
        if y.dtype.kind == "f":
            return self._moved(torch.from_numpy(np.ascontiguousarray(y)), self.dtype)
        return self._moved(torch.from_numpy(np.ascontiguousarray(y, np.int64)), torch.int64)

    def _moved(self, t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        """A tensor where the module is; to a GPU from memory that stays in its place, so that nobody waits for it."""
        return (t.pin_memory() if self.device.type == "cuda" else t).to(self.device, dtype, non_blocking=True)

    def loss(self, scores: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The mean loss of the run's task; of classes cross entropy, and one output is the log-odds of class 1."""
        if not self._plain:
            return self.layout.objective.mean_loss(scores, y)
        if scores.shape[1] == 1:
            return F.binary_cross_entropy_with_logits(scores[:, 0], y.to(scores.dtype))
        return F.cross_entropy(scores, y)

    def outputs(self, x: Tree) -> torch.Tensor:
        """Outputs of the module, as it is, for inputs that go through it together."""
        return call(self.module, self.tensor(batch(x)))

    def rows(self, x: Tree) -> Array:
        """What is kept of tested samples: log-probabilities of classes where these tell all, else outputs."""
        return self.log_probabilities(x) if self.layout.objective.by_probabilities else self.scores(x)

    def said(self, rows: Array) -> Array:
        """What the model says of samples, as metrics see it: of classes log-probabilities, of others by the task."""
        objective = self.layout.objective
        return rows if objective.by_probabilities else objective.says(torch.from_numpy(rows)).numpy()

    @torch.no_grad()
    def scores(self, x: Tree) -> Array:
        """Outputs of the module in evaluation mode, B x C."""
        self.module.eval()
        return np.asarray(self.outputs(x).cpu().numpy())

    @torch.no_grad()
    def log_probabilities(self, x: Tree) -> Array:
        """Log-probability of every class, B x C; two columns also where the module has one output."""
        native = None if self.layout.tree else self.native
        if native is not None and native.network.takes(x):  # as for a whole cohort at once
            pieces = [(self.vector(), np.arange(len(x)), 0)]
            return log_probabilities_many(native, Store(np.ascontiguousarray(x)), pieces, threads=1)[0]
        self.module.eval()
        scores = self.outputs(x)
        if scores.shape[1] == 1:
            logp = F.logsigmoid(torch.cat([-scores, scores], 1))
        else:
            narrow = scores.shape[1] < NARROW
            logp = F.log_softmax(scores.t().contiguous(), 0).t() if narrow else F.log_softmax(scores, 1)
        return np.asarray(logp.cpu().numpy())
