from __future__ import annotations

import numpy as np
import pytest

from shoal.kernels import Native, Network, Plan, Rule, Store, native, train_many
from shoal.kernels import rooms as module
from shoal.types import Array

pytestmark = pytest.mark.skipif(native() is None, reason="there is no native kernel")
NETWORK = Network((20, 6, 3), (True, True))


def trained(kernel: Native, n: int, sizes: Array | None, threads: int = 2, rule: Rule | None = None) -> Array:
    """Updates of two clients of n samples each."""
    rng = np.random.default_rng(n)
    store, labels = Store(rng.normal(size=(2 * n, 20)).astype(np.float32)), rng.integers(0, 3, 2 * n)
    start_P = rng.normal(size=NETWORK.size).astype(np.float32)
    got = train_many(
        kernel, store, np.arange(2 * n), np.array([0, n, 2 * n]), labels, np.zeros(2, int), [start_P, start_P], [1, 2],
        Plan(epochs=2, batch=4), rule or Rule(0.1, momentum=0.5), [None, None], threads, sizes=sizes,
    )  # fmt: skip
    return got[0]


def test_room_for_the_largest_is_there_from_the_first_call_on_and_changes_no_bit() -> None:
    roomy, plain = (Native(NETWORK, np.dtype(np.float32)) for _ in range(2))
    sizes = np.array([5, 300])
    first = trained(roomy, 5, sizes)
    held = roomy.rooms.held
    assert len(held) > 2 * 300 * 20 * 4  # both threads have room for its samples
    second = trained(roomy, 300, sizes)
    assert roomy.rooms.held is held
    assert np.array_equal(first, trained(plain, 5, None))
    assert np.array_equal(second, trained(plain, 300, None))
    assert len(plain.rooms.held) == 0


def test_who_is_larger_than_was_said_takes_more() -> None:
    roomy, plain = (Native(NETWORK, np.dtype(np.float32)) for _ in range(2))
    assert np.array_equal(trained(roomy, 400, np.array([5])), trained(plain, 400, None))


def test_more_threads_and_other_rules_need_more() -> None:
    kernel, sizes = Native(NETWORK, np.dtype(np.float32)), np.array([50])
    trained(kernel, 5, sizes, threads=1)
    one = len(kernel.rooms.held)
    trained(kernel, 5, sizes, threads=32)
    assert len(kernel.rooms.held) - 64 == 2 * (one - 64)  # two clients are never at work in more than two


def test_what_is_very_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 1000)
    kernel = Native(NETWORK, np.dtype(np.float32))
    trained(kernel, 50, np.array([50]))
    assert len(kernel.rooms.held) == 0


def test_a_second_call_at_the_same_time_takes_its_own() -> None:
    kernel = Native(NETWORK, np.dtype(np.float32))
    with kernel.rooms._lock:
        trained(kernel, 5, np.array([50]))
    assert len(kernel.rooms.held) == 0
    trained(kernel, 5, np.array([50]))
    assert len(kernel.rooms.held) > 0
