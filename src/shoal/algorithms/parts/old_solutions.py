"""FeSEM as FlexCFL's code has it: the E step comes when a client is selected, and looks at its last solution."""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.clusterers import e_step
from shoal.errors import BadInput
from shoal.table import Table
from shoal.types import Array, Cohort
from shoal.vectors import Vectors

When = Literal["after", "before"]
LIMIT = 2e9  # bytes of old solutions that the server may hold


def check_before(em_steps: int, clients: int, seen_D: Array) -> None:
    """A sentence if e_step=before cannot be done: by its steps, or as the last solutions of all would not fit.

    Args:
        em_steps: E and M steps a round.
        clients: How many there are.
        seen_D: What the distance sees of one model.
    """
    if em_steps != 1:
        raise BadInput("e_step=before makes one E step and one M step a round; give em_steps=1 with it")
    need = clients * seen_D.nbytes
    if need > LIMIT:
        raise BadInput(
            f"e_step=before would keep {clients:,} solutions of {seen_D.size:,} numbers, {need / 1e9:.1f} GB, above "
            f"the limit of {LIMIT / 1e9:.1f} GB; let the distance see less (cluster_params=last), or take e_step=after"
        )


def never_trained(group: Table, cohort: Cohort, w0_1D: Array, centres_KD: Array) -> Table:
    """With random models the parameters of a newcomer are w_0 until it trains: the centre nearest to that.

    Args:
        group: The centre of every client so far.
        cohort: Who is selected.
        w0_1D: What the distance sees of w_0, as one row.
        centres_KD: What it sees of the present centres.

    Returns:
        The same with a centre for everybody selected.

    >>> never_trained(Table().put(("a",), np.array([0])), ("a", "b"), np.array([[5.0]]), np.array([[1.0], [6.0]]))
    Table(ids=('a', 'b'), rows=array([0, 1]))
    """
    new = tuple(c for c in cohort if c not in group)
    return group.put(new, np.repeat(e_step(w0_1D, centres_KD), len(new))) if new else group


def by_old_solution(group: Table, old: Vectors, cohort: Cohort, centres_KD: Array) -> Table:
    """Every selected client to the centre nearest to what it learnt when it trained last (departure D88).

    Args:
        group: The centre of every client so far.
        old: What the distance sees of the clients' last solutions.
        cohort: Who is selected.
        centres_KD: What it sees of the present centres.

    Returns:
        The centres after the E step; who never trained keeps the one it has.

    >>> old = Vectors().put(("a", "b"), np.array([[0.0], [9.0]]))
    >>> by_old_solution(Table().put(("a", "b", "c"), np.array([1, 1, 1])), old, ("a", "c"), np.array([[1.0], [8.0]]))
    Table(ids=('a', 'b', 'c'), rows=array([0, 1, 1]))
    """
    trained = tuple(c for c in cohort if c in old)
    return group.put(trained, e_step(old.get(trained, 0.0), centres_KD)) if trained else group


def how_many_moved(was: Table, cohort: Cohort, trained_N: Array, labels_N: Array) -> int:
    """Clients whose centre is another one than before the round; for newcomers, than the one they trained from.

    Args:
        was: The centres before the round.
        cohort: Who answered.
        trained_N: The centre each of them trained from.
        labels_N: Its centre after the round.

    Returns:
        How many.

    >>> how_many_moved(Table().put(("a",), np.array([0])), ("a", "b"), np.array([1, 1]), np.array([1, 1]))
    1
    """
    before_N = was.get(cohort, -1)
    return int((np.where(before_N < 0, trained_N, before_N) != labels_N).sum())
