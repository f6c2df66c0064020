"""The proximal term of FedProx. Li et al., MLSys 2020: `(mu / 2) |w - w_t|^2`."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from shoal.errors import BadInput
from shoal.net import Net
from shoal.solvers.sgd import Batch


@dataclass(frozen=True)
class Proximal:
    """Pulls local training towards the model received.

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

    def gradient(self, params: torch.Tensor, anchor: torch.Tensor) -> torch.Tensor:
        return (params - anchor) * self.mu
