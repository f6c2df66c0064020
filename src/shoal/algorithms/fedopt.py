"""FedAdagrad, FedAdam, FedYogi: adaptive federated optimisation. Reddi et al., ICLR 2021, Algorithm 2.
https://arxiv.org/abs/2003.00295"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.aggregators import Rule, ServerOptimiser
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.parts.averaging import Averaging
from shoal.algorithms.registry import algorithm
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.types import Select, Solver, option


@algorithm("fedadagrad", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedAdagrad(Averaging):
    """FedAvg whose server takes the mean update for a gradient and follows it with Adagrad.

    >>> import shoal
    >>> run = shoal.run(shoal.FedAdagrad(server_lr=0.03), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    server_lr: float = option(0.1, "rate of the server", low=0)
    beta1: float = option(0.0, "memory of the mean update", low=0)
    tau: float = option(1e-3, "adaptivity: the larger, the nearer to plain averaging")
    weighting: Literal["samples", "uniform"] = option("samples", "weights of the mean: by samples, or all alike")
    select: Select = Random()
    solver: Solver = SGD()

    def __post_init__(self) -> None:
        _ = self.optimiser  # what is out of range is said at once

    @property
    def by(self) -> Literal["samples", "clients"]:
        return "samples" if self.weighting == "samples" else "clients"

    @property
    def optimiser(self) -> ServerOptimiser:
        return ServerOptimiser("adagrad", self.server_lr, self.beta1, tau=self.tau, by=self.by)

    @property
    def averaging(self) -> FedAvg:
        return FedAvg(select=self.select, solver=self.solver, aggregate=self.optimiser)


@algorithm("fedadam", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedAdam(FedAdagrad):
    """The same with Adam, which forgets old updates and their squares.

    >>> import shoal
    >>> run = shoal.run(shoal.FedAdam(server_lr=0.03), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    server_lr: float = option(0.01, "rate of the server", low=0)
    beta1: float = option(0.9, "memory of the mean update", low=0)
    beta2: float = option(0.99, "memory of its square", low=0)

    rule: ClassVar[Rule] = "adam"

    @property
    def optimiser(self) -> ServerOptimiser:
        return ServerOptimiser(self.rule, self.server_lr, self.beta1, self.beta2, self.tau, self.by)


@algorithm("fedyogi", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedYogi(FedAdam):
    """The same with Yogi, whose memory of squares changes more slowly than Adam's.

    >>> import shoal
    >>> run = shoal.run(shoal.FedYogi(server_lr=0.03), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    rule: ClassVar[Rule] = "yogi"
