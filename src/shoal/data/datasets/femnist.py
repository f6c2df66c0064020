"""FEMNIST (LEAF): 28x28 characters of 3,597 writers, 62 classes; or the lower-case letters a-j alone."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase, digits
from typing import Literal

import numpy as np

from shoal.data.dataset import Dataset
from shoal.data.datasets.registry import dataset
from shoal.data.find import FEMNIST_ARRAYS, read
from shoal.data.samples import Inputs
from shoal.errors import DataMissing

LETTER_A = 36  # labels: 0-9 digits, 10-35 A-Z, 36-61 a-z
IMAGES_PER_LETTER = 4000  # images of each letter that FedProx keeps


@dataset("femnist", partition="writers", letters="letters")
def femnist(which: Literal["all", "letters"] = "all", inverted: bool = False) -> Dataset:
    """Handwritten characters as LEAF has them, paper 1 and ink 0 (`x / 255`); no given test part.

    `femnist` has 62 classes; `femnist:letters` keeps the lower-case letters a-j as classes 0-9, at most the first
    4,000 images of each, which is what FedProx's script resamples. `femnist:inverted=true` has paper 0 and ink 1
    (`1 - x / 255`), as the same characters are in EMNIST.

    >>> femnist("letters").classes  # doctest: +SKIP
    10
    """
    arrays = read("femnist", FEMNIST_ARRAYS)
    x, y = arrays["x"], arrays["y"].astype(np.int64)
    if x.ndim != 3 or x.dtype != np.uint8 or not len(x) == len(y) == len(arrays["client"]):
        raise DataMissing("the file of data set 'femnist' does not hold what it should; run `shoal fetch femnist`.")
    data = Dataset(
        name="femnist",
        x=x[:, None],
        y=y,
        classes=62,
        inputs=Inputs(255.0, -255.0) if inverted else Inputs(0.0, 255.0),
        writer=arrays["client"].astype(np.int64),
        writer_names=tuple(map(str, arrays["client_names"])),
        class_names=tuple(digits + ascii_uppercase + ascii_lowercase),
    )
    if which == "all":
        return data
    rows = [np.flatnonzero(y == LETTER_A + k)[:IMAGES_PER_LETTER] for k in range(10)]
    kept = data.take(np.sort(np.concatenate(rows)))
    return Dataset(
        name="femnist:letters",
        x=kept.x,
        y=kept.y - LETTER_A,
        classes=10,
        inputs=kept.inputs,
        writer=kept.writer,
        writer_names=kept.writer_names,
        class_names=tuple(ascii_lowercase[:10]),
    )
