"""FedGroup: clients grouped once by the directions they learn in. Duan et al. 2021, Algorithms 2 and 3; with migration
FlexCFL, Duan et al. 2022. https://arxiv.org/abs/2010.06870"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import ServerState, inter_group, per_group, plain_mean, weighted_mean
from shoal.aggregators.inter_group import InterGroupMode
from shoal.algorithms.auto import Groups, how_many
from shoal.algorithms.cold_start import GroupMeasure, group_labels
from shoal.algorithms.migration import Migration, shifted_clients
from shoal.algorithms.newcomers import welcome
from shoal.errors import BadInput
from shoal.measures import edc_embedding, within
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving, Table
from shoal.tasks import Keep, Nearest, Train
from shoal.types import Answers, Array, Cohort, Compared, Engine, Record, Select, option


@dataclass(frozen=True)
class State:
    """Group models, the fixed start w_0 and group directions for newcomers, and the group of every client seen."""

    w_KP: Array
    w0_P: Array
    directions_KP: Array
    group: Table
    server: ServerState = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FedGroup:
    """Groups by the pre-training updates of some clients; everybody else joins the group of the nearest direction.

    >>> import shoal
    >>> run = shoal.run(shoal.FedGroup(groups=4), "digits", rounds=1, engine="serial")
    >>> run.history[-1]["ari"]
    1.0
    """

    groups: Groups = option(3, "number of groups m, or auto")
    measure: GroupMeasure = option("edc", "how updates are compared: edc or madc")
    alpha: int = option(20, "alpha * m clients take part in the group cold start", low=1)
    pretrain_steps: int = option(50, "mini-batch steps of pre-training (D7)", low=1)
    pretrain: Literal["steps", "epoch"] = option("steps", "length of pre-training: pretrain_steps, or one epoch")
    centres: Literal["clustered", "random"] = option("clustered", "random: RCC, groups grow from m random clients")
    newcomers: Literal["nearest", "random"] = option("nearest", "random: RAC, others get a random group, once")
    cold_start: Literal["lazy", "eager"] = option("lazy", "others join when first selected, or all before round 1")
    start_from_w0: bool = option(False, "groups start from w_0 instead of their mean (D10)")
    eta_g: float = option(0.0, "inter-group learning rate", low=0)
    inter_group: InterGroupMode = option("normalised", "form of inter-group aggregation: normalised or paper (D12)")
    mu: float = option(0.0, "proximal coefficient inside groups", low=0)
    migration: Migration = option("off", "who drifted joins the nearest group again: off, aligned or counts")
    select: Select = Random()
    solver: SGD = SGD()

    state: ClassVar[type[State]] = State

    @property
    def local(self) -> SGD:
        return self.solver.plus(Proximal(self.mu)) if self.mu else self.solver

    @property
    def before(self) -> SGD:
        """The solver of pre-training: no proximal term."""
        short = {"steps": self.pretrain_steps} if self.pretrain == "steps" else {"steps": None, "epochs": 1}
        return replace(self.solver, **short, momentum_memory="reset", lr_decay=1.0, terms=())

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w0_P = engine.layout.init(key("init"))
        got, labels_N, m, measures = self._group_cold_start(w0_P, engine, key)
        w0_KP = np.repeat(w0_P[None], m, 0)
        w_KP, _ = per_group(plain_mean(), engine.layout).apply(w0_KP, replace(got, which_N=labels_N), {})
        directions_KP = w_KP - w0_P
        engine.map(Keep(), got.cohort, np.concatenate([w0_P[None], directions_KP]), None, key("keep"), least=0)
        group = Table().put(got.cohort, labels_N)
        w_KP = w0_KP if self.start_from_w0 else w_KP
        state = State(w_KP, w0_P, directions_KP, group, per_group(weighted_mean(), engine.layout).init(w_KP))
        if self.cold_start == "eager":
            state, _ = welcome(self, state, engine.clients.ids, engine, key("newcomers"))
        rows_NP = got["update"][:, engine.layout.trainable]
        return state, Record(
            measures=measures, compared=Compared("pre-training updates", "cosine", got.cohort, rows_NP)
        )

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        state, measures, events = self._migrate(state, engine, key("migrate"))
        cohort = self.select(engine.clients, key("select"))
        state, cohort = welcome(self, state, cohort, engine, key("newcomers").at(0))  # the same, eager or lazy
        got = engine.map(Train(self.local), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        w_KP, server = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, state.server)
        w_KP, relayed = self._between(w_KP, state.group, engine)
        record = Record(trained=got, relayed=relayed, measures=measures, events=events)
        return replace(state, w_KP=w_KP, server=server), record

    def serve(self, state: State) -> Serving:
        return Serving(
            state.w_KP, state.group, beside={"mean": state.w_KP.mean(0, dtype=np.float64).astype(state.w_KP.dtype)}
        )

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """Client cold start: pre-train from w_0, take the nearest direction (spec 2.4.2); RAC: a random group."""
        if self.newcomers == "random":
            m = len(state.w_KP)
            drawn = [int(Key(key.seed)("random group").of(c).rng().integers(m)) for c in cohort]
            return Answers(cohort, np.array(drawn, int))
        vectors_KP = np.concatenate([state.w0_P[None], state.directions_KP])
        return engine.map(Nearest(self.before), cohort, vectors_KP, None, key, least=0)

    def _group_cold_start(self, w0_P: Array, engine: Engine, key: Key) -> tuple[Answers, Array, int, dict[str, Any]]:
        """Some clients pre-train from w_0 and are clustered (spec 2.4.1); RCC: each of m random ones is a group."""
        n, most = len(engine.clients), self.groups if self.groups != "auto" else 5
        if most > n:
            raise BadInput(f"groups={most} but the federation has {n} clients")
        want = most if self.centres == "random" else min(self.alpha * most, n)
        sampled = Random(want)(engine.clients, key("cold start"))
        got = engine.map(Train(self.before), sampled, w0_P[None], np.zeros(len(sampled), int), key("pretrain"))
        if self.centres == "random":
            return got, np.arange(len(got)), len(got), {}
        rows_NP, rng = got["update"][:, engine.layout.trainable], key("cluster").rng()
        points_NM = edc_embedding(rows_NP, min(most, len(rows_NP)))
        m, values = how_many(points_NM, self.groups, lambda _, k, r: group_labels(rows_NP, k, self.measure, r), rng)
        labels_N = group_labels(rows_NP, m, self.measure, rng)
        return got, labels_N, m, {"within": within(points_NM, labels_N), **values}

    def _migrate(
        self, state: State, engine: Engine, key: Key
    ) -> tuple[State, dict[str, int], tuple[dict[str, Any], ...]]:
        """FlexCFL's step 2 (spec 2.6): who shifted redoes the client cold start at home, and may change groups."""
        if self.migration == "off":
            return state, {}, ()
        moved = shifted_clients(engine, state.group.ids, self.migration, key, self.before)
        group = state.group.put(moved.cohort, moved.which_N)
        lost = tuple(c for c in moved.cohort if group.get((c,), 0)[0] < 0)
        if lost:  # the directions never reached them: newcomers again
            came = self.assign(state, lost, engine, key("newcomers"))
            group = group.put(lost, state.group.get(lost, 0)).put(came.cohort, came.which_N)
        pairs = zip(moved.cohort, state.group.get(moved.cohort, -1), group.get(moved.cohort, -1), strict=True)
        changed = [(c, int(a), int(b)) for c, a, b in pairs if a != b]
        events = tuple({"kind": "migrated", "client": c, "from": a, "to": b} for c, a, b in changed)
        state = replace(state, group=group)
        return state, {"shifted": len(moved.cohort), "migrated": len(changed)}, events

    def _between(self, w_KP: Array, group: Table, engine: Engine) -> tuple[Array, int]:
        """Inter-group aggregation over groups that have members (spec 2.4.4); how many models were relayed."""
        if not self.eta_g:
            return w_KP, 0
        members_K = np.bincount(group.get(engine.clients.ids, len(w_KP)), minlength=len(w_KP) + 1)[: len(w_KP)]
        new_KP, at = w_KP.copy(), engine.layout.trainable
        new_KP[:, at] = inter_group(w_KP[:, at], self.eta_g, self.inter_group, members_K)
        return new_KP, int((members_K > 0).sum())
