"""FeSEM: multi-centre federated learning by stochastic expectation maximisation. Long et al., WWW Journal 2023,
Algorithm 1. https://arxiv.org/abs/2108.08647"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import Mean, ServerState, per_group
from shoal.algorithms.auto import Criterion, Groups, fit, how_many
from shoal.algorithms.diagnostics import Fitted, convergence, own_gradients
from shoal.algorithms.newcomers import welcome
from shoal.clusterers import Clusters, e_step, kmeans, lloyd, reseed
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.measures import coordinates, wecfl_objective
from shoal.seeds import Key
from shoal.selection import All, Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Answers, Array, Cohort, Compared, Engine, Record, Select, option

TO_CONVERGENCE = 300


@dataclass(frozen=True)
class State:
    """K centres, the centre of each client, the common start and the groups' mean first solutions (none: no groups)."""

    Omega_KP: Array
    group: Table
    w0_P: Array
    first_KP: Array
    server: ServerState = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FeSEM:
    """Clients train from their centre and go to the centre nearest to what they learnt; centres average their clients.

    With partial participation the E and M steps see the clients of the round.

    >>> import shoal
    >>> run = shoal.run(shoal.FeSEM(groups=4), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    4
    """

    groups: Groups = option(3, "number of centres, or auto")
    criterion: Criterion = option("cosine", "what groups=auto asks: cosine or euclidean silhouette, gap, elbow")
    start: Literal["kmeans", "random_models"] = option("kmeans", "first centres: k-means, or random models", key="init")
    cluster_params: str = option("all", "what the distance sees: all, fc, last, or the name of a tensor")
    weights: Literal["uniform", "samples"] = option("uniform", "importance lambda_i of a client: 1, or its samples")
    em_steps: int = option(1, "E and M steps a round; 0: until nothing changes", low=0)
    refill: bool = option(True, "give an empty group the client farthest from its centre", key="reseed")
    clusterability_every: int = option(0, "rounds between measurements of B; 0: never", low=0)
    diagnostics: bool = option(False, "measure in every round what the convergence theorems speak of; costs gradients")
    select: Select = Random()
    solver: SGD = SGD()

    state: ClassVar[type[State]] = State

    @property
    def mean(self) -> Mean:
        return Mean("samples" if self.weights == "samples" else "clients")

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        if self.start == "random_models" and self.groups == "auto":
            raise BadInput("groups=auto needs init=kmeans: random models must be counted beforehand")
        w0_P = engine.layout.init(key("init"))
        k = 1 if self.start == "kmeans" or self.groups == "auto" else self.groups
        return State(engine.layout.init_many(k, key("init")), Table(), w0_P, w0_P[None][:0]), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        lift = per_group(self.mean, engine.layout)
        first = self.start == "kmeans" and not len(state.first_KP)  # spec 2.8: everybody trains once from w_0
        if first:
            cohort, which_N = All()(engine.clients, key), np.zeros(len(engine.clients), int)
        else:
            chosen = self.select(engine.clients, key("select"))
            state = self._at_random_models(state, chosen, engine) if self.start == "random_models" else state
            state, cohort = welcome(self, state, chosen, engine, key("assign"))
            which_N = state.group.get(cohort, 0)
        got = engine.map(Train(self.solver), cohort, state.Omega_KP, which_N, key("train"))
        if not len(got):  # min_answers=0
            return state, Record(trained=got)
        omega_NP = state.Omega_KP[got.which_N] + got["update"]
        lambda_N = self.mean.shares(got["update"], got["count"])
        found, record = self._em(state, got, omega_NP, lambda_N, engine, key("cluster"), first)
        start_KP = np.repeat(state.Omega_KP, len(found.centres_KD), 0) if first else state.Omega_KP
        moved = from_new_centres(got, start_KP, found.labels_N)
        Omega_KP, server = lift.apply(start_KP, moved, lift.init(start_KP) if first else state.server)  # M on all of it
        at = Fitted(got, omega_NP, lambda_N, found.labels_N, Omega_KP)
        if self.diagnostics:
            record = replace(record, measures={**record.measures, **convergence(at, self.solver, engine, key)})
        elif self.clusterability_every and key.round % self.clusterability_every == 0:
            b, _ = own_gradients(at, engine, key)
            record = replace(record, measures={**record.measures, **b})
        kept_KP = Omega_KP if first else state.first_KP
        group = state.group.put(got.cohort, found.labels_N)
        compared = Compared("local models", "euclidean", got.cohort, self._seen(omega_NP, engine.layout))
        record = replace(record, trained=got, compared=compared)
        return State(Omega_KP, group, state.w0_P, kept_KP, server), record

    def serve(self, state: State) -> Serving:
        return Serving(state.Omega_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Train from w_0, then the nearest of the groups' mean first solutions (random models: of the centres)."""
        zeros_N = np.zeros(len(cohort), int)
        got = engine.map(Train(self.solver), cohort, state.w0_P[None], zeros_N, key("train"), least=0)
        centres_KP = state.first_KP if len(state.first_KP) else state.Omega_KP
        seen_ND = self._seen(state.w0_P + got["update"], engine.layout)
        return replace(got, which_N=e_step(seen_ND, self._seen(centres_KP, engine.layout)))

    def _seen(self, rows_NP: Array, layout: Layout) -> Array:
        """The part of models that the distance sees."""
        return layout.take(rows_NP, "trainable" if self.cluster_params == "all" else self.cluster_params)

    def _at_random_models(self, state: State, cohort: Cohort, engine: Engine) -> State:
        """Before it trained, a client's parameters are w_0: it goes to the random model nearest to that."""
        new = tuple(c for c in cohort if c not in state.group)
        w0_1D, centres_KD = self._seen(state.w0_P[None], engine.layout), self._seen(state.Omega_KP, engine.layout)
        return replace(state, group=state.group.put(new, np.repeat(e_step(w0_1D, centres_KD), len(new))))

    def _em(
        self, state: State, got: Answers, omega_NP: Array, lambda_N: Array, engine: Engine, key: Key, first: bool
    ) -> tuple[Clusters, Record]:
        """Groups of this round's clients. First: weighted k-means++, the best of ten; later Lloyd from the centres."""
        seen_ND = self._seen(omega_NP, engine.layout)
        if first:
            learnt_ND = self._seen(got["update"], engine.layout)
            cluster = lambda rows, k, rng: kmeans(rows, k, lambda_N, rng).labels_N  # noqa: E731
            k, values = how_many(coordinates(learnt_ND), self.groups, cluster, key("how many"), self.criterion)
            found = kmeans(seen_ND, k, lambda_N, key.rng())
            return found, Record(measures={"F": found.F, **fit(seen_ND, found.labels_N, learnt_ND), **values})
        centres_KD = self._seen(state.Omega_KP, engine.layout)
        before = wecfl_objective(seen_ND, centres_KD, got.which_N, lambda_N)
        found = lloyd(seen_ND, centres_KD, lambda_N, self.em_steps or TO_CONVERGENCE)
        events: list[dict[str, Any]] = []
        members = state.group.put(got.cohort, found.labels_N).get(engine.clients.ids, -1)
        gone = np.setdiff1d(np.arange(len(centres_KD)), members)
        if (
            self.refill
            and self.start == "kmeans"
            and len(gone) == len(np.setdiff1d(np.arange(len(centres_KD)), found.labels_N))
        ):
            labels_N, centres_KD, moved = reseed(seen_ND, found.labels_N, lambda_N, found.centres_KD)
            found = Clusters(labels_N, centres_KD, wecfl_objective(seen_ND, centres_KD, labels_N, lambda_N))
            events = [{"kind": "group filled again", "client": got.cohort[i], "group": int(labels_N[i])} for i in moved]
        changed = int((found.labels_N != got.which_N).sum())
        measures = {"F_before": before, "F": found.F, "moved": changed, **fit(seen_ND, found.labels_N)}
        return found, Record(measures=measures, events=tuple(events))


def from_new_centres(got: Answers, start_KP: Array, labels_N: Array) -> Answers:
    """The answers as updates of the centres that clients now belong to: `Delta_i + Omega_old - Omega_new`.

    Who stays has its own update, bit for bit.
    """
    update_NP = got["update"].copy()
    for i in np.flatnonzero(got.which_N != labels_N):
        update_NP[i] += start_KP[got.which_N[i]] - start_KP[labels_N[i]]
    return replace(got, which_N=labels_N, fields={**got.fields, "update": update_NP}, models_KP=start_KP)
