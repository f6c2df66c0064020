"""Power law, letters and Ditto, with given draws and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from shoal.data.datasets.fashion_mnist import fashion_mnist
from shoal.data.datasets.femnist import femnist
from shoal.data.datasets.mnist import mnist
from shoal.data.partition import Ditto, Letters, PowerLaw
from shoal.data.partition.ditto import ditto
from shoal.data.partition.letters import letters
from shoal.data.partition.power_law import power_law
from shoal.errors import BadInput
from shoal.seeds import Key


def given(*draws: Any) -> np.random.Generator:
    """A generator whose log-normal draws are the given ones."""

    class Given:
        def __init__(self) -> None:
            self.left = [np.array(d, float) for d in draws]

        def lognormal(self, mean: float, sigma: float, size: Any) -> Any:
            draw = self.left.pop(0)
            assert draw.shape == (size if isinstance(size, tuple) else (size,))
            return draw

    return cast(np.random.Generator, Given())


def test_power_law_by_hand() -> None:
    """Two classes of 30, rows 0-29 and 30-59; two users with both classes: user 0 has (0, 1), user 1 has (1, 0).

    (a) Each takes 5 of each class, so that 20 of each are left and both pointers stand at 10.
    (b) z[0] = (1, 3), z[1] = (1, 1). User 0, j = 0: class 0, int(20 * 1/4) = 5, pointer 10 + 5 < 30: taken. User 0,
    j = 1: class 1, int(20 * 1/2) = 10, 20 < 30: taken. User 1, j = 0: class 1, 10 more end at 30, not strictly below:
    none. User 1, j = 1: class 0, int(20 * 3/4) = 15 more end at 30: none.
    """
    y = np.repeat([0, 1], 30)
    parts = power_law(y, 2, 2, 2, given([[[1, 3]], [[1, 1]]]))
    assert sorted(parts[0].tolist()) == [*range(0, 5), *range(10, 15), *range(30, 35), *range(40, 50)]
    assert sorted(parts[1].tolist()) == [*range(5, 10), *range(35, 40)]


@pytest.mark.parametrize(("classes", "base"), [(1, 10), (2, 5), (3, 3), (5, 2), (10, 1)])
def test_power_law_has_a_base_for_every_number_of_classes(classes: int, base: int) -> None:
    """With all the rest on user 0's first class everybody else has the base: max(1, 10 // c) of each class."""
    y = np.repeat(np.arange(10), 100)
    z = np.full((10, 2, classes), 1e-12)
    z[0, 0, 0] = 1.0
    parts = power_law(y, 10, 20, classes, given(z))
    for u in range(1, 20):
        counts = np.bincount(y[parts[u]], minlength=10)
        own = sorted((u + j) % 10 for j in range(classes))
        assert np.flatnonzero(counts).tolist() == own
        assert counts[[c for c in own if c not in (0,)]].max(initial=base) >= base
        assert len(parts[u]) >= base * classes


def test_power_law_says_how_many_clients_fit() -> None:
    with pytest.raises(BadInput, match="needs 100 samples of class 0, there are 50; use at most 10 clients"):
        power_law(np.repeat([0, 1], 50), 2, 20, 2, np.random.default_rng(0))


