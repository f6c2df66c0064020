"""What the tests of the data layer share: real data where it is on the machine, tiny data sets elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shoal.data.dataset import Dataset
from shoal.data.find import find
from shoal.errors import DataMissing


@pytest.fixture
def real() -> Callable[[str], None]:
    """Skips the test if a data set is not on this machine."""

    def need(name: str) -> None:
        try:
            find(name)
        except DataMissing as reason:
            pytest.skip(str(reason))

    return need


@pytest.fixture
def tiny() -> Dataset:
    """60 samples, 3 classes in turn; sample i holds the number i; the last 12 are a given test part."""
    y = np.arange(60) % 3
    return Dataset(name="tiny", x=np.arange(60)[:, None, None, None], y=y, classes=3, first_test=48)
