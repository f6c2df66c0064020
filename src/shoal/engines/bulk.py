"""Many clients at once: every sample goes through a model once, then sums by client give the clients' answers.

Work is cut by model and sample only, in slices of fixed size, so that the bits do not depend on workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    jobs: dict[tuple[int, int], list[int]] = {}  # (model, turns) -> positions in `known`
    for i, (client, k) in enumerate(known):
        jobs.setdefault((k, federation.view_of(client).turns % 4), []).append(i)
    index = [federation.indices(client, task.split) for client, _ in known]
    units: list[Unit] = []
    spans: list[tuple[list[int], Array, int, int]] = []
    for (k, turns), members in sorted(jobs.items()):
        samples = np.unique(np.concatenate([index[i] for i in members]))
        first = len(units)
        several = range(len(models_KP)) if k < 0 else [k]  # all models vote
        units += [Slice(task, piece, View(turns=turns), j) for j in several for piece in cut(samples, SLICE)]
        spans.append((members, samples, first, len(units)))
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
    for members, samples, first, last in spans:
        rows = np.concatenate([rows_of(outcomes[u]) for u in range(first, last)] or [np.zeros((0, classes))])
        voters = max(len(rows) // max(len(samples), 1), 1)
        stacked = tally(task, federation, known, index, members, samples, poll(np.split(rows, voters)))
        for name, values in stacked.items():
            out[name][members] = values
    return out


def tally(
    task: Any,
    federation: Federation,
    known: Sequence[tuple[str, int]],
    index: Sequence[Array],
    members: Sequence[int],
    samples: Array,
    rows_SC: Array,
) -> dict[str, Array]:
    """Apply each member's labels to the outputs of the samples, and sum by member."""
    mine = [index[i] for i in members]
    labels = [federation.view_of(known[i][0]).name(federation.y[index[i]]) for i in members]
    owner = np.repeat(np.arange(len(members)), [len(m) for m in mine])
    place = np.searchsorted(samples, np.concatenate(mine))
    answers: dict[str, Array] = task.tally(rows_SC[place], np.concatenate(labels), owner, len(members))
    return answers


def rows_of(outcome: Outcome) -> Array:
    if outcome.answer is None:
        raise ShoalError(f"evaluation {outcome.failed[0].reason}")
    return np.asarray(outcome.answer["rows"])
