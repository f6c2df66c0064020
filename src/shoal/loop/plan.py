"""What a run is made of, and what one of its rounds leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shoal.data.drift import Drift
from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.loop.operations import flops_per_sample
from shoal.loop.row import Row
from shoal.loop.stopping import Rule
from shoal.net import Arithmetic
from shoal.scores import Score
from shoal.types import Algorithm, Array, Memory

__all__ = ["Plan", "RoundResult"]


@dataclass(frozen=True)
class Plan:
    """All that decides a result: the algorithm, the data, the model, the rounds and the seed.

    Args:
        algorithm: What is run, its options set.
        federation: The data of all clients before anything drifts.
        layout: How the model lies in a vector of P numbers.
        rounds: How many.
        seed: Decides every draw.
        eval_every: Rounds between tests.
        eval_clients: How many clients are tested; None: all up to 10,000, else 1,000.
        drift: What happens to the data.
        arithmetic: Device, kernel, compiled or not.
        notes: Events from before the first round, such as why this algorithm was chosen.
        per_class: Whether tests count by class.
        stop: What ends the run before its last round.

    >>> import shoal
    >>> shoal.run("fedavg", rounds=0, engine="serial").plan.seed
    0
    """

    algorithm: Algorithm
    federation: Source
    layout: Layout
    rounds: int
    seed: int
    eval_every: int = 1
    eval_clients: int | None = None
    drift: Drift = Drift()
    arithmetic: Arithmetic = Arithmetic()
    notes: tuple[Mapping[str, Any], ...] = ()
    per_class: bool = True
    stop: tuple[Rule, ...] = ()

    @property
    def splits(self) -> tuple[str, ...]:
        return ("test", "val") if self.federation.has("val") else ("test",)

    @property
    def score(self) -> Score:
        """The headline figure of the run."""
        return self.layout.objective.headline

    @cached_property
    def flops(self) -> float | None:
        """Operations of a training step for one sample, counted when first asked for; None: they are not known."""
        return flops_per_sample(self.layout, self.federation.sample())


@dataclass(frozen=True)
class RoundResult:
    """A run right after a round: what it carries on, the record of the round and its events.

    Attributes:
        round: Its number; 0 is the start.
        state: The state of the algorithm after it.
        memories: What clients keep, by client.
        library_VP: Vectors that several clients keep, each once.
        row: The record of the round.
        events: What happened in it.
        data_indices: Who has which samples, if that drifts.
        stopped: Why the run ends with it before its last round; None: it does not.

    >>> import numpy as np
    >>> RoundResult(3, None, {}, np.zeros((0, 0)), row={"accuracy": 0.5}).row["accuracy"]
    0.5
    """

    round: int
    state: Any
    memories: Mapping[str, Memory]
    library_VP: Array
    row: Row = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    data_indices: Mapping[str, Array] = field(default_factory=dict)
    stopped: str | None = None
