"""Who has drifted: the clients that have a group and whose labels have shifted since they got it; and where they go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shoal.seeds import Key
from shoal.tasks import DetectShift
from shoal.types import Algorithm, Answers, Cohort, Engine, Solver

Migration = Literal["off", "aligned", "counts"]


def shifted_clients(
    engine: Engine, warm: Cohort, mode: Migration, key: Key, solver: Solver | None = None, groups: int | None = None
) -> Answers:
    """The answers of those of the warm clients that are there and have shifted; with a solver, their nearest group.

    Args:
        engine: Asks the clients.
        warm: Clients that have a group.
        mode: How histograms are compared.
        key: Of this question.
        solver: Of pre-training, by which a client finds its nearest group at home.
        groups: How many there are.

    Returns:
        The clients that shifted, and where they go; -1 without a solver, and for who does not have the directions.
    """
    assert mode != "off"
    here = tuple(c for c in warm if c in engine.clients)
    if not here:
        return Answers((), np.zeros(0, int), {"shifted": np.zeros(0, int), "choice": np.zeros(0, int)})
    got = engine.map(DetectShift(mode, solver, groups), here, None, None, key, min_answers=0)
    yes = np.flatnonzero(got["shifted"] == 1)
    fields = {name: values[yes] for name, values in got.fields.items()}
    return Answers(tuple(got.cohort[i] for i in yes), got.which_N[yes], fields, got.failed)


def migrate(
    algorithm: Algorithm, mode: Migration, solver: Solver, state: Any, engine: Engine, key: Key
) -> tuple[Any, dict[str, int], tuple[dict[str, Any], ...]]:
    """FlexCFL, Algorithm 2, line 6: who shifted redoes the client cold start at home, and may change groups.

    Args:
        algorithm: Assigns again whom the directions never reached.
        mode: How histograms are compared; `off`: nobody migrates.
        solver: Of pre-training.
        state: Has a `group` table and as many models `w_KP` as there are groups.
        engine: Asks the clients.
        key: Of this question.

    Returns:
        The state with the groups after migration, how many shifted and migrated, and an event for each who migrated.
    """
    if mode == "off":
        return state, {}, ()
    moved = shifted_clients(engine, state.group.ids, mode, key, solver, len(state.w_KP))
    group = state.group.put(moved.cohort, moved.which_N)
    lost = tuple(c for c in moved.cohort if group.get((c,), 0)[0] < 0)
    if lost:  # the directions never reached them: newcomers again
        came = algorithm.assign(state, lost, engine, key("newcomers"))
        group = group.put(lost, state.group.get(lost, 0)).put(came.cohort, came.which_N)
    pairs = zip(moved.cohort, state.group.get(moved.cohort, -1), group.get(moved.cohort, -1), strict=True)
    changed = [(c, int(a), int(b)) for c, a, b in pairs if a != b]
    events = tuple({"kind": "migrated", "client": c, "from": a, "to": b} for c, a, b in changed)
    return replace(state, group=group), {"shifted": len(moved.cohort), "migrated": len(changed)}, events
