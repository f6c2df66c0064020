"""FedGSP: grouped sequential-to-parallel training, STP with ICG. Zeng et al. 2022, Algorithms 1 and 2.
https://arxiv.org/abs/2201.12976"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import Aggregator, ServerState, per_group, plain_mean
from shoal.algorithms.growth import Growth, growth
from shoal.algorithms.seats import join_smallest, seated, seats_of
from shoal.clusterers import icg
from shoal.costs import Parallel
from shoal.errors import BadInput
from shoal.measures import cpd_pairs, grouping_objective
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Describe, Train
from shoal.types import Answers, Array, Cohort, Compared, Engine, Record, option

MEASURED = 1000  # groups up to which all pairs are compared for the record


@dataclass(frozen=True)
class State:
    """One model, the label counts of each client, and, where groups stay, each client's group and place in it."""

    w_KP: Array  # K = 1
    V: Table  # client id -> counts per class
    seat: Table  # client id -> (group, place)
    server: ServerState = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FedGSP:
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
    histograms: Literal["counts", "shares"] = option("counts", "what ICG compares: label counts, or their shares")
    describe: Literal["once", "round"] = option("once", "when clients tell their label counts")
    epsilon: float | None = option(None, "noise on label counts: differentially private with this epsilon")
    transfer: Literal["relay", "direct"] = option("relay", "models go on by way of the server, or client to client")
    solver: SGD = SGD()
    aggregate: Aggregator = field(default_factory=plain_mean)

    state: ClassVar[type[State]] = State

    def __post_init__(self) -> None:
        if not 0 < self.kappa <= 1:
            raise BadInput(f"kappa is a share of the groups, above 0 and at most 1, not {self.kappa}")
        _ = Describe(epsilon=self.epsilon)  # what is out of range is said at once

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w_KP = engine.layout.init_many(1, key("init"))
        return State(w_KP, Table(), Table(), per_group(self.aggregate, engine.layout).init(w_KP)), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        V = self._ask(state.V, engine, key("describe"))
        who = tuple(
            c for c, n in zip(engine.clients.ids, engine.clients.sizes_N, strict=True) if n and self._known(c, V)
        )
        if self.regroup == "round":
            seat, groups = state.seat, self._draw(who, V, key.round, key("group"))
        else:
            first = not len(state.seat)
            seat = seats_of(shuffled(self._draw(who, V, 1, key("group")), key("order"))) if first else state.seat
            seat = join_smallest(seat, who)
            groups = seated(seat, who)
        chosen = sample(groups, self.kappa, key("sample"))
        chains = chosen if self.regroup == "once" else shuffled(chosen, key("order"))
        zeros_M = np.zeros(len(chains), int)
        got = engine.chain(Train(self.solver), chains, state.w_KP, zeros_M, key("train"))  # lines 6 to 13
        w_KP, server = per_group(self.aggregate, engine.layout).apply(state.w_KP, got, state.server)  # line 14, D16
        handed = between(chains, got) if self.transfer == "direct" else 0
        told = tuple(c for c in who if c in V)
        compared = Compared("label histograms", "cosine", told, V.get(told, 0.0))
        record = Record(trained=got, handed=handed, measures=report(groups, chains, V), compared=compared)
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

    def _known(self, client: str, V: Table) -> bool:
        """Whether a client can be put into a group."""
        return self.grouping == "random" or client in V

    def _ask(self, V: Table, engine: Engine, key: Key) -> Table:
        """Label counts of those who have not told them, or of everybody; random groups need none."""
        if self.grouping == "random":
            return V
        again = self.describe == "round"
        new = tuple(c for c in engine.clients.ids if again or c not in V)
        if not new:
            return V
        got = engine.map(Describe(epsilon=self.epsilon), new, None, None, key, least=0 if len(V) else None)
        return V.put(got.cohort, got["histogram"])

    def _draw(self, who: Cohort, V: Table, r: int, key: Key) -> list[Cohort]:
        """min(f(r), K) groups, ordered by their first clients (line 4)."""
        if not who:
            return []
        if self.grouping == "random":
            dealt = np.array_split(key.rng().permutation(len(who)), min(self._groups(r), len(who)))
            rows = sorted((np.sort(rows) for rows in dealt), key=lambda rows: int(rows[0]))
        else:
            V_KF = V.get(who, 0).astype(np.float64)
            if self.histograms == "shares":
                V_KF /= np.maximum(V_KF.sum(1, keepdims=True), 1)
            rows = list(icg(V_KF, self._groups(r), key.rng()).groups)
        return [tuple(who[i] for i in mine) for mine in rows]


@dataclass(frozen=True, kw_only=True)
class NaiveGSP(FedGSP):
    """Random groups, drawn once, their number and order fixed; in sequence inside, in parallel between them.

    >>> import shoal
    >>> run = shoal.run(shoal.NaiveGSP(beta=5, kappa=1.0), "digits", rounds=1, engine="serial")
    >>> run.history[1]["trained"]
    5
    """

    beta: int = option(52, "number of groups", low=1, key="groups")
    grouping: Literal["icg", "random"] = option("random", "how groups are made: icg, or random")
    regroup: Literal["round", "once"] = option("once", "when: anew in every round, or once and for all")


@dataclass(frozen=True, kw_only=True)
class NaiveGSPICG(NaiveGSP):
    """The same with groups from one run of ICG.

    >>> import shoal
    >>> run = shoal.run(shoal.NaiveGSPICG(beta=5, kappa=1.0), "digits", rounds=1, engine="serial")
    >>> run.history[1]["trained"]
    5
    """

    grouping: Literal["icg", "random"] = option("icg", "how groups are made: icg, or random")


def sample(groups: Sequence[Cohort], kappa: float, key: Key) -> list[Cohort]:
    """`max(1, round(kappa M))` of M groups, uniformly without replacement, in their order (D30).

    >>> len(sample([("a",), ("b",), ("c",)], 0.5, Key(0))), len(sample([("a",)], 0.1, Key(0)))
    (2, 1)
    """
    m = len(groups)
    return [groups[i] for i in np.sort(key.rng().permutation(m)[: max(1, round(kappa * m))])]


def shuffled(groups: Sequence[Cohort], key: Key) -> list[Cohort]:
    """Every group in an order of its own."""
    rng = key.rng()
    return [tuple(group[i] for i in rng.permutation(len(group))) for group in groups]


def between(chains: Sequence[Cohort], got: Answers) -> int:
    """Models handed from client to client: one less than the clients of a chain that answered."""
    failed = {f.client for f in got.failed}
    return sum(max(0, sum(c not in failed for c in chain) - 1) for chain in chains)


def report(groups: Sequence[Cohort], chains: Sequence[Cohort], V: Table) -> dict[str, Any]:
    """How many groups and clients there were and, where label counts are known, how alike the groups are."""
    found: dict[str, Any] = {"groups": len(groups), "clients": sum(map(len, chains))}
    V_MF = [V.get(group, 0).sum(0) for group in groups if group[0] in V]
    counted_MF = np.array([row for row in V_MF if row.sum() > 0])
    if 1 < len(counted_MF) <= MEASURED:
        found |= {"cpd": float(np.median(cpd_pairs(counted_MF))), "z": grouping_objective(counted_MF)}
    return found
