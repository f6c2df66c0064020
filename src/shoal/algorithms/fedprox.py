"""FedProx: FedAvg with a proximal local objective. Li et al., MLSys 2020, Algorithm 2. https://arxiv.org/abs/1812.06127"""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.aggregators import Aggregator, weighted_mean
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.averaging import Averaging
from shoal.algorithms.registry import algorithm
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.types import Select, Solver, option


@algorithm("fedprox", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedProx(Averaging):
    """FedAvg whose clients minimise `F_i(w) + (mu/2) |w - w_t|^2`; mu = 0 is FedAvg bit for bit.

    >>> import shoal
    >>> run = shoal.run(shoal.FedProx(mu=0.1), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    mu: float = option(1.0, "strength of the proximal term", low=0)
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    @property
    def averaging(self) -> FedAvg:
        """FedAvg with the proximal term in its solver: all that FedProx is."""
        return FedAvg(select=self.select, solver=self.solver.plus(Proximal(self.mu)), aggregate=self.aggregate)
