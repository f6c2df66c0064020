"""What can be done to updates before they are aggregated. They compose: `weighted_mean().after(Clip(1.0), ...)`.

They act on trainable numbers. Noise here is noise, no promise of privacy: no budget is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.aggregators.registry import transform
from shoal.aggregators.rules import Transform
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.types import Array


@transform("clip")
@dataclass(frozen=True)
class Clip(Transform):
    """Shortens an update that is longer than a bound; a shorter one stays as it is, bit for bit.

    Args:
        norm: The bound of the Euclidean norm, above 0.

    >>> Clip(5.0)(np.array([6.0, 8.0]), Key(0)).tolist()        # norm 10, halved
    [3.0, 4.0]
    """

    norm: float

    def __post_init__(self) -> None:
        if not 0 < self.norm < np.inf:
            raise BadInput(f"updates are clipped to a norm above 0, not {self.norm}")

    def __call__(self, update_P: Array, key: Key) -> Array:
        length = float(np.sqrt(np.square(update_P, dtype=np.float64).sum()))
        return update_P if length <= self.norm else update_P.astype(np.float64) * (self.norm / length)


@transform("gaussian-noise")
@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Adds noise of the law N(0, sigma^2) to every number, another one for every client and round.

    Args:
        sigma: Standard deviation, at least 0.

    >>> GaussianNoise(0.0)(np.array([6.0, 8.0]), Key(0)).tolist()
    [6.0, 8.0]
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < np.inf:
            raise BadInput(f"noise has a standard deviation from 0 up, not {self.sigma}")

    def __call__(self, update_P: Array, key: Key) -> Array:
        return update_P.astype(np.float64) + self.sigma * key.rng().standard_normal(len(update_P))


@transform("random-mask")
@dataclass(frozen=True)
class RandomMask(Transform):
    """Keeps some numbers at random and makes up for the others: the expected update is the same.

    Args:
        keep: Probability with which a number is kept, above 0 and at most 1; it is divided by it.

    >>> sorted(set(RandomMask(0.5)(np.ones(100), Key(0)).tolist()))
    [0.0, 2.0]
    """

    keep: float

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise BadInput(f"a mask keeps a share above 0 and at most 1, not {self.keep}")

    def __call__(self, update_P: Array, key: Key) -> Array:
        kept_P = key.rng().random(len(update_P)) < self.keep
        return np.where(kept_P, update_P.astype(np.float64) / self.keep, 0.0)
