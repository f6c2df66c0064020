"""FedFusion: federated learning with feature fusion. Yao et al., ICIP 2019. https://arxiv.org/abs/1908.05891"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shoal.aggregators import Aggregator, weighted_mean
from shoal.algorithms.fedavg import FedAvg, State
from shoal.algorithms.parts.averaging import Averaging
from shoal.algorithms.registry import algorithm
from shoal.errors import BadInput
from shoal.layout import ModelFactory
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import GAMMA, SGD, Fused, Operator
from shoal.tree import Tree
from shoal.types import Array, Engine, Record, Select, Solver, option


def smoothed(new: Array, previous: Array, share: float) -> Array:
    """`(1 - share) new + share previous`: how the server lets gamma move.

    >>> import numpy as np
    >>> smoothed(np.array([1.0]), np.array([0.5]), 0.9).round(3).tolist()
    [0.55]
    """
    mixed: Array = (1 - share) * new + share * previous
    return mixed


@algorithm("fedfusion", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedFusion(Averaging):
    """FedAvg on a model that fuses the features it learns with those of the extractor it received.

    >>> import shoal
    >>> run = shoal.run(shoal.FedFusion(operator="single"), "digits", "mlp:hidden=8", rounds=1, engine="serial")
    >>> run.history[1]["measures"]["gamma"] == 0        # after one round it has left the 0 it began with
    False
    """

    operator: Operator = option("conv", "how features are fused: conv, multi or single")
    smoothing: float = option(0.9, "share of the previous gamma in the next (multi, single)", low=0)
    gamma: float | None = option(None, "keep gamma at this value instead of learning it (multi, single)")
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing <= 1:
            raise BadInput(f"smoothing must be from 0 to 1, not {self.smoothing}")
        if self.gamma is not None and self.operator == "conv":
            raise BadInput("the operator conv has no gamma; give gamma with operator=multi or operator=single")

    @property
    def averaging(self) -> FedAvg:
        return FedAvg(select=self.select, solver=self.solver, aggregate=self.aggregate)

    def wrap(self, model: ModelFactory, sample: Tree) -> ModelFactory:
        return Fused.of(model, sample, self.operator, self.gamma)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        new, record = self.averaging.step(state, engine, key)
        if self.operator == "conv" or self.gamma is not None:
            return new, record
        w_KP = new.w_KP.copy()
        for at in engine.layout.slices(GAMMA):
            w_KP[:, at] = smoothed(new.w_KP[:, at], state.w_KP[:, at], self.smoothing)
            gamma = float(w_KP[:, at].mean())
        return replace(new, w_KP=w_KP), replace(record, measures={"gamma": gamma})
