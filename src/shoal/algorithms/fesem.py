"""FeSEM: multi-centre federated learning by stochastic expectation maximisation. Long et al., WWW Journal 2023,
Algorithm 1. https://arxiv.org/abs/2108.08647"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from shoal.aggregators import Mean, ServerState, per_group
from shoal.algorithms.parts.client_space import ClientSpace, Distance, Represent
from shoal.algorithms.parts.diagnostics import Fitted, diagnose
from shoal.algorithms.parts.em_steps import Start, Weights, first_groups, from_new_centres, next_groups
from shoal.algorithms.parts.first_client import first_of_each
from shoal.algorithms.parts.migration import Migration, shifted_clients
from shoal.algorithms.parts.newcomers import assign_newcomers, on_trial
from shoal.algorithms.parts.number_of_groups import Criterion, Groups
from shoal.algorithms.parts.old_solutions import When, by_old_solution, check_before, how_many_moved, never_trained
from shoal.algorithms.registry import algorithm
from shoal.errors import BadInput, TooFewAnswers
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Select, Solver, option
from shoal.vectors import Vectors

IMPORTANCE = "importance lambda_i of a client: 1, or its samples; first: means of one client each (departure D87)"
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
    old: Vectors = field(default_factory=Vectors)
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
    start: Start = option("directions", "first centres: directions or kmeans of updates, random_models", key="init")
    cluster_params: str = option("all", "what the distance sees: all, fc, last, or the name of a tensor")
    represent: Represent = option("model", "what stands for a client: its local model, or its update (departure D90)")
    distance: Distance = option("euclidean", "how far clients lie from centres: euclidean, or cosine (departure D90)")
    weights: Weights = option("uniform", IMPORTANCE, alias="weighting")
    when: When = option("after", "E step after training, or before, by the last solution (D88)", key="e_step")
    migration: Migration = option(
        "off", "with e_step=before: who drifted has an E step at once: off, aligned, counts", without_labels="off"
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
        drawn, before = self.start == "random_models", self.when == "before"
        if drawn and self.groups == "auto":
            raise BadInput("groups=auto needs init=directions: random models must be counted beforehand")
        if drawn and self.represent == "update":
            raise BadInput("represent=update needs init=directions: random models have no updates to compare with")
        w0_P = engine.layout.init(key("init"))
        if before:
            check_before(self.em_steps, len(engine.clients), self.space.seen(w0_P[None], engine.layout))
        elif self.migration != "off":
            raise BadInput("migration needs e_step=before, with which the server knows what clients learnt last")
        k, purpose = int(self.groups) if drawn else 1, "centres" if drawn and before else "init"
        return State(engine.layout.init_many(k, key(purpose)), Table(), w0_P, w0_P[None][:0]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        """Train, E step, M step: the papers' cycle from another place on (departure D57)."""
        state, shift = self._migrate(state, engine, key("migrate"))
        was, first = state.group, self.start != "random_models" and not len(state.first_KP)
        state, cohort = (state, engine.clients.ids) if first else self._select(state, engine, key)
        train = Train(self.first_solver if first else self.solver)  # first: everybody, from w_0 (D56)
        got = engine.map(train, cohort, state.Omega_KP, state.group.get(cohort, 0), key("train"))
        if not len(got):  # min_answers=0
            return state, Record(trained=got)
        if first and self.groups != "auto" and len(got) < self.groups <= len(engine.clients.with_samples):
            raise TooFewAnswers(
                f"{len(got)} clients answered 'train', {self.groups} groups begin with as many", len(got)
            )
        at = self.space.points(got, state.Omega_KP, self.mean, engine.layout)
        if first:
            how = self.start, self.groups, self.criterion
            found, measures, events = first_groups(at, self.distance, *how, key("cluster"))
        else:
            times = 0 if self.when == "before" else self.em_steps or TO_CONVERGENCE  # 0: the E step has been
            refill = self.refill and self.start != "random_models" and self.when == "after"
            centres_KD, others = self.space.centres(state, engine.layout), {*engine.clients.ids}.difference(got.cohort)
            absent_N = state.group.get(tuple(others), -1) if refill else None
            found, measures, events = next_groups(at, self.distance, centres_KD, times, absent_N)
            measures["moved"] = how_many_moved(was, got.cohort, got.which_N, found.labels_N)
        start_KP = np.repeat(state.Omega_KP, len(found.centres_KD), 0) if first else state.Omega_KP
        mine = from_new_centres(got, start_KP, found.labels_N)
        mine = first_of_each(mine, key("first")) if self.weights == "first" else mine
        M_step = per_group(self.mean, engine.layout)  # on the whole model
        Omega_KP, server = M_step.apply(start_KP, mine, state.server, key("aggregate"))
        fitted = Fitted(got, at.omega_NP, at.lambda_N, found.labels_N, Omega_KP)
        theory = diagnose(fitted, self.diagnostics, self.clusterability_every, self.solver, engine, key)
        group, first_KP = state.group.put(got.cohort, found.labels_N), Omega_KP if first else state.first_KP
        old = state.old.put(got.cohort, at.seen_ND) if self.when == "before" else state.old
        G_KD = found.centres_KD if self.represent == "update" else state.G_KD
        if self.migration != "off":  # who has a group for the first time keeps its histogram from now on
            shifted_clients(engine, got.cohort, self.migration, key("keep"))
        record = Record(
            trained=got, measures=measures | shift | theory, events=events, representation=self.space.shown(at)
        )
        return State(Omega_KP, group, state.w0_P, first_KP, server, old, G_KD), record

    def serve(self, state: State) -> Serving:
        return Serving(state.Omega_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Train from w_0, then the nearest of the groups' mean first solutions (random models: of the centres)."""
        zeros_N = np.zeros(len(cohort), int)
        train = Train(on_trial(self.first_solver, at_first=True))
        got = engine.map(train, cohort, state.w0_P[None], zeros_N, key("train"), min_answers=0)
        return replace(got, which_N=self.space.nearest_first(state, got["update"], engine.layout))

    def _migrate(self, state: State, engine: Engine, key: Key) -> tuple[State, dict[str, int]]:
        """FeSEM-MIG (departure D55): clients whose labels shifted go to the centre nearest to their last solution."""
        if self.migration == "off":
            return state, {}
        moved = shifted_clients(engine, state.group.ids, self.migration, key).cohort
        group = by_old_solution(state.group, state.old, moved, self.space.centres(state, engine.layout))
        changed = int((group.get(moved, -1) != state.group.get(moved, -1)).sum())
        return replace(state, group=group), {"shifted": len(moved), "migrated": changed}

    def _select(self, state: State, engine: Engine, key: Key) -> tuple[State, Cohort]:
        """The selected clients, newcomers with a centre; with e_step=before everybody with the nearest one."""
        cohort = self.select(engine.clients, key("select"))
        if self.start == "random_models":
            w0_1D, centres_KD = (self.space.seen(rows, engine.layout) for rows in (state.w0_P[None], state.Omega_KP))
            state = replace(state, group=never_trained(state.group, cohort, w0_1D, centres_KD))
        state, cohort = assign_newcomers(self, state, cohort, engine, key("assign"))
        if self.when == "before":
            centres_KD = self.space.centres(state, engine.layout)
            state = replace(state, group=by_old_solution(state.group, state.old, cohort, centres_KD))
        return state, cohort
