"""CIFAR-10: 50,000 + 10,000 colour images of 32x32, 10 classes. Krizhevsky 2009."""

from __future__ import annotations

from shoal.data.dataset import Dataset
from shoal.data.datasets.images import Scale, load
from shoal.data.datasets.registry import dataset

NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataset("cifar10", partition="cluster-dirichlet")
def cifar10(scale: Scale = "channel") -> Dataset:
    """Small colour images; by default each channel is standardised with the training images.

    >>> cifar10().x.shape  # doctest: +SKIP
    (60000, 3, 32, 32)
    """
    return load("cifar10", scale, over="train", names=NAMES)
