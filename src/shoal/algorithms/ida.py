"""IDA: inverse distance aggregation. Yeganeh et al., DART 2020. https://arxiv.org/abs/2008.07665"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.aggregators import InverseDistance
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.averaging import Averaging
from shoal.algorithms.registry import algorithm
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.types import Select, Solver, option


@algorithm("ida", single_model=True)
@dataclass(frozen=True, kw_only=True)
class IDA(Averaging):
    """FedAvg in which models far from the mean count less.

    >>> import shoal
    >>> run = shoal.run(shoal.IDA(order=1), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    order: Literal[1, 2] = option(2, "the norm of the distance: 1 or 2")
    eps: float = option(1e-10, "added to every distance")
    weighting: Literal["uniform", "samples"] = option("uniform", "multiply the shares by sample counts?")
    select: Select = Random()
    solver: Solver = SGD()

    @property
    def averaging(self) -> FedAvg:
        by: Literal["samples", "clients"] = "samples" if self.weighting == "samples" else "clients"
        return FedAvg(select=self.select, solver=self.solver, aggregate=InverseDistance(self.order, self.eps, by))
