"""What tests of progress lines need: a clock that is moved by hand, and a plan of nothing but rounds and a task."""

from __future__ import annotations

from typing import Any, cast

from shoal.layout import Layout
from shoal.loop.plan import Plan
from shoal.objectives import OBJECTIVES


class Clock:
    """A clock that moves when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def plan(rounds: int, task: str = "classification") -> Plan:
    nothing = cast(Any, None)
    return Plan(nothing, nothing, Layout(nothing, (), (), 1, objective=OBJECTIVES[task]), rounds, 0)
