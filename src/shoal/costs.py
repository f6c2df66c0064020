"""FedGSP's cost models (eqs. 15 to 17): what rounds would take and send on given machines. Estimates, not counts.

K clients, R rounds, f(r) groups in round r of which the share kappa trains, one after the other inside a group. FedAvg
is f(r) = K. What a run really counted stands in its records, beside these figures in `shoal compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Parallel", "d_comm", "t_comm", "t_comp"]

FLOPS = 567e9  # operations per second of a device, and
BITS = 567e6  # bits per second of its link, each way: the figures of FedGSP's paper
CALC = 96e6  # operations per sample and epoch of the paper's network, forward and backward
AGGR = 6.3e6  # operations to add one model of it to another
MODEL = 25.2e6  # bytes of such a model


@dataclass(frozen=True)
class Parallel:
    """How parallel a method is: groups f(r) in every round, the share of them that trains, the clients in groups.

    Args:
        groups_R: f(r) of every round.
        kappa: Share of the groups that trains; or that of every round, where whole groups make it another one.
        seated_R: Clients that are in a group in every round; None: all of them.

    >>> Parallel([10, 20, 30], kappa=0.3).each_round(40)
    [(10, 0.3, 40), (20, 0.3, 40), (30, 0.3, 40)]
    """

    groups_R: Sequence[int]
    kappa: float | Sequence[float]
    seated_R: Sequence[int] | None = None

    def each_round(self, clients: int) -> list[tuple[int, float, int]]:
        """Groups, the share of them that trains, and the clients in groups, round by round."""
        rounds = len(self.groups_R)
        kappa_R = [self.kappa] * rounds if isinstance(self.kappa, int | float) else self.kappa
        seated_R = [clients] * rounds if self.seated_R is None else self.seated_R
        return list(zip(self.groups_R, kappa_R, seated_R, strict=True))


def t_comp(
    groups_R: Sequence[int],
    clients: int,
    kappa: float,
    samples: float,
    epochs: float = 1.0,
    calc: float = CALC,
    aggr: float = AGGR,
    flops: float = FLOPS,
) -> float:
    """Seconds of computing: `sum_r calc/flops n e K / min(K, f(r)) + aggr/flops max(0, kappa f(r) - 1)`.

    Args:
        groups_R: f(r) of every round.
        clients: K.
        kappa: Share of the groups that trains.
        samples: n, samples of a client.
        epochs: e, local epochs.
        calc: Operations per sample.
        aggr: Operations to add two models.
        flops: Operations per second.

    Returns:
        Seconds.

    >>> round(t_comp([10, 20], 20, 0.5, 100, calc=1e9, aggr=1e9, flops=1e9))     # 200 + 4, then 100 + 9
    313
    """
    train = sum(samples * epochs * clients / min(clients, f) for f in groups_R)
    merge = sum(max(0.0, kappa * f - 1) for f in groups_R)
    return (calc * train + aggr * merge) / flops


def t_comm(
    rounds: int, clients: int, kappa: float, model: float = MODEL, down: float = BITS, up: float = BITS
) -> float:
    """Seconds of sending, one client after the other: `8 kappa K M R (1/down + 1/up)`, M in bytes, rates in bit/s.

    Args:
        rounds: R.
        clients: K.
        kappa: Share of the groups that trains.
        model: Bytes of a model.
        down: Bits per second to a client.
        up: Bits per second from it.

    Returns:
        Seconds.

    >>> round(t_comm(34, 368, 0.3), 1)
    2669.2
    """
    return 8 * kappa * clients * model * rounds * (1 / down + 1 / up)


def d_comm(rounds: int, clients: int, kappa: float, model: float = MODEL) -> float:
    """Bytes sent: `2 kappa K M R`.

    Args:
        rounds: R.
        clients: K.
        kappa: Share of the groups that trains.
        model: Bytes of a model.

    Returns:
        Bytes.

    >>> round(d_comm(34, 368, 0.3) / 1e9, 1)
    189.2
    """
    return 2 * kappa * clients * model * rounds
