"""IFCA as FedBase of 2022 plays it: all models that were chosen are one object (departure D103)."""

from __future__ import annotations

import numpy as np

from shoal.seeds import Key
from shoal.table import Table
from shoal.tasks import Choose, Train
from shoal.types import Answers, Array, Cohort, Engine, Solver


def train_one_object(
    theta_KP: Array, group: Table, cohort: Cohort, solver: Solver, engine: Engine, key: Key
) -> tuple[Array, Table, Answers]:
    """A round in which clients train the very model that they chose, one after the other, and not copies of it.

    The server's model is filled with what comes of one model after the other, and is from then on each of them. Models
    that nobody chose yet stay as they were drawn; who chooses one of them trains that one, and the last of these is
    what the server keeps.

    Args:
        theta_KP: K models; those that were chosen before are all alike.
        group: The choice of each client in the round before.
        cohort: The clients that train, in the order in which they do.
        solver: Trains.
        engine: Asks the clients.
        key: Of the round.

    Returns:
        The models, those that were chosen so far being alike, who chose which, and what each object learnt.
    """
    one_K = rows_of_one_object(theta_KP, group)
    who, which_N = cohort, np.zeros(len(cohort), int)  # ties go to the first: nobody needs to try models that are alike
    if not one_K.all():
        chose = engine.map(Choose("train"), cohort, theta_KP, None, key("choose"))
        who, which_N = chose.cohort, chose.which_N
    object_N = np.where(one_K[which_N], -1, which_N)  # -1: the one object
    objects = np.unique(object_N)
    chains = [tuple(who[i] for i in np.flatnonzero(object_N == k)) for k in objects]
    starts_M = np.array([which_N[object_N == k][0] for k in objects], int)
    got = engine.chain(Train(solver), chains, theta_KP, starts_M, key("train"))
    if not len(got):
        return theta_KP, group, got
    lost = {failure.client for failure in got.failed}
    trained = [i for i, client in enumerate(who) if client not in lost]
    one_K[which_N[trained]] = True
    after_KP = theta_KP.copy()
    after_KP[one_K] = theta_KP[got.which_N[-1]] + got["update"][-1]
    return after_KP, group.put(tuple(who[i] for i in trained), which_N[trained]), got


def rows_of_one_object(theta_KP: Array, group: Table) -> Array:
    """Which models are the one object: those like the ones that were chosen last.

    Args:
        theta_KP: K models.
        group: The choice of each client; empty before the first round.

    Returns:
        A mark for each model.

    >>> rows_of_one_object(np.array([[1.0], [2.0], [2.0]]), Table().put(("ann",), np.array([2]))).tolist()
    [False, True, True]
    """
    chosen_N = group.get(group.ids, -1)
    if not len(chosen_N):
        return np.zeros(len(theta_KP), bool)
    return np.asarray((theta_KP == theta_KP[chosen_N[0]]).all(1))
