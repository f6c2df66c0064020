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
    Seats,
    deal_at_random,
    deal_by_labels,
    likeness_of_groups,
    mostly_alone,
    sample,
    share_that_trains,
    shuffled,
    transfers_between,
)
from shoal.algorithms.parts.growth import Beginning, Growth, growth, in_proportion
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
    beta: int = 0  # what `auto` gave for the clients of the start
    warned: bool = False  # of groups of one client


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
    beta: Beginning = option("auto", "f(1), and step of the growth; auto: 10 for 368 clients, in proportion", low=1)
    kappa: float = option(0.3, "share of the groups that trains in a round")
    grouping: Literal["icg", "random"] = option("icg", "how groups are made: icg, or random", without_labels="random")
    regroup: Literal["round", "once"] = option("round", "when: anew in every round, or once and for all")
    seats: Seats = option("all", "who is in ICG's groups: all clients, or equal groups and the rest sits out")
    histograms: Histograms = option("counts", "what ICG compares: label counts, or their shares")
    describe: Literal["once", "round"] = option("once", "when clients tell their label counts")
    epsilon: float | None = option(None, "noise on label counts: differentially private with this epsilon")
    transfer: Literal["relay", "direct"] = option("relay", "models go on by way of the server, or client to client")
    solver: Solver = SGD()
    aggregate: Aggregator = field(default_factory=plain_mean)

    state: ClassVar[type[State]] = State
    of_368: ClassVar[int] = 10  # what auto is for the clients of the paper

    def __post_init__(self) -> None:
        if not 0 < self.kappa <= 1:
            raise BadInput(f"kappa is a share of the groups, above 0 and at most 1, not {self.kappa}")
        _ = self._groups(1, 1), LabelHistogram(epsilon=self.epsilon)  # what is out of range is said at once

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w_KP = engine.layout.init_many(1, key("init"))
        server = per_group(self.aggregate, engine.layout).init(w_KP)
        return State(w_KP, Table(), Table(), server, self._beta(len(engine.clients))), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        V, who = self._describe(state.V, engine, key("describe"))
        groups, seat = self._group(who, V, state, key)  # line 4
        chosen = sample(groups, self.kappa, key("sample"))  # line 5
        chains = chosen if self.regroup == "once" else shuffled(chosen, key("order"))  # line 8
        got = engine.chain(Train(self.solver), chains, state.w_KP, np.zeros(len(chains), int), key("train"))  # 6 to 13
        lift = per_group(self.aggregate, engine.layout)  # line 14, departure D16
        w_KP, server = lift.apply(state.w_KP, got, state.server, key("aggregate"))
        told, alone = tuple(c for c in who if c in V), mostly_alone(groups)
        record = Record(
            trained=got,
            peer_transfers=transfers_between(chains, got) if self.transfer == "direct" else 0,
            measures=likeness_of_groups(groups, chains, V),
            events=(alone,) if alone and not state.warned else (),
            representation=Representation("label histograms", "cosine", told, V.get(told, 0.0)),
        )
        return State(w_KP, V, seat, server, state.beta, state.warned or alone is not None), record

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, kind="one")

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        return Answers(cohort, np.zeros(len(cohort), int))

    def parallel(self, rounds: int, clients: int) -> Parallel:
        M_R = [min(self._groups(r, self._beta(clients)), clients) for r in range(1, rounds + 1)]
        some_sit_out = (self.grouping, self.regroup, self.seats) == ("icg", "round", "equal")
        seated_R = [clients - clients % M if some_sit_out else clients for M in M_R]
        return Parallel(M_R, [share_that_trains(self.kappa, M) for M in M_R], seated_R)

    def _beta(self, clients: int) -> int:
        return in_proportion(self.of_368, clients) if self.beta == "auto" else self.beta

    def _groups(self, r: int, beta: int) -> int:
        """f(r), or f(1) for groups that stay."""
        beta = beta if self.beta == "auto" else self.beta
        return growth(self.growth, r if self.regroup == "round" else 1, self.alpha, beta)

    def _describe(self, V: Table, engine: Engine, key: Key) -> tuple[Table, Cohort]:
        """Label counts, asked for once or in every round, and the clients that can be put into a group.

        Random groups need no label counts.
        """
        there = engine.clients.with_samples
        if self.grouping == "random":
            return V, there
        new = tuple(c for c in engine.clients.ids if self.describe == "round" or c not in V)
        if new:
            min_answers = 0 if len(V) else None
            got = engine.map(LabelHistogram(epsilon=self.epsilon), new, None, None, key, min_answers)
            V = V.put(got.cohort, got["histogram"])
        return V, tuple(c for c in there if c in V)

    def _group(self, who: Cohort, V: Table, state: State, key: Key) -> tuple[list[Cohort], Table]:
        """The groups of a round, drawn anew; or those that stay, which newcomers join (departure D67)."""
        f = self._groups(key.round, state.beta)
        if self.regroup == "round":
            return self._deal(who, V, f, key), state.seat
        seat = state.seat
        if not len(seat):
            seat = chain_order_of(shuffled(self._deal(who, V, f, key), key("order")))
        seat = join_shortest_chain(seat, who)
        return chains_of(seat, who), seat

    def _deal(self, who: Cohort, V: Table, f: int, key: Key) -> list[Cohort]:
        if self.grouping == "random":
            return deal_at_random(who, f, key("group"))
        return deal_by_labels(who, V, f, self.histograms, key("group"), self.seats)
