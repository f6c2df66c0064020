"""Many clients in one call: the same as one by one, whatever the threads, and as numpy and torch would have it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from torch import nn

from shoal.data.samples import Inputs, View
from shoal.errors import BadInput
from shoal.kernels import Native, Network, Plan, Rule, Store, log_probabilities_many, native, train_many
from shoal.kernels.calls import at
from shoal.kernels.stages import Stage
from shoal.layout import Layout
from shoal.models.residual import Residual
from shoal.net import Arithmetic, Net
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.solvers.order import batch_order

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 12), nn.ReLU(), nn.Linear(12, 5))


def softmax_regression() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 5))


def convolutional() -> nn.Module:
    stage = [nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*stage, nn.Conv2d(6, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 2 * 2, 5))


def residual() -> nn.Module:
    body = nn.Sequential(nn.Conv2d(4, 6, 3, 2, 1), nn.GroupNorm(2, 6), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1))
    first = [nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.GroupNorm(1, 4), nn.ReLU()]
    block = [Residual(nn.Conv2d(4, 6, 1, 2), body), nn.ReLU(), nn.AvgPool2d(2)]
    return nn.Sequential(*first, *block, nn.Flatten(), nn.Linear(6 * 2 * 2, 5))


MODELS = [softmax_regression, perceptron, convolutional, residual]
SIZES = [1, 2, 33, 40, 7, 64, 90]
STORED = ["uint8", "float32", "float64"]


def stored(dtype: str) -> Store:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 256, (120, 3, 8, 8)).astype(dtype)
    return Store(x, np.array([[[100.0]], [[110.0]], [[120.0]]]), 57.0)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 100, 2504])
def test_orders_are_those_of_numpy(n: int) -> None:
    found = native()
    assert found is not None
    for key in (Key(7)("train").of("ann").number, 0, 2**128 - 1):
        wanted = np.tile(np.arange(n), (9, 1))
        np.random.Generator(np.random.Philox(key=key)).permuted(wanted, axis=1, out=wanted)
        got, halves = np.zeros((9, n), np.int64), np.array([key & (2**64 - 1), key >> 64], np.uint64)
        found[1].orders(ctypes.c_void_p(at(halves)), ctypes.c_int64(n), ctypes.c_int64(9), ctypes.c_void_p(at(got)))
        np.testing.assert_array_equal(got, wanted)


def cohort(model: Any, dtype: str, threads: int, solver: SGD, rule: Rule, kept: bool = False) -> tuple[Any, ...]:
    """Clients of several sizes, turned by 0 to 3 quarters, trained in one call and one by one."""
    store = stored(dtype)
    layout = Layout.of(model, np.zeros((1, 3, 8, 8), np.float32))
    net = Net(layout, Arithmetic(kernel="native"))
    assert net.native is not None
    sizes = [n for n in SIZES if n > 1 or not net.needs_pairs]
    rng = np.random.default_rng(5)
    rows = [rng.choice(120, n, replace=False) for n in sizes]
    labels = [rng.integers(0, 5, n) for n in sizes]
    turns = np.arange(len(sizes)) % 4
    starts = [layout.init(Key(i)) for i in range(len(sizes))]
    keys = [Key(2)("train").of(str(i)) for i in range(len(sizes))]
    speeds = [np.full(net.native.network.trainable, 0.01, np.float32) if kept else None for _ in sizes]
    again = [None if v is None else v.copy() for v in speeds]
    plan = Plan(solver.epochs, solver.steps, solver.batch, solver.shuffle, net.needs_pairs)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    many = train_many(
        net.native, store, np.concatenate(rows), offsets, np.concatenate(labels), turns, starts,
        [k.number for k in keys], plan, rule, speeds, threads,
    )  # fmt: skip
    alone = []
    for i in range(len(sizes)):
        x = View(turns=int(turns[i])).rotate(Inputs(store.shift, store.scale)(store.x[rows[i]]))
        order, cuts = batch_order(sizes[i], solver, keys[i].rng(), net.needs_pairs)
        alone.append((*net.native.train(starts[i], x, labels[i], order, cuts, rule, again[i]), len(order)))
    return many, alone, speeds, again


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("threads", [1, 2, 3, 20])
def test_one_call_is_the_same_as_one_client_after_the_other(model: Any, dtype: str, threads: int) -> None:
    many, alone, _, _ = cohort(model, dtype, threads, SGD(epochs=3, batch=8), Rule(0.05))
    for i, (update, loss, seen) in enumerate(alone):
        np.testing.assert_array_equal(many[0][i], update)
        assert (many[1][i], many[2][i]) == (loss, seen)
        assert np.abs(update).max() > 0


@pytest.mark.parametrize(
    "solver",
    [SGD(steps=7, batch=8), SGD(epochs=2, batch=8, shuffle=False), SGD(epochs=0), SGD(batch=1), SGD(batch=200)],
)
@pytest.mark.parametrize("model", MODELS)
def test_the_batches_are_those_of_the_schedule(model: Any, solver: SGD) -> None:
    many, alone, _, _ = cohort(model, "uint8", 2, solver, Rule(0.05, momentum=0.5, decay_kernels=0.01, pull=0.1))
    for i, (update, loss, seen) in enumerate(alone):
        np.testing.assert_array_equal(many[0][i], update)
        assert (many[1][i], many[2][i]) == (loss, seen)


@pytest.mark.parametrize("model", MODELS)
def test_kept_velocities_move_in_place(model: Any) -> None:
    many, alone, speeds, again = cohort(model, "float32", 2, SGD(batch=8), Rule(0.05, momentum=0.9), kept=True)
    for i, (update, _, _) in enumerate(alone):
        np.testing.assert_array_equal(many[0][i], update)
        np.testing.assert_array_equal(speeds[i], again[i])
        assert (speeds[i] != 0.01).any()


def test_a_client_that_diverges_leaves_no_trace_in_the_next() -> None:
    """Both train in one thread, in the same memory; what pads rows there would be no number."""
    layout = Layout.of(softmax_regression, np.zeros((1, 3, 8, 8), np.float32))
    kernel = Net(layout, Arithmetic(kernel="native")).native
    assert kernel is not None
    store, start = stored("float32"), layout.init(Key(0))
    wild = np.full_like(start, 3e38)
    index, labels, plan = np.arange(120), np.arange(120) % 5, Plan(batch=8)
    common = (plan, Rule(0.05), [None, None], 1)
    both, _, _ = train_many(
        kernel, store, index, np.array([0, 100, 120]), labels, np.zeros(2, int), [wild, start], [1, 2], *common
    )
    one, _, _ = train_many(
        kernel,
        store,
        index[100:],
        np.array([0, 20]),
        labels[100:],
        np.zeros(1, int),
        [start],
        [2],
        plan,
        Rule(0.05),
        [None],
        1,
    )
    assert not np.isfinite(both[0]).all()
    np.testing.assert_array_equal(both[1], one[0])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_models_say_what_they_say_in_torch(model: Any, dtype: str, precision: str) -> None:
    store = stored(dtype)
    layout = Layout.of(model, np.zeros((1, 3, 8, 8), np.float32), precision)
    net = Net(layout, Arithmetic(kernel="native"))
    assert net.native is not None
    rng = np.random.default_rng(8)
    models = [layout.init(Key(i)) for i in range(2)]
    places = [rng.integers(0, 120, n) for n in (200, 1, 0, 70)]
    pieces = [(models[i % 2], index, i) for i, index in enumerate(places)]
    if net.needs_pairs:  # statistics that are not those of a fresh model
        for vector in models:
            vector[layout.statistics] = rng.uniform(0.5, 2.0, layout.statistics.stop - layout.statistics.start)
    got = [log_probabilities_many(net.native, store, pieces, threads) for threads in (1, 2)]
    for (vector, index, turns), one, two in zip(pieces, *got, strict=True):
        np.testing.assert_array_equal(one, two)
        net.load(vector)
        x = View(turns=turns).rotate(Inputs(store.shift, store.scale)(store.x[index]))
        wanted = net.log_probabilities(x) if len(index) else np.zeros((0, 5))
        np.testing.assert_allclose(one, wanted, rtol=0, atol=2e-5 if precision == "float32" else 1e-12)


@pytest.mark.parametrize(("shift", "scale"), [(0, 255), (0.1307, 0.3081), (127.5, 127.5), (33.3, 1 / 3), (0, 3e-36)])
def test_bytes_become_the_inputs_that_numpy_makes(shift: float, scale: float) -> None:
    """The scores of the model are 0 and the input itself. The last scale makes inputs near the largest number."""
    kernel = Native(Network((1, 2), (False,)), np.dtype(np.float32))
    stored = Store(np.arange(256, dtype=np.uint8)[:, None], shift, scale)
    made = Store(Inputs(shift, scale)(stored.x))
    pieces = [(np.array([0, 1], np.float32), np.arange(256), 0)]
    one, two = (log_probabilities_many(kernel, store, pieces)[0] for store in (stored, made))
    np.testing.assert_array_equal(one, two)


def test_scores_far_below_zero_are_not_lost_in_what_pads_a_row() -> None:
    """All scores are near -88.7: zeros that pad the row would be exp(88.7) next to them, which is infinite."""
    kernel = Native(Network((1, 2), (True,)), np.dtype(np.float32))
    model = np.array([0, 0, -88.7, -88.7], np.float32)
    store = Store(np.ones((2, 1), np.float32))
    rows = log_probabilities_many(kernel, store, [(model, np.arange(2), 0)])[0]
    np.testing.assert_allclose(rows, np.log(0.5), rtol=1e-6)
    _, loss = kernel.train(model, store.x, np.array([0, 1]), np.arange(2), np.array([0, 2]), Rule(0.1))
    assert loss == pytest.approx(2 * np.log(2), rel=1e-6)


def test_what_does_not_fit_is_refused() -> None:
    kernel = Native(Network((4, 3, 2), (True, True)), np.dtype(np.float32))
    start, x = np.zeros(23, np.float32), np.zeros((5, 4), np.float32)

    def train(**other: Any) -> None:
        given: dict[str, Any] = {
            "store": Store(x), "index_S": np.arange(5), "offsets": np.array([0, 5]), "labels_S": np.zeros(5, int),
            "turns_N": np.zeros(1, int), "starts": [start], "keys": [1], "velocities": [None],
        }  # fmt: skip
        train_many(kernel, plan=Plan(), rule=Rule(0.1), **(given | other))

    train()
    bad: dict[str, dict[str, Any]] = {
        "a place outside": {"index_S": np.array([0, 1, 2, 3, 5])},
        "a label outside": {"labels_S": np.full(5, 2)},
        "the labels": {"labels_S": np.zeros(4, int)},
        "follow each other": {"offsets": np.array([0, 4])},
        "every client needs": {"keys": []},
        "samples of int64": {"store": Store(np.zeros((5, 4), int))},
        "do not fit": {"store": Store(np.zeros((5, 3), np.float32))},
        "the model": {"starts": [start[:22]]},
        "in one piece": {"store": Store(np.zeros((5, 8), np.float32)[:, ::2])},
    }
    for word, given in bad.items():
        with pytest.raises((BadInput, ValueError), match=word):
            train(**given)
    with pytest.raises(ValueError, match="a place outside"):
        log_probabilities_many(kernel, Store(x), [(start, np.array([5]), 0)])
    stages = (Stage(1, 2, 3, 0, True),)
    conv = Native(Network((2, 2), (True,), stages), np.dtype(np.float32))
    with pytest.raises(ValueError, match="cannot be turned"):
        log_probabilities_many(
            conv, Store(np.zeros((1, 1, 3, 4), np.float32)), [(np.zeros(26, np.float32), np.arange(1), 1)]
        )


INTERRUPTED = """
import ctypes, os, signal, time, numpy as np
from shoal.kernels import Native, Network, Plan, Rule, Store, calls, train_many
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
calls.LONG = 0
kernel = Native(Network((4, 3, 2), (True, True)), np.dtype(np.float32))
real, ended = kernel.train_cohort, []

