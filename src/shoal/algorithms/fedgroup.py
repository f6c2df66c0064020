"""FedGroup: clients grouped once by the directions they learn in. Duan et al. 2021, Algorithms 2 and 3; with migration
FlexCFL, Duan et al. 2022. https://arxiv.org/abs/2010.06870"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import ServerState, per_group, plain_mean, weighted_mean
from shoal.aggregators.inter_group import InterGroupMode
from shoal.algorithms.parts.between_groups import between_groups
from shoal.algorithms.parts.cold_start import GroupMeasure, ask_until, group_labels
from shoal.algorithms.parts.diagnostics import divergence
from shoal.algorithms.parts.migration import Migration, migrate
from shoal.algorithms.parts.newcomers import assign_newcomers
from shoal.algorithms.parts.number_of_groups import Criterion, Groups, fit_measures, number_of_groups
from shoal.algorithms.parts.reuse_pretraining import reusing_init, reusing_step
from shoal.algorithms.registry import algorithm
from shoal.errors import BadInput
from shoal.measures import coordinates, edc_embedding
from shoal.measures.validity import Cluster
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving, Table
from shoal.tasks import Nearest, StoreDirections, Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Representation, Select, Solver, option

MAYBE = 5  # groups=auto: the number m of which alpha m clients take part in the cold start


@dataclass(frozen=True)
class State:
    """Group models, the fixed start w_0 and group directions for newcomers, and the group of every client seen."""

    w_KP: Array
    w0_P: Array
    directions_KP: Array
    group: Table
    server: ServerState = field(default_factory=dict)


@algorithm("fedgroup", finds_groups=True, takes_number=True, finds_number=True, serves_when_selected=True)
@dataclass(frozen=True, kw_only=True)
class FedGroup(Algorithm):
    """Groups by the pre-training updates of some clients; everybody else joins the group of the nearest direction.

    >>> import shoal
    >>> run = shoal.run(shoal.FedGroup(groups=4), "digits", rounds=1, engine="serial")
    >>> run.history[-1]["ari"]
    1.0
    """

    groups: Groups = option(3, "number of groups m, or auto")
    criterion: Criterion = option("cosine", "what groups=auto asks: cosine or euclidean silhouette, gap, elbow")
    measure: GroupMeasure = option("edc", "how updates are compared: edc or madc")
    alpha: int = option(20, "alpha * m clients take part in the group cold start", low=1)
    pretrain_steps: int = option(50, "mini-batch steps of pre-training (departure D7)", low=1)
    pretrain: Literal["steps", "epoch"] = option("steps", "length of pre-training: pretrain_steps, or one epoch")
    reuse_pretraining: bool = option(False, "go on from pre-training for the other epochs: its update counts, too")
    centres: Literal["clustered", "random"] = option("clustered", "random: RCC, groups grow from m random clients")
    newcomers: Literal["nearest", "random"] = option("nearest", "random: RAC, others get a random group, once")
    cold_start: Literal["lazy", "eager"] = option("lazy", "others join when first selected, or all before round 1")
    start_from_w0: bool = option(False, "groups start from w_0 instead of their mean (departure D10)")
    eta_g: float = option(0.0, "inter-group learning rate", low=0)
    inter_group: InterGroupMode = option("normalised", "inter-group aggregation: normalised or paper (departure D12)")
    mu: float = option(0.0, "proximal coefficient inside groups", low=0)
    migration: Migration = option(
        "off", "who drifted joins the nearest group again: off, aligned or counts", without_labels="off"
    )
    diagnostics: bool = option(False, "measure in every round what FlexCFL's theorem speaks of; costs gradients")
    select: Select = Random()
    solver: Solver = SGD()

    state: ClassVar[type[State]] = State

    @property
    def local(self) -> Solver:
        """The solver of a round."""
        return self.solver.plus(Proximal(self.mu)) if self.mu else self.solver

    @property
    def before(self) -> Solver:
        """The solver of pre-training: no proximal term, no decay of the rate, no momentum kept (departure D7)."""
        return self.solver.pretraining(self.pretrain_steps if self.pretrain == "steps" else None)

    @reusing_init
    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        """The group cold start (Algorithm 3)."""
        w0_P = engine.layout.init(key("init"))
        got = self._pretrain(w0_P, engine, key)  # lines 2 to 6
        rows_NP = got["update"][:, engine.layout.trainable]
        labels_N, measures = self._cluster(rows_NP, key)  # lines 7 to 14
        w0_KP, grouped = np.repeat(w0_P[None], int(labels_N.max()) + 1, 0), replace(got, which_N=labels_N)
        w_KP, _ = per_group(plain_mean(), engine.layout).apply(w0_KP, grouped, {}, key("aggregate"))  # line 16
        w_KP, directions_KP = w0_KP if self.start_from_w0 else w_KP, w_KP - w0_P  # line 17, departures D9 and D10
        server = per_group(weighted_mean(), engine.layout).init(w_KP)
        state = State(w_KP, w0_P, directions_KP, Table().put(got.cohort, labels_N), server)
        engine.map(StoreDirections(), got.cohort, directions_from(state), None, key("keep"), min_answers=0)
        if self.cold_start == "eager":
            state, _ = assign_newcomers(self, state, engine.clients.ids, engine, key("newcomers"))
        representation = Representation("pre-training updates", "cosine", got.cohort, rows_NP)
        return state, Record(measures=measures, representation=representation)

    @reusing_step
    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        """One round (Algorithm 2)."""
        state, measures, events = migrate(self, self.migration, self.before, state, engine, key("migrate"))
        cohort = self.select(engine.clients, key("select"))
        state, cohort = assign_newcomers(self, state, cohort, engine, key("newcomers").at(0))  # the same, eager or lazy
        got = engine.map(Train(self.local), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        w_KP, server = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, state.server, key("aggregate"))
        w_KP, relayed = between_groups(w_KP, state.group, self.eta_g, self.inter_group, engine)
        models, between = (state.w_KP, w_KP), self.eta_g * (len(w_KP) - 1)
        theory = divergence(got, models, between, self.solver, engine, key) if self.diagnostics else {}
        record = Record(trained=got, relayed=relayed, measures={**measures, **theory}, events=events)
        return replace(state, w_KP=w_KP, server=server), record

    def serve(self, state: State) -> Serving:
        mean_P = state.w_KP.mean(0, dtype=np.float64).astype(state.w_KP.dtype)  # departure D49
        return Serving(state.w_KP, state.group, auxiliary_models={"mean": mean_P})

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Client cold start: pre-train from w_0, take the nearest direction (equation 9); RAC: a random group."""
        if self.newcomers == "random":
            drawn = [Key(key.seed)("random group").of(c).rng().integers(len(state.w_KP)) for c in cohort]
            return Answers(cohort, np.array(drawn, int))
        task = Nearest(self.before, groups=len(state.w_KP))
        return engine.map(task, cohort, directions_from(state), None, key, min_answers=0)

    def grouped_at_start(self, clients: int) -> int:
        """How many of so many clients have a group before round 1: alpha m, or RCC: m; all if they join eagerly."""
        m = self._m(clients)
        some = m if self.centres == "random" else self.alpha * m
        return clients if self.cold_start == "eager" else min(some, clients)

    def _m(self, clients: int) -> int:
        """The number of groups of so many clients; with `auto` that of which alpha m clients take part."""
        return min(MAYBE, clients) if self.groups == "auto" else self.groups

    def _pretrain(self, w0_P: Array, engine: Engine, key: Key) -> Answers:
        """alpha m random clients pre-train from w_0; RCC: m of them."""
        n = len(engine.clients)
        if (m := self._m(n)) > n:
            raise BadInput(f"groups={m} but the federation has {n} clients")

        def ask(cohort: Cohort, min_answers: int | None = 0) -> Answers:
            zeros_N = np.zeros(len(cohort), int)
            return engine.map(Train(self.before), cohort, w0_P[None], zeros_N, key("pretrain"), min_answers)

        if self.centres == "random":
            return ask_until(m, ask, engine.clients, key("cold start"))
        return ask(Random(min(self.alpha * m, n))(engine.clients, key("cold start")), None)

    def _cluster(self, rows_NP: Array, key: Key) -> tuple[Array, dict[str, Any]]:
        """The group of each update and, for the record, how well groups fit; RCC: every client is a group."""
        if self.centres == "random":
            return np.arange(len(rows_NP)), {}
        cluster: Cluster = lambda rows_NP, m, rng: group_labels(rows_NP, m, self.measure, rng)  # noqa: E731
        m, values = number_of_groups(coordinates(rows_NP), self.groups, cluster, key("how many"), self.criterion)
        labels_N = cluster(rows_NP, m, key("cluster").rng())
        return labels_N, {**fit_measures(edc_embedding(rows_NP, m), labels_N, rows_NP), **values}


def directions_from(state: State) -> Array:
    """What a client keeps for its cold start: w_0 and the groups' directions."""
    return np.concatenate([state.w0_P[None], state.directions_KP])
