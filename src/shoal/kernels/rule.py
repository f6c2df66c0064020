"""What a step of local training does, and which form of the first layer is less work for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.types import Array

LARGEST = 8192  # samples of a client whose products are formed at all


@dataclass(frozen=True)
class Discrepancy:
    """`lam MMD^2` between what the model received and the local one say of a batch: outputs, or features.

    The kernel is `sum_s exp(-|a - b|^2 / 2s)`, s the bandwidths.
    """

    lam: float
    features: bool
    bandwidths: tuple[float, ...]


@dataclass(frozen=True)
class Rule:
    """What a step does beside the gradient; `pull` draws towards the vector received."""

    lr: float
    momentum: float = 0.0
    decay_kernels: float = 0.0
    decay_biases: float = 0.0
    pull: float = 0.0
    discrepancy: Discrepancy | None = None

    @property
    def plain(self) -> bool:
        return not (self.momentum or self.decay_kernels or self.decay_biases or self.pull)


def dual_pays(n: Array, widths: tuple[int, ...], passes: Array, steps: Array, rule: Rule) -> Array:
    """Whether the dual form is less work for clients of n samples: multiplications with the first layer, in both forms.

    >>> dual_pays(np.array([60, 900]), (784, 10), np.array([1200, 18000]), np.array([120, 1800]), Rule(0.03))
    array([ True, False])
    """
    d, h, wide = widths[0], widths[1], -(-widths[1] // 16) * 16  # the span's rows are whole vectors
    moves = 0 if rule.plain else 2 * steps
    direct = 2 * passes * d * h + moves * d * h
    dual = passes * n * wide + 2 * n * d * h + n * n * d // 2 + moves * n * wide
    return np.asarray((n <= LARGEST) & (dual < direct))
