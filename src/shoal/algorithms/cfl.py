"""CFL: clustered federated learning by recursive bipartition. Sattler, Mueller, Samek 2019, Algorithm 1, in rounds.
https://arxiv.org/abs/1910.01991"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, weighted_mean
from shoal.algorithms.criteria import CriteriaMode, cfl_criteria
from shoal.algorithms.newcomers import welcome
from shoal.algorithms.tree import Node, path, walk
from shoal.clusterers import BipartitionMode, Split, bipartition
from shoal.errors import BadInput
from shoal.measures import cosine, within
from shoal.seeds import Key
from shoal.selection import All
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Losses, Train
from shoal.types import Answers, Array, Cohort, Compared, Engine, Record, Select, option


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


@dataclass(frozen=True, kw_only=True)
class CFL:
    """Federated learning that splits a cluster in two where it is stationary and its clients are not.

    Meant for full participation; otherwise each member counts with its latest update, while all are young enough.

    >>> import shoal
    >>> run = shoal.run(shoal.CFL(split_rounds="1"), "digits", rounds=1, engine="serial")
    >>> len(run.models)
    2
    """

    eps1: float = option(0.1, "a cluster is stationary when its mean update is shorter than this", low=0)
    eps2: float = option(0.3, "and incongruent when some client's update is longer than this", low=0)
    bipartition: BipartitionMode = option("optimal", "the cut: optimal (exact), or complete linkage (D4)")
    criteria: CriteriaMode = option("paper", "paper: weighted mean; notebook: plain mean, min_round, min_cluster_size")
    min_round: int = option(20, "notebook: no split up to this round", low=0)
    min_cluster_size: int = option(2, "notebook: only larger clusters are split", low=1)
    split_rounds: str = option("", "split the least alike cluster at each of these rounds instead: 50+100+150")
    max_age: int = option(5, "a cluster waits while a member's latest update is older than so many rounds", low=0)
    path_choice: bool = option(False, "each client takes the model of its path, leaf to root, best on validation data")
    select: Select = All()
    solver: SGD = SGD()
    aggregate: Aggregator = field(default_factory=weighted_mean)

    state: ClassVar[type[State]] = State

    @property
    def fixed_rounds(self) -> tuple[int, ...]:
        try:
            return tuple(int(word) for word in self.split_rounds.split("+") if word)
        except ValueError as e:
            raise BadInput(f"split_rounds={self.split_rounds} is not possible: write rounds like 50+100+150") from e

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        _ = self.fixed_rounds
        theta_KP = engine.layout.init_many(1, key("init"))
        group = Table().put(engine.clients.ids, np.zeros(len(engine.clients), int))
        if self.path_choice:  # says at once if there is no validation split
            engine.map(Losses("val"), engine.clients.ids[:1], theta_KP, None, key("choose"))
        none_SP, server = theta_KP[:0], per_group(self.aggregate, engine.layout).init(theta_KP)
        return State(theta_KP, group, Table(), Table(), (), none_SP, none_SP, Table(), server), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        state, cohort = welcome(self, state, cohort, engine, key("newcomers"))
        got = engine.map(Train(self.solver), cohort, state.theta_KP, state.group.get(cohort, 0), key("train"))
        now = np.full(len(got), key.round)
        state = replace(state, latest=state.latest.put(got.cohort, got["update"]), age=state.age.put(got.cohort, now))
        state, measures, events = self._split(state, {f.client for f in got.failed}, engine, key.round)
        inside = replace(got, which_N=state.group.get(got.cohort, 0), models_KP=state.theta_KP)
        theta_KP, server = per_group(self.aggregate, engine.layout).apply(state.theta_KP, inside, state.server)
        state = replace(state, theta_KP=theta_KP, server=server)
        if self.path_choice:
            state = replace(state, choice=self._choose(state, engine, key("choose")))
        compared = Compared("updates", "cosine", got.cohort, got["update"][:, engine.layout.trainable])
        return state, Record(trained=inside, measures=measures, events=events, compared=compared)

    def serve(self, state: State) -> Serving:
        if not len(state.choice):
            return Serving(state.theta_KP, state.group)
        return Serving(np.concatenate([state.theta_KP, state.cached_SP]), state.choice)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Walk the tree: at every split train from its model and take the side with the more similar mean update."""
        here = dict.fromkeys(cohort, 0)  # the node at which each newcomer stands
        failed: dict[str, Any] = {}
        for s, node in enumerate(state.tree):
            at = tuple(c for c in cohort if here[c] == node.name and c not in failed)
            if not at:
                continue
            zeros = np.zeros(len(at), int)
            got = engine.map(Train(self.solver), at, state.cached_SP[s][None], zeros, key(f"split {s}"), least=0)
            failed |= {f.client: f for f in got.failed}
            trainable = engine.layout.trainable
            for client, side in zip(
                got.cohort, walk(got["update"], state.means_SP[2 * s : 2 * s + 2], trainable), strict=True
            ):
                here[client] = node.children[side]
        leaves = {name: k for k, name in enumerate(leaf_names(state.tree))}
        kept = tuple(c for c in cohort if c not in failed)
        leaf_N = np.array([leaves[here[c]] for c in kept], int)
        return Answers(kept, leaf_N, {}, tuple(failed.values()))

    def _split(
        self, state: State, failed: set[str], engine: Engine, t: int
    ) -> tuple[State, dict[str, Any], tuple[dict[str, Any], ...]]:
        """Bipartition every cluster that asks for it; one side keeps the number of its parent, the other is new.

        Members whose update is too old are waited for, unless they were asked this round and failed: then a split goes
        on without them, and they are newcomers when they come back. At a fixed round the one cluster with the cleanest
        cut is split, as in the paper's figure: three rounds make four clusters.
        """
        norms: dict[str, Any] = {}
        events: list[dict[str, Any]] = []
        cuts: dict[int, tuple[Cohort, Split]] = {}
        ids, group_N = engine.clients.ids, state.group.get(engine.clients.ids, -1)
        for k in range(len(state.theta_KP)):
            here = [c for c, own in zip(ids, group_N, strict=True) if own == k]
            young = {c for c in here if c in state.age and t - state.age.get((c,), 0)[0] <= self.max_age}
            mine = tuple(c for c in here if c in young)
            if not young | failed >= set(here):
                events.append({"kind": "cluster waits", "group": k, "reason": "not all members have a young update"})
                continue
            if not mine:
                continue
            rows_NP = state.latest.get(mine, 0.0)[:, engine.layout.trainable]
            sizes_N = np.array([engine.clients.size(c) for c in mine])
            found = cfl_criteria(
                rows_NP, sizes_N, self.eps1, self.eps2, self.criteria, t, self.min_round, self.min_cluster_size
            )
            seen = {"mean_norm": found.mean_norm, "max_norm": found.max_norm, "clients": len(mine)}
            norms[str(k)] = {**seen, "within": within(rows_NP, np.zeros(len(mine), int))}
            due = t in self.fixed_rounds and len(mine) > 1 if self.fixed_rounds else found.split
            if due:
                cuts[k] = mine, bipartition(cosine(rows_NP), self.bipartition)
        if self.fixed_rounds and cuts:
            best = min(cuts, key=lambda k: cuts[k][1].cross)
            cuts = {best: cuts[best]}
        for k, (mine, cut) in cuts.items():
            sides = [tuple(c for c, side in zip(mine, cut.labels_N, strict=True) if side == i) for i in (0, 1)]
            state = divide(state, k, sides)
            event = {"kind": "split", "group": k, "into": [k, len(state.theta_KP) - 1], "cross": cut.cross}
            events.append({**event, **norms[str(k)], "clients": [list(s) for s in sides]})
        return state, {"clusters": norms}, tuple(events)

    def _choose(self, state: State, engine: Engine, key: Key) -> Table:
        """For every client the model of its path with the least loss on its validation data."""
        models_KP = np.concatenate([state.theta_KP, state.cached_SP])
        known = tuple(c for c in engine.clients.ids if c in state.group)
        got = engine.map(Losses("val"), known, models_KP, None, key)
        leaves = leaf_names(state.tree)
        chosen = []
        for client, losses_K in zip(got.cohort, got["losses"], strict=True):
            leaf = int(state.group.get((client,), 0)[0])
            splits = [len(state.theta_KP) + s for s in path(state.tree, leaves[leaf])]
            chosen.append(min([leaf, *splits], key=lambda k: losses_K[k]))
        return Table().put(known, state.group.get(known, 0)).put(got.cohort, np.array(chosen, int))


