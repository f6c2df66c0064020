"""Many clients at once: every sample goes through a model once, then sums by client give the clients' answers.

Work is cut by model and sample only, in slices of fixed size, so that the bits do not depend on workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.backends.backend import Backend, Outcome, Unit
from shoal.backends.unit import Slice, cut
from shoal.data.federation import Federation
from shoal.data.samples import View
from shoal.errors import ShoalError
from shoal.tasks.evaluate import SLICE, poll
from shoal.types import Array, Bulk, Cohort, Field


@dataclass(frozen=True)
class Job:
    """Clients with the same model and the same view of the samples; what each of them wants to know."""

    which: int  # the model; -1: all of them vote
    turns: float
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
    """Which samples must go through which model, and who asked for them.

    Args:
        federation: All samples.
        split: Those that are asked about.
        known: Clients, each with the number of its model; -1: all models vote.

    Returns:
        The clients laid out for work in bulk.
    """
    cohort = tuple(client for client, _ in known)
    places_N, which_N = federation.places(cohort), np.array([k for _, k in known], np.int64)
    turns_N = np.array([view.turns % 4 for view in federation.views])[federation.view_numbers(places_N)]
    index_S, owner_S = federation.rows(split).take(places_N)
    labels_S = federation.labels(index_S, places_N[owner_S])
    jobs = []
    for k, turns in sorted(set(zip(which_N.tolist(), turns_N.tolist(), strict=True))):
        members_M = np.flatnonzero((which_N == k) & (turns_N == turns))
        number_N = np.full(len(known), -1)
        number_N[members_M] = np.arange(len(members_M))
        mine = np.flatnonzero(number_N[owner_S] >= 0)
        samples, place = np.unique(index_S[mine], return_inverse=True)
        jobs.append(Job(k, turns, members_M, samples, place, labels_S[mine], number_N[owner_S[mine]]))
    return Pool(cohort, which_N, tuple(jobs))


def in_bulk(
    bulk: Bulk, fields: Mapping[str, Field], pool: Pool, backend: Backend, models_KP: Array, classes: int
) -> dict[str, Array]:
    """The answers of the clients of a pool.

    Args:
        bulk: How the task answers for many at once.
        fields: What its answers look like.
        pool: The clients.
        backend: Where samples go through models.
        models_KP: The models sent.
        classes: Classes that a model tells apart.

    Returns:
        The fields, stacked in the order of the pool.
    """
    units: list[Unit] = []
    ends = [0]
    for job in pool.jobs:
        several = range(len(models_KP)) if job.which < 0 else [job.which]
        view = View(turns=job.turns)
        units += [Slice(bulk, piece, view, j) for j in several for piece in cut(job.samples, SLICE)]
        ends.append(len(units))
    outcomes = dict(backend.run(units, models_KP))
    dims = {"C": classes}
    out: dict[str, Array] = {
        name: np.zeros(
            (len(pool.cohort), *(dims[letter] for letter in f.shape)), np.float64 if f.kind == "float" else np.int64
        )
        for name, f in fields.items()
    }
    for job, first, last in zip(pool.jobs, ends, ends[1:], strict=False):
        rows = np.concatenate([rows_of(outcomes[u]) for u in range(first, last)] or [np.zeros((0, classes))])
        voters = max(len(rows) // max(len(job.samples), 1), 1)
        rows_SC = poll(np.split(rows, voters))
        answers = bulk.tally(rows_SC[job.place], job.labels, job.owner, len(job.members))
        for name, values in answers.items():
            out[name][job.members] = values
    return out


def rows_of(outcome: Outcome) -> Array:
    if outcome.answer is None:
        raise ShoalError(f"evaluation {outcome.failed[0].reason}")
    return np.asarray(outcome.answer["rows"])
