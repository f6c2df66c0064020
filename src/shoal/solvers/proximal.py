"""The proximal term of FedProx. Li et al., MLSys 2020: `(mu / 2) |w - w_t|^2`."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from shoal.errors import BadInput
from shoal.net import Net
from shoal.solvers.terms import Batch, LossTerm


@dataclass(frozen=True)
class Proximal(LossTerm):
    """Pulls local training towards the model received.

    Args:
        mu: Strength of the pull, at least 0.

    >>> Proximal(2.0).gradient(torch.tensor([3.0]), torch.tensor([1.0]))
    tensor([4.])
    """

    mu: float

    def __post_init__(self) -> None:
        if not self.mu >= 0:
            raise BadInput(f"mu must be at least 0, not {self.mu}")

    @property
    def pull(self) -> float:
        return self.mu

    def __call__(self, net: Net, params: torch.Tensor, anchor: torch.Tensor, batch: Batch) -> torch.Tensor:
        return 0.5 * self.mu * ((params - anchor) ** 2).sum()
