"""FeSEM as FlexCFL's code has it: the E step comes when a client is selected, and looks at its last solution."""

from __future__ import annotations

import numpy as np

from shoal.clusterers import Clusters, e_step, m_step
from shoal.errors import BadInput
from shoal.measures import wecfl_objective
from shoal.table import Table
from shoal.types import Array, Cohort

LIMIT = 2e9  # bytes of old solutions that the server may hold


def check_room(clients: int, seen_D: Array) -> None:
    """A sentence if the last solutions of all clients would not fit.

    Args:
        clients: How many there are.
        seen_D: What the distance sees of one model.
    """
    need = clients * seen_D.nbytes
    if need > LIMIT:
        raise BadInput(
            f"e_step=before would keep {clients:,} solutions of {seen_D.size:,} numbers, {need / 1e9:.1f} GB, above "
            f"the limit of {LIMIT / 1e9:.1f} GB; let the distance see less (cluster_params=last), or take e_step=after"
        )


def by_old_solution(group: Table, old: Table, cohort: Cohort, centres_KD: Array) -> Table:
    """Every selected client to the centre nearest to what it learnt when it trained last (departure D88).

    Args:
        group: The centre of every client so far.
        old: What the distance sees of the clients' last solutions.
        cohort: Who is selected.
        centres_KD: What it sees of the present centres.

    Returns:
        The centres after the E step; who never trained keeps the one it has.

    >>> old = Table().put(("a", "b"), np.array([[0.0], [9.0]]))
    >>> by_old_solution(Table().put(("a", "b", "c"), np.array([1, 1, 1])), old, ("a", "c"), np.array([[1.0], [8.0]]))
    Table(ids=('a', 'b', 'c'), rows=array([0, 1, 1]))
    """
    trained = tuple(c for c in cohort if c in old)
    return group.put(trained, e_step(old.get(trained, 0.0), centres_KD)) if trained else group


def m_step_alone(seen_ND: Array, centres_KD: Array, labels_N: Array, lambda_N: Array) -> Clusters:
    """The centres of clients that stay where they trained, and the objective.

    Args:
        seen_ND: What the distance sees of the clients' solutions.
        centres_KD: The same of the centres they trained from.
        labels_N: Which of them.
        lambda_N: How much each client counts.

    Returns:
        The same groups, their new centres and F.

    >>> m_step_alone(np.array([[1.0], [3.0]]), np.array([[0.0], [9.0]]), np.array([0, 0]), np.ones(2))
    Clusters(labels_N=array([0, 0]), centres_KD=array([[2.],
           [9.]]), F=1.0)
    """
    centres_KD = m_step(seen_ND, labels_N, lambda_N, centres_KD)
    return Clusters(labels_N, centres_KD, wecfl_objective(seen_ND, centres_KD, labels_N, lambda_N))


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
