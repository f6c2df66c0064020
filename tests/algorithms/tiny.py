"""A model of two numbers on clients of one or a few samples: what methods do with them is worked out by hand.

Scores are (w0 x, w1 x), no bias, and begin equal, so that the first step sees p = (1/2, 1/2): on one batch of samples x
of class 0 it moves w by lr x (1/2, -1/2), of class 1 by lr x (-1/2, 1/2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from shoal.backends import Backend, Serial
from shoal.data.federation import Federation
from shoal.engine import Engine
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.selection import Random
from shoal.types import Array

START = (1.0, 1.0)


def line() -> nn.Module:
    """Two classes, one input, no bias."""
    layer = nn.Linear(1, 2, bias=False)
    nn.init.ones_(layer.weight)
    return layer


def clients_of(samples: Mapping[str, tuple[float, int, int]]) -> Federation:
    """Clients that have one sample (x, class) so many times over, for training and testing."""
    arrays = {}
    for name, (x, label, count) in samples.items():
        x_B, y_B = np.full((count, 1), x, np.float32), np.full(count, label)
        arrays[name] = (x_B, y_B, x_B[:1], y_B[:1])
    return Federation.from_arrays(arrays, classes=2)


def engine_of(federation: Federation, backend: Backend | None = None, **front: Any) -> Engine:
    engine = Engine(backend or Serial(), Layout.of(line, federation.sample(), "float64"), **front)
    engine.set_federation(federation)
    return engine


def seed_that_selects(federation: Federation, want: tuple[str, ...], purpose: str, round: int = 0) -> int:
    """A seed under which a random draw of so many clients gives exactly these."""
    drawn = (s for s in range(1000) if Random(len(want))(federation.roster, Key(s).at(round)(purpose)) == want)
    return next(drawn)


def close(got: Array, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
