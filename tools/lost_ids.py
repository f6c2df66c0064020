"""Makes results/extra/lost-ids.json: what happens where CFL's notebook splits a cluster that is no longer the whole.

python -m tools.lost_ids

The notebook keeps a new cluster as positions inside the old one, which are ids only while the old one holds everybody
(departure D6). Here its rounds are played with positions, as they are, and with ids, everything else being the same. It
is an experiment and no algorithm of Shoal, whose clusters are lists of ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.algorithms.parts.split_criteria import cfl_criteria
from shoal.backends import Serial
from shoal.clusterers import complete_bipartition
from shoal.experiment.api import execute
from shoal.measures import cosine
from shoal.recipes.papers.cfl import AUTHORS, NOTEBOOK
from shoal.seeds import Key
from shoal.setup.prepare import build_plan
from shoal.setup.resolve import resolve
from shoal.solvers import SGD
from shoal.table import Serving, Table
from shoal.tasks import Train
from shoal.types import Algorithm, Answers, Array, Cohort, Engine, Record, Solver

TARGET = Path(__file__).parents[1] / "results" / "extra" / "lost-ids.json"
EPS1, EPS2 = 0.4, 1.6  # of the notebook
FOUR = "rotated:4:clients=12:angle=90:dirichlet=1.0:samples=10000"
EXPERIMENTS = {"two": (str(NOTEBOOK["partition"]), 5), "four": (FOUR, 3)}  # the partition, and how many seeds
Clusters = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class State:
    """A model for each client, since clusters may overlap, the clusters as lists of numbers, and the splits so far."""

    W_NP: Array
    clusters: Clusters
    ids: Cohort
    splits: tuple[tuple[int, int, int], ...] = ()  # round and how many on either side


@dataclass(frozen=True, kw_only=True)
class NotebookRounds(Algorithm):
    """The notebook's rounds: every client holds a model, to which every cluster that it is in adds its mean update.

    Args:
        keep_ids: Whether a new cluster holds clients, or positions as in the notebook.
        solver: Of local training.
    """

    keep_ids: bool = False
    solver: Solver = SGD()

    def init(self, engine: Engine, key: Key) -> tuple[State, Record]:
        n = len(engine.clients)
        w_P = engine.layout.init_many(1, key("init"))[0]
        return State(np.repeat(w_P[None], n, 0), (tuple(range(n)),), engine.clients.ids), Record()

    def step(self, state: State, engine: Engine, key: Key) -> tuple[State, Record]:
        got = engine.map(Train(self.solver), state.ids, state.W_NP, np.arange(len(state.ids)), key("train"))
        update_NP, clusters, splits = got["update"], list[tuple[int, ...]](), list(state.splits)
        for members in state.clusters:
            mine = update_NP[list(members)][:, engine.layout.trainable]
            counts = got["count"][list(members)]
            if cfl_criteria(mine, counts, EPS1, EPS2, "notebook", key.round).split:
                sides = halves(members, complete_bipartition(cosine(mine)).labels_N, self.keep_ids)
                clusters += sides
                splits.append((key.round, len(sides[0]), len(sides[1])))
            else:
                clusters.append(members)
        W_NP = add_means(state.W_NP, update_NP, tuple(clusters))
        return State(W_NP, tuple(clusters), state.ids, tuple(splits)), Record(trained=got)

    def serve(self, state: State) -> Serving:
        return Serving(state.W_NP, Table().put(state.ids, np.arange(len(state.ids))))

    def assign(self, state: State, cohort: Cohort, engine: Engine, key: Key) -> Answers:
        raise NotImplementedError("nobody joins in the notebook")


def halves(members: tuple[int, ...], labels_N: Array, keep_ids: bool) -> list[tuple[int, ...]]:
    """Both sides of a cut: the clients themselves, or their places in the cluster.

    Args:
        members: Numbers of the clients of the cluster.
        labels_N: The side of each.
        keep_ids: Whether clients or places are wanted.

    Returns:
        Two lists of numbers.

    >>> halves((5, 6, 7), np.array([0, 1, 0]), keep_ids=True), halves((5, 6, 7), np.array([0, 1, 0]), keep_ids=False)
    ([(5, 7), (6,)], [(0, 2), (1,)])
    """
    names = members if keep_ids else tuple(range(len(members)))
    return [tuple(name for name, label in zip(names, labels_N, strict=True) if label == side) for side in (0, 1)]


def add_means(W_NP: Array, update_NP: Array, clusters: Clusters) -> Array:
    """Every cluster adds its plain mean update to the models of its clients; who is in none keeps its model.

    Args:
        W_NP: The models.
        update_NP: What clients learnt.
        clusters: Lists of numbers, which may overlap.

    Returns:
        The models after it.

    >>> add_means(np.zeros((3, 1)), np.array([[2.0], [4.0], [8.0]]), ((0, 1), (0,))).tolist()
    [[5.0], [3.0], [0.0]]
    """
    found_NP = W_NP.copy()
    for members in map(list, clusters):
        found_NP[members] += update_NP[members].mean(0)
    return found_NP


def play(keys: dict[str, Any], keep_ids: bool) -> dict[str, Any]:
    """One run: accuracy of the last three rounds, splits, and how many are in no cluster, or in several, at the end."""
    prepared = build_plan(resolve("cfl", None, None, keys))
    solver = prepared.plan.algorithm.solver
    assert solver is not None  # CFL has one
    algorithm = NotebookRounds(keep_ids=keep_ids, solver=solver)
    run = execute(replace(prepared, plan=replace(prepared.plan, algorithm=algorithm)), Serial(), None, ())
    state: State = run.state
    counts_N = np.bincount([i for members in state.clusters for i in members], minlength=len(state.ids))
    return {
        "last_three_accuracy": round(run.summary["last_three_accuracy"], 5),
        "splits": [list(split) for split in state.splits],
        "in_none": int((counts_N == 0).sum()),
        "in_several": int((counts_N > 1).sum()),
    }


def both(keys: dict[str, Any]) -> dict[str, Any]:
    """A run with ids and one with positions, which is the same where no cluster is split that is not the whole."""
    ids = play(keys, keep_ids=True)
    return {"ids": ids, "positions": play(keys, keep_ids=False) if len(ids["splits"]) > 1 else ids}


def results() -> dict[str, Any]:
    """All experiments, with ids and with positions."""
    found: dict[str, Any] = {}
    for name, (partition, seeds) in EXPERIMENTS.items():
        keys = {**NOTEBOOK, "partition": partition}
        runs = [{"seed": seed, **both({**keys, "seed": seed})} for seed in range(seeds)]
        found[name] = {"settings": {**keys, **AUTHORS}, "runs": runs}
    return {"command": "python -m tools.lost_ids", "experiments": found}


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(results(), indent=1) + "\n", encoding="utf-8")
