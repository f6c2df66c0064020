"""FeSEM: multi-centre federated learning by stochastic expectation maximisation. Long et al., WWW Journal 2023,
Algorithm 1. https://arxiv.org/abs/2108.08647"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import Mean, ServerState, per_group
from shoal.algorithms.parts.diagnostics import Fitted, diagnose
from shoal.algorithms.parts.em_steps import Start, fill_empty, first_groups, from_new_centres
from shoal.algorithms.parts.newcomers import assign_newcomers
from shoal.algorithms.parts.number_of_groups import Criterion, Groups, fit_measures
from shoal.algorithms.registry import algorithm
from shoal.clusterers import Clusters, e_step, lloyd
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.measures import wecfl_objective
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Representation, Select, Solver, option

TO_CONVERGENCE = 300
PRETRAIN_STEPS = 50


@dataclass(frozen=True)
class State:
    """K centres, the centre of each client, the common start and the groups' mean first solutions (none: no groups)."""

    Omega_KP: Array
    group: Table
    w0_P: Array
    first_KP: Array
    server: ServerState = field(default_factory=dict)


@algorithm("fesem", finds_groups=True, takes_number=True, finds_number=True)
@dataclass(frozen=True, kw_only=True)
class FeSEM(Algorithm):
    """Clients train from their centre and go to the centre nearest to what they learnt; centres average their clients.

    With partial participation the E and M steps see the clients of the round.

    >>> import shoal
    >>> run = shoal.run(shoal.FeSEM(groups=4), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    groups: Groups = option(3, "number of centres, or auto")
    criterion: Criterion = option("cosine", "what groups=auto asks: cosine or euclidean silhouette, gap, elbow")
    start: Start = option(
        "directions", "first centres: directions or kmeans of first updates, random_models", key="init"
    )
    cluster_params: str = option("all", "what the distance sees: all, fc, last, or the name of a tensor")
    weights: Literal["uniform", "samples"] = option("uniform", "importance lambda_i of a client: 1, or its samples")
    em_steps: int = option(1, "E and M steps a round; 0: until nothing changes", low=0)
    refill: bool = option(True, "give an empty group the client farthest from its centre", key="reseed")
    clusterability_every: int = option(0, "rounds between measurements of B; 0: never", low=0)
    diagnostics: bool = option(False, "measure in every round what the convergence theorems speak of; costs gradients")
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    @property
    def mean(self) -> Mean:
        return Mean("samples" if self.weights == "samples" else "clients")

    @property
    def first_solver(self) -> Solver:
        """What clients train with from w_0: to count groups they need FedGroup's pre-training (departure D99)."""
        return self.solver.pretraining(PRETRAIN_STEPS) if self.groups == "auto" else self.solver

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        if self.start == "random_models" and self.groups == "auto":
            raise BadInput("groups=auto needs init=directions: random models must be counted beforehand")
        w0_P = engine.layout.init(key("init"))
        k = 1 if self.start != "random_models" or self.groups == "auto" else self.groups
        return State(engine.layout.init_many(k, key("init")), Table(), w0_P, w0_P[None][:0]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        """Train, E step, M step: the papers' cycle from another place on (departure D57)."""
        first = self.start != "random_models" and not len(
            state.first_KP
        )  # departure D56: everybody trains once from w_0
        state, cohort = (state, engine.clients.ids) if first else self._cohort(state, engine, key)
        solver = self.first_solver if first else self.solver
        got = engine.map(Train(solver), cohort, state.Omega_KP, state.group.get(cohort, 0), key("train"))
        if not len(got):  # min_answers=0
            return state, Record(trained=got)
        omega_NP, lambda_N = state.Omega_KP[got.which_N] + got["update"], self.mean.shares(got["update"], got["count"])
        seen_ND, learnt_ND = (self._seen(rows_NP, engine.layout) for rows_NP in (omega_NP, got["update"]))
        events: tuple[dict[str, Any], ...] = ()
        if first:
            found, measures = first_groups(
                seen_ND, learnt_ND, lambda_N, self.start, self.groups, self.criterion, key("cluster")
            )
        else:
            found, measures, events = self._e_step(state, got, seen_ND, lambda_N, engine)
        start_KP = np.repeat(state.Omega_KP, len(found.centres_KD), 0) if first else state.Omega_KP
        lift, moved = per_group(self.mean, engine.layout), from_new_centres(got, start_KP, found.labels_N)
        server = lift.init(start_KP) if first else state.server
        Omega_KP, server = lift.apply(start_KP, moved, server, key("aggregate"))  # M step, on the whole model
        fitted = Fitted(got, omega_NP, lambda_N, found.labels_N, Omega_KP)
        theory = diagnose(fitted, self.diagnostics, self.clusterability_every, self.solver, engine, key)
        representation = Representation("local models", "euclidean", got.cohort, seen_ND)
        group, first_KP = state.group.put(got.cohort, found.labels_N), Omega_KP if first else state.first_KP
        record = Record(trained=got, measures={**measures, **theory}, events=events, representation=representation)
        return State(Omega_KP, group, state.w0_P, first_KP, server), record

    def serve(self, state: State) -> Serving:
        return Serving(state.Omega_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Train from w_0, then the nearest of the groups' mean first solutions (random models: of the centres)."""
        zeros_N = np.zeros(len(cohort), int)
        got = engine.map(Train(self.first_solver), cohort, state.w0_P[None], zeros_N, key("train"), min_answers=0)
        centres_KP = state.first_KP if len(state.first_KP) else state.Omega_KP
        seen_ND = self._seen(state.w0_P + got["update"], engine.layout)
        return replace(got, which_N=e_step(seen_ND, self._seen(centres_KP, engine.layout)))

    def _seen(self, rows_NP: Array, layout: Layout) -> Array:
        """The part of models that the distance sees."""
        return layout.take(rows_NP, "trainable" if self.cluster_params == "all" else self.cluster_params)

    def _cohort(self, state: State, engine: Engine, key: Key) -> tuple[State, Cohort]:
        """The selected clients, newcomers with a centre.

        With random models a newcomer's parameters are w_0 until it trains: the centre nearest to that.
        """
        cohort = self.select(engine.clients, key("select"))
        if self.start == "random_models":
            new = tuple(c for c in cohort if c not in state.group)
            w0_1D, centres_KD = (self._seen(rows, engine.layout) for rows in (state.w0_P[None], state.Omega_KP))
            state = replace(state, group=state.group.put(new, np.repeat(e_step(w0_1D, centres_KD), len(new))))
        return assign_newcomers(self, state, cohort, engine, key("assign"))

    def _e_step(
        self, state: State, got: Answers, seen_ND: Array, lambda_N: Array, engine: Engine
    ) -> tuple[Clusters, dict[str, Any], tuple[dict[str, Any], ...]]:
        """Lloyd's steps from the present centres; an empty group is filled again."""
        centres_KD = self._seen(state.Omega_KP, engine.layout)
        before = wecfl_objective(seen_ND, centres_KD, got.which_N, lambda_N)
        found = lloyd(seen_ND, centres_KD, lambda_N, self.em_steps or TO_CONVERGENCE)
        moved: list[int] = []
        if self.refill and self.start != "random_models":
            members_N = state.group.put(got.cohort, found.labels_N).get(engine.clients.ids, -1)
            found, moved = fill_empty(found, seen_ND, lambda_N, members_N)
        changed = int((found.labels_N != got.which_N).sum())
        measures = {"F_before": before, "F": found.F, "moved": changed, **fit_measures(seen_ND, found.labels_N)}
        filled = [{"client": got.cohort[i], "group": int(found.labels_N[i])} for i in moved]
        return found, measures, tuple({"kind": "group filled again", **one} for one in filled)
