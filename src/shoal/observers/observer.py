"""What an observer of a run may hook into."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from shoal.loop.plan import Plan, RoundResult

if TYPE_CHECKING:
    from shoal.experiment.result import Run


class Observer:
    """Override what you need; nothing an observer does changes a result.

    >>> import shoal
    >>> class Watch(shoal.Observer):
    ...     def after_round(self, result):
    ...         print("round", result.round)
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", observers=[Watch()])
    round 0
    round 1
    """

    def __init_subclass__(cls) -> None:
        if "moment" in vars(cls) and "after_round" not in vars(cls):
            warnings.warn("Observer.moment is called after_round now", DeprecationWarning, stacklevel=2)
            cls.after_round = vars(cls)["moment"]  # type: ignore[method-assign]

    def start(self, plan: Plan, label: str, begin: int) -> None:
        """Before the first round.

        Args:
            plan: The algorithm, the data, the model, the rounds and the seed.
            label: The name of the run, or of its algorithm.
            begin: The round that a resumed run goes on from; 0 for a new one.
        """

    def note(self, text: str) -> None:
        """Before `start`, where `auto` chooses the algorithm: what is tried, and then the sentences that say why.

        Args:
            text: One line.
        """

    def after_round(self, result: RoundResult) -> None:
        """After every round.

        Args:
            result: The record of the round (`result.row`), its events, and the state of the algorithm.
        """

    def stop(self) -> None:
        """At the end, also of a run that failed or was interrupted."""

    def done(self, run: Run) -> None:
        """After `stop`, if all rounds are done and the folder, if there is one, is written.

        Args:
            run: What the run found.
        """
