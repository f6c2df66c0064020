"""What local training is made of besides its loop: what a step sees, terms beside the loss, what is left at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

from shoal.kernels import Discrepancy
from shoal.net import Net
from shoal.tree import Tree
from shoal.types import Array

Sees = Literal["outputs", "features"]


class Batch(NamedTuple):
    """What a loss term sees of a step: inputs, labels, and what the module made of the inputs.

    Attributes:
        x: Inputs.
        y: Labels.
        scores: What the module says of the inputs, B x C.
        features: What stands in front of its head.

    >>> Batch(torch.zeros(2, 3), torch.tensor([0, 1]), torch.zeros(2, 4)).features is None
    True
    """

    x: Tree  # a tensor, or a dict or tuple of them
    y: torch.Tensor
    scores: torch.Tensor
    features: torch.Tensor | None = None  # only if a term asks for them by `sees = "features"`


class LossTerm(ABC):
    """An addition to the loss of a batch; `anchor` is the vector received. Coefficient zero must change nothing.

    >>> class Short(LossTerm):                      # keeps models short, whatever the batch
    ...     def __call__(self, net, params, anchor, batch):
    ...         return 0.01 * params.square().sum()
    >>> short = Short()
    >>> short(None, torch.tensor([10.0]), None, None), short.pull, short.sees
    (tensor(1.), None, 'outputs')
    """

    @abstractmethod
    def __call__(self, net: Net, params: torch.Tensor, anchor: torch.Tensor, batch: Batch) -> torch.Tensor:
        """The value of the term, differentiable in `params`: the trainable numbers."""

    @property
    def sees(self) -> Sees:
        """What the term looks at; for one that says `features`, `batch.features` is there."""
        return "outputs"

    @property
    def pull(self) -> float | None:
        """The factor of a term whose gradient is `pull * (params - anchor)`: other kernels than torch can take it."""
        return None

    @property
    def discrepancy(self) -> Discrepancy | None:
        """What a term is that holds a batch against the model received, and no more; as `pull`, for other kernels."""
        return None

    def gradient(self, params: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor | None:
        """The gradient in closed form, for a term that does not look at the batch; None: torch differentiates."""
        return None if self.pull is None else (params - anchor) * self.pull


@dataclass(frozen=True)
class Trained:
    """What local training leaves: the update, the mean loss over the samples seen, and what the client keeps.

    Attributes:
        update_P: Model after training less the model received.
        loss: Mean loss over the samples seen, without terms.
        velocity: Momentum to keep, or the state of another optimiser by name, if it is kept.

    >>> Trained(torch.ones(3).numpy(), loss=0.5).velocity is None
    True
    """

    update_P: Array
    loss: float
    velocity: Array | Mapping[str, Any] | None = None
