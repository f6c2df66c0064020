"""How strong the proximal term is, found while training: the rule of FedProx's paper (Li et al., MLSys 2020, section
5.3.2), which needs no more than the training losses that clients send."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from shoal.aggregators import ServerState
from shoal.algorithms.fedavg import FedAvg
from shoal.algorithms.fedavg import State as Averaged
from shoal.seeds import Key
from shoal.solvers import Proximal
from shoal.types import Answers, Array, Engine, Record

Strength = float | Literal["auto"]
STEP = 0.1  # by which mu goes up and down, and
PATIENCE = 5  # rounds in which the loss has to fall in a row for it to go down: both the paper's
CHANCE = 2.0  # standard errors that a rise must exceed, where not everybody is asked


@dataclass(frozen=True)
class Search:
    """Where the search for mu stands.

    Attributes:
        mu: Of the next round.
        falls: Rounds in a row in which the loss fell.
        loss: Of the last round; None before there was one.
        error: Its standard error.

    >>> Search().mu
    0.0
    """

    mu: float = 0.0
    falls: int = 0
    loss: float | None = None
    error: float = 0.0


@dataclass(frozen=True)
class State:
    """A model, or one per member of an ensemble, and where the search for mu stands for each."""

    w_KP: Array
    server: ServerState = field(default_factory=dict)
    search_K: tuple[Search, ...] = ()


def mean_loss(loss_N: Array, count_N: Array, clients: int) -> tuple[float, float]:
    """The mean training loss by samples, and its standard error as an estimate for all clients: 0 if all were asked.

    With shares s of the N samples, `sum s l` and `sqrt((1 - n / K) sum s^2 (l - mean)^2)`.

    Args:
        loss_N: Of each client that trained.
        count_N: Its samples.
        clients: How many there are in all.

    Returns:
        The mean, and its standard error.

    >>> mean_loss(np.array([1.0, 3.0]), np.array([5, 5]), 8)                # sqrt(3/4 (1/4 + 1/4))
    (2.0, 0.6123724356957945)
    """
    share_N = count_N / count_N.sum()
    mean = float(share_N @ loss_N)
    left = max(0.0, 1 - len(loss_N) / clients)
    return mean, float(np.sqrt(left * np.square(share_N * (loss_N - mean)).sum()))


def search_on(search: Search, loss: float, error: float) -> Search:
    """mu + 0.1 after a loss that rose, mu - 0.1 but not below 0 after five that fell in a row, else as it was.

    A loss rose if it is above the last one by more than two standard errors of the difference (departure D84).

    Args:
        search: As it stood.
        loss: Mean training loss of the round.
        error: Its standard error.

    Returns:
        The search with mu of the next round.

    >>> search_on(Search(mu=0.1, loss=1.0), loss=1.2, error=0.0).mu, search_on(Search(loss=1.0), 1.2, error=0.3).mu
    (0.2, 0.0)
    """
    if search.loss is None:
        return replace(search, loss=loss, error=error)
    if loss > search.loss + CHANCE * float(np.hypot(error, search.error)):
        return Search(round(search.mu + STEP, 9), 0, loss, error)
    falls = search.falls + 1 if loss < search.loss else 0
    if falls == PATIENCE:
        return Search(max(0.0, round(search.mu - STEP, 9)), 0, loss, error)
    return Search(search.mu, falls, loss, error)


def search_after(search: Search, trained: Answers | None, clients: int) -> Search:
    """The search after a round with these answers; without any it stays where it was."""
    if trained is None or not len(trained):
        return search
    return search_on(search, *mean_loss(trained["loss"], trained["count"], clients))


def proximal_step(
    averaging: FedAvg, strength: Strength, state: State, engine: Engine, key: Key
) -> tuple[State, Record]:
    """A round of FedAvg with the proximal term; `auto`: with the search's mu, which goes on with the loss of the round.

    Args:
        averaging: What there is beside the term.
        strength: mu, or `auto`.
        state: One model, and its search.
        engine: Asks the clients.
        key: Of the round.

    Returns:
        The next state and the record; with `auto` mu is among its measures.
    """
    search = state.search_K[0] if strength == "auto" else Search(mu=strength)
    near = replace(averaging, solver=averaging.solver.plus(Proximal(search.mu)))
    after, record = near.step(Averaged(state.w_KP, state.server), engine, key)
    if strength != "auto":
        return State(after.w_KP, after.server, state.search_K), record
    found = search_after(search, record.trained, len(engine.clients.with_samples))
    return State(after.w_KP, after.server, (found,)), replace(record, measures={**record.measures, "mu": search.mu})
