"""MNIST: 60,000 + 10,000 handwritten digits of 28x28, 10 classes."""

from __future__ import annotations

from shoal.data.dataset import Dataset
from shoal.data.datasets.images import Scale, load
from shoal.data.datasets.registry import dataset


@dataset("mnist", partition="power-law")
def mnist(scale: Scale = "standard") -> Dataset:
    """Handwritten digits; by default each pixel is standardised over all 70,000 images, as FedProx does.

    >>> mnist("unit").x.shape  # doctest: +SKIP
    (70000, 1, 28, 28)
    """
    return load("mnist", scale, over="all")
