"""FedGSP: grouped sequential-to-parallel training, STP with ICG. Zeng et al. 2022, Algorithms 1 and 2.
https://arxiv.org/abs/2201.12976"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, plain_mean
from shoal.algorithms.parts.chain_order import chain_order_of, chains_of, join_shortest_chain
from shoal.algorithms.parts.chains import (
    Histograms,
    deal_at_random,
    deal_by_labels,
    likeness_of_groups,
    sample,
    shuffled,
    transfers_between,
)
from shoal.algorithms.parts.growth import Growth, growth
from shoal.algorithms.registry import algorithm
from shoal.costs import Parallel
from shoal.errors import BadInput
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import LabelHistogram, Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Representation, Solver, option


@dataclass(frozen=True)
class State:
    """One model, the label counts of each client, and, where groups stay, each client's group and place in it."""

    w_KP: Array  # K = 1
    V: Table  # client id -> counts per class
    seat: Table  # client id -> (group, place)
    server: ServerState = field(default_factory=dict)


@algorithm("fedgsp", single_model=True)
@dataclass(frozen=True, kw_only=True)
class FedGSP(Algorithm):
    """One model, trained client after client inside groups that look alike, and by more groups every few rounds.

    >>> import shoal
    >>> run = shoal.run(shoal.FedGSP(beta=4, kappa=0.5), "digits", rounds=2, engine="serial")
    >>> [row["measures"]["groups"] for row in run.history[1:]]
    [4, 8]
    """

    growth: Growth = option("log", "how the number of groups f(r) grows: linear, log or exp")
    alpha: float = option(2.0, "rate of that growth", low=0)
    beta: int = option(10, "groups at the start, and step of the growth", low=1)
    kappa: float = option(0.3, "share of the groups that trains in a round")
    grouping: Literal["icg", "random"] = option("icg", "how groups are made: icg, or random")
    regroup: Literal["round", "once"] = option("round", "when: anew in every round, or once and for all")
    histograms: Histograms = option("counts", "what ICG compares: label counts, or their shares")
    describe: Literal["once", "round"] = option("once", "when clients tell their label counts")
    epsilon: float | None = option(None, "noise on label counts: differentially private with this epsilon")
    transfer: Literal["relay", "direct"] = option("relay", "models go on by way of the server, or client to client")
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=plain_mean)

    state: ClassVar[type[State]] = State

    def __post_init__(self) -> None:
        if not 0 < self.kappa <= 1:
            raise BadInput(f"kappa is a share of the groups, above 0 and at most 1, not {self.kappa}")
        _ = self._groups(1), LabelHistogram(epsilon=self.epsilon)  # what is out of range is said at once

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w_KP = engine.layout.init_many(1, key("init"))
        return State(w_KP, Table(), Table(), per_group(self.aggregate, engine.layout).init(w_KP)), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        V, who = self._describe(state.V, engine, key("describe"))
        groups, seat = self._group(who, V, state.seat, key)  # line 4
        chosen = sample(groups, self.kappa, key("sample"))  # line 5
        chains = chosen if self.regroup == "once" else shuffled(chosen, key("order"))  # line 8
        got = engine.chain(Train(self.solver), chains, state.w_KP, np.zeros(len(chains), int), key("train"))  # 6 to 13
        lift = per_group(self.aggregate, engine.layout)  # line 14, departure D16
        w_KP, server = lift.apply(state.w_KP, got, state.server, key("aggregate"))
        told = tuple(c for c in who if c in V)
        record = Record(
            trained=got,
            peer_transfers=transfers_between(chains, got) if self.transfer == "direct" else 0,
            measures=likeness_of_groups(groups, chains, V),
            representation=Representation("label histograms", "cosine", told, V.get(told, 0.0)),
        )
        return State(w_KP, V, seat, server), record

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))

    def parallel(self, rounds: int, clients: int) -> Parallel:
        return Parallel([self._groups(r) for r in range(1, rounds + 1)], self.kappa)

    def _groups(self, r: int) -> int:
        """f(r), or f(1) for groups that stay."""
        return growth(self.growth, r if self.regroup == "round" else 1, self.alpha, self.beta)

    def _describe(self, V: Table, engine: Engine, key: Key) -> tuple[Table, Cohort]:
        """Label counts, asked for once or in every round, and the clients that can be put into a group.

        Random groups need no label counts.
        """
        there = tuple(c for c, n in zip(engine.clients.ids, engine.clients.sizes_N, strict=True) if n)
        if self.grouping == "random":
            return V, there
        new = tuple(c for c in engine.clients.ids if self.describe == "round" or c not in V)
        if new:
            min_answers = 0 if len(V) else None
            got = engine.map(LabelHistogram(epsilon=self.epsilon), new, None, None, key, min_answers)
            V = V.put(got.cohort, got["histogram"])
        return V, tuple(c for c in there if c in V)

    def _group(self, who: Cohort, V: Table, seat: Table, key: Key) -> tuple[list[Cohort], Table]:
        """The groups of a round, drawn anew; or those that stay, which newcomers join (departure D67)."""
        if self.regroup == "round":
            return self._deal(who, V, key), seat
        if not len(seat):
            seat = chain_order_of(shuffled(self._deal(who, V, key), key("order")))
        seat = join_shortest_chain(seat, who)
        return chains_of(seat, who), seat

    def _deal(self, who: Cohort, V: Table, key: Key) -> list[Cohort]:
        if self.grouping == "random":
            return deal_at_random(who, self._groups(key.round), key("group"))
        return deal_by_labels(who, V, self._groups(key.round), self.histograms, key("group"))
