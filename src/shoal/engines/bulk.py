"""Many clients at once: every sample goes through a model once, then sums by client give the clients' answers.

Work is cut by model and sample only, in slices of fixed size, so that the bits do not depend on workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.data.federation import Federation, View
from shoal.engines.unit import Backend, Outcome, Slice, Unit, cut
from shoal.errors import ShoalError
from shoal.tasks.evaluate import SLICE, poll
from shoal.types import Array


def in_bulk(
    task: Any,
    federation: Federation,
    backend: Backend,
    models_KP: Array,
    known: Sequence[tuple[str, int]],
    classes: int,
) -> dict[str, Array]:
    """The answers of `known` (client, model) pairs, stacked in that order."""
    places_N = federation.places([client for client, _ in known])
    which_N = np.array([k for _, k in known], np.int64)
    turns_N = np.array([view.turns % 4 for view in federation.views])[federation.view_numbers(places_N)]
    index_S, owner_S = federation.rows(task.split).take(places_N)
    labels_S = federation.labels(index_S, places_N[owner_S])
    units: list[Unit] = []
    spans: list[Span] = []
    for k, turns in sorted(set(zip(which_N.tolist(), turns_N.tolist(), strict=True))):
        members_M = np.flatnonzero((which_N == k) & (turns_N == turns))
        number_N = np.full(len(known), -1)
        number_N[members_M] = np.arange(len(members_M))
        mine = np.flatnonzero(number_N[owner_S] >= 0)
        samples, place = np.unique(index_S[mine], return_inverse=True)
        first = len(units)
        several = range(len(models_KP)) if k < 0 else [k]  # all models vote
        units += [Slice(task, piece, View(turns=turns), j) for j in several for piece in cut(samples, SLICE)]
        spans.append(Span(members_M, place, labels_S[mine], number_N[owner_S[mine]], len(several), first, len(units)))
    outcomes = dict(backend.run(units, models_KP))
    again = [u for u, outcome in outcomes.items() if outcome.answer is None]  # a worker may have died: once more
    outcomes |= {again[i]: outcome for i, outcome in backend.run([units[u] for u in again], models_KP)}
    dims = {"C": classes}
    out: dict[str, Array] = {
        name: np.zeros(
            (len(known), *(dims[letter] for letter in f.shape)), np.float64 if f.kind == "float" else np.int64
        )
        for name, f in task.fields.items()
    }
    for span in spans:
        rows = np.concatenate([rows_of(outcomes[u]) for u in range(span.first, span.last)] or [np.zeros((0, classes))])
        logp_SC = poll(np.split(rows, span.voters))
        for name, values in task.tally(logp_SC[span.place], span.labels, span.owner, len(span.members)).items():
            out[name][span.members] = values
    return out


class Span(NamedTuple):
    """Clients that share a model and a view: who they are, their samples among those sent through it, and the units."""

    members: Array
    place: Array
    labels: Array
    owner: Array
    voters: int
    first: int
    last: int


def rows_of(outcome: Outcome) -> Array:
    if outcome.answer is None:
        raise ShoalError(f"evaluation {outcome.failed[0].reason}")
    return np.asarray(outcome.answer["rows"])
