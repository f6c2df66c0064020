"""Ends a run by the rules of `stop=`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.loop.plan import RoundResult
from shoal.loop.row import Row
from shoal.loop.stopping import Rule, Seen, first_reason
from shoal.observers.observer import Observer


class Stopping(Observer):
    """Looks at every record and says when a rule applies; on what rounds before it were, too.

    Args:
        rules: Of `parse_stop`.
        seen: Of a run without rounds.
        rows: Records of rounds that were played before, by a run that is resumed.

    >>> import shoal
    >>> run = shoal.run("fedavg", rounds=9, engine="serial", stop="target:0.05")
    >>> run.summary["rounds"], run.summary["stopped"].partition(", ")[2]
    (1, 'the target was 5.0 %')
    """

    def __init__(self, rules: Sequence[Rule], seen: Seen, rows: Iterable[Row] = ()) -> None:
        self._rules, self._seen = rules, seen
        for row in rows if rules else ():
            seen.add(row)

    @property
    def reason(self) -> str | None:
        """Why the run should end now, by what was seen so far."""
        return first_reason(self._rules, self._seen)

    def why_stop(self, result: RoundResult) -> str | None:
        if self._rules:
            self._seen.add(result.row)
        return self.reason
