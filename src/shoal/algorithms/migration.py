"""Who has drifted: the clients that have a group and whose labels have shifted since they got it (spec 2.6, 5.1)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.seeds import Key
from shoal.solvers import SGD
from shoal.tasks import Shifted
from shoal.types import Answers, Cohort, Engine

Migration = Literal["off", "aligned", "counts"]


def shifted_clients(engine: Engine, warm: Cohort, mode: Migration, key: Key, solver: SGD | None = None) -> Answers:
    """The answers of those of the warm clients that are there and have shifted; with a solver, their nearest group."""
    assert mode != "off"
    here = tuple(c for c in warm if c in engine.clients)
    if not here:
        return Answers((), np.zeros(0, int), {"shifted": np.zeros(0, int), "choice": np.zeros(0, int)})
    got = engine.map(Shifted(mode, solver), here, None, None, key, least=0)
    yes = np.flatnonzero(got["shifted"] == 1)
    fields = {name: values[yes] for name, values in got.fields.items()}
    return Answers(tuple(got.cohort[i] for i in yes), got.which_N[yes], fields, got.failed)
