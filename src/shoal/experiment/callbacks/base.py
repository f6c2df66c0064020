"""What an observer of a run may hook into."""

from __future__ import annotations

from shoal.experiment.loop import Moment, Plan


class Observer:
    """Override what you need; nothing an observer does changes a result."""

    def start(self, plan: Plan, label: str, begin: int) -> None:
        """Before the first round; `begin` is the round a resumed run goes on from."""

    def moment(self, moment: Moment) -> None:
        """After every round."""

    def stop(self) -> None:
        """At the end, also of a run that failed or was interrupted."""
