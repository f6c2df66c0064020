"""FedGroup: clients grouped once by the directions they learn in. Duan et al. 2021, Algorithms 2 and 3; with migration
FlexCFL, Duan et al. 2022. https://arxiv.org/abs/2010.06870"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.aggregators import ServerState, inter_group, per_group, plain_mean, weighted_mean
from shoal.aggregators.inter_group import InterGroupMode
from shoal.algorithms.auto import Criterion, Groups, fit, how_many
from shoal.algorithms.cold_start import GroupMeasure, group_labels
from shoal.algorithms.migration import Migration, shifted_clients
from shoal.algorithms.newcomers import together, welcome
from shoal.errors import BadInput
from shoal.measures import coordinates, edc_embedding
from shoal.seeds import Key
from shoal.selection import Random
from shoal.solvers import SGD, Proximal
from shoal.table import Serving, Table
from shoal.tasks import Ahead, Keep, Nearest, Train
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
    criterion: Criterion = option("cosine", "what groups=auto asks: cosine or euclidean silhouette, gap, elbow")
    measure: GroupMeasure = option("edc", "how updates are compared: edc or madc")
    alpha: int = option(20, "alpha * m clients take part in the group cold start", low=1)
    pretrain_steps: int = option(50, "mini-batch steps of pre-training (D7)", low=1)
    pretrain: Literal["steps", "epoch"] = option("steps", "length of pre-training: pretrain_steps, or one epoch")
    reuse_pretraining: bool = option(False, "go on from pre-training for the other epochs: its update counts, too")
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

    @property
    def rest(self) -> SGD | None:
        """With `reuse_pretraining`, the solver of the epochs after pre-training."""
        if not self.reuse_pretraining:
            return None
        if self.pretrain != "epoch":
            raise BadInput("reuse_pretraining needs pretrain=epoch: it goes on after the first of a client's epochs")
        if self.solver.steps is not None or self.solver.epochs < 1:
            raise BadInput("reuse_pretraining needs local work in epochs, at least one; give epochs instead of steps")
        return replace(self.local, epochs=self.solver.epochs - 1, momentum_memory="reset")

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        w0_P = engine.layout.init(key("init"))
        got, labels_N, m, measures = self._group_cold_start(w0_P, engine, key)
        w0_KP, got = np.repeat(w0_P[None], m, 0), replace(got, which_N=labels_N)
        w_KP, _ = per_group(plain_mean(), engine.layout).apply(w0_KP, early(got), {})
        directions_KP = w_KP - w0_P
        engine.map(Keep(), got.cohort, np.concatenate([w0_P[None], directions_KP]), None, key("keep"), least=0)
        group = Table().put(got.cohort, labels_N)
        w_KP = w0_KP if self.start_from_w0 else w_KP
        state = State(w_KP, w0_P, directions_KP, group, per_group(weighted_mean(), engine.layout).init(w_KP))
        rows_NP = early(got)["update"][:, engine.layout.trainable]
        compared = Compared("pre-training updates", "cosine", got.cohort, rows_NP)
        came = None
        if self.cold_start == "eager":
            state, _, came = self._join(state, engine.clients.ids, engine, key("newcomers"))
        if self.rest is not None:
            got = got if self.start_from_w0 else later(got)
            got = got if came is None else together(got, came)
            w_KP, server = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, state.server)
            state, measures = replace(state, w_KP=w_KP, server=server), {**measures, "reused": len(got)}
        return state, Record(measures=measures, compared=compared)

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        state, measures, events = self._migrate(state, engine, key("migrate"))
        cohort = self.select(engine.clients, key("select"))
        state, cohort, came = self._join(state, cohort, engine, key("newcomers").at(0))  # the same, eager or lazy
        least = 0 if came is not None and len(came) and not cohort else None  # the newcomers have trained already
        got = engine.map(Train(self.local), cohort, state.w_KP, state.group.get(cohort, 0), key("train"), least)
        if came is not None:
            got, measures = together(got, came), {**measures, "reused": len(came)}
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

    def _join(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> tuple[State, Cohort, Answers | None]:
        """Newcomers get a group. Those of the cohort that are still to train; with `reuse_pretraining` newcomers have
        trained, from w_0, and their answers come beside.
        """
        if self.rest is None or self.newcomers == "random":
            return *welcome(self, state, cohort, engine, key), None
        new = tuple(c for c in cohort if c not in state.group)
        vectors_KP = np.concatenate([state.w0_P[None], state.directions_KP])
        came = engine.map(Nearest(self.before, self.rest), new, vectors_KP, None, key, least=0)
        known = tuple(c for c in cohort if c in state.group)
        return replace(state, group=state.group.put(came.cohort, came.which_N)), known, came

    def _group_cold_start(self, w0_P: Array, engine: Engine, key: Key) -> tuple[Answers, Array, int, dict[str, Any]]:
        """Some clients pre-train from w_0 and are clustered (spec 2.4.1); RCC: each of m random ones is a group."""
        n, most = len(engine.clients), self.groups if self.groups != "auto" else 5
        if most > n:
            raise BadInput(f"groups={most} but the federation has {n} clients")
        want = most if self.centres == "random" else min(self.alpha * most, n)
        sampled = Random(want)(engine.clients, key("cold start"))
        task = Train(self.before) if self.rest is None else Ahead(self.before, self.rest)
        got = engine.map(task, sampled, w0_P[None], np.zeros(len(sampled), int), key("pretrain"))
        if self.centres == "random":
            return got, np.arange(len(got)), len(got), {}
        rows_NP = early(got)["update"][:, engine.layout.trainable]
        m, values = how_many(coordinates(rows_NP), self.groups, self._labels, key("how many"), self.criterion)
        labels_N = self._labels(rows_NP, m, key("cluster").rng())
        return got, labels_N, m, {**fit(edc_embedding(rows_NP, m), labels_N, rows_NP), **values}

    def _labels(self, rows_NP: Array, m: int, rng: np.random.Generator) -> Array:
        return group_labels(rows_NP, m, self.measure, rng)

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


def early(got: Answers) -> Answers:
    """The answers with the update of pre-training alone."""
    return replace(got, fields={**got.fields, "update": got.fields.get("early", got["update"])})


def later(got: Answers) -> Answers:
    """The answers with the update of what came after pre-training."""
    return replace(got, fields={**got.fields, "update": got["update"] - got["early"]})