def watched(call, *arguments):
    stop = ctypes.cast(call._obj.stop, ctypes.POINTER(ctypes.c_int32))
    os.kill(os.getpid(), signal.SIGINT)
    while not stop[0]:  # the one who waits has heard
        time.sleep(0.001)
    time.sleep(0.2)  # whoever does not wait for the end is gone by now
    code = real(call, *arguments)
    ended.append(1)
    return code

kernel.train_cohort = watched
store, start = Store(np.ones((5, 4), np.float32)), np.zeros(23, np.float32)
rest = ([start], [1], Plan(), Rule(0.1), [None])
try:
    train_many(kernel, store, np.arange(5), np.array([0, 5]), np.zeros(5, int), np.zeros(1, int), *rest)
    print("to the end")
except KeyboardInterrupt:
    print("interrupted after the call" if ended else "interrupted in the call")
"""


def test_a_long_call_can_be_interrupted() -> None:
    """The wait ends when the call has ended, and no sooner: it works on arrays that are gone afterwards."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "interrupted after the call"), done.stderr


def test_a_batch_beyond_all_samples_is_all_of_them() -> None:
    kernel = Native(Network((4, 3, 2), (True, True)), np.dtype(np.float32))
    rng = np.random.default_rng(1)
    store, start = Store(rng.normal(size=(10, 4)).astype(np.float32)), rng.normal(size=23).astype(np.float32)
    given = (np.arange(10), np.array([0, 4, 10]), np.arange(10) % 2, np.zeros(2, int), [start, start], [1, 2])
    updates = [
        train_many(kernel, store, *given, Plan(epochs=3, batch=batch), Rule(0.1), [None, None])[0]
        for batch in (6, 10**18, 2**63 - 1, 2**70)
    ]
    for other in updates[1:]:
        np.testing.assert_array_equal(updates[0], other)


def test_a_batch_may_have_a_sample_twice() -> None:
    """Batches that are given need not be drawn from the samples without putting back."""
    x, y, start = rng_inputs(3)
    kernel = Native(Network((4, 2), (True,)), np.dtype(np.float32))
    twice, cuts = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 6])
    once, alone = np.array([0, 1, 2]), np.array([0, 3])
    update, loss = kernel.train(start, x, y, twice, cuts, Rule(0.1), dual=False)
    same, half = kernel.train(start, x, y, once, alone, Rule(0.1), dual=False)
    np.testing.assert_allclose(update, same, rtol=1e-5, atol=1e-7)  # the mean of a batch twice is its mean
    assert loss == pytest.approx(2 * half, rel=1e-5)


def rng_inputs(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, 4)).astype(np.float32), rng.integers(0, 2, n), rng.normal(size=10).astype(np.float32)
