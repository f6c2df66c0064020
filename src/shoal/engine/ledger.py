"""The ledger of a round: what travelled and what clients worked, by task, and who was left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shoal.types import Task


@dataclass
class Count:
    """What one kind of task cost in a round.

    Args:
        down: Vectors sent to clients.
        up: Vectors that came back.
        bytes_down: Bytes sent to clients.
        bytes_up: Bytes that came back.
        forward: Samples sent through models on clients.
        backward: Samples whose gradients were taken there.
        uncounted: Of the vectors down, those that the papers do not count.

    >>> total = Count(down=3)
    >>> total.add(Count(down=2, up=1))
    >>> total.down, total.up
    (5, 1)
    """

    down: int = 0
    up: int = 0
    bytes_down: int = 0
    bytes_up: int = 0
    forward: int = 0
    backward: int = 0
    uncounted: int = 0

    def add(self, other: Count) -> None:
        """Count this, too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass
class Ledger:
    """What happened since the ledger was last taken.

    Args:
        counts: By task, what the method's own tasks cost.
        diagnostics: By task, what tasks cost that only serve to look at it.
        events: Clients left out, with the reason.

    >>> from shoal.tasks import Evaluate, LabelHistogram
    >>> ledger = Ledger()
    >>> for task in (LabelHistogram(), Evaluate()):
    ...     ledger.add(task, Count(bytes_up=80))
    >>> list(ledger.counts), list(ledger.diagnostics)
    (['describe'], ['evaluate'])
    """

    counts: dict[str, Count] = field(default_factory=dict)
    diagnostics: dict[str, Count] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, task: Task, count: Count) -> None:
        """A task was done.

        Args:
            task: Which one.
            count: What it cost.
        """
        (self.diagnostics if task.diagnostic else self.counts).setdefault(task.name, Count()).add(count)

    def diagnostics_by_name(self) -> dict[str, Count]:
        """Diagnostics under names that differ from those of the method's own tasks."""
        return {f"{name} (diagnostic)" if name in self.counts else name: c for name, c in self.diagnostics.items()}
