"""What the engine asks of a back end, and what back ends run: units of work, and what they leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from shoal.data.federation import Source
from shoal.layout import Layout
from shoal.net import Arithmetic
from shoal.seeds import Key
from shoal.types import Array, Cohort, CohortAnswers, Failure, Memory, Task

if TYPE_CHECKING:
    from shoal.backends.site import Site


@dataclass(frozen=True)
class Outcome:
    """What a unit leaves.

    Args:
        answer: The fields of the answer; None if there is none.
        memories: What clients want to keep, where the back end keeps it for them.
        failed: Who failed, and why.
        events: What else the run should note, each with its `kind`.

    >>> Outcome({"count": 3}).failed
    ()
    """

    answer: Mapping[str, Any] | None
    memories: Mapping[str, Memory] = field(default_factory=dict)
    failed: tuple[Failure, ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()


class Unit(Protocol):
    """A piece of work. It knows nothing of workers or order.

    >>> from shoal.backends.unit import OneClient
    >>> from shoal.seeds import Key
    >>> from shoal.tasks import LabelHistogram
    >>> unit: Unit = OneClient(LabelHistogram(), "ann", -1, Key(0).of("ann"), cost=12)
    >>> unit.who, unit.cost, unit.limit
    (('ann',), 12, None)
    """

    @property
    def cost(self) -> int:
        """What it costs next to others: its samples."""
        ...

    @property
    def who(self) -> tuple[str, ...]:
        """The clients at it."""
        ...

    @property
    def limit(self) -> float | None:
        """Seconds that it may take in all."""
        ...

    @property
    def tasks(self) -> tuple[Any, ...]:
        """The tasks it does."""
        ...

    def __call__(self, site: Site, models_KP: Array | None, memories: Mapping[str, Memory]) -> Outcome:
        """Do it.

        Args:
            site: Where the clients live.
            models_KP: The models of the call.
            memories: What the clients at it keep.

        Returns:
            What it leaves.
        """
        ...


class Backend(Protocol):
    """Where the work of clients is done: in this process, in others, on real devices.

    A back end also holds what clients keep, or lets them hold it themselves: it says which answers' memories count
    (`keep`), and at the end of a round whether the round counts (`commit`, `rollback`).

    >>> from shoal.backends import BACKENDS
    >>> sorted(BACKENDS)
    ['local', 'ray', 'serial']
    """

    @property
    def holds_data(self) -> bool:
        """Whether the samples are within its reach, so that it can run slices of them for many clients at once."""
        ...

    def open(self, layout: Layout, arithmetic: Arithmetic) -> None:
        """A new run begins; clients remember nothing.

        Args:
            layout: The model.
            arithmetic: How to compute.
        """
        ...

    def set_federation(self, federation: Source) -> None:
        """From now on clients hold this federation's data."""
        ...

    def run(self, units: Sequence[Unit], models_KP: Array | None) -> Iterator[tuple[int, Outcome]]:
        """Run units.

        Args:
            units: What is to be done, in any order.
            models_KP: The models that are sent, or none.

        Yields:
            The number of a unit and what it left, each once, in any order.
        """
        ...

    def whole_cohort(
        self, task: Task, cohort: Cohort, models_KP: Array | None, which_N: Array, key: Key
    ) -> CohortAnswers | None:
        """All clients of a cohort do a task in one call, where that is possible here.

        Args:
            task: One that has a form for cohorts.
            cohort: Clients that are there, each once.
            models_KP: The models that are sent, or none.
            which_N: Which of them each is sent; -1: all of them, or none.
            key: The randomness of the call.

        Returns:
            Stacked answers, a row per client; None: run a unit for each.
        """
        ...

    def log_probabilities(self, pieces: Sequence[tuple[int, Array, float]], models_KP: Array) -> list[Array] | None:
        """What models say of samples, all in one call, where that is possible here.

        Args:
            pieces: The number of a model, places of samples, quarter turns of their images.
            models_KP: The models.

        Returns:
            For each piece log-probabilities, S x C; None: run slices.
        """
        ...

    def keep(self, numbers: Sequence[int]) -> None:
        """The answers of these units of the last run were accepted: from now on their clients remember.

        Args:
            numbers: Units, as `run` numbered them, or rows of what `whole_cohort` gave, whichever came last.
        """
        ...

    def commit(self) -> None:
        """The round counts: what clients kept since the last commit is kept."""
        ...

    def rollback(self) -> None:
        """The round does not count: what clients kept since the last commit is forgotten."""
        ...

    def snapshot(self) -> tuple[Mapping[str, Memory], Array]:
        """What a checkpoint holds of clients.

        Returns:
            Committed memories by client, and the vectors at which they point; both empty where devices hold their own.
        """
        ...

    def restore(self, memories: Mapping[str, Memory], vectors_VP: Array) -> None:
        """Clients remember what they did at a snapshot.

        Args:
            memories: Memories by client.
            vectors_VP: The vectors at which they point.
        """
        ...

    def close(self) -> None:
        """End it."""
        ...


def failed(unit: Unit, reason: str) -> Outcome:
    """Nobody of a unit answered."""
    return Outcome(None, {}, tuple(Failure(client, reason) for client in unit.who))
