"""IFCA: iterative federated clustering. Ghosh et al., NeurIPS 2020, Algorithm 1, model averaging; HypCluster (Mansour
et al. 2020) uses the same alternation. https://arxiv.org/abs/2006.04088"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from shoal.aggregators import Mean, ServerState, per_group
from shoal.algorithms.parts.first_client import first_of_each
from shoal.algorithms.parts.migration import Migration, shifted_clients
from shoal.algorithms.parts.one_object import train_one_object
from shoal.algorithms.registry import algorithm
from shoal.clusterers import min_loss
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Choose, Losses, Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option

TRIES = 50  # draws of the initial models
ALIKE = {
    "kind": "models alike",
    "reason": "all models begin as the same one, so that nobody can choose among them; init=one_model deals them out",
}


@dataclass(frozen=True)
class State:
    """K models, and the model each client chose last."""

    theta_KP: Array
    group: Table
    server: ServerState


@algorithm("ifca", "hypcluster", finds_groups=True, takes_number=True, draws_models=True, serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class IFCA(Algorithm):
    """Every selected client takes the model of least training loss and trains it; models average who chose them.

    >>> import shoal
    >>> run = shoal.run(shoal.IFCA(groups=4), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    groups: int = option(3, "number of models", low=1)
    weighting: Literal["uniform", "samples", "first"] = option(
        "uniform", "weights of the mean: all alike, by samples, or the first client alone (departure D87)"
    )
    start: Literal["random_models", "one_model"] = option(
        "random_models",
        "draws, or one_model for all, as one trained before: the first clients are dealt out",
        key="init",
    )
    init_min_share: float = option(0.0, "re-draw the start until every model is chosen by this share of clients", low=0)
    migration: Migration = option(
        "off", "who drifted chooses anew at once: off, aligned or counts", without_labels="off"
    )
    one_object: bool = option(
        False, "models that were chosen are one, which clients train in turn: as FedBase of 2022 (departure D103)"
    )
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    def __post_init__(self) -> None:
        if self.one_object and self.weighting != "uniform":
            raise BadInput("one_object=true averages nothing; leave weighting out")
        if self.one_object and self.start != "random_models":
            raise BadInput("one_object=true begins with models of which one is chosen; leave init out")
        if self.one_object and self.migration != "off":
            raise BadInput("one_object=true has clients choose in every round; leave migration out")

    @property
    def mean(self) -> Mean:
        return Mean("samples" if self.weighting == "samples" else "clients")

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        theta_KP, share = self._draw(engine, key("init"))
        server = per_group(self.mean, engine.layout).init(theta_KP)
        alike = self.start == "random_models" and self.groups > 1 and bool((theta_KP == theta_KP[0]).all())
        measures = {"init_share": share} if self.init_min_share else {}
        return State(theta_KP, Table(), server), Record(measures=measures, events=(ALIKE,) if alike else ())

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        if self.one_object:
            cohort = self.select(engine.clients, key("select"))
            theta_KP, group, got = train_one_object(state.theta_KP, state.group, cohort, self.solver, engine, key)
            trained = replace(got, models_KP=None)  # of chains, which are no clients: their losses alone are looked at
            return State(theta_KP, group, state.server), Record(trained=trained, measures={"objects": len(got)})
        group, measures = self._migrate(state, engine, key("migrate"))
        cohort = self.select(engine.clients, key("select"))
        got = self._train(state, cohort, engine, key)
        lift = per_group(self.mean, engine.layout)
        counted = first_of_each(got, key("first")) if self.weighting == "first" else got
        theta_KP, server = lift.apply(state.theta_KP, counted, state.server, key("aggregate"))
        if self.migration != "off":  # who chose for the first time keeps its histogram from now on
            shifted_clients(engine, got.cohort, self.migration, key("keep"))
        return State(theta_KP, group.put(got.cohort, got.which_N), server), Record(trained=got, measures=measures)

    def serve(self, state: State) -> Serving:
        return Serving(state.theta_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return engine.map(Choose("train"), cohort, state.theta_KP, None, key, min_answers=0)

    def _train(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Clients choose a model and train it; as long as all models are the one of the start, they are dealt out."""
        if self.start == "random_models" or len(state.group):
            return engine.map(Choose("train", self.solver), cohort, state.theta_KP, None, key("train"))
        dealt_N = key("deal").rng().permutation(len(cohort)) % self.groups
        return engine.map(Train(self.solver), cohort, state.theta_KP, dealt_N, key("train"))

    def _draw(self, engine: Engine, key: Key) -> tuple[Array, float]:
        """K models at random; with `init_min_share` the draw in which the least chosen one has the largest share.

        If nobody tries them, it is the first draw, with a share of 0.
        """
        if self.start == "one_model":
            if self.init_min_share:
                raise BadInput(
                    "init_min_share draws models anew; with init=one_model there is one, so leave one of them out"
                )
            return np.repeat(engine.layout.init(key)[None], self.groups, 0), 0.0
        theta_KP = engine.layout.init_many(self.groups, key)
        if not self.init_min_share:
            return theta_KP, 0.0
        if self.init_min_share * self.groups > 1 + 1e-9:
            raise BadInput(
                f"init_min_share={self.init_min_share:g} of all clients cannot choose each of {self.groups} models; "
                f"give at most {1 / self.groups:.3g}"
            )
        best, best_share = theta_KP, -1.0
        for attempt in range(TRIES):
            losses_NK = engine.map(Losses("train", diagnostic=True), engine.clients.ids, theta_KP, None, key)["losses"]
            share = np.bincount(min_loss(losses_NK), minlength=self.groups).min() / max(len(losses_NK), 1)
            if share > best_share:
                best, best_share = theta_KP, float(share)
            if best_share >= self.init_min_share or not len(losses_NK):
                break
            theta_KP = engine.layout.init_many(self.groups, key(f"try {attempt + 1}"))
        return best, best_share

    def _migrate(self, state: State, engine: Engine, key: Key) -> tuple[Table, dict[str, int]]:
        """IFCA-MIG (departure D55): clients whose labels shifted choose among all models at once."""
        if self.migration == "off":
            return state.group, {}
        moved = shifted_clients(engine, state.group.ids, self.migration, key("shift"))
        if not moved.cohort:
            return state.group, {"shifted": 0, "migrated": 0}
        got = engine.map(Choose("train"), moved.cohort, state.theta_KP, None, key("choose"), min_answers=0)
        changed = int((state.group.get(got.cohort, -1) != got.which_N).sum())
        return state.group.put(got.cohort, got.which_N), {"shifted": len(moved.cohort), "migrated": changed}
