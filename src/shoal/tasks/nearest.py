"""FedGroup's client side: keep w_0 and the group directions, pre-train, find the nearest direction (equation 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.layout import Layout
from shoal.measures import client_cold_start, nearest_directions
from shoal.net import Net
from shoal.seeds import Key
from shoal.tasks.label_histogram import label_counts
from shoal.tasks.train import Train
from shoal.tasks.train_in_stages import train_cohort_in_stages, train_in_stages
from shoal.types import Answer, Array, ClientData, CohortAnswers, CohortAtWork, Field, Memory, Solver, Task


@dataclass(frozen=True)
class StoreDirections(Task):
    """Keep the vectors given (w_0 first, then the directions), and the label histogram. Nothing leaves the client.

    >>> StoreDirections().fields
    {}
    """

    name: ClassVar[str] = "keep"
    models: ClassVar[Literal["all"]] = "all"
    fields: ClassVar[Mapping[str, Field]] = {}
    uncounted: ClassVar[int] = 1  # w_0, which the papers do not count

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        return {}, {**memory, **sent(models), "histogram": histogram(net, data)}

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers:
        return CohortAnswers({}, cohort.keeping(**sent_to_all(cohort), histogram=fresh_histograms(cohort)))

    def work(self, samples: int, models: int) -> tuple[int, int]:
        return 0, 0


@dataclass(frozen=True)
class Nearest(Task):
    """`StoreDirections`, pre-train from w_0, compare the update with the directions; no models given: the kept ones.

    With a solver for the `rest` the client then goes on from what it pre-trained. Leaves the client: the number of the
    group, and with `rest` what `Train` leaves, the update being that from w_0.

    Args:
        solver: Pre-trains.
        rest: Goes on from there; None: nothing more is trained.
        groups: How many there are, by which the answer is judged; None: it may be any.

    >>> from shoal.solvers import SGD
    >>> Nearest(SGD(steps=50)).work(samples=100, models=4)
    (500, 500)
    """

    solver: Solver
    rest: Solver | None = None
    groups: int | None = None

    name: ClassVar[str] = "nearest"
    models: ClassVar[Literal["all"]] = "all"
    uncounted: ClassVar[int] = 1

    @property
    def fields(self) -> Mapping[str, Field]:
        choice = {"choice": Field("int", low=0, high=last_of(self.groups))}
        return choice if self.rest is None else {**choice, **Train.fields}

    def __call__(
        self, net: Net, models: Array | None, data: ClientData, memory: Memory, key: Key
    ) -> tuple[Answer, Memory]:
        keep = {**memory, **sent(models), "histogram": histogram(net, data)}
        if self.rest is None:
            return {"choice": nearest(net, data, keep, self.solver, key)}, keep
        answer = train_in_stages(net, keep["w0"], data, self.solver, self.rest, key)
        choice = direction_of(net.layout, keep["directions"], answer.pop("early"))
        return {"choice": choice, **answer}, keep

    def for_cohort(self, cohort: CohortAtWork, key: Key) -> CohortAnswers | None:
        new = sent_to_all(cohort)
        w0, directions = (new.get(name) or cohort.kept(name) for name in ("w0", "directions"))
        solvers = [solver for solver in (self.solver, self.rest) if solver is not None]
        complete = all(kept is not None for kept in (*w0, *directions))
        if not complete or not all(cohort.trains(solver) for solver in solvers):
            return None
        memories = cohort.keeping(**new, histogram=fresh_histograms(cohort))
        if self.rest is None:
            updates_NP, _, _ = cohort.train(self.solver, w0, key)
            return CohortAnswers({"choice": directions_of(cohort, directions, updates_NP)}, memories)
        got = train_cohort_in_stages(cohort, w0, self.solver, self.rest, key)
        choice_N = directions_of(cohort, directions, got.pop("early"))
        return CohortAnswers({"choice": choice_N, **got}, memories)

    def work(self, samples: int, models: int) -> tuple[int, int]:
        passes = self.solver.passes(samples) + (0 if self.rest is None else self.rest.passes(samples))
        return passes, passes


def last_of(groups: int | None) -> int | None:
    """The number of the last of so many groups."""
    return None if groups is None else groups - 1


def sent(models: Array | None) -> dict[str, Array]:
    """What a client keeps of w_0 and the directions, if it was sent any."""
    return {} if models is None else {"w0": models[0], "directions": models[1:]}


def histogram(net: Net, data: ClientData) -> Array:
    """Label counts of the training samples."""
    return label_counts(net, data, "train")


def nearest(net: Net, data: ClientData, memory: Mapping[str, Any], solver: Solver, key: Key) -> int:
    """The group whose direction the pre-training update is most like."""
    x, y = data("train")
    update_P = solver(net, memory["w0"], x, y, key).update_P
    return direction_of(net.layout, memory["directions"], update_P)


def direction_of(layout: Layout, directions_KP: Array, update_P: Array) -> int:
    """The group whose direction an update is most like."""
    at = layout.trainable
    return client_cold_start(directions_KP[:, at], update_P[at])[0]


def sent_to_all(cohort: CohortAtWork) -> dict[str, list[Array]]:
    """What every client of a cohort keeps of w_0 and the directions, if they were sent any."""
    return {name: [value] * len(cohort.clients) for name, value in sent(cohort.models_KP).items()}


def fresh_histograms(cohort: CohortAtWork) -> list[Array]:
    """Label counts of the training samples, for each client an array of its own."""
    return [row_C.copy() for row_C in cohort.histograms_NC("train")]


def directions_of(cohort: CohortAtWork, directions: Sequence[Array], updates_NP: Array) -> Array:
    """For each client the group whose direction its update is most like."""
    alike: dict[tuple[int, ...], list[int]] = {}  # clients that keep the very same vectors are compared together
    for i, d_KP in enumerate(directions):
        alike.setdefault((d_KP.__array_interface__["data"][0], *d_KP.shape, *d_KP.strides), []).append(i)
    found_N, at = np.zeros(len(directions), np.int64), cohort.layout.trainable
    for some in alike.values():
        found_N[some] = nearest_directions(directions[some[0]][:, at], updates_NP[some][:, at])
    return found_N
