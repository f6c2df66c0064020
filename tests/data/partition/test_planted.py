"""Permuted labels, rotated images, writers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.data.build import build
from shoal.data.dataset import Dataset
from shoal.data.datasets.cifar10 import cifar10
from shoal.data.datasets.digits import digits
from shoal.data.datasets.femnist import femnist
from shoal.data.federation import Federation
from shoal.data.partition import Classes, Dirichlet, Permuted, Rotated, Writers
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
    with pytest.raises(BadInput, match="at most 4 groups with this angle, not 5"):
        Rotated(groups=5)
    with pytest.raises(BadInput, match="180 degrees apart come round after 2"):
        Rotated(groups=3, angle=180)
    with pytest.raises(BadInput, match="square images"):
        Rotated(groups=2, clients=2)(Dataset(name="flat", x=np.zeros((60, 4)), y=tiny.y, classes=3), Key(1))


def test_any_angle_turns_counterclockwise_about_the_middle() -> None:
    """A row of light through the middle of 5 x 5, turned by 45 degrees, is the diagonal from bottom left to top right.

    The middle stays 1. Its neighbours at (1, 3) and (3, 1) come from sqrt(2) = 1.414 pixels along the row: 1. The pixel
    right of the middle, (2, 3), comes from (2 + sin 45, 2 + cos 45): 0.707 below the row, so 1 - 0.707.
    """
    x = np.zeros((1, 1, 5, 5), np.float32)
    x[0, 0, 2] = 1.0
    turned = View(turns=0.5).rotate(x)[0, 0]
    assert turned[2, 2] == turned[1, 3] == turned[3, 1] == pytest.approx(1.0)
    assert turned[2, 3] == pytest.approx(1 - np.sqrt(0.5), abs=1e-6)
    assert turned[0, 0] == turned[1, 1] == pytest.approx(0.0, abs=1e-6)
    assert turned.dtype == np.float32
    square = np.random.default_rng(0).random((3, 2, 6, 6))
    np.testing.assert_allclose(View(turns=1 + 1e-9).rotate(square), np.rot90(square, 1, axes=(2, 3)), atol=1e-6)
    assert np.array_equal(View(turns=1.0).rotate(square), np.rot90(square, 1, axes=(2, 3)))


@pytest.mark.parametrize("kind", [Permuted, Rotated])
def test_labels_may_be_skewed_inside_planted_groups(kind: type[Permuted | Rotated]) -> None:
    data = digits()
    even, few, drawn = (
        kind(groups=2, clients=10, **skew)(data, Key(3)) for skew in ({}, {"classes": 2}, {"dirichlet": 0.1})
    )
    for fed in (even, few, drawn):
        assert fed.truth is not None and fed.view is not None
        assert fed.truth.tolist() == fed.view.tolist() == [0] * 5 + [1] * 5
        assert fed.views == even.views  # skew does not change how groups see
    assert {len(np.unique(few.y[few.indices(c, "train")])) for c in few.ids} == {2}
    # The skew is the partition's of that name, sample by sample, those for testing included.
    for fed, alone in ((few, Classes(per_client=2, clients=10)), (drawn, Dirichlet(alpha=0.1, clients=10))):
        other = alone(data, Key(3))
        for split in ("train", "test"):
            assert all(np.array_equal(fed.indices(c, split), other.indices(c, split)) for c in fed.ids)
    with pytest.raises(BadInput, match="give one of them"):
        kind(dirichlet=0.1, classes=2)
    with pytest.raises(BadInput, match="alpha"):
        kind(dirichlet=0.0)


def test_some_of_the_samples_and_the_whole_test_part() -> None:
    x = np.arange(60)[:, None, None, None]
    for first_test in (None, 50):
        data = Dataset(name="some", x=x, y=np.arange(60) % 3, classes=3, first_test=first_test)
        fed = Permuted(groups=2, clients=4, samples=20)(data, Key(1))
        train = np.concatenate([fed.x[fed.indices(c, "train")].ravel() for c in fed.ids])
        tests = [fed.x[fed.indices(c, "test")].ravel().tolist() for c in fed.ids]
        assert len(set(train.tolist())) == len(train) == (20 if first_test else 18)  # a tenth is set aside
        assert all(t == tests[0] for t in tests)
        assert len(tests[0]) == (10 if first_test else 2)
        assert not first_test or (sorted(tests[0]) == list(range(50, 60)) and train.max() < 50)
        others = Permuted(groups=2, clients=4, samples=20)(data, Key(2))
        assert set(train.tolist()) != set(others.x[others.train.index].ravel().tolist())
        with pytest.raises(BadInput, match="61 are wanted; lower samples"):
            Permuted(groups=2, clients=4, samples=61)(data, Key(1))


@pytest.mark.slow
def test_the_clients_of_cfl_s_notebook(real: Callable[[str], None]) -> None:
    """10,000 images of FEMNIST, Dirichlet(1.0) over 10 clients, five of them turned by 180 degrees."""
    real("femnist")
    fed = build("femnist", "rotated:2:angle=180:clients=10:dirichlet=1.0:samples=10000", Key(1))
    assert isinstance(fed, Federation)
    assert [view.turns for view in fed.views] == [0, 2]
    assert fed.truth is not None and fed.truth.tolist() == [0] * 5 + [1] * 5
    assert len(fed.x) == int((fed.train.sizes + fed.test.sizes).sum()) == 10_000
    rows = fed.indices("7", "train")
    assert np.array_equal(fed.client("7")("train")[0], fed.inputs(fed.x[rows])[:, :, ::-1, ::-1])


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
