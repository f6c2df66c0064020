"""scikit-learn's handwritten digits: 1,797 images of 8x8, 10 classes; comes with scikit-learn, no download."""

from __future__ import annotations

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets.registry import dataset
from shoal.data.samples import Inputs


@dataset("digits", partition="permuted:groups=4:clients=20")
def digits() -> Dataset:
    """Small digits, scaled from 0..16 to [0, 1]; no given test part.

    >>> data = digits()
    >>> data.x.shape, data.classes
    ((1797, 1, 8, 8), 10)
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x = bunch.images.astype(np.uint8)[:, None]
    return Dataset(name="digits", x=x, y=bunch.target.astype(np.int64), classes=10, inputs=Inputs(0.0, 16.0))
