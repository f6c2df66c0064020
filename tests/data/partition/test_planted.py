"""Permuted labels, rotated images, writers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.data.dataset import Dataset
from shoal.data.datasets.cifar10 import cifar10
from shoal.data.datasets.digits import digits
from shoal.data.datasets.femnist import femnist
from shoal.data.partition import Permuted, Rotated, Writers
from shoal.data.partition.planted import permutations
from shoal.data.samples import View
from shoal.errors import BadInput
from shoal.seeds import Key


def test_permuted_digits_by_default() -> None:
    """1797 samples: 179 set aside for testing, 1618 over 20 clients: 80 or 81 each."""
    fed = Permuted()(digits(), Key(1))
    assert fed.truth is not None
    assert fed.truth.tolist() == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
    assert set(fed.train.sizes.tolist()) == {80, 81}
    assert set(fed.test.sizes.tolist()) == {179}
    assert len({view.labels for view in fed.views}) == 4
    for client in (fed.ids[0], fed.ids[19]):
        labels = fed.view_of(client).labels
        assert labels is not None
        assert sorted(labels) == list(range(10))
        raw = fed.y[fed.indices(client, "train")]
        assert fed.client(client)("train")[1].tolist() == [labels[c] for c in raw]


def test_permuted_cifar_is_the_papers(real: Callable[[str], None]) -> None:
    real("cifar10")
    fed = Permuted()(cifar10(), Key(1))
    assert set(fed.train.sizes.tolist()) == {2500}
    assert set(fed.test.sizes.tolist()) == {10_000}
    assert fed.shape == (3, 32, 32)


def test_there_are_only_so_many_permutations() -> None:
    assert len(set(permutations(3, 6, np.random.default_rng(0)))) == 6
    assert len(set(permutations(10, 50, np.random.default_rng(0)))) == 50
    with pytest.raises(BadInput, match="2 classes have 2 permutations"):
        permutations(2, 3, np.random.default_rng(0))


def test_rotated_turns_the_images(tiny: Dataset) -> None:
    x = np.arange(60 * 4).reshape(60, 1, 2, 2)
    data = Dataset(name="squares", x=x, y=tiny.y, classes=3, first_test=48)
    fed = Rotated(groups=4, clients=4)(data, Key(1))
    assert fed.views == tuple(View(turns=t) for t in range(4))
    for turns, client in enumerate(fed.ids):
        rows = fed.indices(client, "train")
        assert np.array_equal(fed.client(client)("train")[0], np.rot90(x[rows], turns, axes=(2, 3)))
    with pytest.raises(BadInput, match="at most 4 groups"):
        Rotated(groups=5)
    with pytest.raises(BadInput, match="square images"):
        Rotated(groups=2, clients=2)(Dataset(name="flat", x=np.zeros((60, 4)), y=tiny.y, classes=3), Key(1))


def test_writers_keep_their_names_and_samples() -> None:
    """Writer 0 has 4 samples, writer 1 has 2, writer 2 has 4; with least = 3 the second is left out."""
    writer = np.array([0, 0, 1, 0, 2, 2, 1, 2, 2, 0])
    data = Dataset(
        name="w", x=np.arange(10)[:, None], y=np.zeros(10, int), classes=1, writer=writer, writer_names=("z", "b", "a")
    )
    fed = Writers(clients="all", least=3)(data, Key(1))
    assert fed.ids == ("a", "z")
    own = [sorted(np.concatenate([fed.client(i)(s)[0].ravel() for s in ("train", "test")]).tolist()) for i in fed.ids]
    assert own == [[4, 5, 7, 8], [0, 1, 3, 9]]
    with pytest.raises(BadInput, match="has 2 writers with at least 3 samples, 3 are wanted"):
        Writers(clients=3, least=3)(data, Key(1))
    with pytest.raises(BadInput, match="does not say who wrote what"):
        Writers()(digits(), Key(1))


@pytest.mark.slow
def test_femnist_writers(real: Callable[[str], None]) -> None:
    real("femnist")
    data = femnist()
    assert len(data.writer_names) == 3597
    fed = Writers()(data, Key(1))
    assert len(fed.ids) == 368
    sizes = fed.train.sizes + fed.test.sizes
    assert sizes.min() >= 100
    assert 200 < sizes.mean() < 250
    assert len(fed.x) == sizes.sum()
