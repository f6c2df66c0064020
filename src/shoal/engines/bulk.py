"""Many clients at once: every sample goes through a model once, then sums by client give the clients' answers.

Work is cut by model and sample only, in slices of fixed size, so that the bits do not depend on workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.federation import Federation, View
from shoal.engines.unit import Backend, Outcome, Slice, Unit, cut
from shoal.errors import ShoalError
from shoal.tasks.evaluate import SLICE, poll
from shoal.types import Array, Cohort


@dataclass(frozen=True)
class Job:
    """Clients with the same model and the same view of the samples; what each of them wants to know."""

    which: int  # the model; -1: all of them vote
    turns: int
    members: Array  # positions of the clients in the pool
    samples: Array  # distinct samples, sorted
    place: Array  # where the samples of the first client, the second, ... stand among them
    labels: Array  # what these clients call them
    owner: Array  # whose they are, counted within the job


@dataclass(frozen=True)
class Pool:
    """A cohort laid out for work in bulk: worked out once, good while clients, their models and data are the same."""

    cohort: Cohort
    which_N: Array  # the model of each
    jobs: tuple[Job, ...]


def lay_out(federation: Federation, split: str, known: Sequence[tuple[str, int]]) -> Pool:
    """Which samples must go through which model, and who asked for them."""
    together: dict[tuple[int, int], list[int]] = {}
    for i, (client, k) in enumerate(known):
        together.setdefault((k, federation.view_of(client).turns % 4), []).append(i)
    jobs = []
    for (k, turns), members in sorted(together.items()):
        clients = [known[i][0] for i in members]
        mine = [federation.indices(client, split) for client in clients]
        names = [federation.view_of(c).name(federation.y[rows]) for c, rows in zip(clients, mine, strict=True)]
        samples, place = np.unique(np.concatenate(mine), return_inverse=True)
        owner = np.repeat(np.arange(len(members)), [len(rows) for rows in mine])
        jobs.append(Job(k, turns, np.array(members), samples, place, np.concatenate(names), owner))
    return Pool(tuple(c for c, _ in known), np.array([k for _, k in known], int), tuple(jobs))


def in_bulk(task: Any, pool: Pool, backend: Backend, models_KP: Array, classes: int) -> dict[str, Array]:
    """The answers of the clients of a pool, stacked in its order."""
    units: list[Unit] = []
    ends = [0]
    for job in pool.jobs:
        several = range(len(models_KP)) if job.which < 0 else [job.which]
        view = View(turns=job.turns)
        units += [Slice(task, piece, view, j) for j in several for piece in cut(job.samples, SLICE)]
        ends.append(len(units))
    outcomes = dict(backend.run(units, models_KP))
    again = [u for u, outcome in outcomes.items() if outcome.answer is None]  # a worker may have died: once more
    outcomes |= {again[i]: outcome for i, outcome in backend.run([units[u] for u in again], models_KP)}
    dims = {"C": classes}
    out: dict[str, Array] = {
        name: np.zeros(
            (len(pool.cohort), *(dims[letter] for letter in f.shape)), np.float64 if f.kind == "float" else np.int64
        )
        for name, f in task.fields.items()
    }
    for job, first, last in zip(pool.jobs, ends, ends[1:], strict=False):
        rows = np.concatenate([rows_of(outcomes[u]) for u in range(first, last)] or [np.zeros((0, classes))])
        voters = max(len(rows) // max(len(job.samples), 1), 1)
        rows_SC = poll(np.split(rows, voters))
        answers: dict[str, Array] = task.tally(rows_SC[job.place], job.labels, job.owner, len(job.members))
        for name, values in answers.items():
            out[name][job.members] = values
    return out


def rows_of(outcome: Outcome) -> Array:
    if outcome.answer is None:
        raise ShoalError(f"evaluation {outcome.failed[0].reason}")
    return np.asarray(outcome.answer["rows"])
