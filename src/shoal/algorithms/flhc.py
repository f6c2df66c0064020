"""FL+HC: federated learning with hierarchical clustering. Briggs, Fan, Andras, IJCNN 2020, Algorithm 1.
https://arxiv.org/abs/2004.11791"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, weighted_mean
from shoal.algorithms.parts.newcomers import assign_newcomers, on_trial
from shoal.algorithms.parts.number_of_groups import Criterion, fit_measures, number_of_groups
from shoal.algorithms.registry import algorithm
from shoal.clusterers import Linkage, cut_at, cut_into
from shoal.measures import Metric, cosine_to, pairwise
from shoal.seeds import Key
from shoal.selection import All, Random
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Representation, Select, Solver, option


@dataclass(frozen=True)
class State:
    """The models, the group of each client, and from the clustering on: its model and the groups' mean updates."""

    w_KP: Array
    group: Table
    w_cut_P: Array
    means_KP: Array  # empty before the clustering
    server: ServerState = field(default_factory=dict)


@algorithm("flhc", finds_groups=True, finds_number=True)
@dataclass(frozen=True, kw_only=True)
class FLHC(Algorithm):
    """FedAvg for some rounds; then everybody trains, the updates are clustered once, and every group goes on alone.

    >>> import shoal
    >>> run = shoal.run(shoal.FLHC(rounds_before=1), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    1
    """

    rounds_before: int = option(10, "rounds of FedAvg before the clustering", low=1)
    threshold: float = option(0.0, "largest distance at which clusters merge; 0: as many as the criterion says", low=0)
    criterion: Criterion = option("cosine", "how many without a threshold: cosine or euclidean silhouette, gap, elbow")
    metric: Metric = option("euclidean", "distance of updates: euclidean, manhattan or cosine")
    linkage: Linkage = option("complete", "distance of clusters: complete, average, single or ward")
    select: Select = Random()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w_KP = engine.layout.init_many(1, key("init"))
        group = Table().put(engine.clients.ids, np.zeros(len(engine.clients), int))
        return State(w_KP, group, w_KP[0], w_KP[:0], per_group(self.aggregate, engine.layout).init(w_KP)), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cut = key.round > self.rounds_before and not len(state.means_KP)
        cohort = All()(engine.clients, key) if cut else self.select(engine.clients, key("select"))
        state, cohort = assign_newcomers(self, state, cohort, engine, key("newcomers"))
        got = engine.map(Train(self.solver), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        measures: Mapping[str, Any] = {}
        representation = None
        if cut and len(got):  # with min_answers=0 there may be nobody: then the next round clusters
            kind: Literal["cosine", "euclidean"] = "cosine" if self.metric == "cosine" else "euclidean"
            representation = Representation("updates", kind, got.cohort, got["update"][:, engine.layout.trainable])
            state, measures = self._cluster(state, got, engine, key("cluster"))
            got = replace(got, which_N=state.group.get(got.cohort, 0), models_KP=state.w_KP)
        w_KP, server = per_group(self.aggregate, engine.layout).apply(state.w_KP, got, state.server, key("aggregate"))
        return replace(state, w_KP=w_KP, server=server), Record(
            trained=got, measures=measures, representation=representation
        )

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Train from the model that was clustered at, take the group with the more similar mean update."""
        if not len(state.means_KP):
            return Answers(cohort, np.zeros(len(cohort), int))
        zeros_N = np.zeros(len(cohort), int)
        train = Train(on_trial(self.solver))
        got = engine.map(train, cohort, state.w_cut_P[None], zeros_N, key("train"), min_answers=0)
        at = engine.layout.trainable
        return replace(got, which_N=cosine_to(got["update"][:, at], state.means_KP[:, at]).argmax(1))

    def _cluster(self, state: State, got: Answers, engine: Engine, key: Key) -> tuple[State, Mapping[str, Any]]:
        """Agglomerative clustering of everybody's update, once."""
        values: Mapping[str, Any] = {}
        rows_NP = got["update"][:, engine.layout.trainable]
        distances_NN = pairwise(rows_NP, self.metric)
        if self.threshold:
            labels_N = cut_at(distances_NN, self.threshold, self.linkage)
        else:
            same = self.criterion != "gap"  # which also cuts samples of its own
            cut = lambda rows, k, rng: cut_into(distances_NN if same else pairwise(rows, self.metric), k, self.linkage)  # noqa: E731
            k, values = number_of_groups(rows_NP, "auto", cut, key, self.criterion, least=-1.0)  # its paper always cuts
            labels_N = cut_into(distances_NN, k, self.linkage)
        count = int(labels_N.max()) + 1
        w_KP = np.repeat(state.w_KP, count, 0)
        means = [got["update"][labels_N == k].astype(np.float64).mean(0).astype(w_KP.dtype) for k in range(count)]
        server = per_group(self.aggregate, engine.layout).init(w_KP)
        group = Table().put(got.cohort, labels_N)  # who did not answer is a newcomer from now on
        return State(w_KP, group, state.w_KP[0], np.stack(means), server), {
            **fit_measures(rows_NP, labels_N, rows_NP),
            **values,
        }