def test_mnist_power_law_is_near_the_papers(real: Callable[[str], None]) -> None:
    """The papers' draw has 69,035 samples, 69 +- 106 per client.

    The total hardly depends on the draw; the spread does: 400 draws of the law have 119 to 267, 164 in the middle.
    """
    real("mnist")
    data = mnist()
    for seed in range(3):
        fed = PowerLaw()(data, Key(seed))
        sizes = fed.train.sizes + fed.test.sizes
        assert abs(int(sizes.sum()) - 69_035) < 100
        assert round(float(sizes.mean())) == 69
        assert 100 < sizes.std() < 300
        assert sizes.min() >= 10
        assert {len(np.unique(fed.client(i)("train")[1])) for i in fed.ids[:50]} <= {1, 2}
        assert np.array_equal(fed.train.sizes, 9 * sizes // 10)


def test_sigma_spreads_the_sizes() -> None:
    """On class sizes of MNIST sigma = 1.55 gives the papers' 69 +- 106, and sigma = 2 never does.

    60 draws have 89 to 138, 107 in the middle, with 1.55, and 130 to 226 with 2.
    """
    y = np.repeat(np.arange(10), [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958])

    def spreads(sigma: float) -> list[float]:
        draws = [power_law(y, 10, 1000, 2, np.random.default_rng(k), sigma) for k in range(15)]
        return [float(np.std([len(part) for part in parts])) for parts in draws]

    assert abs(np.median(spreads(1.55)) - 106) < 8
    assert min(spreads(2.0)) > 120


def test_without_sigma_everybody_is_as_large() -> None:
    # LogNormal(0, 0) is 1: 20 users of one of two classes of 400 have 10 samples each; 300 of a class are left, 30 for
    # each, but those of the last one of a class would end at its end: none.
    parts = power_law(np.repeat([0, 1], 400), 2, 20, 1, np.random.default_rng(0), sigma=0.0)
    assert [len(p) for p in parts] == [40] * 18 + [10] * 2
    with pytest.raises(BadInput, match="sigma must be at least 0"):
        PowerLaw(sigma=-1.0)


def test_letters_by_hand() -> None:
    """Two classes of 10 samples, rows 0-9 and 10-19, one class per user, sizes 4, 6, 7 and 1 after adding 5.

    Draws are sizes less 5. User 0 (class 0) takes 4: rows 0-3; user 1 (class 1) 6: rows 10-15; user 2 (class 0) wants
    7, of which 6 are left: starts again with rows 0-6; user 3 (class 1) gets at least 2: rows 16-17.
    """
    y = np.repeat([0, 1], 10)
    parts = letters(y, 2, 4, 1, False, given([-1, 1, 2, -4]))
    assert [p.tolist() for p in parts] == [[0, 1, 2, 3], [*range(10, 16)], [*range(7)], [16, 17]]


def test_letters_with_overlap_start_anew_while_there_is_room() -> None:
    """The inverted comparison: user 0 takes rows 0-3; user 2 has room for 3 more (4 + 3 < 10), so it starts at 0."""
    y = np.repeat([0, 1], 10)
    parts = letters(y, 2, 3, 1, True, given([-1, 1, -2]))
    assert [p.tolist() for p in parts] == [[0, 1, 2, 3], [*range(10, 16)], [0, 1, 2]]


def test_letters_of_femnist_are_near_the_papers(real: Callable[[str], None]) -> None:
    """18,345 samples in the papers; the law: 200 (e^4.5 + 5) = 19,003 expected."""
    real("femnist")
    data = femnist("letters")
    assert data.classes == 10
    assert np.bincount(data.y).max() <= 4000
    fed = Letters()(data, Key(1))
    sizes = fed.train.sizes + fed.test.sizes
    assert 14_000 < sizes.sum() < 25_000
    used = np.concatenate([fed.train.index, fed.test.index])
    assert len(np.unique(used)) == len(used)
    shared = Letters(overlap=True)(data, Key(1))
    assert len(np.unique(shared.train.index)) < len(shared.train.index) / 2


def test_ditto_by_hand() -> None:
    """Two classes, 12 training samples (rows in turn), 4 test samples: ratio 3. Two users with one class each.

    Sizes (10 + 10, 30 + 10) = (20, 40) rescaled to sum 12: 4 and 8. User 0, class 0: int(4) + 1 = 5 of its 6 training
    samples, int(4/3) + 1 = 2 test. User 1, class 1: int(8) + 1 = 9, of which there are 6; int(8/3) + 1 = 3 of 2 test.
    """
    train_y, test_y = np.arange(12) % 2, np.arange(4) % 2
    train, test = ditto(train_y, test_y, 2, 2, 1, given([10, 30], [[1], [1]]))
    assert train[0].tolist() == [0, 2, 4, 6, 8]
    assert test[0].tolist() == [0, 2]
    assert train[1].tolist() == [1, 3, 5, 7, 9, 11]
    assert test[1].tolist() == [1, 3]


def test_ditto_of_fashion_is_near_the_papers(real: Callable[[str], None]) -> None:
    """72,505 samples in the paper: 60,000 + 10,000 and 2,500 roundings of + 0.5 on average, twice."""
    real("fashion-mnist")
    fed = Ditto()(fashion_mnist(), Key(1))
    assert abs(int(fed.train.sizes.sum() + fed.test.sizes.sum()) - 72_505) < 150
    assert fed.test.sizes.min() >= 5
    assert fed.train.index.max() < 60_000 <= fed.test.index.min()
