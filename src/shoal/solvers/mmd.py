"""The two-stream term of FedMMD. Yao et al., VCIP 2018: local features stay near those of the model received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from shoal.errors import BadInput
from shoal.kernels import Discrepancy
from shoal.net import Net
from shoal.solvers.terms import Batch, LossTerm, Sees

BANDWIDTHS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 5, 10, 15, 20, 25, 30, 35, 100, 1e3, 1e4, 1e5, 1e6)


def mmd(a_BD: torch.Tensor, b_BD: torch.Tensor, bandwidths: tuple[float, ...] = BANDWIDTHS) -> torch.Tensor:
    """The squared maximum mean discrepancy of two samples, the biased estimate, never below 0.

    `mean k(a, a') - 2 mean k(a, b) + mean k(b, b')` with `k = sum_s exp(-|a - b|^2 / (2 s))`.

    Args:
        a_BD: One sample of vectors.
        b_BD: The other.
        bandwidths: The values of s.

    Returns:
        A scalar, differentiable in both.

    >>> a = torch.tensor([[0.0], [1.0]])
    >>> float(mmd(a, a)), round(float(mmd(a, a + 1, (0.5,))), 4)        # (1 - e^-4) / 2
    (0.0, 0.4908)
    """
    return torch.clamp(
        _mean(a_BD, a_BD, bandwidths) - 2 * _mean(a_BD, b_BD, bandwidths) + _mean(b_BD, b_BD, bandwidths), min=0
    )


def _mean(a_BD: torch.Tensor, b_BD: torch.Tensor, bandwidths: tuple[float, ...]) -> torch.Tensor:
    """The mean of the kernel over all pairs."""
    squared_BB = (a_BD[:, None] - b_BD[None]).square().sum(-1)
    rates_S = rates(bandwidths, squared_BB.dtype, squared_BB.device)
    return (squared_BB[..., None] * rates_S).exp().sum(-1).mean()


@lru_cache(maxsize=8)
def rates(bandwidths: tuple[float, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """`-1 / (2 s)`, kept where it is needed: every step asks for it."""
    return -0.5 / torch.tensor(bandwidths, dtype=dtype, device=device)


@dataclass(frozen=True)
class MMD(LossTerm):
    """`lam MMD^2(f_global(x), f_local(x))` on every batch: f is the outputs of the network, or its features.

    The model received is frozen and in evaluation mode: no dropout, its own statistics.

    Args:
        lam: Weight lambda of the term, at least 0.
        sees: `outputs`, or `features`: what stands in front of the head.

    >>> MMD(0.1).sees
    'outputs'
    """

    lam: float
    sees: Sees = "outputs"

    def __post_init__(self) -> None:
        if not self.lam >= 0:
            raise BadInput(f"lam must be at least 0, not {self.lam}")

    @property
    def discrepancy(self) -> Discrepancy | None:
        return Discrepancy(self.lam, self.sees == "features", BANDWIDTHS) if type(self) is MMD else None

    def __call__(self, net: Net, params: torch.Tensor, anchor: torch.Tensor, batch: Batch) -> torch.Tensor:
        with torch.no_grad():
            scores, features = net.received().run(batch.x, self.sees == "features")
        mine, theirs = (batch.scores, scores) if features is None else (batch.features, features)
        assert mine is not None
        return self.lam * mmd(theirs.flatten(1), mine.flatten(1))
