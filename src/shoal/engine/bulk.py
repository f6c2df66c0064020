"""Many clients at once: every sample goes through a model once, then sums by client give the clients' answers.

Work is cut by model and sample only, in slices of fixed size, so that the bits do not depend on workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from shoal.backends.backend import Backend, Outcome, Unit
from shoal.backends.unit import Slice, cut
from shoal.data.federation import Federation
from shoal.data.samples import View
from shoal.errors import ShoalError
from shoal.layout import Layout
from shoal.tasks.evaluate import SLICE, Evaluate, poll
from shoal.types import Array, Bulk, Cohort, Field
from shoal.validate import Dims, extents

FEW = 20  # times more samples than are asked for: sorting those is less work than marking all


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


@dataclass(frozen=True)
class Asked:
    """Clients and their samples of a split, whatever their models: worked out once for a cohort that comes again."""

    cohort: Cohort
    turns_N: Array  # quarter turns of each one's images
    index_S: Array  # samples of the first client, the second, ...
    owner_S: Array  # whose they are
    labels_S: Array  # what their owners call them
    samples: int  # of the whole federation

    @classmethod
    def of(cls, federation: Federation, split: str, cohort: Cohort) -> Asked:
        """Samples and labels of clients that are there."""
        places_N = federation.places(cohort)
        turns_N = np.array([view.turns % 4 for view in federation.views])[federation.view_numbers(places_N)]
        index_S, owner_S = federation.rows(split).take(places_N)
        return cls(cohort, turns_N, index_S, owner_S, federation.labels(index_S, places_N[owner_S]), len(federation.y))


def lay_out(asked: Asked, which_N: Array) -> Pool:
    """Which samples must go through which model, and who asked for them.

    Args:
        asked: The clients and their samples.
        which_N: The number of each one's model; -1: all models vote.

    Returns:
        The clients laid out for work in bulk.
    """
    kinds = list(zip(which_N.tolist(), asked.turns_N.tolist(), strict=True))
    number = {kind: j for j, kind in enumerate(sorted(set(kinds)))}
    job_N = np.array([number[kind] for kind in kinds], np.int64)
    members, samples_of = by_number(job_N, len(number)), by_number(job_N[asked.owner_S], len(number))
    place_N = np.zeros(len(kinds), np.int64)  # of each client in its job
    jobs = []
    for (k, turns), members_M, mine in zip(number, members, samples_of, strict=True):
        place_N[members_M] = np.arange(len(members_M))
        samples, place = distinct(asked.index_S[mine], asked.samples)
        jobs.append(Job(k, turns, members_M, samples, place, asked.labels_S[mine], place_N[asked.owner_S[mine]]))
    return Pool(asked.cohort, which_N, tuple(jobs))


def by_number(number_N: Array, count: int) -> list[Array]:
    """The places at which each number stands, in order.

    >>> [places.tolist() for places in by_number(np.array([1, 0, 1]), 2)], by_number(np.zeros(0, int), 0)
    ([[1], [0, 2]], [])
    """
    ends = np.cumsum(np.bincount(number_N, minlength=count))[:-1]
    return np.split(np.argsort(number_N, kind="stable"), ends)[:count]


def distinct(index_S: Array, samples: int) -> tuple[Array, Array]:
    """The different places, sorted, and where each place stands among them: `np.unique` of places below `samples`.

    >>> distinct(np.array([7, 3, 7]), 10), distinct(np.array([7, 3, 7]), 1000)
    ((array([3, 7]), array([1, 0, 1])), (array([3, 7]), array([1, 0, 1])))
    """
    if samples > FEW * len(index_S):
        return np.unique(index_S, return_inverse=True)
    number = np.zeros(samples, np.int64)
    number[index_S] = 1
    found = np.flatnonzero(number)
    number[found] = np.arange(len(found))
    return found, number[index_S]


def in_bulk(
    bulk: Bulk, fields: Mapping[str, Field], pool: Pool, backend: Backend, models_KP: Array, dims: Dims, layout: Layout
) -> dict[str, Array]:
    """The answers of the clients of a pool.

    Args:
        bulk: How the task answers for many at once.
        fields: What its answers look like.
        pool: The clients.
        backend: Where samples go through models.
        models_KP: The models sent.
        dims: What the letters of shapes stand for.
        layout: Of the models.

    Returns:
        The fields, stacked in the order of the pool.
    """
    several = [range(len(models_KP)) if job.which < 0 else [job.which] for job in pool.jobs]
    pieces = [(k, job.samples, job.turns) for job, ks in zip(pool.jobs, several, strict=True) for k in ks]
    objective, none = layout.objective, np.zeros((0, *layout.said))
    plain = getattr(type(bulk), "forward", None) is Evaluate.forward
    rows = backend.log_probabilities(pieces, models_KP) if plain else None
    said = iter(in_slices(bulk, pieces, backend, models_KP, none) if rows is None else rows)
    out: dict[str, Array] = {
        name: np.zeros((len(pool.cohort), *extents(f, dims)), np.int64 if f.kind == "int" else np.float64)
        for name, f in fields.items()
    }
    for job, ks in zip(pool.jobs, several, strict=True):
        rows_S = poll([*islice(said, len(ks))] or [none], objective)
        answers = bulk.tally(rows_S.take(job.place, 0), job.labels, job.owner, len(job.members), objective)
        for name, values in answers.items():
            out[name][job.members] = values
    return out


def in_slices(
    bulk: Bulk, pieces: Sequence[tuple[int, Array, float]], backend: Backend, models_KP: Array, none: Array
) -> list[Array]:
    """What the task makes of each piece, cut into slices that are units of work."""
    units: list[Unit] = []
    ends = [0]
    for k, samples, turns in pieces:
        units += [Slice(bulk, part, View(turns=turns), k) for part in cut(samples, SLICE)]
        ends.append(len(units))
    outcomes = dict(backend.run(units, models_KP))
    found = [[rows_of(outcomes[u]) for u in range(i, j)] for i, j in pairwise(ends)]
    return [np.concatenate(rows or [none]) for rows in found]


def rows_of(outcome: Outcome) -> Array:
    if outcome.answer is None:
        raise ShoalError(f"evaluation {outcome.failed[0].reason}")
    return np.asarray(outcome.answer["rows"])
