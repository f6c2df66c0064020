"""Many clients in one call of the native kernel: local training, and models on samples, in threads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.calls import JOB, PIECE, Call, Prepared, Store, address, turned
from shoal.kernels.rule import Rule, dual_pays
from shoal.types import Array, expect

if TYPE_CHECKING:
    from shoal.kernels.sgd import Native

PART = 64  # samples that a thread sends through a model at once; no bit depends on it
FEW = 14  # the same where a sample is a sequence
WHOLE = np.dtype(np.int64)


@dataclass(frozen=True)
class Plan:
    """The mini-batches of local training: consecutive slices of each epoch's order, the last one may be short.

    Args:
        epochs: Passes over a client's samples.
        steps: Mini-batches instead of epochs.
        batch: Samples of one.
        shuffle: A new order in every epoch, as numpy draws it.
        pairs: A last batch of a single sample is joined to the one before it.

    >>> Plan(epochs=2, batch=4, pairs=True).steps_for(np.array([0, 8, 9])).tolist()
    [0, 4, 4]
    """

    epochs: int = 1
    steps: int | None = None
    batch: int = 10
    shuffle: bool = True
    pairs: bool = False

    def steps_for(self, n_N: Array) -> Array:
        """Mini-batches of clients with so many samples."""
        in_epoch = -(-n_N // self.batch)
        in_epoch = in_epoch - (self.pairs & (in_epoch > 1) & (n_N - (in_epoch - 1) * self.batch == 1))
        return in_epoch * self.epochs if self.steps is None else np.where(n_N > 0, self.steps, 0)


def train_many(
    kernel: Native,
    store: Store,
    index_S: Array,
    offsets: Array,
    labels_S: Array,
    turns_N: Array,
    starts: Sequence[Array],
    keys: Sequence[int],
    plan: Plan,
    rule: Rule,
    velocities: Sequence[Array | None],
    threads: int = 1,
    chains: Array | None = None,
    sizes: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Every client trains from its own start, or in chains.

    Args:
        kernel: What trains.
        store: Where the samples are.
        index_S: The places of all clients' samples, one client after the other.
        offsets: Where each client's begin, and the end of the last.
        labels_S: What their clients call them.
        turns_N: By how many quarter turns each client sees its images turned.
        starts: The model of each.
        keys: The randomness of each: `Key.number`.
        plan: The mini-batches.
        rule: What a step does.
        velocities: The momentum of each to begin with, changed in place; None: none is kept.
        threads: How many share the work; no bit depends on it.
        chains: How many clients each chain has, one chain after the other. The clients of a chain have the same array
            as their start: it moves on with every one of them. `FloatingPointError` if one cannot go on.
        sizes: Samples of all clients that may come in a later call: room for them is taken now, and kept.

    Returns:
        The updates, the loss summed over all samples that batches had, and how many those were; a row per client. With
        chains a row of updates per chain: that of its last client.
    """
    if not (len(offsets) - 1 == len(turns_N) == len(starts) == len(keys) == len(velocities)):
        raise ValueError("every client needs samples, turns, a start, a key and a velocity or None")
    index_S, labels_S = np.ascontiguousarray(index_S, np.int64), np.ascontiguousarray(labels_S, np.int64)
    n_N = np.diff(offsets)
    if (n_N < 0).any() or offsets[0] != 0 or offsets[-1] != len(index_S):
        raise ValueError("the samples of the clients must follow each other")
    plan = replace(plan, batch=min(plan.batch, max(int(n_N.max(initial=1)), 1)))  # a larger one is the same
    jobs = np.zeros(len(n_N), JOB)
    jobs["index"], jobs["label"] = (address(a) + 8 * offsets[:-1] for a in (index_S, labels_S))
    jobs["n"], jobs["steps"] = n_N, plan.steps_for(n_N)
    jobs["key"] = np.frombuffer(b"".join(k.to_bytes(16, "little") for k in keys), "<u8").reshape(-1, 2)
    return run_jobs(
        kernel,
        store,
        jobs,
        index_S,
        labels_S,
        turns_N,
        starts,
        plan,
        rule,
        velocities,
        threads,
        chains=chains,
        sizes=sizes,
    )