def divide(state: State, k: int, sides: list[Cohort]) -> State:
    """The state in which cluster k is two: side 0 goes on as k, side 1 as a new last cluster, both from its model."""
    node = leaf_names(state.tree)[k]
    top = 1 + 2 * len(state.tree)  # names of nodes: the root is 0, a split makes the next two
    others = np.flatnonzero(state.group.rows != k)
    means = [state.latest.get(side, 0.0).astype(np.float64).mean(0).astype(state.theta_KP.dtype) for side in sides]
    return replace(
        state,
        theta_KP=np.concatenate([state.theta_KP, state.theta_KP[k : k + 1]]),
        group=Table(tuple(state.group.ids[i] for i in others), state.group.rows[others])
        .put(sides[0], np.full(len(sides[0]), k))
        .put(sides[1], np.full(len(sides[1]), len(state.theta_KP))),
        tree=(*state.tree, Node(node, (top, top + 1), k)),
        cached_SP=np.concatenate([state.cached_SP, state.theta_KP[k : k + 1]]),
        means_SP=np.concatenate([state.means_SP, np.stack(means)]),
        server={name: np.concatenate([rows, rows[k : k + 1]]) for name, rows in state.server.items()},
    )


def leaf_names(tree: tuple[Node, ...]) -> list[int]:
    """The node of every leaf, by the number of its model."""
    leaves = [0]
    for node in tree:
        leaves[node.group] = node.children[0]
        leaves.append(node.children[1])
    return leaves
