"""Data sets, one a file. Each loader declares its name; `DATASETS` is what everything else reads."""

from shoal.data.datasets import cifar10, digits, fashion_mnist, femnist, mnist, own, sent140, synthetic  # noqa: F401
from shoal.data.datasets.registry import DATASETS, HINT, dataset, default_partition

__all__ = ["DATASETS", "HINT", "dataset", "default_partition"]
