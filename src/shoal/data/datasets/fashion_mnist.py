"""Fashion-MNIST: 60,000 + 10,000 images of clothes, 28x28, 10 classes."""

from __future__ import annotations

from shoal.data.dataset import Dataset
from shoal.data.datasets.images import Scale, load
from shoal.data.datasets.registry import dataset

NAMES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


@dataset("fashion-mnist", partition="ditto")
def fashion_mnist(scale: Scale = "standard") -> Dataset:
    """Images of clothes; by default each pixel is standardised with the training images, as Ditto does.

    >>> fashion_mnist().first_test  # doctest: +SKIP
    60000
    """
    return load("fashion-mnist", scale, over="train", names=NAMES)
