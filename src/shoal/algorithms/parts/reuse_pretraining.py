"""Pre-training that is not lost: clients go on from it, and what they learn counts at once (departure D46).

FedGroup, section III-D. The option `reuse_pretraining` puts an engine around the engine: there clients go on when they
have pre-trained, and nobody trains twice in a round. FedGroup's own steps know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

from shoal.aggregators import per_group, weighted_mean
from shoal.algorithms.parts.newcomers import merge_answers
from shoal.errors import BadInput
from shoal.layout import Layout
from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.table import Table
from shoal.tasks import Nearest, Train, TrainInStages
from shoal.types import Answers, Array, Cohort, Engine, Failure, Record, Roster, Solver, Task

Init = Callable[[Any, Engine, Key], tuple[Any, Record]]
Step = Callable[[Any, Any, Engine, Key], tuple[Any, Record]]


def reusing_init(init: Init) -> Init:
    """FedGroup's `init`, and with the option a round of training in it: what came after pre-training is averaged.

    Args:
        init: The group cold start.

    Returns:
        The same for a method without the option.
    """

    @wraps(init)
    def with_option(method: Any, engine: Engine, key: Key) -> tuple[Any, Record]:
        if not method.reuse_pretraining:
            return init(method, engine, key)
        around = InStages(engine, method.before, rest_of(method), Table())
        state, record = init(method, around, key)
        assert around.got is not None
        got = replace(around.got, which_N=state.group.get(around.got.cohort, 0))
        if not method.start_from_w0:  # groups begin at the mean of pre-training: what came after it counts
            got = replace(got, fields={**got.fields, "update": got["update"] - got["early"]})
        if method.cold_start == "eager" and method.newcomers == "nearest":
            got = merge_answers(got, around.newcomers(key))
        w_KP, server = per_group(weighted_mean(), engine.layout).apply(state.w_KP, got, state.server, key("aggregate"))
        record = replace(record, measures={**record.measures, "reused": len(got)})
        return replace(state, w_KP=w_KP, server=server), record

    return with_option


def reusing_step(step: Step) -> Step:
    """FedGroup's `step`, and with the option newcomers that train as they join, from w_0.

    Args:
        step: A round.

    Returns:
        The same for a method without the option, and for one whose newcomers get a random group.
    """

    @wraps(step)
    def with_option(method: Any, state: Any, engine: Engine, key: Key) -> tuple[Any, Record]:
        if not method.reuse_pretraining or method.newcomers == "random":
            return step(method, state, engine, key)
        around = GoingOn(engine, method.before, rest_of(method), state.group)
        state, record = step(method, state, around, key)
        came, trained = around.newcomers(key), record.trained
        assert trained is not None
        record = replace(record, measures={**record.measures, "reused": len(came)})
        return state, replace(record, trained=begun_at(trained, came, state.w0_P)) if len(came) else record

    return with_option


def begun_at(trained: Answers, came: Answers, w0_P: Array) -> Answers:
    """What all learnt in a round with the model that each began at, for the record: those who came in began at w_0.

    Args:
        trained: What all learnt; they began at their group's model, or are among those who came.
        came: Who joined, and learnt from w_0.
        w0_P: The common start.

    Returns:
        The same answers, w_0 behind the models of the groups.

    >>> all_ = Answers(("a", "b"), np.array([0, 0]), {"update": np.ones((2, 1))}, models_KP=np.array([[5.0]]))
    >>> found = begun_at(all_, Answers(("b",), np.array([0])), np.array([2.0]))
    >>> (found.models_KP[found.which_N] + found["update"]).tolist()                         # their solutions
    [[6.0], [3.0]]
    """
    assert trained.models_KP is not None
    joined_N = np.isin(trained.cohort, came.cohort)
    models_KP = np.concatenate([trained.models_KP, w0_P[None]])
    return replace(trained, which_N=np.where(joined_N, len(models_KP) - 1, trained.which_N), models_KP=models_KP)


def rest_of(method: Any) -> Solver:
    """The solver of the epochs after pre-training.

    Args:
        method: A FedGroup.

    Returns:
        Its solver of a round, for one epoch less.
    """
    if method.pretrain != "epoch":
        raise BadInput("reuse_pretraining needs pretrain=epoch: it goes on after the first of a client's epochs")
    if not isinstance(method.solver, SGD) or method.solver.steps is not None or method.solver.epochs < 1:
        raise BadInput("reuse_pretraining needs local work in epochs, at least one; give epochs instead of steps")
    rest: Solver = replace(method.local.forgetful(), epochs=method.solver.epochs - 1)
    return rest


@dataclass
class GoingOn:
    """An engine for one round: who pre-trains to join a group goes on, and counts as trained in this round."""

    engine: Engine
    before: Solver
    rest: Solver
    known: Table  # who has a group, and may look for another one without training by that
    came: Answers | None = None

    @property
    def clients(self) -> Roster:
        return self.engine.clients

    @property
    def layout(self) -> Layout:
        return self.engine.layout

    def newcomers(self, key: Key) -> Answers:
        """The answers of those who joined, and of nobody if nobody did."""
        if self.came is None:
            self.came = self.engine.map(Nearest(self.before, self.rest), (), None, None, key, min_answers=0)
        return self.came

    def map(
        self,
        task: Task,
        cohort: Cohort,
        models_KP: Array | None,
        which_N: Array | None,
        key: Key,
        min_answers: int | None = None,
    ) -> Answers:
        if isinstance(task, Nearest) and not any(c in self.known for c in cohort):
            self.came = self.engine.map(replace(task, rest=self.rest), cohort, models_KP, which_N, key, min_answers)
            return self.came
        if isinstance(task, Train) and which_N is not None:
            return self.train(task, cohort, models_KP, which_N, key, min_answers)
        return self.engine.map(task, cohort, models_KP, which_N, key, min_answers)

    def enough(self, what: str, came: int, asked: int, failed: Sequence[Failure]) -> None:
        self.engine.enough(what, came, asked, failed)

    def train(
        self, task: Train, cohort: Cohort, models_KP: Array | None, which_N: Array, key: Key, min_answers: int | None
    ) -> Answers:
        """Those of the cohort train who have not; the answers of all of them."""
        came = self.newcomers(key)
        still = [i for i, c in enumerate(cohort) if c not in came.cohort]
        need = 0 if len(came) else min_answers
        got = self.engine.map(task, tuple(cohort[i] for i in still), models_KP, which_N[still], key, need)
        if len(came) and min_answers is None:
            answered = len(got) + len(came)
            self.enough(task.name, answered, answered + len(got.failed), got.failed)
        return merge_answers(got, came)

    def chain(self, task: Task, groups: Sequence[Cohort], models_KP: Array, which_M: Array, key: Key) -> Answers:
        return self.engine.chain(task, groups, models_KP, which_M, key)


@dataclass
class InStages(GoingOn):
    """The same for the group cold start: the answers hold the update of pre-training, `got` that of all of it too."""

    got: Answers | None = None

    def train(
        self, task: Train, cohort: Cohort, models_KP: Array | None, which_N: Array, key: Key, min_answers: int | None
    ) -> Answers:
        stages = TrainInStages(task.solver, self.rest)
        got = self.engine.map(stages, cohort, models_KP, which_N, key, min_answers)
        self.got = got if self.got is None else merge_answers(self.got, got)
        return replace(got, fields={**got.fields, "update": got["early"]})
