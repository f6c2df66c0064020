"""What an observer of a run may hook into."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from shoal.loop.plan import Plan, RoundResult

if TYPE_CHECKING:
    from shoal.experiment.result import Run


class Observer:
    """Override what you need; nothing an observer does changes a result, but it may say that a run should end.

    >>> import shoal
    >>> class Watch(shoal.Observer):
    ...     def after_round(self, result):
    ...         print("round", result.round)
    >>> _ = shoal.run("fedavg", rounds=1, engine="serial", observers=[Watch()])
    round 0
    round 1
    >>> class Enough(shoal.Observer):
    ...     def why_stop(self, result):
    ...         return "two rounds will do" if result.round == 2 else None
    >>> run = shoal.run("fedavg", rounds=9, engine="serial", observers=[Enough()])
    >>> run.summary["rounds"], run.summary["stopped"]
    (2, 'two rounds will do')
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

    def why_stop(self, result: RoundResult) -> str | None:
        """After every round, before `after_round`: why the run should end with it, if it should.

        The run is then complete: the sentence is an event of the round and `stopped` in the summary.

        Args:
            result: The record of the round (`result.row`), its events, and the state of the algorithm.

        Returns:
            A sentence; None: it goes on.
        """
        return None

    def after_round(self, result: RoundResult) -> None:
        """After every round.

        Args:
            result: The record of the round (`result.row`), its events, the state of the algorithm, and why the run ends
                with it before its last round (`result.stopped`), if it does.
        """

    def stop(self) -> None:
        """At the end, also of a run that failed or was interrupted."""

    def done(self, run: Run) -> None:
        """After `stop`, if the run is complete and the folder, if there is one, is written.

        Args:
            run: What the run found.
        """
