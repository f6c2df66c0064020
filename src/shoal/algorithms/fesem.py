"""FeSEM: multi-centre federated learning by stochastic expectation maximisation. Long et al., WWW Journal 2023,
Algorithm 1. https://arxiv.org/abs/2108.08647"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import Mean, ServerState, per_group
from shoal.algorithms.parts.client_space import ClientSpace, Distance, Represent, centred, em_steps
from shoal.algorithms.parts.diagnostics import Fitted, diagnose
from shoal.algorithms.parts.em_steps import Start, fill_empty, first_groups, from_new_centres
from shoal.algorithms.parts.first_client import first_of_each
from shoal.algorithms.parts.newcomers import assign_newcomers
from shoal.algorithms.parts.number_of_groups import Criterion, Groups, fit_measures
from shoal.algorithms.parts.old_solutions import by_old_solution, check_room, how_many_moved, m_step_alone
from shoal.algorithms.registry import algorithm
from shoal.clusterers import Clusters, e_step
from shoal.errors import BadInput
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
    """K centres, the centre of each client, the common start and the groups' mean first solutions (none: no groups).

    With e_step=before also what the distance sees of the clients' last solutions, with represent=update the centres
    among updates.
    """

    Omega_KP: Array
    group: Table
    w0_P: Array
    first_KP: Array
    server: ServerState = field(default_factory=dict)
    old: Table = field(default_factory=Table)
    G_KD: Array = field(default_factory=lambda: np.zeros((0, 0)))


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
    represent: Represent = option("model", "what stands for a client: its local model, or its update (departure D90)")
    distance: Distance = option("euclidean", "how far clients lie from centres: euclidean, or cosine (departure D90)")
    weights: Literal["uniform", "samples", "first"] = option(
        "uniform",
        "importance lambda_i of a client: 1, or its samples; first: means of one client each (departure D87)",
        alias="weighting",
    )
    when: Literal["after", "before"] = option(
        "after", "E step after training, or before it, by the last solution (departure D88)", key="e_step"
    )
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
    def space(self) -> ClientSpace:
        """Where the E step compares clients."""
        return ClientSpace(self.cluster_params, self.represent, self.distance)

    @property
    def first_solver(self) -> Solver:
        """What clients train with from w_0: to count groups they need FedGroup's pre-training (departure D95)."""
        return self.solver.pretraining(PRETRAIN_STEPS) if self.groups == "auto" else self.solver

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        if self.start == "random_models" and self.groups == "auto":
            raise BadInput("groups=auto needs init=directions: random models must be counted beforehand")
        if self.start == "random_models" and self.represent == "update":
            raise BadInput("represent=update needs init=directions: random models have no updates to compare with")
        w0_P, apart = engine.layout.init(key("init")), self.when == "before" and self.start == "random_models"
        if self.when == "before":
            self._check_before(engine, w0_P)
        k = 1 if self.start != "random_models" or self.groups == "auto" else self.groups
        Omega_KP = engine.layout.init_many(k, key("centres" if apart else "init"))
        return State(Omega_KP, Table(), w0_P, w0_P[None][:0]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        """Train, E step, M step: the papers' cycle from another place on (departure D57)."""
        first = self.start != "random_models" and not len(state.first_KP)  # everybody trains from w_0 (D56)
        was = state.group
        state, cohort = (state, engine.clients.ids) if first else self._cohort(state, engine, key)
        solver = self.first_solver if first else self.solver
        got = engine.map(Train(solver), cohort, state.Omega_KP, state.group.get(cohort, 0), key("train"))
        if not len(got):  # min_answers=0
            return state, Record(trained=got)
        omega_NP, lambda_N = state.Omega_KP[got.which_N] + got["update"], self.mean.shares(got["update"], got["count"])
        seen_ND, learnt_ND = self.space.clients(omega_NP, got["update"], engine.layout)
        events: tuple[dict[str, Any], ...] = ()
        if first:
            found, measures = first_groups(
                seen_ND, learnt_ND, lambda_N, self.start, self.groups, self.criterion, key("cluster")
            )
            found = centred(self.distance, found, seen_ND, lambda_N)
            measures = {**measures, "F": found.F}
        else:
            found, measures, events = self._e_step(state, got, seen_ND, lambda_N, engine)
            measures["moved"] = how_many_moved(was, got.cohort, got.which_N, found.labels_N)
        start_KP = np.repeat(state.Omega_KP, len(found.centres_KD), 0) if first else state.Omega_KP
        lift, moved = per_group(self.mean, engine.layout), from_new_centres(got, start_KP, found.labels_N)
        moved = first_of_each(moved, key("first")) if self.weights == "first" else moved
        server = lift.init(start_KP) if first else state.server
        Omega_KP, server = lift.apply(start_KP, moved, server, key("aggregate"))  # M step, on the whole model
        fitted = Fitted(got, omega_NP, lambda_N, found.labels_N, Omega_KP)
        theory = diagnose(fitted, self.diagnostics, self.clusterability_every, self.solver, engine, key)
        representation = Representation(self.space.name, self.distance, got.cohort, seen_ND)
        group, first_KP = state.group.put(got.cohort, found.labels_N), Omega_KP if first else state.first_KP
        record = Record(trained=got, measures={**measures, **theory}, events=events, representation=representation)
        old = state.old.put(got.cohort, seen_ND) if self.when == "before" else state.old
        G_KD = found.centres_KD if self.represent == "update" else state.G_KD
        return State(Omega_KP, group, state.w0_P, first_KP, server, old, G_KD), record

    def serve(self, state: State) -> Serving:
        return Serving(state.Omega_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Train from w_0, then the nearest of the groups' mean first solutions (random models: of the centres)."""
        zeros_N = np.zeros(len(cohort), int)
        got = engine.map(Train(self.first_solver), cohort, state.w0_P[None], zeros_N, key("train"), min_answers=0)
        return replace(got, which_N=self.space.nearest_first(state, got["update"], engine.layout))

    def _cohort(self, state: State, engine: Engine, key: Key) -> tuple[State, Cohort]:
        """The selected clients, newcomers with a centre.

        With random models a newcomer's parameters are w_0 until it trains: the centre nearest to that.
        """
        cohort = self.select(engine.clients, key("select"))
        if self.start == "random_models":
            new = tuple(c for c in cohort if c not in state.group)
            w0_1D, centres_KD = (self.space.seen(rows, engine.layout) for rows in (state.w0_P[None], state.Omega_KP))
            state = replace(state, group=state.group.put(new, np.repeat(e_step(w0_1D, centres_KD), len(new))))
        state, cohort = assign_newcomers(self, state, cohort, engine, key("assign"))
        if self.when == "after":
            return state, cohort
        group = by_old_solution(state.group, state.old, cohort, self.space.centres(state, engine.layout))
        return replace(state, group=group), cohort

    def _e_step(
        self, state: State, got: Answers, seen_ND: Array, lambda_N: Array, engine: Engine
    ) -> tuple[Clusters, dict[str, Any], tuple[dict[str, Any], ...]]:
        """Lloyd's steps from the present centres; an empty group is filled again."""
        centres_KD = self.space.centres(state, engine.layout)
        before = wecfl_objective(seen_ND, centres_KD, got.which_N, lambda_N)
        if self.when == "before":  # the E step has been: the M step alone
            found = m_step_alone(seen_ND, centres_KD, got.which_N, lambda_N)
        else:
            found = em_steps(self.distance, seen_ND, centres_KD, lambda_N, self.em_steps or TO_CONVERGENCE)
        moved: list[int] = []
        if self.refill and self.start != "random_models" and self.when == "after":
            members_N = state.group.put(got.cohort, found.labels_N).get(engine.clients.ids, -1)
            found, moved = fill_empty(found, seen_ND, lambda_N, members_N)
        found = centred(self.distance, found, seen_ND, lambda_N)
        measures = {"F_before": before, "F": found.F, **fit_measures(seen_ND, found.labels_N)}
        filled = [{"client": got.cohort[i], "group": int(found.labels_N[i])} for i in moved]
        return found, measures, tuple({"kind": "group filled again", **one} for one in filled)

    def _check_before(self, engine: Engine, w0_P: Array) -> None:
        """Whether e_step=before can be done."""
        if self.em_steps != 1:
            raise BadInput("e_step=before makes one E step and one M step a round; give em_steps=1 with it")
        check_room(len(engine.clients), self.space.seen(w0_P[None], engine.layout))
