"""What the image data sets with a given test part share: storage as (N, C, H, W) and the ways of scaling."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.data.dataset import Dataset, pixel_statistics
from shoal.data.find import SPLIT_ARRAYS, read
from shoal.data.samples import Inputs
from shoal.errors import DataMissing
from shoal.types import Array

Scale = Literal["standard", "unit", "channel", "symmetric"]
MARGIN = 0.001  # added to the standard deviation of each pixel, as in the original script


def scaling(x: Array, how: Scale) -> Inputs:
    """How stored bytes become inputs, given the images the statistics are taken over.

    `standard` standardises each pixel, `(x - mean) / (std + 0.001)` on the scale 0..255; `channel` takes mean and
    standard deviation of each channel; `unit` divides by 255, and `symmetric` goes on to lie between -1 and 1.

    >>> inputs = scaling(np.array([[[[0]]], [[[2]]]], np.uint8), "standard")
    >>> round(inputs(np.array([[[[2]]]])).item(), 3)
    0.999
    """
    if how == "unit":
        return Inputs(0.0, 255.0)
    if how == "symmetric":
        return Inputs(127.5, 127.5)
    axes = (0,) if how == "standard" else (0, 2, 3)
    mean, std = pixel_statistics(x, axes)
    return Inputs(mean.astype(np.float32), (std + (MARGIN if how == "standard" else 0.0)).astype(np.float32))


def load(name: str, how: Scale, over: Literal["all", "train"], names: tuple[str, ...] | None = None) -> Dataset:
    """A data set kept as x_train, y_train, x_test, y_test; statistics over all or over the training images."""
    arrays = read(name, SPLIT_ARRAYS)
    x = np.concatenate([arrays["x_train"], arrays["x_test"]])
    y = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
    first_test = len(arrays["y_train"])
    if len(x) != len(y) or x.ndim not in (3, 4) or x.dtype != np.uint8 or y.min(initial=0) < 0 or y.max(initial=0) > 9:
        raise DataMissing(f"the file of data set {name!r} does not hold what it should; run `shoal fetch {name}`.")
    x = x[:, None] if x.ndim == 3 else np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    inputs = scaling(x if over == "all" else x[:first_test], how)
    return Dataset(name=name, x=x, y=y, classes=10, inputs=inputs, first_test=first_test, class_names=names)
