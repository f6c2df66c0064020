"""FedMMD: two-stream federated learning. Yao et al., VCIP 2018. https://arxiv.org/abs/1908.05891"""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.aggregators import Aggregator, weighted_mean
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.averaging import Averaging
from shoal.algorithms.registry import algorithm
from shoal.layout import ModelFactory
from shoal.selection import Random
from shoal.solvers import MMD, SGD, Sees, with_features
from shoal.tree import Tree
from shoal.types import Select, Solver, option


@algorithm("fedmmd", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedMMD(Averaging):
    """FedAvg whose clients keep what their model says near what the model they received says; lam = 0 is FedAvg.

    >>> import shoal
    >>> run = shoal.run(shoal.FedMMD(lam=0.01), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    lam: float = option(0.1, "weight lambda of the discrepancy between the two streams", low=0)
    sees: Sees = option("outputs", "what is compared: outputs, or the features in front of the head")
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    @property
    def averaging(self) -> FedAvg:
        solver = self.solver.plus(MMD(self.lam, self.sees)) if self.lam else self.solver
        return FedAvg(select=self.select, solver=solver, aggregate=self.aggregate)

    def wrap(self, model: ModelFactory, sample: Tree) -> ModelFactory:
        """The model as it is, if it has what is compared."""
        if self.sees == "features":
            with_features(model, "sees=features")
        return model
