"""scikit-learn's handwritten digits: 1,797 images of 8x8, 10 classes; comes with scikit-learn, no download."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets.registry import dataset
from shoal.data.samples import Inputs
from shoal.types import Array


@dataset("digits", partition="permuted:groups=4:clients=20")
def digits() -> Dataset:
    """Small digits, scaled from 0..16 to [0, 1]; no given test part.

    >>> data = digits()
    >>> data.x.shape, data.classes
    ((1797, 1, 8, 8), 10)
    """
    rows = read_rows()
    x = rows[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8)
    return Dataset(name="digits", x=x, y=rows[:, -1].astype(np.int64), classes=10, inputs=Inputs(0.0, 16.0))


def read_rows() -> Array:
    """The file of scikit-learn as numbers, 64 pixels and the label in a row.

    Read where it lies, as importing scikit-learn takes longer than many a run; by its own function where it lies
    somewhere else.
    """
    found = find_spec("sklearn")
    for folder in (found.submodule_search_locations or ()) if found else ():
        file = Path(folder) / "datasets" / "data" / "digits.csv.gz"
        if file.is_file():
            return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return np.column_stack([bunch.data, bunch.target])
