"""WeCFL: weighted clustered federated learning. Ma et al. 2022, "On the Convergence of Clustered Federated Learning",
Algorithm 1. https://arxiv.org/abs/2202.06187"""

from __future__ import annotations

from dataclasses import dataclass

from shoal.algorithms.fesem import IMPORTANCE, FeSEM
from shoal.algorithms.parts.em_steps import Weights
from shoal.algorithms.registry import algorithm
from shoal.selection import All
from shoal.types import Select, option


@algorithm("wecfl", finds_groups=True, takes_number=True, finds_number=True)
@dataclass(frozen=True, kw_only=True)
class WeCFL(FeSEM):
    """FeSEM's alternation with importance weights lambda_i = |D_i|, on the fully connected layers, to convergence.

    Nothing but defaults differs; with `weights=uniform` it is FeSEM.

    >>> import shoal
    >>> run = shoal.run(shoal.WeCFL(groups=4), "digits", rounds=1, engine="serial")
    >>> run.history[-1]["groups"]
    4
    """

    cluster_params: str = option("fc", "what the distance sees: all, fc, last, or the name of a tensor")
    weights: Weights = option("samples", IMPORTANCE, alias="weighting")
    em_steps: int = option(0, "E and M steps a round; 0: until nothing changes", low=0)
    select: Select = All()
