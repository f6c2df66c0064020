"""Clients that are asked before they have a group get one first, by the algorithm's own rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import DetectShift
from shoal.types import Algorithm, Answers, Cohort, Engine, Solver


def assign_newcomers(algorithm: Algorithm, state: Any, cohort: Cohort, engine: Engine, key: Key) -> tuple[Any, Cohort]:
    """The state in which newcomers of the cohort have a group, and those of the cohort that have one now.

    The state must have a `group` table; whom `assign` leaves out stays a newcomer, and has not answered in this round.
    Where clients may migrate they keep their label histogram from now on; those that `assign` had no question for (RAC)
    are asked to.
    """
    new = tuple(c for c in cohort if c not in state.group)
    if new:
        came = algorithm.assign(state, new, engine, key)
        state = replace(state, group=state.group.put(came.cohort, came.which_N))
        mode: Any = getattr(algorithm, "migration", "off")
        if mode != "off" and not came.fields:
            engine.map(DetectShift(mode), came.cohort, None, None, key("keep"), min_answers=0)
        if came.failed:
            there = sum(c in state.group for c in cohort)
            engine.enough("join", there, there + len(came.failed), came.failed)
    return state, tuple(c for c in cohort if c in state.group)


def on_trial(solver: Solver, at_first: bool = False) -> Solver:
    """What a client trains with to find its group: nothing of it is kept for the training that counts.

    Args:
        solver: That of the method; one of your own stays as it is.
        at_first: At the rate of round 1, for who is set beside what others learnt there.

    Returns:
        The solver.

    >>> on_trial(SGD(momentum=0.9, momentum_memory="kept", lr_decay=0.9)).rate(2) < SGD().lr
    True
    >>> on_trial(SGD(lr_decay=0.9), at_first=True).rate(99)
    0.03
    """
    if not isinstance(solver, SGD):
        return solver
    return replace(solver.forgetful(), lr_decay=1.0) if at_first else solver.forgetful()


def merge_answers(got: Answers, came: Answers) -> Answers:
    """The answers of two calls as those of one, in canonical order, with the fields that both have.

    >>> one = Answers(("a", "c"), np.array([0, 1]), {"loss": np.array([0.5, 0.7])})
    >>> two = Answers(("b",), np.array([1]), {"loss": np.array([0.6]), "choice": np.array([1])})
    >>> both = merge_answers(one, two)
    >>> both.cohort, both.which_N.tolist(), both["loss"].tolist()
    (('a', 'b', 'c'), [0, 1, 1], [0.5, 0.6, 0.7])
    """
    ids = (*got.cohort, *came.cohort)
    order = sorted(range(len(ids)), key=ids.__getitem__)
    shared = [name for name in got.fields if name in came.fields]
    fields = {name: np.concatenate([got[name], came[name]])[order] for name in shared}
    which_N = np.concatenate([got.which_N, came.which_N])[order]
    return Answers(tuple(ids[i] for i in order), which_N, fields, (*got.failed, *came.failed), got.models_KP)
