"""What an observer of a run may hook into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.experiment.loop import Moment, Plan

if TYPE_CHECKING:
    from shoal.experiment.result import Run


class Observer:
    """Override what you need; nothing an observer does changes a result.

    >>> import shoal
    >>> class Watch(shoal.Observer):
    ...     def moment(self, moment):
    ...         print("round", moment.round)
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", observers=[Watch()])
    round 0
    round 1
    """

    def start(self, plan: Plan, label: str, begin: int) -> None:
        """Before the first round; `begin` is the round a resumed run goes on from."""

    def moment(self, moment: Moment) -> None:
        """After every round."""

    def stop(self) -> None:
        """At the end, also of a run that failed or was interrupted."""

    def done(self, run: Run) -> None:
        """After `stop`, if all rounds are played and the folder, if there is one, is written."""
