"""PACFL: efficient distribution similarity identification by principal angles. Vahidian et al., AAAI 2023.
https://arxiv.org/abs/2209.10526

A method of its own file, outside the package: `shoal run examples/pacfl.py:PACFL p=3 partition=rotated:groups=2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np

import shoal
from shoal import SGD, Random
from shoal.aggregators import per_group, weighted_mean
from shoal.clusterers import Linkage, cut_at
from shoal.net import Net
from shoal.seeds import Key
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Field, Record, Select, Solver, Task, option

Angle = Literal["smallest", "sum"]


@dataclass(frozen=True)
class Subspace(Task):
    """The p most significant left singular vectors of a client's data, a column per sample: D x p numbers leave it."""

    inputs: int  # D, the numbers of one input
    p: int

    name: ClassVar[str] = "subspace"
    models: ClassVar[Literal["none"]] = "none"

    @property
    def dims(self) -> Mapping[str, int]:
        return {"D": self.inputs}

    @property
    def fields(self) -> Mapping[str, Field]:
        return {"basis": Field("float", ("D", self.p), low=-1.001, high=1.001, guarded=True)}

    def __call__(self, net: Net, models: Any, data: Any, memory: Any, key: Key) -> tuple[dict[str, Array], Any]:
        x, _ = data("train")
        basis_DN, _, _ = np.linalg.svd(x.reshape(len(x), -1).T.astype(np.float64), full_matrices=False)
        return {"basis": basis_DN[:, : self.p].astype(net.layout.dtype)}, memory

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


def angles(one_NDp: Array, other_MDp: Array, angle: Angle) -> Array:
    """How far apart subspaces are, N x M in degrees: the smallest principal angle, or the sum over vectors of the same
    rank (equations 2 and 3); a singular vector has no sign, so neither has its angle."""
    if angle == "smallest":
        cosines_NMp = np.linalg.svd(np.einsum("nda,mdb->nmab", one_NDp, other_MDp), compute_uv=False)[..., :1]
    else:
        cosines_NMp = np.abs(np.einsum("nda,mda->nma", one_NDp, other_MDp))
    return np.asarray(np.degrees(np.arccos(np.clip(cosines_NMp, 0, 1))).sum(-1))


@dataclass(frozen=True)
class State:
    """A model per group, the group of each client, and the subspace that each told."""

    w_KP: Array
    group: Table
    bases: Table


@shoal.algorithm("PACFL", finds_groups=True, finds_number=True)
@dataclass(frozen=True, kw_only=True)
class PACFL(Algorithm):
    """Clients tell a few singular vectors of their data once; close subspaces are a group; FedAvg in each."""

    p: int = option(3, "singular vectors that a client tells", low=1)
    beta: float = option(15.0, "largest distance, in degrees, at which groups merge", low=0)
    angle: Angle = option("smallest", "distance of subspaces: smallest principal angle, or sum over vectors")
    linkage: Linkage = option("average", "distance of groups: complete, average or single")
    select: Select = Random()
    solver: Solver = SGD()
    state: ClassVar[type[State]] = State

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        got = self._subspaces(engine.clients.ids, engine, key)
        distances_NN = angles(got["basis"], got["basis"], self.angle)  # the proximity matrix
        labels_N = cut_at(distances_NN, self.beta, self.linkage)
        w_KP = np.repeat(engine.layout.init_many(1, key("init")), labels_N.max() + 1, 0)
        state = State(w_KP, Table().put(got.cohort, labels_N), Table().put(got.cohort, got["basis"]))
        return state, Record(measures={"angles": [float(distances_NN.min()), float(distances_NN.max())]})

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        cohort = self.select(engine.clients, key("select"))
        new = tuple(client for client in cohort if client not in state.group)
        if new:
            joined = self.assign(state, new, engine, key("newcomers"))
            state = replace(state, group=state.group.put(joined.cohort, joined.which_N))
        cohort = tuple(client for client in cohort if client in state.group)
        got = engine.map(Train(self.solver), cohort, state.w_KP, state.group.get(cohort, 0), key("train"))
        w_KP, _ = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, {}, key("aggregate"))
        return replace(state, w_KP=w_KP), Record(trained=got)

    def serve(self, state: State) -> Serving:
        return Serving(state.w_KP, state.group)

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        """A newcomer tells its subspace and joins the group whose members are closest on average (Algorithm 3)."""
        got = self._subspaces(cohort, engine, key, min_answers=0)
        to_NM = angles(got["basis"], state.bases.rows, self.angle)
        group_M = state.group.get(state.bases.ids, -1)
        to_NK = [to_NM[:, group_M == k].mean(1) for k in range(len(state.w_KP))]
        return replace(got, which_N=np.argmin(to_NK, 0))

    def _subspaces(self, cohort: Cohort, engine: Engine, key: Key, min_answers: int | None = None) -> Answers:
        task = Subspace(prod(engine.layout.input_shape), self.p)
        return engine.map(task, cohort, None, None, key("subspace"), min_answers)
