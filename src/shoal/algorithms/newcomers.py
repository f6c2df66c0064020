"""Clients that are asked before they have a group get one first, by the algorithm's own rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.seeds import Key
from shoal.types import Algorithm, Cohort, Engine


def welcome(algorithm: Algorithm, state: Any, cohort: Cohort, engine: Engine, key: Key) -> tuple[Any, Cohort]:
    """The state in which newcomers of the cohort have a group, and those of the cohort that have one now.

    The state must have a `group` table; whom `assign` leaves out stays a newcomer.
    """
    new = tuple(c for c in cohort if c not in state.group)
    if new:
        came = algorithm.assign(state, new, engine, key)
        state = replace(state, group=state.group.put(came.cohort, came.which_N))
    return state, tuple(c for c in cohort if c in state.group)