def run_jobs(
    kernel: Native,
    store: Store,
    jobs: Array,
    index_S: Array,
    labels_S: Array,
    turns_N: Array,
    starts: Sequence[Array],
    plan: Plan,
    rule: Rule,
    velocities: Sequence[Array | None],
    threads: int,
    dual: bool | None = None,
    chains: Array | None = None,
    sizes: Array | None = None,
) -> tuple[Array, Array, Array]:
    """`train_many` with jobs that know their samples and batches; `dual` settles the form of the first layer."""
    network, dtype = kernel.network, kernel.dtype
    size, trainable = network.size, network.trainable
    expect(labels_S, "the labels", (len(index_S),), WHOLE)
    if len(labels_S) and not (labels_S.min() >= 0 and labels_S.max() < network.classes):
        raise ValueError(f"a label outside 0 to {network.classes - 1}")
    known = {id(start_P): start_P for start_P in starts}
    for start_P in known.values():
        expect(start_P, "the model", (size,), dtype)
    for velocity in velocities:
        if velocity is not None:
            expect(velocity, "the velocity", (trainable,), dtype)
            if not velocity.flags.writeable:
                raise ValueError("the velocity is changed in place, but read only")
    kept_N = np.array([v is not None for v in velocities], bool)
    begins = {name: address(start_P) for name, start_P in known.items()}
    if kept_N.any() and not rule.momentum:
        raise ValueError("a velocity is for training with momentum")
    passes_N = jobs["steps"] * np.minimum(plan.batch, jobs["n"])
    if dual is None:
        pays_N = dual_pays(jobs["n"], network.widths, passes_N, jobs["steps"], rule)
        jobs["dual"] = pays_N & ~kept_N & (not network.stages and not network.cells)
    elif dual and (network.stages or network.cells or kept_N.any()):
        raise ValueError("the dual form is for perceptrons without a velocity")
    else:
        jobs["dual"] = dual
    lengths_M = np.ones(len(jobs), int) if chains is None else chains
    heads_M, rows_N = np.cumsum(lengths_M) - lengths_M, np.repeat(np.arange(len(lengths_M)), lengths_M)
    updates_MP = np.empty((len(lengths_M), size), dtype)
    jobs["update"] = address(updates_MP) + (updates_MP.strides[0] * rows_N).astype(np.uint64)
    jobs["start"] = [begins[id(start_P)] for start_P in starts]
    if kept_N.any():
        jobs["velocity"] = [address(v) for v in velocities]
    turns = turned(store.shape, turns_N, bool(network.stages))
    if turns:
        jobs["turn"] = [address(turns.get(t)) for t in turns_N.tolist()]
    if chains is not None:
        jobs["now"], jobs["next"] = jobs["start"], np.arange(2, len(jobs) + 2)
        jobs["next"][heads_M + lengths_M - 1] = 0
    cost_M = np.bincount(rows_N, passes_N * jobs["n"], len(lengths_M))
    sequence = heads_M[np.argsort(-cost_M, kind="stable")]
    prepared = Prepared(kernel, store, index_S, min(threads, max(len(sequence), 1)))
    call = prepared.call
    call.batch, call.pairs, call.shuffle = plan.batch, plan.pairs, plan.shuffle
    call.lr, call.momentum, call.pull = rule.lr, rule.momentum, rule.pull
    call.decay_kernels, call.decay_biases = rule.decay_kernels, rule.decay_biases
    compared = rule.discrepancy
    bandwidths = np.array(compared.bandwidths if compared else (), np.float64)
    if compared:
        if not network.follows(rule):
            raise ValueError("the network has no features that could be compared")
        call.lam, call.bandwidths, call.bands = compared.lam, address(bandwidths), len(bandwidths)
        call.cut = network.head if compared.features else len(network.bias)
    most = plan.batch + plan.pairs
    if not jobs["order"].any():  # batches that are drawn have no sample twice
        most = max(1, min(most, int(jobs["n"].max(initial=1))))
    prepared.held = (jobs, sequence, index_S, labels_S, updates_MP, starts, velocities, turns, bandwidths)
    work = int(passes_N.sum()) * network.multiplications(store.shape)
    with room_for(kernel, call, plan, rule, most, sizes) if sizes is not None else nullcontext():
        given = (address(jobs), address(sequence), len(sequence), most)
        if len(jobs) and prepared.run(kernel.train_cohort, work, *given):
            raise MemoryError("no memory for local training")
    if chains is not None and not jobs["sound"].all():
        raise FloatingPointError("a client of a chain does not end in numbers")
    return updates_MP, jobs["loss"].copy(), jobs["seen"].copy()


def room_for(
    kernel: Native, call: Call, plan: Plan, rule: Rule, most: int, sizes: Array
) -> AbstractContextManager[None]:
    """Room that stays from call to call, for clients of these sizes."""
    network, steps = kernel.network, plan.steps_for(sizes)
    pays = dual_pays(sizes, network.widths, steps * np.minimum(plan.batch, sizes), steps, rule)
    pays &= not network.stages and not network.cells
    return kernel.rooms.lent(kernel, call, most, int(sizes.max(initial=0)), int(sizes[pays].max(initial=0)))


def log_probabilities_many(
    kernel: Native, store: Store, pieces: Sequence[tuple[Array, Array, int]], threads: int = 1
) -> list[Array]:
    """What models say of samples.

    Args:
        kernel: What has the network.
        store: Where the samples are.
        pieces: A model, the places of the samples that go through it, and their quarter turns.
        threads: How many share the work; no bit depends on it.

    Returns:
        Log-probabilities of every class for each piece, samples x classes.
    """
    network, dtype = kernel.network, kernel.dtype
    places = [np.ascontiguousarray(index, np.int64) for _, index, _ in pieces]
    for model_P, _, _ in pieces:
        expect(model_P, "the model", (network.size,), dtype)
    out = [np.empty((len(index), network.classes), dtype) for index in places]
    turns_N = np.array([t for _, _, t in pieces], int)
    turns = turned(store.shape, turns_N, bool(network.stages))
    rows = np.zeros(len(pieces), PIECE)
    rows["index"], rows["out"] = [address(i) for i in places], [address(o) for o in out]
    rows["model"], rows["turn"] = [address(m) for m, _, _ in pieces], [address(turns.get(t)) for t in turns_N.tolist()]
    rows["n"] = [len(index) for index in places]
    part = FEW if network.cells else PART
    parts_N = -(-rows["n"] // part)
    rows["from"] = np.cumsum(parts_N) - parts_N
    everywhere = np.concatenate(places) if places else np.zeros(0, np.int64)
    prepared = Prepared(kernel, store, everywhere, threads)
    prepared.held = (rows, places, pieces, out, turns)
    total, work = int(parts_N.sum()), len(everywhere) * network.multiplications(store.shape)
    if total and prepared.run(kernel.test_cohort, work, address(rows), len(rows), part, total):
        raise MemoryError("no memory for tests")
    return out
