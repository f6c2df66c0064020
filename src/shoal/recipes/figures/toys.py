"""The toys of CFL's paper, for its Figures 1 and 2 and for tests: no number of them is drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.aggregators import weighted_mean, weighted_sum
from shoal.data.federation import Federation
from shoal.types import Array

__all__ = ["Client", "Descent", "Risks", "contradicting", "descend", "federation", "spread_out", "xor"]

CLIENTS, POINTS, STEP = 8, 40, 0.1
AROUND = 0.9  # side of the squares in which the points lie, around (1, 1), (-1, 1) and so on
START = (3.0, 3.0)


@dataclass(frozen=True)
class Client:
    """A client of Figure 1.

    Attributes:
        group: Of the two that are planted.
        points: In the plane.
        labels: 0 or 1.

    >>> Client(0, ((1.0, 1.0),), (1,)).group
    0
    """

    group: int
    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]


def spread_out(number: int, base: int) -> float:
    """A number between 0 and 1; those of 1, 2, 3 and so on fill the space between evenly (van der Corput).

    Args:
        number: Which.
        base: A prime.

    Returns:
        The digits of the number in this base, mirrored behind the point.

    >>> [spread_out(number, 2) for number in (1, 2, 3, 4)]
    [0.5, 0.25, 0.75, 0.125]
    """
    found, part = 0.0, 1.0
    while number:
        part /= base
        number, digit = divmod(number, base)
        found += part * digit
    return found


def places(client: int) -> list[tuple[float, float]]:
    """The points of a client: as many around each of the four corners."""
    found = []
    for k in range(POINTS):
        number = client * POINTS + k + 1
        x, y = (AROUND * (spread_out(number, base) - 0.5) for base in (3, 5))
        found.append((x + (1 if k % 2 else -1), y + (1 if k % 4 > 1 else -1)))
    return found


def xor() -> list[Client]:
    """Figure 1, left: no linear model learns XOR, but the clients of each group see a half that one can learn.

    Returns:
        Eight clients; those of group 0 have points above, those of group 1 below.

    >>> [len({client.group for client in xor()}), all(y > 0 for client in xor()[::2] for _, y in client.points)]
    [2, True]
    """
    found = []
    for i in range(CLIENTS):
        points = tuple((x, -abs(y) if i % 2 else abs(y)) for x, y in places(i))
        found.append(Client(i % 2, points, tuple(int(x * y > 0) for x, y in points)))
    return found


def contradicting() -> list[Client]:
    """Figure 1, right: both groups have points everywhere, and each the opposite labels of the other.

    Returns:
        Eight clients; a label says on which side of the diagonal from above to below a point lies.

    >>> [client.labels[:3] for client in contradicting()[:2]]
    [(0, 1, 0), (1, 0, 1)]
    """
    found = []
    for i in range(CLIENTS):
        points = tuple((x, y) for x, y in places(i) if x * y > 0)
        found.append(Client(i % 2, points, tuple(int((x + y > 0) != bool(i % 2)) for x, y in points)))
    return found


def federation(clients: Sequence[Client]) -> Federation:
    """Clients of Figure 1 as a federation, a quarter of each for testing.

    Args:
        clients: All of them.

    Returns:
        With the planted groups.

    >>> federation(xor()).truth.tolist()
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    arrays = {f"c{i}": (np.array(one.points, np.float32), np.array(one.labels)) for i, one in enumerate(clients)}
    return replace(Federation.from_arrays(arrays, test=0.25), truth=np.array([one.group for one in clients]))


@dataclass(frozen=True)
class Risks:
    """`a_i / 2` times the squared distance of w to the disc of client i: zero inside, a parabola outside.

    Attributes:
        curvatures_N: The numbers a_i.
        minima_ND: Centres of the discs.
        radii_N: Of the discs; one number for all; 0: each has one minimum.

    >>> Risks(np.array([1.0, 3.0]), np.array([[0.0, 0.0], [2.0, 0.0]])).gradients(np.array([1.5, 0.0])).tolist()
    [[1.5, 0.0], [-1.5, 0.0]]
    """

    curvatures_N: Array
    minima_ND: Array
    radii_N: Array = field(default_factory=lambda: np.zeros(1))

    def gradients(self, w_D: Array) -> Array:
        """Of all clients.

        Args:
            w_D: Where.

        Returns:
            A row for each client.
        """
        apart_ND = w_D - self.minima_ND
        far_N = np.sqrt((apart_ND**2).sum(1))
        outside_N = np.maximum(far_N - self.radii_N, 0.0) / np.where(far_N > 0, far_N, 1.0)
        return np.asarray((self.curvatures_N * outside_N)[:, None] * apart_ND)


@dataclass(frozen=True)
class Descent:
    """Where federated learning went.

    Attributes:
        path_TD: Models, the first and the last among them.
        updates_ND: Of the clients, at the last.

    >>> Descent(np.zeros((2, 1)), np.zeros((3, 1))).end_D.tolist()
    [0.0]
    """

    path_TD: Array
    updates_ND: Array

    @property
    def end_D(self) -> Array:
        """The last model."""
        return np.asarray(self.path_TD[-1])


def descend(risks: Risks, sizes_N: Array, start: tuple[float, ...] = START, rounds: int = 500) -> Descent:
    """Federated gradient descent, a step on each client in a round, with the mean that methods of the package take.

    Args:
        risks: Of the clients.
        sizes_N: Their samples.
        start: The first model.
        rounds: How many.

    Returns:
        The way, and the updates at its end.

    >>> far = Risks(np.ones(2), np.array([[0.0, 0.0], [2.0, 0.0]]))
    >>> descend(far, np.array([1, 1])).end_D.round(6).tolist()
    [1.0, 0.0]
    """
    w_D, path = np.array(start), [np.array(start)]
    for _ in range(rounds):
        updates_ND = -STEP * risks.gradients(w_D)
        w_D = w_D + weighted_sum(weighted_mean().shares(updates_ND, sizes_N), updates_ND)
        path.append(w_D)
    return Descent(np.array(path), -STEP * risks.gradients(w_D))
