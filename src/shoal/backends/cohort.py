"""A whole cohort in one call: what a task sees of its clients where the native kernel reads all samples itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.backends.memory import Recall, look_up, recall
from shoal.data.federation import SPLITS, Federation
from shoal.data.samples import Ragged
from shoal.kernels import Native, Plan, Store, log_probabilities_many, train_many
from shoal.layout import Layout
from shoal.net import Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks.losses import mean_loss
from shoal.tree import Shape
from shoal.types import Array, Cohort, Memory, Ref, Solver


@dataclass(frozen=True)
class Split:
    """A split of all clients: the places of their samples, what they call them, and how often each label occurs."""

    rows: Ragged
    labels: Ragged
    classes: int

    @cached_property
    def histograms_NC(self) -> Array:
        n, c = len(self.rows), self.classes
        owner = np.repeat(np.arange(n), self.rows.sizes)
        return np.bincount(owner * c + self.labels.index, minlength=n * c).reshape(n, c)

    @cached_property
    def distinct_sizes(self) -> Array:
        """Of clients, each once."""
        return np.unique(self.rows.sizes)


@dataclass(frozen=True)
class KernelData:
    """A federation as the kernel reads it: laid out and looked through once, as it never changes.

    Args:
        net: The module.
        native: Its kernel.
        federation: All samples.
        turns_N: Quarter turns of every client's images.
        splits: By name.
    """

    net: Net
    native: Native
    federation: Federation
    turns_N: Array
    splits: dict[str, Split]

    @classmethod
    def of(cls, net: Net, federation: Federation | None) -> KernelData | None:
        """None where something stands in the way: then clients work one by one, and whoever fails says why."""
        native = net.native
        if native is None or federation is None or not sound(federation, native):
            return None
        turns_V = np.array([view.turns % 4 for view in federation.views])
        turns_N = turns_V[federation.view_numbers(np.arange(len(federation.ids)))]
        if (turns_N != turns_N.astype(np.int64)).any() or (turns_N.any() and not turnable(federation.shape)):
            return None
        splits: dict[str, Split] = {}
        for name in filter(federation.has, SPLITS):
            split = split_of(federation, name, net.layout.classes)
            if split is None:
                return None
            splits[name] = split
        return cls(net, native, federation, turns_N.astype(np.int64), splits)

    @cached_property
    def store(self) -> Store:
        inputs = self.federation.inputs
        return Store(np.ascontiguousarray(self.federation.x), inputs.shift, inputs.scale)

    def split(self, name: str) -> Split:
        """One split; who asks for one that is not there is told so."""
        if name not in self.splits:
            self.federation.rows(name)  # says what is missing
        return self.splits[name]

    def log_probabilities(self, pieces: Sequence[tuple[Array, Array, int]], threads: int) -> list[Array]:
        """What models say of samples: for a model, places and quarter turns S x C log-probabilities each."""
        return log_probabilities_many(self.native, self.store, pieces, threads)


def sound(federation: Federation, native: Native) -> bool:
    """Whether samples become floats of the shape that the network takes, and labels are classes that it knows."""
    x, y = federation.x, federation.y
    if not isinstance(x, np.ndarray):
        return False
    scaled = x.dtype == np.uint8 and federation.inputs.shift is not None
    fits = native.network.takes(x[:0].astype(np.float32) if scaled else x)
    named = y.dtype.kind in "iu" and y.min(initial=0) >= 0 and y.max(initial=0) < federation.classes
    whole_maps = all(view.labels is None or len(view.labels) == federation.classes for view in federation.views)
    return bool(fits and len(x) == len(y) and named and whole_maps)


def turnable(shape: Shape) -> bool:
    """Whether images of a shape have it still after a quarter turn."""
    return not isinstance(shape, dict) and len(shape) >= 2 and shape[-1] == shape[-2]


def split_of(federation: Federation, name: str, classes: int) -> Split | None:
    """A split laid out; None if it points at samples that are not there, or has labels that the model does not know."""
    rows = federation.rows(name)
    index = np.ascontiguousarray(rows.index, np.int64)
    if index.size and not (index.min() >= 0 and index.max() < len(federation.y)):
        return None
    n = len(federation.ids)
    owner = np.repeat(np.arange(n), rows.sizes)
    labels = np.ascontiguousarray(federation.labels(index, owner), np.int64)
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        return None
    return Split(Ragged(index, rows.offsets), Ragged(labels, rows.offsets), classes)


@dataclass(frozen=True)
class LocalCohort:
    """The clients of one call, in this process.

    Args:
        data: All samples.
        clients: Who they are.
        places_N: Where they stand in the federation.
        models_KP: The models that are sent.
        which_N: Which of them each is sent.
        memory: What a client keeps, as it is stored.
        vectors_VP: The vectors that clients keep.
        threads: How many may work at a time.
    """

    data: KernelData
    clients: Cohort
    places_N: Array
    models_KP: Array | None
    which_N: Array
    memory: Recall
    vectors_VP: Array
    threads: int = 1

    @property
    def layout(self) -> Layout:
        return self.data.net.layout

    def subset(self, places: Array) -> LocalCohort:
        """Some of the clients."""
        clients = tuple(self.clients[i] for i in places)
        return replace(self, clients=clients, places_N=self.places_N[places], which_N=self.which_N[places])

    def kept(self, name: str) -> list[Any]:
        """What each client keeps under a name; None where it keeps nothing."""
        found = [self.memory(client).get(name) for client in self.clients]
        return [look_up(value, self.vectors_VP) if isinstance(value, Ref) else value for value in found]

    def keeping(self, **values: Sequence[Any]) -> dict[str, Memory]:
        """By client its memory with new values, one of each per client."""
        return {
            client: {**recall(self.memory(client), self.vectors_VP), **{name: new[i] for name, new in values.items()}}
            for i, client in enumerate(self.clients)
        }

    def sizes_N(self, split: str) -> Array:
        """Samples of each client."""
        return np.asarray(self.data.split(split).rows.sizes[self.places_N])

    def histograms_NC(self, split: str) -> Array:
        """Label counts of each client."""
        return np.asarray(self.data.split(split).histograms_NC[self.places_N])

    def losses_NK(self, split: str, models_KP: Array) -> Array:
        """The mean loss of every model on every client's samples; of no samples 0."""
        index_S, offsets_N1, labels_S = self._samples(split)
        n, sizes_N = len(self.clients), np.diff(offsets_N1)
        owner_S = np.repeat(np.arange(n), sizes_N)
        turns_N = self.data.turns_N[self.places_N]
        turns = np.unique(turns_N).tolist()
        parts: list[Any] = [slice(None)] if len(turns) == 1 else [np.flatnonzero(turns_N[owner_S] == t) for t in turns]
        pieces = [(model_P, index_S[part], t) for model_P in models_KP for t, part in zip(turns, parts, strict=True)]
        rows = self.data.log_probabilities(pieces, self.threads)
        out_NK = np.zeros((n, len(models_KP)), self.layout.dtype)
        for k in range(len(models_KP)):
            logp_SC = rows[k * len(parts)]
            if len(parts) > 1:
                logp_SC = np.empty((len(index_S), self.layout.classes), self.layout.dtype)
                for part, some in zip(parts, rows[k * len(parts) :], strict=False):
                    logp_SC[part] = some
            out_NK[:, k] = mean_loss(logp_SC, labels_S, owner_S, sizes_N)
        return out_NK

    def trains(self, solver: Solver, velocities: Sequence[Any] = ()) -> bool:
        """Whether the kernel trains all clients with this solver."""
        rule = solver.rule(0) if type(solver) is SGD else None
        if rule is None or not self.data.native.network.follows(rule):
            return False
        shape, dtype = (self.layout.trainable.stop,), self.layout.dtype
        if any(v is not None and (getattr(v, "shape", None) != shape or v.dtype != dtype) for v in velocities):
            return False
        return not self.data.net.needs_pairs or bool((self.sizes_N("train") > 1).all())

    def train(
        self, solver: Solver, starts: Sequence[Array], key: Key, velocities: Sequence[Any] | None = None
    ) -> tuple[Array, Array, list[Array] | None]:
        """Train every client from its own start; `trains` says whether that is possible."""
        assert isinstance(solver, SGD)
        keep: list[Array] | None = None
        if solver.keeps:
            fresh_T = np.zeros(self.layout.trainable.stop, self.layout.dtype)
            keep = [np.array(fresh_T if v is None else v) for v in velocities or [None] * len(self.clients)]
        updates_NP, losses_N = self._train(solver, [np.ascontiguousarray(s) for s in starts], key, keep)
        return updates_NP, losses_N, keep

    def _train(
        self, solver: SGD, starts: list[Array], key: Key, keep: list[Array] | None, chains: Array | None = None
    ) -> tuple[Array, Array]:
        """Updates, and the mean loss of each client."""
        rule = solver.rule(key.round)
        assert rule is not None
        plan = Plan(solver.epochs, solver.steps, solver.batch, solver.shuffle, self.data.net.needs_pairs)
        index_S, offsets_N1, labels_S = self._samples("train")
        updates_MP, sums_N, seen_N = train_many(
            self.data.native, self.data.store, index_S, offsets_N1, labels_S, self.data.turns_N[self.places_N],
            starts, key.numbers(self.clients), plan, rule,
            keep if keep is not None else [None] * len(self.clients), self.threads, chains,
            self.data.split("train").distinct_sizes,
        )  # fmt: skip
        return updates_MP, sums_N / np.maximum(seen_N, 1)

    def train_chains(self, solver: Solver, lengths_M: Array, key: Key) -> tuple[Array, Array] | None:
        """Clients one after the other, each from where the one before it ended; None: not at once."""
        assert isinstance(solver, SGD) and self.models_KP is not None
        if solver.keeps:
            return None
        heads_M = np.cumsum(lengths_M) - lengths_M
        now_MP = self.models_KP[self.which_N[heads_M]]
        rows = np.repeat(np.arange(len(lengths_M)), lengths_M)
        try:
            updates_MP, losses_N = self._train(solver, [now_MP[i] for i in rows], key, None, lengths_M)
        except FloatingPointError:
            return None
        for m in np.flatnonzero(lengths_M > 1):  # of a single client: its own, unrounded
            np.subtract(now_MP[m], self.models_KP[self.which_N[heads_M[m]]], out=updates_MP[m])
        return updates_MP, losses_N

    def _samples(self, split: str) -> tuple[Array, Array, Array]:
        """Places and labels of the clients' samples, one client after the other, and where each begins."""
        found = self.data.split(split)
        if len(self.places_N) == len(found.rows) and (self.places_N == np.arange(len(found.rows))).all():
            return found.rows.index, found.rows.offsets, found.labels.index
        offsets_N1 = np.concatenate([[0], np.cumsum(found.rows.sizes[self.places_N])])
        return found.rows.take(self.places_N)[0], offsets_N1, found.labels.take(self.places_N)[0]
