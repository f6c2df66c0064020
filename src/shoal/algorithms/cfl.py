"""CFL: clustered federated learning by recursive bipartition. Sattler, Mueller, Samek, NeurIPS Workshop on Federated
Learning 2019, Algorithm 2, in rounds; that groups must stand apart is from https://arxiv.org/abs/1910.01991"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, weighted_mean
from shoal.algorithms.parts.alike import Alike
from shoal.algorithms.parts.newcomers import assign_newcomers
from shoal.algorithms.parts.room import check_room
from shoal.algorithms.parts.split_criteria import CriteriaMode, Threshold, rounds_of, young_clusters
from shoal.algorithms.parts.split_tree import Node, best_on_path, divide, walk_down
from shoal.algorithms.parts.split_verdict import Guard, SplitRule, judge_all
from shoal.algorithms.registry import algorithm
from shoal.clusterers import BipartitionMode
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD, Proximal
from shoal.table import Serving, Table
from shoal.tasks import Losses, Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Representation, Select, Solver, option

Events = tuple[dict[str, Any], ...]
ASKED = 10  # clients at most, whether there is a validation split
WAITS = "not all members have a young update"


@dataclass(frozen=True)
class State:
    """Leaf models, the leaf of each client, its latest update and its round, and the tree of splits with its models."""

    theta_KP: Array
    group: Table
    latest: Table
    age: Table
    tree: tuple[Node, ...]  # the splits, in order
    cached_SP: Array  # the model at each split
    means_SP: Array  # mean update of either side at each split, two rows a split
    choice: Table  # with `path_choice`: the model of each client, leaves first, then cached ones
    server: ServerState = field(default_factory=dict)
    first: float = 0.0  # mean length of the updates in the first round
    alike: Alike = field(default_factory=Alike)  # with the guard: similarities over the last rounds
    final: tuple[int, ...] = ()  # clusters that stood still with every client content


@algorithm("cfl", finds_groups=True, finds_number=True, splits=True)
@dataclass(frozen=True, kw_only=True)
class CFL(Algorithm):
    """Federated learning that splits a cluster in two where it is stationary and its clients are not.

    Meant for full participation; otherwise each member counts with its latest update, while all are young enough.

    >>> import shoal
    >>> run = shoal.run(shoal.CFL(split_rounds="1"), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    2
    """

    eps1: Threshold = option("auto", "a cluster is stationary when its mean update is shorter than this", low=0)
    eps2: Threshold = option("auto", "and incongruent when some client's update is as long as this", low=0)
    guard: Guard = option("auto", "split only clients whose groups stand apart: on, off; auto: on with an auto eps")
    bipartition: BipartitionMode = option("optimal", "the cut: optimal (exact), or complete linkage (departure D4)")
    criteria: CriteriaMode = option("paper", "paper: weighted mean; notebook: plain mean, min_round, min_cluster_size")
    min_round: int = option(20, "notebook: no split up to this round", low=0)
    min_cluster_size: int = option(2, "notebook: only larger clusters are split", low=1)
    split_rounds: str = option("", "split the least alike cluster at each of these rounds instead: 50+100+150")
    max_age: int = option(5, "a cluster waits while a member's latest update is older than so many rounds", low=0)
    mu: float = option(0.0, "strength of a proximal term in local training", low=0)
    path_choice: bool = option(False, "each client takes the model of its path, leaf to root, best on validation data")
    table_limit: float = option(2e9, "bytes of latest updates the server may hold", low=0)
    select: Select = All()
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        _ = rounds_of(self.split_rounds)  # what cannot be read is said at once
        check_room("cfl", "updates", engine, self.table_limit)
        theta_KP = engine.layout.init_many(1, key("init"))
        if self.path_choice:  # and that there is no validation split; some client will say so
            ask, ids = Losses("val", diagnostic=True), engine.clients.ids
            if not len(engine.map(ask, ids[:1], theta_KP, None, key("choose"), min_answers=0)):
                engine.map(ask, ids[:ASKED], theta_KP, None, key("choose"), min_answers=1)
        group = Table().put(engine.clients.ids, np.zeros(len(engine.clients), int))
        none_SP, server = theta_KP[:0], per_group(self.aggregate, engine.layout).init(theta_KP)
        return State(theta_KP, group, Table(), Table(), (), none_SP, none_SP, Table(), server), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        state, cohort = assign_newcomers(self, state, cohort, engine, key("newcomers"))
        got = engine.map(Train(self.local), cohort, state.theta_KP, state.group.get(cohort, 0), key("train"))  # line 2
        rounds_N = np.full(len(got), key.round)
        state = replace(
            state, latest=state.latest.put(got.cohort, got["update"]), age=state.age.put(got.cohort, rounds_N)
        )
        state, measures, events = self._split(state, got, engine, key.round)  # lines 3 to 9
        inside = replace(got, which_N=state.group.get(got.cohort, 0), models_KP=state.theta_KP)
        lift = per_group(self.aggregate, engine.layout)
        theta_KP, server = lift.apply(state.theta_KP, inside, state.server, key("aggregate"))
        state = replace(state, theta_KP=theta_KP, server=server)
        if self.path_choice:
            state = replace(state, choice=best_on_path(state, engine, key("choose")))
        representation = Representation("updates", "cosine", got.cohort, got["update"][:, engine.layout.trainable])
        return state, Record(trained=inside, measures=measures, events=events, representation=representation)

    def serve(self, state: State) -> Serving:
        if not len(state.choice):
            return Serving(state.theta_KP, state.group)
        return Serving(np.concatenate([state.theta_KP, state.cached_SP]), state.choice)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Walk the tree: at every split train from its model and take the side with the more similar mean update."""
        return walk_down(state, cohort, self.local, engine, key)

    @property
    def local(self) -> Solver:
        """What clients train with: CFL stands on any federated method."""
        return self.solver.plus(Proximal(self.mu)) if self.mu else self.solver

    def _split(self, state: State, got: Answers, engine: Engine, t: int) -> tuple[State, dict[str, Any], Events]:
        """Bipartition every cluster that asks for it; one side keeps the number of its parent, the other is new.

        A cluster waits until all its members have a young update (departure D43). At a fixed round the one cluster with
        the cleanest cut is split, as in the paper's figure: three rounds make four clusters (departure D42).
        """
        failed = tuple(f.client for f in got.failed)
        clusters, waiting = young_clusters(state.group, state.age, engine.clients.with_samples, failed, t, self.max_age)
        events: list[dict[str, Any]] = [{"kind": "cluster waits", "group": k, "reason": WAITS} for k in waiting]
        fixed = rounds_of(self.split_rounds)
        rule = SplitRule.of(self, "off" if fixed else self.guard)
        state, verdicts = judge_all(state, clusters, rule, engine, t)  # lines 3 to 5
        asked = {k for k, verdict in verdicts.items() if (t in fixed if fixed else verdict.answer == "split")}
        cuts = {k: cut for k in sorted(asked) if (cut := verdicts[k].cut)}
        if fixed:
            cuts = dict(sorted(cuts.items(), key=lambda item: item[1].cross)[:1])
            verdicts = {k: verdict.at_fixed_rounds(k in cuts) for k, verdict in verdicts.items()}
        for k, cut in cuts.items():
            sides = [tuple(c for c, side in zip(clusters[k], cut.labels_N, strict=True) if side == i) for i in (0, 1)]
            state = divide(state, k, sides)  # lines 6 to 9
            event = {"kind": "split", "group": k, "into": [k, len(state.theta_KP) - 1]}
            events.append({**event, **verdicts[k].record, "clients": [list(s) for s in sides]})
        return state, {"clusters": {str(k): verdict.record for k, verdict in verdicts.items()}}, tuple(events)
