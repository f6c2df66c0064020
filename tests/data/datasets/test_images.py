"""The image data sets: shapes, scaling, what the files hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from shoal.data.dataset import pixel_statistics
from shoal.data.datasets import DATASETS, HINT, default_partition
from shoal.data.datasets.cifar10 import cifar10
from shoal.data.datasets.digits import digits
from shoal.data.datasets.femnist import femnist
from shoal.data.datasets.images import scaling
from shoal.data.datasets.mnist import mnist
from shoal.errors import BadInput, DataMissing


def test_every_name_has_a_loader_and_a_partition() -> None:
    assert all(callable(DATASETS[name]) for name in DATASETS)
    assert {name for name in DATASETS if default_partition(name) is None} == set(DATASETS.having("has_clients"))
    with pytest.raises(BadInput, match=r"did you mean 'mnist'.*folder:PATH"):
        DATASETS.find("mnits", HINT)


def test_digits_lie_between_zero_and_one() -> None:
    data = digits()
    x = data.inputs(data.x)
    assert x.dtype == np.float32
    assert (x.min(), x.max()) == (0.0, 1.0)
    assert np.bincount(data.y).sum() == 1797


def test_statistics_are_those_of_the_floats() -> None:
    x = np.random.default_rng(0).integers(0, 256, (9000, 2, 3, 3)).astype(np.uint8)
    mean, std = pixel_statistics(x)
    assert np.allclose(mean, x.astype(float).mean(0))
    assert np.allclose(std, x.astype(float).std(0))
    mean, std = pixel_statistics(x, (0, 2, 3))
    assert mean.shape == (2, 1, 1)
    assert np.allclose(std.ravel(), x.astype(float).std((0, 2, 3)))


@pytest.mark.parametrize("shape", [(3, 1, 300, 300), (70_000, 1, 1, 1), (2000, 1, 28, 28)])
@pytest.mark.parametrize("axes", [(0,), (0, 2, 3)])
def test_no_sum_of_the_brightest_pixels_runs_over(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    mean, std = pixel_statistics(np.full(shape, 255, np.uint8), axes)
    assert (mean == 255).all()
    assert (std == 0).all()


def test_statistics_of_wider_numbers() -> None:
    mean, std = pixel_statistics(np.array([[60_000], [0]], np.uint16))
    assert (mean.item(), std.item()) == (30_000, 30_000)


def test_scaling_by_hand() -> None:
    """Pixel values 0 and 4: mean 2, deviation 2; (4 - 2) / 2.001 by pixel, 1 by channel, 4 / 255 as a unit."""
    x = np.array([0, 4], np.uint8).reshape(2, 1, 1, 1)
    assert scaling(x, "standard")(x)[1].item() == pytest.approx(2 / 2.001)
    assert scaling(x, "channel")(x)[1].item() == pytest.approx(1.0)
    assert scaling(x, "unit")(x)[1].item() == pytest.approx(4 / 255)
    # 0 to 255 is -1 to 1
    assert scaling(x, "symmetric")(np.array([0, 255], np.uint8)).tolist() == [-1.0, 1.0]
    still = np.full((3, 1, 1, 1), 7, np.uint8)  # a pixel that never changes is 0, not infinite
    assert scaling(still, "standard")(still).ravel().tolist() == [0.0, 0.0, 0.0]


def test_a_file_with_other_arrays_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    wrong = np.zeros((2, 28), np.uint8)
    np.savez(tmp_path / "mnist.npz", x_train=wrong, y_train=[0, 1], x_test=wrong, y_test=[0, 1])
    with pytest.raises(DataMissing, match="does not hold what it should"):
        mnist()
    np.savez(tmp_path / "femnist.npz", x=wrong, y=[0, 1], client=[0, 1], client_names=["a", "b"])
    with pytest.raises(DataMissing, match="does not hold what it should"):
        femnist()


def test_letters_are_relabelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    x = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((1, 28, 28), np.uint8)
    np.savez(tmp_path / "femnist.npz", x=x, y=[36, 3, 45, 46], client=[0, 0, 1, 1], client_names=["a", "b"])
    data = femnist("letters")
    assert data.y.tolist() == [0, 9]
    assert data.x[:, 0, 0, 0].tolist() == [0, 2]
    assert data.name == "femnist:letters"


@pytest.mark.parametrize("which", ["all", "letters"])
def test_inverted_images_have_dark_paper(
    which: Literal["all", "letters"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes 0 (ink), 51 and 255 (paper) are 0, 0.2 and 1; inverted 1, 0.8 and 0."""
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    x = np.array([0, 51, 255], np.uint8)[:, None, None] * np.ones((1, 28, 28), np.uint8)
    np.savez(tmp_path / "femnist.npz", x=x, y=[36, 37, 38], client=[0, 0, 1], client_names=["a", "b"])
    seen, turned = (data.inputs(data.x)[:, 0, 0, 0].tolist() for data in (femnist(which), femnist(which, True)))
    assert seen == pytest.approx([0, 0.2, 1])
    assert turned == pytest.approx([1, 0.8, 0])


def test_mnist_is_standardised_by_pixel(real: Callable[[str], None]) -> None:
    real("mnist")
    data = mnist()
    assert data.x.shape == (70_000, 1, 28, 28)
    assert data.first_test == 60_000
    shift = np.asarray(data.inputs.shift)[0, 14, 14]
    assert shift == pytest.approx(data.x[:, 0, 14, 14].mean(), rel=1e-5)
    assert np.asarray(data.inputs.scale)[0, 14, 14] == pytest.approx(data.x[:, 0, 14, 14].std() + 0.001, rel=1e-5)


def test_cifar10_has_the_published_channels(real: Callable[[str], None]) -> None:
    real("cifar10")
    data = cifar10()
    assert data.x.shape == (60_000, 3, 32, 32)
    assert np.asarray(data.inputs.shift).ravel() / 255 == pytest.approx([0.49140, 0.48216, 0.44653], abs=1e-5)
    assert np.asarray(data.inputs.scale).ravel() / 255 == pytest.approx([0.24703, 0.24349, 0.26159], abs=1e-5)
